#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 1000
#
# A mount that outlives its daemon, on Debian's kernels. Linux 6.9 and later send unanswered requests
# again, as this machine's kernel does: the same tests hold. Older ones do not: what was with the
# killed daemon fails with EINTR, what came later waits, and open files and directories continue all
# the same.
#
#   VM_KILLS, VM_UPGRADES   how often on kernels that send again
kernel_in_check=6.1
. "$(dirname "$0")/lib.sh"

if kernel_since 6.9; then
	KILLS=${VM_KILLS:-20} "$top/tests/mount/recovery/undying.sh" || fail "undying.sh"
	UPGRADES=${VM_UPGRADES:-10} "$top/tests/mount/recovery/upgrade.sh" || fail "upgrade.sh"
	exit 0
fi

ticker=$BUILD/tests/lib/ticker
. "$top/tests/lib/next_daemon.sh"
mount_first tz=UTC,wait=100000
mkdir "$S/s" || fail mkdir
put 'tick:*' "$S/s/user/events"
put start "$S/s/control"
"$ticker" 0 20000 >"$work/ticks" &
writer=$!
# Its pipe has nothing: a reader waits with the daemon.
mkdir "$S/quiet" || fail mkdir
put 'nothing:*' "$S/quiet/user/events"
put start "$S/quiet/control"
pipe= tail= quiet= late= holder=
trap 'code=$?; kill $writer $tail $pipe $quiet $late 2>/dev/null
	[ -z "$holder" ] || kill -9 $holder; (exit $code); clean_up' EXIT
some() { [ -s "$work/pipe" ] && [ -s "$work/tail" ]; }
interrupted=0
# leave NAME PID: the reader goes on, or it was in a read when the daemon ended
leave() {
	if ! kill -0 "$2" 2>/dev/null || grep -q "^State:.Z" "/proc/$2/status"; then
		wait "$2"       # (tail ends with 0 if it cannot read its only file any more)
		has "$(cat "$work/$1.err")" 'Interrupted system call\|EINTR'
		interrupted=$((interrupted + 1))
	else
		kill "$2"
	fi
	[ "$1" = quiet ] || cp "$work/$1" "$work/read.$1.$i"
}
# The next daemon has answered what the one before it had.
taken() { [ "$(grep -c ' had end with EINTR' "$work/daemon.log")" = "$i" ]; }
cat "$S/s/config" >"$work/whole"
# Before Linux 5.16 each close of a file waits for a daemon, also of a copy that a child has from its
# parent. So who starts the daemons has no file of the mount open: another process has it.
sh -c 'head -c 20 >"$1/open"; kill -STOP $$; cat >>"$1/open"' sh "$work" <"$S/s/config" &
holder=$!
within 60 stands $holder || fail "a process that has an open file does not stop"
cd "$S/s/user" || fail cd

i=0
while [ $i -lt 5 ]; do
	i=$((i + 1))
	cat "$S/s/pipe" >"$work/pipe" 2>"$work/pipe.err" &
	pipe=$!
	tail -c +1 -f ---disable-inotify -s 0.2 "$S/s/text" >"$work/tail" 2>"$work/tail.err" &
	tail=$!
	# (cat and the like read again after EINTR.)
	"$TOOL" open "$S/quiet/pipe" r read 100 >"$work/quiet.err" &
	quiet=$!
	within 60 some || fail "nothing comes from pipe or text"
	sleep 1
	if [ $((i % 2)) = 1 ]; then
		kill_daemon
		# This one is with no daemon yet.
		cat "$S/s/status" >"$work/status" 2>"$work/status.err" &
		late=$!
		sleep 0.2
		next_daemon
		wait $late || fail "a read that came later: $(cat "$work/status.err")"
		has "$(cat "$work/status")" '^state active'
	else
		kill -USR2 "$daemon"
	fi
	within 60 taken || fail "no other daemon"
	within 60 answers || fail "no answer"
	sleep 1
	leave quiet $quiet
	leave pipe $pipe
	leave tail $tail
	is "the directory of the shell" "$S/s/user" "$(pwd -P)"
	is "a file in it" 'tick:*' "$(cat events)"
done
cd /
kill -CONT $holder && wait $holder || fail "an open file"
holder=
cmp "$work/open" "$work/whole" || fail "an open file has other bytes"
kill $writer
wait $writer
put stop "$S/s/control"
cat "$S/s/text" >"$work/text" || fail text
is "events" "$(tr -dc 0-9 <"$work/ticks")" "$(grep -c tick:tock "$work/text")"
for p in "$work"/read.*; do
	# (The last line may be cut: its reader was killed.)
	head -c "$(wc -c <"$p")" "$work/text" | cmp - "$p" || fail "$p has other bytes than text"
done
[ $interrupted -gt 0 ] || fail "no reader was interrupted"
echo "$i ends of the daemon, $interrupted of $((3 * i)) readers were interrupted, $checks checks"
