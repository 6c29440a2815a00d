#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Imported traces that have less than most: no times, no stream block, no packet context, events
# without fields; attributes and blocks that are not known; times without a clock; an event before
# its packet. The text is what babeltrace2 prints (where it is installed), and what is refused says
# why.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/byte_traces.sh"

trace bare 'hello\0a \\ b\0' <<END
trace { major = 1; minor = 8; byte_order = be; };
event { name = ev; fields := struct { string s; }; };
END
shows 'ev: { s = "hello" }
ev: { s = "a \\ b" }'
is "json" '{"time":null,"event":"ev","fields":{"s":"hello"}}' "$(head -n 1 "$s/export/json")"
is "csv" ',,,ev,hello' "$(sed -n 2p "$s/export/csv")"

# Two packets, without times: of 5 and of 4 bytes
trace packets '\050\002hi\0\040\003x\0' <<END
trace { major = 1; minor = 8; byte_order = le; };
stream {
	packet.context := struct {
		integer { size = 8; } packet_size; integer { size = 8; } events_discarded;
	};
};
event { name = "ev"; fields := struct { string s; }; };
END
shows 'ev: { s = "hi" }
ev: { s = "x" }'

header='event.header := struct { integer { size = 8; } id; };'
trace fields '\0\1\2hi\0\0' <<END
trace { major = 1; minor = 8; byte_order = le; };
stream { $header };
event { name = a; id = 0; };
event { name = b; id = 1; fields := struct { }; };
event { name = c; id = 2; fields := struct { string s; }; };
END
shows 'a: 
b: { }
c: { s = "hi" }
a: '

# … in a stream with a CPU, a context and times
trace whole '\3\7\0\11\1\1\10\10' <<END
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000000; offset_s = 100; };
typealias integer { size = 8; } := byte;
typealias integer { size = 8; map = clock.c.value; } := time;
stream {
	packet.context := struct { byte cpu_id; };
	event.header := struct { time t; byte id; };
	event.context := struct { byte v; };
};
event { name = a; id = 0; };
event { name = b; id = 1; fields := struct { byte w; }; };
END
shows '[00:01:40.000000007] (+?.?????????) a: { cpu_id = 3 }, { v = 9 }
[00:01:40.000000257] (+0.000000250) b: { cpu_id = 3 }, { v = 8 }, { w = 8 }'

# A time that names no clock: the only one
trace clock '\5\1\7\2' <<END
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000; offset_s = 10; };
stream { event.header := struct { integer { size = 8; } timestamp; }; };
event { name = ev; fields := struct { integer { size = 8; } v; }; };
END
shows '[00:00:10.005000000] (+?.?????????) ev: { v = 1 }
[00:00:10.007000000] (+0.002000000) ev: { v = 2 }'

trace unknown 'hi\0' <<END
typealias integer { size = 8; shade = blue; } := byte;
trace { major = 1; minor = 8; byte_order = le; colour = "red"; number = -0x1f; };
stream { taste = 1; extra.part := struct { byte b; }; };
event { name = ev; smell = "none"; fields := struct { string s; }; };
END
shows 'ev: { s = "hi" }'

# barectf: the second packet begins (9) after its event (8).
z='\0\0\0\0\0\0\0'
trace early "\\1$z\\220\\7$z\\1\\11$z\\220\\10$z\\2" <<END
trace { major = 1; minor = 8; byte_order = le; };
env { tracer_name = "barectf"; tracer_major = 2; tracer_minor = 3; tracer_patch = 0; };
clock { name = c; freq = 1000000000; };
typealias integer { size = 8; } := byte;
typealias integer { size = 64; map = clock.c.value; } := time;
stream {
	packet.context := struct { time timestamp_begin; byte packet_size; };
	event.header := struct { time timestamp; };
};
event { name = ev; fields := struct { byte v; }; };
END
shows '[00:00:00.000000007] (+?.?????????) ev: { v = 1 }
[00:00:00.000000008] (+0.000000001) ev: { v = 2 }'

# The first event is at the time 0.
trace zero "$z\\0\\1\\50$z\\2" <<END
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000000; };
typealias integer { size = 8; } := byte;
stream { event.header := struct { integer { size = 64; map = clock.c.value; } t; }; };
event { name = ev; fields := struct { byte v; }; };
END
shows '[00:00:00.000000000] (+?.?????????) ev: { v = 1 }
[00:00:00.000000040] (+0.000000040) ev: { v = 2 }'
is "times in chrome.json" '0.000 0.040 "0"' "$(
	sed -n 's/.*"ph":"i".*"ts":\([0-9.]*\).*/\1/p; s/.*"start":\("[0-9]*"\).*/\1/p' \
		"$s/export/chrome.json" | xargs -d '\n')"
is "times in timeline.html" 'i0 0 0 i0 40 0' "$(
	sed -n 's/^\(i[0-9 ]*\)\t.*/\1/p' "$s/export/timeline.html" | xargs)"
is "its start" 0 "$(sed -n 's/^z\t\([0-9]*\)\t.*/\1/p' "$s/export/timeline.html")"
has "$(cat "$s/export/report.html")" '"start":"0","last":40,"events":2'

trace two 'x\0' <<END
trace { major = 1; minor = 8; byte_order = le; };
stream { id = 0; };
stream { id = 1; };
event { name = ev; stream_id = 0; fields := struct { string s; }; };
END
refused 'stream: offset 0: the packet does not say of which stream it is'
trace clocks '\5\1' <<END
trace { major = 1; minor = 8; byte_order = le; };
clock { name = a; };
clock { name = b; };
stream { event.header := struct { integer { size = 8; } timestamp; }; };
event { name = ev; fields := struct { integer { size = 8; } v; }; };
END
refused "'timestamp' does not say of which clock it is"
echo "$checks checks"
