#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What one user may take up of root's daemon: sessions, bytes of buffers, frozen bytes;
# trailfs.conf, -o, and `status`.
. "$(dirname "$0")/../../lib/mount.sh"
[ "$(id -u)" = 0 ] || skip "this needs root"
command -v setpriv >/dev/null || skip "there is no setpriv"
a=54321 b=54322
as() {
	uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}
as $a true || skip "setpriv may not change users here"
cp "$TOOL" "$work/tool" && TOOL=$work/tool
cp "$BUILD/tests/lib/ticker" "$BUILD"/libtrail.so.0 "$work/" || fail "no ticker"

# tick COUNT: as user a
tick() {
	as $a env LD_LIBRARY_PATH="$work" "$work/ticker" "$1" 0 || fail "ticker: $?"
}
# session NAME SUBBUF_SIZE: as user a
session() {
	as $a mkdir "$S/$1" "$S/$1/user/channels/c" || fail "mkdir $1"
	as $a sh -c "echo $2 >$S/$1/user/channels/c/subbuf_size && echo discard >$S/$1/user/channels/c/loss_mode &&
		echo 'tick:*' >$S/$1/user/channels/c/events" || fail "channel of $1"
}
# user UID KEY: of its line in status
user() {
	awk -v u="$1" -v k="$2" '$1 == "user" && $2 == u { for (i = 3; i <= NF; i++) if (split($i, v, "=") && v[1] == k) print v[2] }' \
		"$MNT/status"
}
unmount() {
	fusermount3 -u "$MNT" && within 10 daemon_ended || fail "unmount"
}

printf '[user %s]\nsessions = 2\n[trailfs]\nuser_sessions = 7\nuser_frozen = 100k\n' $b \
	>"$XDG_CONFIG_HOME/trailfs.conf"
cpus=$(getconf _NPROCESSORS_CONF)
mount_tree -o user_sessions=4,user_buffers=$((cpus * 1200))k

# Sessions
for i in 1 2 3 4; do
	as $a mkdir "$S/a$i" || fail "a session below the limit"
done
is "one too many" EDQUOT "$(as $a "$TOOL" mkdir "$S/a5")"
has "$(as $a cat "$MNT/error")" 'no more than 4 sessions of one user'
as $b mkdir "$S/b1" "$S/b2" || fail "another user's sessions"
is "a user with a section" EDQUOT "$(as $b "$TOOL" mkdir "$S/b3")"
mkdir "$S/r1" "$S/r2" "$S/r3" "$S/r4" "$S/r5" || fail "root has limits"
is "in status" 4 "$(user $a sessions)"
is "and the limit" 4 "$(user $a max_sessions)"
is "and of the section" 2 "$(user $b max_sessions)"
is "root's limit" "" "$(user 0 max_sessions)"
is "a user sees his own" "user $a" "$(as $a awk '$1 == "user" { print $1, $2 }' "$MNT/status")"
chown $b "$S/a4" || fail chown
is "a session that was given away" "3 3" "$(user $a sessions) $(user $b sessions)"
as $a mkdir "$S/a5" || fail "one was given away, but there is no room"
rmdir "$S"/a? "$S"/b? "$S"/r? || fail rmdir
is "no user has anything" "" "$(grep '^user' "$MNT/status" | grep -v 'sessions=0 buffer_bytes=0')"

# Buffers: at the start
session big 1M
is "too large to start" EDQUOT "$(as $a "$TOOL" open "$S/big/control" w write 'start\n')"
has "$(as $a cat "$S/big/error")" 'the limit of buffers of user'
is "state" inactive "$(key state "$S/big/status")"
as $a rmdir "$S/big"
# … and when a program comes: the second session gets what is left, and counts
session one 256k
session two 256k
for s in one two; do
	as $a sh -c "echo start >$S/$s/control" || fail "start of $s"
done
tick 3000
is "recorded by one" 3000 "$(key events_recorded "$S/one/status")"
sum=$(($(key events_recorded "$S/two/status") + $(key events_discarded "$S/two/status")))
is "recorded or discarded by two" 3000 $sum
[ "$(key events_discarded "$S/two/status")" -gt 1000 ] ||
	fail "two had room: $(cat "$S/two/status")"
[ "$(key buffers_refused "$S/two/status")" -gt 0 ] || fail "nothing is said: $(cat "$S/two/status")"
is "in all" "$(key buffers_refused "$S/two/status")" "$(key buffers_refused "$MNT/status")"
has "$(as $a cat "$S/two/error")" "the limit of buffers of user $a is reached"
[ "$(user $a buffer_bytes)" -le $((cpus * 1200 * 1024)) ] ||
	fail "more than the limit: $(user $a buffer_bytes)"
# Others are not concerned
mkdir "$S/root" && echo 'tick:*' >"$S/root/user/events" && echo start >"$S/root/control" ||
	fail "root's session"
tick 1000
is "root's session" 1000 "$(key events_recorded "$S/root/status")"
rmdir "$S/two"
as $a sh -c "echo stop >$S/one/control"

# No user gets more than there is.
mkdir "$S/huge" "$S/huge/user/channels/c" || fail "mkdir huge"
put 'tick:*' "$S/huge/user/channels/c/events"
memory=$(($(awk '/^MemTotal|^SwapTotal/ { n += $2 } END { print n }' \
	/proc/meminfo) / 1024 / 1024 + 1))
count=2
while [ $((count * cpus)) -lt $memory ]; do count=$((count * 2)); done
put 1G "$S/huge/user/channels/c/subbuf_size"
put $count "$S/huge/user/channels/c/subbuf_count"
is "more than the machine has" ENOMEM "$(tool open "$S/huge/control" w write 'start\n')"
has "$(cat "$S/huge/error")" "more than this machine's memory"
is "state" inactive "$(key state "$S/huge/status")"
put 64k "$S/huge/user/channels/c/subbuf_size"
put 2 "$S/huge/user/channels/c/subbuf_count"
put start "$S/huge/control"
rmdir "$S/huge"

# Frozen bytes
stream() {
	find "$1/trace" -type f -size +4k ! -path '*/index/*' ! -name metadata
}
for f in $(stream "$S/one") none; do
	[ $f != none ] || fail "no stream has 4 kB"
	[ "$(stat -c %s "$f")" -lt 30000 ] || break
done
size=$(stat -c %s "$f")
is "below the limit" "$size" "$(as $a cat "$f" | wc -c)"
as $a sh -c "echo start >$S/one/control"
tick 6000
as $a sh -c "echo stop >$S/one/control"
no_moment() { [ "$(user $a frozen_bytes)" = 0 ]; }
within 10 no_moment || fail "still frozen: $(user $a frozen_bytes)"
as $a sh -c "cd $S/one/trace && find . -type f -exec cat {} +" >/dev/null 2>"$work/err" &&
	fail "more than 100k were frozen: $(grep user "$MNT/status")"
has "$(cat "$work/err")" 'quota'
[ "$(user $a frozen_bytes)" -le $((100 * 1024)) ] || fail "frozen: $(user $a frozen_bytes)"
find "$S/root/trace" -type f -exec cat {} + >/dev/null || fail "root's trace"
rmdir "$S/one" "$S/root"
nothing() {
	[ "$(key frozen_bytes "$MNT/status")" = 0 ] && ! grep -q '^user' "$MNT/status"
}
within 10 nothing || fail "left: $(cat "$MNT/status")"

# What the daemon says of itself
for k in pid keeper uptime_us cpu_user_us cpu_system_us errors events_recorded events_discarded \
	events_overwritten bytes registrations; do
	key $k "$MNT/status" | grep -qx '[0-9]*' || fail "status has no $k"
done
is "pid" "$(daemon_pids)" "$(key pid "$MNT/status")"
is "keeper" trail-keeper "$(cat "/proc/$(key keeper "$MNT/status")/comm")"
is "cpu_us is the sum" 1 "$(awk '/^cpu_/ { v[$1] = $2 } END { print v["cpu_us"] == v["cpu_user_us"] + v["cpu_system_us"] }' "$MNT/status")"
unmount

# Root too, if it is said; and the kernel's buffers
printf '[user root]\nbuffers = %dk\nsessions = 1\n' $((cpus * 300)) >"$XDG_CONFIG_HOME/trailfs.conf"
mount_tree
mkdir "$S/r" || fail mkdir
is "root's limit" EDQUOT "$("$TOOL" mkdir "$S/r2")"
if [ -d "$S/r/kernel" ]; then
	mkdir "$S/r/kernel/channels/c" && echo 4 >"$S/r/kernel/channels/c/subbuf_count"
	echo 64k >"$S/r/kernel/channels/c/subbuf_size" &&
		echo sched_switch >"$S/r/kernel/channels/c/events"
	is "a kernel channel" EDQUOT "$("$TOOL" open "$S/r/control" w write 'start\n')"
	echo 16k >"$S/r/kernel/channels/c/subbuf_size"
	echo start >"$S/r/control" || fail "a small kernel channel"
	[ "$(user 0 buffer_bytes)" -gt $((cpus * 128 * 1024)) ] ||
		fail "the kernel's buffers do not count: $(user 0 buffer_bytes)"
fi
rmdir "$S/r"
unmount
printf '[user root]\nnonsense = 1\n' >"$XDG_CONFIG_HOME/trailfs.conf"
"$TRAILFS" "$MNT" 2>"$work/err" && fail "an option that is none"
has "$(cat "$work/err")" "unknown option 'nonsense'"
echo "$checks checks"
