#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Losses are where the data is: events that were discarded because a ring was full, events that were
# overwritten, and packets that an imported trace lacks have one number in all forms. It is what a
# program has emitted and the form does not have, and what babeltrace2 warns of where it reads it.
. "$(dirname "$0")/../../lib/mount.sh"
command -v python3 >/dev/null || skip "there is no python3"
ticker=$BUILD/tests/lib/ticker
TZ=UTC
export TZ
mount_tree -o tz=UTC

cat >"$work/judge.py" <<'END'
"""judge.py SESSION KIND EVENTS PACKETS: each form of the session says that so many are lost."""
import csv, html, json, re, sqlite3, sys
session, kind, events, packets = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

def read(name, mode="r"):
    with open(session + "/" + name, mode) as f:
        return f.read()

def check(form, found):
    if found != (events, packets):
        sys.exit("%s: %r lost, expected %r" % (form, found, (events, packets)))

def titles(names):
    lost = [re.fullmatch(r"(\d+) (event|packet)s? lost", n) for n in names]
    return tuple(sum(int(m[1]) for m in lost if m and m[2] == what)
                 for what in ("event", "packet"))

def lines(text):
    lost = [json.loads(l) for l in text.splitlines() if l.startswith('{"lost')]
    for l in lost:
        assert l["kind"] in (kind, "packets") and l["channel"] and l["to"], l
        assert not l["from"] or l["from"] <= l["to"], l
    return (sum(l.get("lost") or 0 for l in lost), sum(l.get("lost_packets") or 0 for l in lost))

rows = list(csv.DictReader(read("export/csv").splitlines()))
lost = [r for r in rows if r["event"] == "lost"]
check("csv", tuple(sum(int(r["lost." + n] or 0) for r in lost) for n in ("events", "packets")))
assert all(r["lost.kind"] == "" for r in rows if r["event"] != "lost")

chrome = json.loads(read("export/chrome.json"))["traceEvents"]
check("chrome.json", titles(e["name"] for e in chrome if e["ph"] == "X"))
check("chrome.json", (sum(e["args"]["events"] for e in chrome if e["ph"] == "X"),
                      sum(e["args"]["packets"] for e in chrome if e["ph"] == "X")))

page = re.findall(r"^l\t\d+\t(\d+)\t(\d+)\t(.*)$", read("export/timeline.html"), re.M)
assert all(int(a) <= int(b) for a, b, _ in page)
check("timeline.html", titles(t for _, _, t in page))

def fields(b):
    at = 0
    def number():
        nonlocal at
        n = shift = 0
        while True:
            c = b[at]
            at += 1
            n |= (c & 127) << shift
            shift += 7
            if c < 128:
                return n
    while at < len(b):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
        elif key & 7 == 1:
            at += 8
        else:
            n = number()
            at += n
            yield key >> 3, b[at - n:at]

dropped, named = 0, []
for _, packet in fields(read("export/perfetto", "rb")):
    packet = dict(fields(packet))
    if packet.get(42):
        dropped += 1
        named.append(dict(fields(packet[11]))[23].decode())
check("perfetto", titles(named))
assert dropped == len(page), "each loss is marked"

db = sqlite3.connect(":memory:")
db.executescript(read("export/sql"))
query = "SELECT total(events), total(packets) FROM trace_losses"
check("sql", tuple(map(int, db.execute(query).fetchone())))
try:
    with open(sys.argv[5], "wb") as f:
        f.write(read("export/trace.sqlite", "rb"))
    check("trace.sqlite", tuple(map(int, sqlite3.connect(sys.argv[5]).execute(query).fetchone())))
except FileNotFoundError:
    pass    # built without SQLite

stats = next(l.split() for l in read("stats").splitlines() if l.startswith("lost "))
check("stats", (int(stats[1]) + int(stats[2]), int(stats[4])))
check("json", lines(read("export/json")))
for name in sys.argv[6:]:
    with open(name) as f:
        text = f.read()
    if ".json" in name:
        check(name, lines(text))
    else:
        found = re.findall(r"^WARNING: Tracer \w+ (\d+) (event|packet)s? (?:between|\()", text, re.M)
        check(name, tuple(sum(int(n) for n, w in found if w == what)
                          for what in ("event", "packet")))
END
judge() { python3 -B "$work/judge.py" "$@" || fail "judge.py $*"; checks=$((checks + 1)); }

# as_babeltrace2 DIRECTORY WHAT: how many it warns of
as_babeltrace2() {
	babeltrace2 "$1" 2>&1 >/dev/null |
		sed -n "s/.*Tracer discarded \([0-9]*\) $2s\{0,1\} .*/\1/p" |
		awk '{ n += $1 } END { print n + 0 }'
}

# record SESSION MODE: 3000 events to rings for less; what the pipes gave is in $work/p…
record() {
	s=$S/$1
	mkdir "$s" "$s/user/channels/channel0" || fail mkdir
	put 4K "$s/user/channels/channel0/subbuf_size"
	put 2 "$s/user/channels/channel0/subbuf_count"
	put "$2" "$s/user/channels/channel0/loss_mode"
	put 'tick:*' "$s/user/events"
	put start "$s/control"
	one_cpu "$ticker" 3000 0 || fail ticker
	for form in pipe pipe.json; do
		exec 8<"$s/$form"
		cat <&8 >"$work/$1.$form" &
		exec 8<&-
	done
}

record full discard
put stop "$s/control"
wait
lost=$((3000 - $(grep -c '"event":"tick:tock"' "$s/export/json")))
[ $lost -gt 1000 ] || fail "only $lost events of 3000 are lost"
is "status" $lost "$(key events_discarded "$s/status")"
judge "$s" discarded $lost 0 "$work/db" "$work/full.pipe" "$work/full.pipe.json"
grep '^WARNING' "$s/text" >"$work/warnings"
is "text" $lost "$(sed 's/.*discarded \([0-9]*\) event.*/\1/' "$work/warnings" | awk '{ n += $1 } END { print n }')"
if command -v babeltrace2 >/dev/null; then
	is "babeltrace2" $lost "$(as_babeltrace2 "$s/trace" event)"
fi

# The text continues after a restart, and says nothing twice. A reader of the whole gets it, too.
cp "$s/text" "$work/before"
cp "$s/export/json" "$work/before.json"
exec 8<"$s/text"
put start "$s/control"
one_cpu "$ticker" 500 0 || fail ticker
put stop "$s/control"
is "again" $((lost + 500)) "$(key events_discarded "$s/status")"
judge "$s" discarded $((lost + 500)) 0 "$work/db"
for form in text export/json; do
	before=$work/before${form#text}
	[ $form = text ] || before=$work/before.json
	head -c "$(wc -c <"$before")" "$s/$form" | cmp - "$before" || fail "$form has moved"
	tail -c "+$(($(wc -c <"$before") + 1))" "$s/$form" | grep -q "500 events\|:500," ||
		fail "$form does not say what was lost since"
done
{ cat; cat; } <&8 | cmp - "$s/text" || fail "a reader that was there has another text"
exec 8<&-

# The same from the files of an output, from a snapshot of the rings, and from an import of both.
command -v babeltrace2 >/dev/null && {
	mkdir "$s/snapshots/one" || fail "mkdir snapshots/one"
	cp -r "$s/snapshots/one" "$work/one"
	mkdir "$S/copy"
	put "$work/one" "$S/copy/input"
	n=$(as_babeltrace2 "$work/one" event)
	is "snapshot" $((lost + 500)) "$n"
	judge "$S/copy" discarded "$n" 0 "$work/db3"
}

record over overwrite
put stop "$s/control"
wait
lost=$((3000 - $(grep -c '"event":"tick:tock"' "$s/export/json")))
[ $lost -gt 1000 ] || fail "only $lost events of 3000 are overwritten"
is "status" $lost "$(key events_overwritten "$s/status")"
judge "$s" overwritten $lost 0 "$work/db2" "$work/over.pipe" "$work/over.pipe.json"

# Packets of an imported trace that are missing, and events by the counters of those that are not.
PYTHONPATH=$top/tests/lib python3 -B - "$work" <<'END' || fail "no trace was written"
from ctf_trace import *
out = b""
for i, (lost, seq) in enumerate([(0, 0), (5, 1), (5, 4), (12, 5)]):
    out += MAGIC + UUID.bytes + struct.pack("<QQHHIB", 100 * i + 10, 100 * i + 90, 47 * 8, 47 * 8,
                                            lost, seq) + b"\0\7"
trace("gaps", TYPES + """
trace { major = 1; minor = 8; uuid = "%s"; byte_order = le; packet.header := struct {
uint32_t magic; uint8_t uuid[16]; }; };
clock { name = c; freq = 1000000000; offset_s = 1700000000; };
typealias integer { size = 64; align = 8; map = clock.c.value; } := time_t;
stream { packet.context := struct { time_t timestamp_begin, timestamp_end; uint16_t content_size,
packet_size; uint32_t events_discarded; uint8_t packet_seq_num; };
event.header := struct { uint8_t id; }; };
event { name = ev; fields := struct { uint8_t v; }; };
""" % UUID, s0=out)
END
mkdir "$S/gaps"
put "$work/gaps" "$S/gaps/input"
judge "$S/gaps" discarded 12 2 "$work/db4" "$S/gaps/text"
if has_babeltrace_2_0; then
	is "babeltrace2, events" 12 "$(as_babeltrace2 "$work/gaps" event)"
	is "babeltrace2, packets" 2 "$(as_babeltrace2 "$work/gaps" packet)"
	# In the same words, but for the place of the trace.
	babeltrace2 --clock-gmt "$work/gaps" 2>&1 >/dev/null | tr -d '\033' |
		sed 's/.*WARNING/WARNING/; s,"[^"]*/,",; s/\[0m//g; s/\[[0-9;]*m//g' >"$work/theirs"
	grep '^WARNING' "$S/gaps/text" | cmp - "$work/theirs" ||
		fail "not in babeltrace2's words: $(cat "$work/theirs")"
fi

# An output on a full disk: the files of the output say it, and so do the views that read them.
if [ "$(id -u)" = 0 ] && command -v babeltrace2 >/dev/null; then
	small_disk 96k
	s=$S/written
	mkdir "$s" "$s/user/channels/channel0" || fail mkdir
	put 4K "$s/user/channels/channel0/subbuf_size"
	put 2 "$s/user/channels/channel0/subbuf_count"
	put "$disk/out" "$s/output"
	put 'tick:*' "$s/user/events"
	put start "$s/control"
	one_cpu "$ticker" 20000 0 || fail ticker
	mount -o remount,size=8m "$disk" || fail "cannot make the disk larger"
	good() { ! grep -q '^output_error' "$s/status"; }
	within 10 good || fail "does not continue when there is space"
	"$ticker" 1000 100 || fail ticker
	put stop "$s/control"
	is "pending" 0 "$(key pending_bytes "$s/status")"
	lost=$((21000 - $(grep -c '"event":"tick:tock"' "$s/export/json")))
	[ $lost -gt 1000 ] || fail "only $lost events of 21000 are lost"
	judge "$s" discarded $lost 0 "$work/db5" "$s/text"
	is "babeltrace2, of the output" $lost "$(as_babeltrace2 "$disk/out" event)"
fi
echo "$checks checks"
