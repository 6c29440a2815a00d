#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# snapshots/: what a snapshot has stays, whatever is recorded afterwards; it is readable straight
# from the mount, bounded, private, and outlives a killed daemon. Taken every 50 ms under full load,
# none has a hole that was not counted.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
mount_tree -o tz=UTC

# print DIR: its text in $work/out; how many events babeltrace2 says were discarded in $work/gone
print() {
	TZ=UTC timeout 200 babeltrace2 "$1" >"$work/out" 2>"$work/err" ||
		{ cat "$work/err"; fail "babeltrace2 does not read $1"; }
	grep -v 'Tracer discarded [0-9]* event' "$work/err" | grep . &&
		fail "babeltrace2 complains about $1"
	sed -n 's/.*Tracer discarded \([0-9]*\) event.*/\1/p' "$work/err" |
		awk '{ n += $1 } END { print n + 0 }' >"$work/gone"
}

# session NAME SUBBUF_SIZE SUBBUF_COUNT LOSS_MODE
session() {
	s=$S/$1
	mkdir "$s" "$s/user/channels/channel0" || fail "mkdir $1"
	echo "$2" >"$s/user/channels/channel0/subbuf_size"
	echo "$3" >"$s/user/channels/channel0/subbuf_count"
	echo "$4" >"$s/user/channels/channel0/loss_mode"
	echo vpid >"$s/user/contexts"
	echo 'tick:*' >"$s/user/events"
}

frozen() {
	[ "$(key frozen_bytes "$MNT/status")" "$1" "$2" ]
}

# --- made by mkdir and by the verb, frozen, listed, removed
session a 64k 4 overwrite
is "none yet" "" "$(ls "$s/snapshots")"
mkdir "$s/snapshots/empty" || fail "a snapshot before the first start"
is "nothing in it" "" "$(ls "$s/snapshots/empty")"
rmdir "$s/snapshots/empty"
has "$(cat "$s/control")" '^snapshot \[NAME\]$'
echo start >"$s/control"
"$ticker" 1000 0
mkdir "$s/snapshots/one" || fail "mkdir snapshots/one"
print "$s/snapshots/one"
cp "$work/out" "$work/one"
is "all of it" 1000 "$(wc -l <"$work/one" | tr -d ' ')"
cat "$s/text" | cmp - "$work/one" || fail "a snapshot is not what text says"
cp -r "$s/snapshots/one" "$work/copy" || fail "cp -r"
# Many times what the rings hold
"$ticker" 200000 0
[ "$(key events_overwritten "$s/status")" -gt 100000 ] || fail "the rings were not overwritten"
print "$s/snapshots/one"
cmp "$work/out" "$work/one" || fail "a snapshot changed"
print "$work/copy"
cmp "$work/out" "$work/one" || fail "a copy of a snapshot is another one"
stat=$(stat -c '%i %s %Y' $(find "$s/snapshots/one" -type f | sort))
sleep 2.5
is "inodes, sizes and times stay" "$stat" \
	"$(stat -c '%i %s %Y' $(find "$s/snapshots/one" -type f | sort))"
is "mapped is read" same "$(tool open "$(find "$s/snapshots/one" -name metadata)" r map)"
printf 'snapshot two\nsnapshot\nsnapshot\n' >"$s/control" || fail "the verb"
is "names" 4 "$(ls "$s/snapshots" | grep -c '^one$\|^two$\|^snapshot-[0-9]*-[0-9]*-[01]$')"
print "$s/snapshots/two"
cat "$s/text" | cmp - "$work/out" || fail "a snapshot by the verb is not what text says"
is "in status" "snapshots 4" "$(grep '^snapshots' "$s/status")"
is "taken" EEXIST "$(tool mkdir "$s/snapshots/two")"
is "taken" EEXIST "$(tool open "$s/control" w write 'snapshot two\n')"
has "$(cat "$s/error")" "there is a snapshot 'two' already"
is "bad name" EINVAL "$(tool mkdir "$s/snapshots/-x")"
is "bad name" EINVAL "$(tool open "$s/control" w write 'snapshot a b\n')"
is "long name" ENAMETOOLONG "$(tool mkdir "$s/snapshots/$(printf '%0201d' 0)")"
is "longest name" ok "$(tool mkdir "$s/snapshots/$(printf '%0200d' 0)")"
is "no such" ENOENT "$(tool rmdir "$s/snapshots/none")"
is "read only" EACCES "$(tool open "$(find "$s/snapshots/one" -name metadata)" w)"
is "part of it" EPERM "$(tool rmdir "$s/snapshots/one/ust")"

# --- who waits hears of it
exec 3<"$s/wait"
timeout 200 cat <&3 >"$work/wait" &
waiter=$!
exec 3<&-
sleep 0.1
mkdir "$s/snapshots/heard"
wait $waiter || fail "wait does not return"
has "$(cat "$work/wait")" '^snapshots 6$'

# --- removed while it is open; made again under its name
cd "$s/snapshots/one/ust" || fail cd
exec 3<"$(find . -name 'channel0_*' | head -n 1)"
size=$(stat -L -c %s /dev/fd/3)
rmdir "$s/snapshots/one" || fail "rmdir"
mkdir "$s/snapshots/one"
is "what is open can be read" "$size" "$(wc -c <&3 | tr -d ' ')"
is "who sits in the old one does not see the new one" "" "$(ls . 2>/dev/null)"
exec 3<&-
cd /

# --- memory is counted, bounded, and given back
frozen -gt 100000 || fail "nothing is counted: $(key frozen_bytes "$MNT/status")"
rmdir "$s"/snapshots/*
within 10 frozen -eq 0 || fail "$(key frozen_bytes "$MNT/status") bytes stay"
mkdir "$s/snapshots/x"
rmdir "$s" || fail "rmdir of a session with a snapshot"
within 10 frozen -eq 0 || fail "$(key frozen_bytes "$MNT/status") bytes stay after the session"

# --- snapshot_max_size: the newest packets, of all streams together
session m 4k 64 overwrite
is "default" 0 "$(cat "$s/snapshot_max_size")"
is "bad" EINVAL "$(tool open "$s/snapshot_max_size" w write 'much\n')"
echo start >"$s/control"
"$ticker" 40000 0
echo stop >"$s/control"
mkdir "$s/snapshots/all"
echo 40k >"$s/snapshot_max_size"
is "reads back" 40960 "$(cat "$s/snapshot_max_size")"
mkdir "$s/snapshots/some"
sum=$(find "$s/snapshots/some" -name 'channel0_*' ! -name '*.idx' -printf '%s\n' |
	awk '{ n += $1 } END { print n }')
[ "$sum" -le 40960 ] && [ "$sum" -gt 30000 ] || fail "$sum bytes instead of 40960 or a packet less"
print "$s/snapshots/all"
cp "$work/out" "$work/all"
print "$s/snapshots/some"
n=$(wc -l <"$work/out" | tr -d ' ')
[ "$n" -gt 500 ] || fail "only $n events"
# The first line of each begins with (+?.?????????)
tail -n "$n" "$work/all" | sed 1d >"$work/newest"
sed 1d "$work/out" | cmp - "$work/newest" || fail "not the newest events"
echo 1 >"$s/snapshot_max_size"
is "less than a packet" EFBIG "$(tool mkdir "$s/snapshots/nothing")"
has "$(cat "$s/error")" 'its newest packet takes [0-9]* bytes, and snapshot_max_size, .*, is 1$'
is "it is not made" "all some " "$(ls "$s/snapshots" | tr '\n' ' ')"
rmdir "$s"

# --- losses are counted: in discard mode, as status has them
session d 4k 2 discard
echo start >"$s/control"
"$ticker" 5000 0
echo stop >"$s/control"
mkdir "$s/snapshots/x"
print "$s/snapshots/x"
is "discarded" "$(key events_discarded "$s/status")" "$(cat "$work/gone")"
is "recorded" "$(key events_recorded "$s/status")" "$(wc -l <"$work/out" | tr -d ' ')"
[ "$(cat "$work/gone")" -gt 0 ] || fail "nothing was discarded"
rmdir "$s"

# --- full load: each event has its thread's number, so a hole shows
session load 64k 8 overwrite
cpus=$(awk '/^Cpus_allowed_list/ { gsub("[-,]", " ", $2); split($2, c, " "); n = split($2, c, " "); print c[1], c[n] }' /proc/self/status)
pids=
for cpu in $cpus; do
	if command -v taskset >/dev/null; then
		taskset -c "$cpu" "$ticker" 2000000000 0 &
	else
		"$ticker" 2000000000 0 &
	fi
	pids="$pids $!"
done
echo start >"$s/control"
recording() {
	[ "$(key events_recorded "$s/status")" -gt 100000 ]
}
within 20 recording || fail "the load does not begin"
# (The writers may overwrite all of what a snapshot is about to copy.)
with_events() { find "$s/snapshots" -path "*/l*/*" -name 'channel0_*' -size +0 |
	cut -d / -f "$depth" | sort -u | wc -l; }
depth=$(echo "$s/snapshots/l" | tr -cd / | wc -c)
depth=$((depth + 1))
i=0
while [ $i -lt 20 ] || { [ "$(with_events)" -lt 10 ] && [ $i -lt 400 ]; }; do
	mkdir "$s/snapshots/l$i" || fail "mkdir under load"
	i=$((i + 1))
	sleep 0.05
done
taken=$i
kill $pids
wait $pids 2>/dev/null
some=0 events=0
while [ $i -gt 0 ]; do
	i=$((i - 1))
	print "$s/snapshots/l$i"
	awk -v gone="$(cat "$work/gone")" '
		match($0, /vpid = [0-9]+/) { pid = substr($0, RSTART + 7, RLENGTH - 7) }
		match($0, / n = [0-9]+/) {
			n = substr($0, RSTART + 5, RLENGTH - 5) + 0
			if (pid in last && n <= last[pid]) bad++
			if (pid in last && n > last[pid] + 1) holes += n - last[pid] - 1
			last[pid] = n
		}
		END { printf "%d events, %d missing, %d counted, %d out of order\n", NR, holes, gone, bad; exit bad || holes > gone }
	' "$work/out" >"$work/verdict" || fail "snapshot l$i: $(cat "$work/verdict")"
	n=$(wc -l <"$work/out")
	some=$((some + (n > 0)))
	events=$((events + n))
done
[ $some -ge 10 ] || fail "only $some of $taken snapshots have events"
is "status counts them" "snapshots $taken" "$(grep '^snapshots' "$s/status")"
echo "# $events events in $some snapshots"
rmdir "$s"

# --- the limit of memory, with a sentence
fusermount3 -u "$MNT"
within 15 daemon_ended
within 15 keeper_ended
mount_tree -o tz=UTC,max_frozen=100k
session q 64k 4 overwrite
echo start >"$s/control"
"$ticker" 20000 0
is "beyond max_frozen" EDQUOT "$(tool mkdir "$s/snapshots/x")"
has "$(cat "$s/error")" 'max_frozen is 102400'
is "nothing is left of it" "" "$(ls "$s/snapshots")"
frozen -eq 0 || fail "$(key frozen_bytes "$MNT/status") bytes are counted for nothing"
echo 50k >"$s/snapshot_max_size"
is "smaller ones fit" ok "$(tool mkdir "$s/snapshots/x")"
fusermount3 -u "$MNT"
within 15 daemon_ended
within 15 keeper_ended

# --- a killed daemon: the snapshot is there, and continues as any other
mount_tree -o tz=UTC
session k 64k 4 overwrite
echo start >"$s/control"
"$ticker" 5000 0
echo snapshot >"$s/control"
mkdir "$s/snapshots/kept"
print "$s/snapshots/kept"
cp "$work/out" "$work/kept"
"$ticker" 100000 0
names=$(ls "$s/snapshots")
bytes=$(key frozen_bytes "$MNT/status")
kill -9 $(daemon_pids)
within 10 daemon_ended
fusermount3 -u -z "$MNT" 2>/dev/null || umount -l "$MNT"
mount_tree -o tz=UTC
is "all are there" "$names" "$(ls "$s/snapshots")"
print "$s/snapshots/kept"
cmp "$work/out" "$work/kept" || fail "another snapshot after the kill"
frozen -ge "$((bytes / 2))" ||
	fail "$(key frozen_bytes "$MNT/status") bytes are counted instead of $bytes"
echo snapshot >"$s/control"
is "numbers continue" 1 "$(ls "$s/snapshots" | grep -c '^snapshot-.*-1$')"
rmdir "$s"/snapshots/*
within 10 frozen -eq 0 || fail "$(key frozen_bytes "$MNT/status") bytes stay"
mkdir "$s/snapshots/last"

# --- rights are the session's
if [ "$(id -u)" = 0 ] && setpriv --reuid 54321 --regid 54321 --clear-groups true 2>/dev/null; then
	cp "$TOOL" "$work/tool"
	as() {
		setpriv --reuid 54321 --regid 54321 --clear-groups "$work/tool" "$@"
	}
	is "a stranger sees nothing" EACCES "$(as open "$s/snapshots" r)"
	is "and makes nothing" EACCES "$(as mkdir "$s/snapshots/mine")"
	chmod 755 "$s"
	is "shared: to read" ok "$(as open "$s/snapshots/last/ust" r)"
	is "not to make" EACCES "$(as mkdir "$s/snapshots/mine")"
	is "not to remove" EACCES "$(as rmdir "$s/snapshots/last")"
fi
rmdir "$s"

# --- the kernel's events
if ! grep -q '^kernel none' "$MNT/version" && [ -d "$MNT/available/kernel" ]; then
	s=$S/k$$
	mkdir "$s"
	echo 'sched_switch' >"$s/kernel/events"
	echo 'trail:*' >"$s/user/events"
	echo start >"$s/control"
	echo "in both" >"$MNT/log"
	sleep 0.2
	mkdir "$s/snapshots/both" || fail "with the kernel"
	print "$s/snapshots/both"
	[ "$(grep -c sched_switch "$work/out")" -gt 2 ] || fail "no kernel events in the snapshot"
	is "and the message" 1 "$(grep -c "in both" "$work/out")"
	rmdir "$s"
fi
echo "$checks checks"
