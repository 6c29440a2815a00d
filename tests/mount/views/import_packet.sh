#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A trace of one packet of 160 MiB: the daemon reads it piece by piece, so its memory grows by less
# than 32 MiB while pipe, text and counts are read.
. "$(dirname "$0")/../../lib/mount.sh"

command -v python3 >/dev/null || skip "there is no python3"
[ "$SAN" = 0 ] || [ -z "$SAN" ] || skip "a sanitizer keeps memory that is free"
free=$(df -Pk "$work" | awk 'NR == 2 { print $4 }')
[ "$free" -gt 600000 ] || skip "$work has less than 600 MB of free space"
can_mount
"$TRAILFS" -f "$MNT" -o wait=100000,tz=UTC >>"$work/daemon.log" 2>&1 &
daemon=$!
within 20 test -s "$MNT/README" || skip "cannot mount here: $(tail -n 1 "$work/daemon.log")"

# Events of 16 KiB; the packet says its size, and its content ends before its padding.
PYTHONPATH=$top/tests/lib python3 -B - "$work" >"$work/count" <<'END' || fail "no trace was written"
from ctf_trace import *
COUNT, word = 10240, b"x" * 16370 + b"\0"
trace("large", TYPES + """trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000000; offset_s = 1700000000; };
typealias integer { size = 64; align = 8; map = clock.c.value; } := time_t;
stream { packet.context := struct { uint64_t packet_size, content_size; };
	event.header := struct { time_t timestamp; }; };
event { name = ev; fields := struct { uint32_t n; string s; }; };
""")
size = 16 + COUNT * (12 + len(word))
with open(sys.argv[1] + "/large/stream", "wb") as f:
    f.write(struct.pack("<QQ", 8 * (size + 100), 8 * size))
    for i in range(COUNT):
        f.write(struct.pack("<QI", 1000 * i, i) + word)
    f.write(bytes(100))
print(COUNT)
END
count=$(cat "$work/count")
[ "$(stat -c %s "$work/large/stream")" -gt 160000000 ] || fail "the packet is small"

# peak: the most memory that the daemon has used so far, in kB
peak() { awk '$1 == "VmHWM:" { print $2 }' "/proc/$daemon/status"; }

s=$S/old
mkdir "$s"
before=$(peak)
put "$work/large" "$s/input"
for view in pipe text; do
	cat "$s/$view" | awk -v n="$count" '
		length($0) < 16370 || !index($0, "{ n = " NR - 1 ", s = \"xxx") { bad++ }
		END { if (bad || NR != n) { print NR " events, " bad + 0 " wrong"; exit 1 } }' ||
		fail "$view: wrong events"
	grown=$(($(peak) - before))
	echo "$view: the daemon grew by $grown kB"
	[ "$grown" -lt 32768 ] || fail "$view: the daemon grew by $grown kB"
	checks=$((checks + 2))
done
has "$(cat "$s/counts")" "$count"
[ $(($(peak) - before)) -lt 32768 ] || fail "counts: the daemon grew by $(($(peak) - before)) kB"
echo "$checks checks"
