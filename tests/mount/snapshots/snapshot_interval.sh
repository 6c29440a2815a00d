#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# Snapshots of an interval: `last TIME`, `after TIME` and both, by the verb and by a trigger. 100
# times under load, a snapshot has the events of the recording whose times are in the interval, no
# other, and the losses of no other time. The directory's time says where the interval ends.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
command -v python3 >/dev/null || skip "there is no python3"
T=$MNT/triggers
ticker=$BUILD/tests/lib/ticker
mount_tree -o tz=UTC,max_frozen=2G

refused() { # LINE ERRNO WORDS COLUMN
	is "$1" "$2" "$(tool open "$s/control" w write "$1\n")"
	has "$(cat "$s/error")" "$3"
	is "$1: caret" "$4" "$(awk '/\^/ { print index($0, "^") - 3; exit }' "$s/error")"
}

# lines DIR FILE: its events, one a line with the time in nanoseconds first
lines() {
	babeltrace2 --clock-seconds --no-delta "$1" >"$2.raw" 2>"$2.err" ||
		fail "babeltrace2 $1: $(cat "$2.err")"
	sed 's/^\[\([0-9]*\)\.\([0-9]*\)\]/\1\2/' "$2.raw" >"$2"
}

# --- the recording, whole, beside the snapshots: rings that hold some seconds
s=$S/load
mkdir "$s" "$s/user/channels/c"
echo "$work/out" >"$s/output"
echo 64K >"$s/user/channels/c/subbuf_size"
echo 64 >"$s/user/channels/c/subbuf_count"
echo 'tick:*' >"$s/user/channels/c/events"
echo 'vtid' >"$s/user/channels/c/contexts"
refused 'snapshot x last' EINVAL 'a time is missing here' 15
refused 'snapshot x last soon' EINVAL 'microseconds, or with' 16
refused 'snapshot x last 0' EINVAL 'must be from 1us' 16
refused 'snapshot x last 400000000000s' EINVAL 'from 1us to 292 years, or inf' 16
refused 'snapshot x after 25h' EINVAL 'from 1us to a day' 17
refused 'snapshot x after inf' EINVAL 'from 1us to a day' 17
refused 'snapshot x after soon' EINVAL 'from 1us to a day' 17
refused 'snapshot x last 1s last 2s' EINVAL "'last' comes once" 19
refused 'snapshot x lst 1s' EINVAL 'last TIME' 11
echo start >"$s/control"
"$ticker" 0 200 3 >"$work/ticks" &
program=$!
mkdir "$work/saved"
save() { # NAME: the snapshot is kept for the comparison
	stat -c '%.9Y' "$s/snapshots/$1" | tr -d . >"$work/saved/$1.end"
	cp -r "$s/snapshots/$1" "$work/saved/" || fail "cp $1"
	rmdir "$s/snapshots/$1" || fail "rmdir $1"
}
within 20 grep -q '^events_recorded [1-9]' "$s/status"
for i in $(seq 80); do
	echo "snapshot last$i last $((i * 2))ms" >"$s/control" || fail "last: $(cat "$s/error")"
	echo $((i * 2000000)) >"$work/saved/last$i.length"
	save "last$i"
done
for i in $(seq 10); do
	echo "snapshot both$i last 30ms after 20000" >"$s/control" || fail "both"
	echo 50000000 >"$work/saved/both$i.length"
	within 20 test -d "$s/snapshots/both$i" || fail "not taken: both$i: $(cat "$s/error")"
	save "both$i"
done

# --- a trigger: before and after each hit, without a thread that waits meanwhile
mkdir "$T/hit"
echo 'event user tick:tock if n == 0 && thread == 0' >"$T/hit/condition"
echo 'snapshot load hit last 40ms after 30ms' >"$T/hit/actions"
hits() { [ "$(ls "$s/snapshots" | wc -l)" = "$1" ]; }
for i in $(seq 10); do
	"$ticker" 1 0
	within 20 hits "$i" || fail "hit $i: $(cat "$T/hit/status" "$s/error")"
done
is "actions" 'executed 10 failed 0' \
	"$(awk '$1 == "action" { print $3, $4, $5, $6 }' "$T/hit/status")"
for i in $(ls "$s/snapshots"); do
	echo 70000000 >"$work/saved/$i.length"
	save "$i"
done
echo 0 >"$T/hit/enabled"
kill "$program"
wait "$program"
echo stop >"$s/control"
all_written "$s"
is "nothing is lost" 0 "$(key events_discarded "$s/status")"

lines "$work/out/ust" "$work/whole"
for i in "$work"/saved/*.length; do
	name=$(basename "$i" .length)
	lines "$work/saved/$name" "$work/saved/$name.lines"
	grep -q 'Tracer discarded' "$work/saved/$name.lines.err" && fail "$name: losses"
done
python3 - "$work" <<'END' || fail "snapshots differ from the recording"
import bisect, glob, os, sys
work = sys.argv[1]
whole = sorted((int(l.split(' ', 1)[0]), l.split(' ', 1)[1]) for l in open(work + '/whole'))
times = [t for t, _ in whole]
some = 0
names = sorted(glob.glob(work + '/saved/*.length'))
assert len(names) == 100, len(names)
for path in names:
    base = path[:-len('.length')]
    end = int(open(base + '.end').read())
    begin = end - int(open(path).read())
    want = whole[bisect.bisect_left(times, begin):bisect.bisect_right(times, end)]
    got = sorted((int(l.split(' ', 1)[0]), l.split(' ', 1)[1]) for l in open(base + '.lines'))
    if want != got:
        extra, missing = set(got) - set(want), set(want) - set(got)
        sys.exit('%s [%d, %d]: %d events of %d, too many %s, missing %s' % (
            os.path.basename(base), begin, end, len(got), len(want), sorted(extra)[:2],
            sorted(missing)[:2]))
    some += len(got)
assert some > 1000, some
END
checks=$((checks + 100))

# --- a ring that overwrites, with losses that are counted: those before the interval are not told
s=$S/full
mkdir "$s" "$s/user/channels/c"
echo 4K >"$s/user/channels/c/subbuf_size"
echo 2 >"$s/user/channels/c/subbuf_count"
echo discard >"$s/user/channels/c/loss_mode"
echo 'tick:*' >"$s/user/channels/c/events"
echo start >"$s/control"
one_cpu "$ticker" 5000 0
gone=$(key events_discarded "$s/status")
[ "$gone" -gt 0 ] || fail "nothing was discarded"
echo 'snapshot all last inf' >"$s/control"
lines "$s/snapshots/all" "$work/all"
is "all held" "$(key events_recorded "$s/status")" "$(wc -l <"$work/all" | tr -d ' ')"
told() { sed -n 's/.*Tracer discarded \([0-9]*\) event.*/\1/p' "$1" | awk '{ n += $1 } END { print n + 0 }'; }
is "and all losses" "$gone" "$(told "$work/all.err")"
sleep 0.05
echo 'snapshot none last 1ms' >"$s/control"
lines "$s/snapshots/none" "$work/none"
is "no event" 0 "$(wc -l <"$work/none" | tr -d ' ')"

# --- a session that is removed while a snapshot waits
s=$S/full
put 'snapshot never after 1h' "$s/control"
has "$(cat "$s/status")" '^pending snapshot never in 3[0-9]*\.[0-9]s$'
is "the name is taken" EEXIST "$(tool mkdir "$s/snapshots/never")"
rmdir "$s" || fail "rmdir"
echo "$checks checks"
