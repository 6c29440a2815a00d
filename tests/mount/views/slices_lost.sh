#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A begin and an end with losses of their streams between them are no slice, because each may belong
# to an event that is lost: `stats` has no time of them, and pictures no end. A wakeup with its
# switch likewise. Losses of another CPU that begin before a slice and end after it change nothing,
# but `stats` says how many slices there are in such times.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/traces.sh"

write_traces <<'END'
metadata = TYPES + """
trace { major = 1; minor = 8; uuid = "%s"; byte_order = le; packet.header := struct {
uint32_t magic; uint8_t uuid[16]; }; };
env { domain = "%s"; };
clock { name = c; freq = 1000000000; offset_s = 1700000000; };
typealias integer { size = 64; align = 8; map = clock.c.value; } := time_t;
stream { packet.context := struct { time_t timestamp_begin, timestamp_end;
uint32_t events_discarded; uint32_t content_size, packet_size; uint32_t cpu_id; };
event.header := struct { uint8_t id; time_t timestamp; };
event.context := struct { uint32_t %s; }; };
"""

def packet(cpu, discarded, *events):
    size = 20 + 16 + 16 + sum(len(e) for _, e in events)
    return (MAGIC + UUID.bytes + struct.pack("<QQIIII", events[0][0], events[-1][0], discarded,
                                             8 * size, 8 * size, cpu) +
            b"".join(e for _, e in events))

def event(id, time, tid, *fields):
    return time, struct.pack("<BQI", id, time, tid) + b"".join(struct.pack("<I", f) for f in fields)

names = ["a:work_begin", "a:work_end", "a:rest_begin", "a:rest_end"]
A, END_A, B, END_B = range(4)
text = metadata % (UUID, "ust", "vtid") + "".join(
    'event { name = "%s"; id = %d; fields := struct {}; };' % (n, i) for i, n in enumerate(names))
trace("pairs", text,
      # Thread 1: no slice from 1000 to 4000, whose middle is lost; then one of 500.
      s0=packet(0, 0, event(A, 1000, 1)) +
         packet(0, 2, event(END_A, 4000, 1), event(A, 5000, 1), event(END_A, 5500, 1),
                # Thread 3 moves to the other CPU, which loses nothing since.
                event(B, 6000, 3)) +
         # What is lost last has no event after it: nothing that is open here has a sure end.
         packet(0, 2, event(A, 9000, 1)) + packet(0, 9, event(A, 9500, 4)),
      # Thread 2 meanwhile, on a CPU without losses: 1500 and 30.
      s1=packet(1, 0, event(A, 1500, 2), event(B, 1600, 2), event(END_B, 1630, 2),
                event(END_A, 3000, 2), event(END_B, 7000, 3),
                # Thread 1 moved, and the CPU that it was on had losses.
                event(END_A, 9800, 1)))

# A wakeup on CPU 0, and the switch on CPU 1: of 2 thread, the second one after losses there.
text = metadata % (OTHER, "kernel", "tid") + """
event { name = sched_wakeup; id = 0; fields := struct { uint32_t tid; }; };
event { name = sched_switch; id = 1; fields := struct { uint32_t prev_tid, next_tid; }; };
"""
def of_other(data):
    return data.replace(UUID.bytes, OTHER.bytes)
trace("wakeups", text,
      s0=of_other(packet(0, 0, event(0, 1000, 1, 7), event(0, 2000, 1, 8))),
      s1=of_other(packet(1, 0, event(1, 1100, 1, 1, 7)) + packet(1, 5, event(1, 2900, 7, 7, 8))))
END

s=$S/pairs
mkdir "$s"
put "$work/pairs" "$s/input"
# count, begins without an end, ends without a begin, total
row() { awk -v name="$1" '$1 == "pair" && $NF == name { print $4, $5, $6, $7 }' "$s/stats"; }
is "slices of a:work" "2 3 2 2.000" "$(row a:work)"
is "slices of a:rest" "2 0 0 1.030" "$(row a:rest)"
has "$(cat "$s/stats")" '^# 2 pairs have no time because events between were lost$'
# The slices of thread 2, while the other CPU loses events.
has "$(cat "$s/stats")" '^# 2 pairs while another CPU lost events'
is "as JSON" "2 2" "$(python3 -c 'import json, sys
stats = json.load(sys.stdin)
print(stats["pairs_interrupted"], stats["pairs_unsure"])' <"$s/stats.json")"
for form in json chrome.json perfetto timeline.html flame.svg flame.folded; do
	cat "$s/export/$form" >"$work/$form" || fail "no $form"
done
python3 "$top/tests/lib/judge_slices.py" "$work/json" "$work/chrome.json" "$work/perfetto" \
	"$work/timeline.html" "$work/flame.svg" "$s/stats" "$work/flame.folded" \
	>"$work/judged" || fail "slices: $(cat "$work/judged")"
# 2 of work and 2 of rest have ends; the others are there without one.
is "slices with an end" 4 "$(python3 - "$work/chrome.json" <<'END'
import json, sys
ends = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "E"]
print(sum("no end" not in e.get("args", {}) for e in ends))
END
)"

s=$S/wakeups
mkdir "$s"
put "$work/wakeups" "$s/input"
is "wakeups" "1 1 1 0.100" "$(awk '$1 == "pair" && /sched/ { print $4, $5, $6, $7 }' "$s/stats")"
echo "$checks checks"
