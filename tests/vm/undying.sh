#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 1000
#
# A mount that outlives its daemon, on Debian's kernels. 6.12 sends unanswered requests again, as
# this machine's kernel does: the same tests hold. 6.1 does not: what was with the killed daemon
# fails with EINTR, what came later waits, and open files and directories continue all the same.
#
#   VM_KILLS, VM_UPGRADES   how often on 6.12
kernel_in_check=6.1
. "$(dirname "$0")/lib.sh"

if [ "$VM" != 6.1 ]; then
	KILLS=${VM_KILLS:-20} "$top/tests/mount/recovery/undying.sh" || fail "undying.sh"
	UPGRADES=${VM_UPGRADES:-10} "$top/tests/mount/recovery/upgrade.sh" || fail "upgrade.sh"
	exit 0
fi

ticker=$BUILD/tests/lib/ticker
start() {
	"$TRAILFS" "$MNT" -f -o tz=UTC,wait=100000 >>"$work/daemon.log" 2>&1 4<&- &
	daemon=$!
}
answers() { timeout 60 cat "$MNT/version" >/dev/null 2>&1; }
can_mount
start
within 60 answers || fail "no mount"
mkdir "$S/s" || fail mkdir
put 'tick:*' "$S/s/user/events"
put start "$S/s/control"
"$ticker" 0 20000 >"$work/ticks" &
writer=$!
tail -c +1 -f ---disable-inotify -s 0.2 "$S/s/text" >"$work/tail" 2>"$work/tail.err" &
tail=$!
trap 'code=$?; kill $writer $tail $pipe $late 2>/dev/null; (exit $code); clean_up' EXIT
exec 4<"$S/s/config"
head -c 20 <&4 >"$work/open"
cat "$S/s/config" >"$work/whole"
cd "$S/s/user" || fail cd

i=0
while [ $i -lt 5 ]; do
	i=$((i + 1))
	cat "$S/s/pipe" >"$work/pipe" 2>"$work/pipe.err" &
	pipe=$!
	some() { [ -s "$work/pipe" ]; }
	within 60 some || fail "nothing comes from pipe"
	if [ $((i % 2)) = 1 ]; then
		kill -9 "$daemon" && wait "$daemon" 2>/dev/null
		# This one is with no daemon yet.
		cat "$S/s/status" >"$work/status" 2>"$work/status.err" &
		late=$!
		sleep 0.2
		start
		wait $late || fail "a read that came later: $(cat "$work/status.err")"
		has "$(cat "$work/status")" '^state active'
	else
		kill -USR2 "$daemon"
		taken() { [ "$(grep -c ' takes over$' "$work/daemon.log")" = $((i / 2)) ]; }
		within 60 taken || fail "no upgrade"
		within 60 answers || fail "no answer after an upgrade"
	fi
	# A reader of pipe waits in a read nearly all the time. If it did not just then, it goes on.
	sleep 0.5
	if ! kill -0 $pipe 2>/dev/null || grep -q '^State:.Z' "/proc/$pipe/status"; then
		wait $pipe && fail "cat pipe took the end of the daemon for the end of the session"
		has "$(cat "$work/pipe.err")" 'Interrupted system call'
		interrupted=$((${interrupted-0} + 1))
	else
		kill $pipe
	fi
	cp "$work/pipe" "$work/pipe.$i"
	is "the directory of the shell" "$S/s/user" "$(pwd -P)"
	is "a file in it" 'tick:*' "$(cat events)"
	kill -0 $tail || fail "tail -f has ended: $(cat "$work/tail.err")"
done
cd /
cat <&4 >>"$work/open" || fail "an open file"
cmp "$work/open" "$work/whole" || fail "an open file has other bytes"
exec 4<&-
kill $writer
wait $writer
put stop "$S/s/control"
cat "$S/s/text" >"$work/text" || fail text
is "events" "$(tr -dc 0-9 <"$work/ticks")" "$(grep -c tick:tock "$work/text")"
caught_up() { [ "$(wc -c <"$work/tail")" -ge "$(wc -c <"$work/text")" ]; }
within 60 caught_up || fail "tail -f has $(wc -c <"$work/tail") of $(wc -c <"$work/text") bytes"
kill $tail
cmp "$work/tail" "$work/text" || fail "tail -f text has other bytes than text"
for p in "$work"/pipe.[0-9]; do
	# (The last line may be cut: cat was killed.)
	head -c "$(wc -c <"$p")" "$work/text" | cmp - "$p" || fail "pipe has other bytes than text"
done
[ "${interrupted-0}" -gt 0 ] || fail "no reader of pipe was interrupted"
echo "$i ends of the daemon, $interrupted readers of pipe were interrupted, $checks checks"
