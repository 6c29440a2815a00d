#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# SOAK=1: the daemon reads an imported trace of more than 1 GB, by pipe and by text, and its memory
# grows by less than 64 MB. Each packet has a sequence number and a count of discarded events.
[ -n "${SOAK-}" ] || { echo "a trace of 1 GB is for SOAK=1"; exit 77; }
. "$(dirname "$0")/../../lib/mount.sh"

command -v python3 >/dev/null || skip "there is no python3"
free=$(df -Pk "$work" | awk 'NR == 2 { print $4 }')
[ "$free" -gt 3000000 ] || skip "$work has less than 3 GB of free space"
can_mount
"$TRAILFS" -f "$MNT" -o wait=100000,tz=UTC >>"$work/daemon.log" 2>&1 &
daemon=$!
within 20 test -s "$MNT/README" || skip "cannot mount here: $(tail -n 1 "$work/daemon.log")"

# Four streams of 257 packets, 1 MiB each; events of about 520 bytes, whose times the streams share
python3 - "$work/large" >"$work/count" <<'END' || fail "no trace was written"
import os, struct, sys
os.mkdir(sys.argv[1])
open(sys.argv[1] + "/metadata", "w").write("""/* CTF 1.8 */
typealias integer { size = 32; align = 8; } := uint32_t;
typealias integer { size = 64; align = 8; } := uint64_t;
trace { major = 1; minor = 8; byte_order = le;
	packet.header := struct { uint32_t magic; }; };
clock { name = c; freq = 1000000000; offset_s = 1700000000; };
typealias integer { size = 64; align = 8; map = clock.c.value; } := time_t;
stream { packet.context := struct { uint64_t packet_size, content_size; time_t timestamp_begin,
	timestamp_end; uint64_t packet_seq_num, events_discarded; uint32_t cpu_id; };
	event.header := struct { uint32_t id; time_t timestamp; }; };
event { name = "large"; id = 0; fields := struct { uint32_t n; string s; }; };
""")
MIB, COUNT, PACKETS, word = 1 << 20, 2000, 257, b"x" * 500 + b"\0"
for cpu in range(4):
    with open("%s/stream_%d" % (sys.argv[1], cpu), "wb") as f:
        for p in range(PACKETS):
            t = [1000 * (p * COUNT + i) + cpu for i in range(COUNT)]
            body = b"".join(struct.pack("<IQI", 0, t[i], i) + word for i in range(COUNT))
            head = struct.pack("<IQQQQQQI", 0xC1FC1FC1, 8 * MIB, 8 * (56 + len(body)), t[0], t[-1],
                               p, 0, cpu)
            f.write((head + body).ljust(MIB, b"\0"))
print(4 * PACKETS * COUNT)
END
count=$(cat "$work/count")
size=$(cat "$work"/large/stream_* | wc -c)
[ "$size" -gt 1000000000 ] || fail "the trace has only $size bytes"

# peak: the most memory that the daemon has used so far, in kB
peak() { awk '$1 == "VmHWM:" { print $2 }' "/proc/$daemon/status"; }

s=$S/old
mkdir "$s"
before=$(peak)
put "$work/large" "$s/input"
for view in pipe text; do
	is "events of $view" "$count" "$(cat "$s/$view" | wc -l)"
	grown=$(($(peak) - before))
	echo "$view: $size bytes, the daemon grew by $grown kB"
	[ "$grown" -lt 65536 ] || fail "$view: the daemon grew by $grown kB"
done
echo "$checks checks"
