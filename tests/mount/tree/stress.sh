#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Many processes at once make, read, poll, interrupt and remove the same sessions. The daemon
# answers afterwards, holds nothing, ends.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree -o tz=UTC,max_frozen=64M
seconds=${STRESS_SECONDS:-8}
end=$(($(date +%s) + seconds))
running() {
	[ "$(date +%s)" -lt $end ]
}

maker() {
	while running; do
		for n in 1 2 3; do
			mkdir "$S/s$n" 2>/dev/null
			echo 'trail:*' >"$S/s$n/user/events"
			mkdir "$S/s$n/user/channels/c$1"
			echo 'trail:log' >"$S/s$n/user/channels/c$1/events"
			echo start >"$S/s$n/control"
			echo "message of $1" >"$MNT/log"
			rmdir "$S/s$n/user/channels/c$1"
			echo nonsense >"$S/s$n/control"
			echo stop >"$S/s$n/control"
			rmdir "$S/s$n"
		done
	done
}
reader() {
	while running; do
		ls -lR "$MNT"
		find "$S" -type f ! -name 'pipe*' ! -name wait ! -path '*/streams/*' -exec cat {} +
		cat "$MNT/error" "$MNT/status"
	done
}
waiter() {
	while running; do
		for n in 1 2 3; do
			timeout 0.1 cat "$S/s$n/pipe"
			timeout 0.1 cat "$S/s$n/wait" &
			timeout 0.1 "$TOOL" interrupt 30 "$S/s$n/pipe"
			"$TOOL" open "$S/s$n/status" r read 1000 poll 50
			"$TOOL" open "$S/s$n/pipe" rn poll -50 read 100 poll -50 read 100000
			wait
		done
	done
}
writer() {
	while running; do
		seq -f 'a long enough message with number %.0f of the noise' 200 >"$MNT/log"
		"$TOOL" open "$S/s1/user/events" wt write 'a:b\n' write '!x:y\n' write 'c:d' close
	done
}
for i in 1 2; do
	maker $i >/dev/null 2>&1 &
	reader >/dev/null 2>&1 &
	waiter >/dev/null 2>&1 &
done
writer >/dev/null 2>&1 &
wait

[ -n "$(timeout 200 cat "$MNT/version")" ] || fail "the daemon does not answer"
for n in 1 2 3; do
	[ ! -e "$S/s$n" ] || rmdir "$S/s$n" || fail "rmdir s$n"
done
is "no session is left" 0 "$(key sessions "$MNT/status")"
nothing_frozen() {
	[ "$(key frozen_bytes "$MNT/status")" = 0 ]
}
within 5 nothing_frozen || fail "frozen_bytes $(key frozen_bytes "$MNT/status")"
is "no buffer is left" 0 "$(key buffer_bytes "$MNT/status")"
mkdir "$S/fine" && echo "a:*" >"$S/fine/user/events" && echo start >"$S/fine/control" &&
	rmdir "$S/fine" || fail "nothing works any more"
buffers() {
	ls -l /proc/"$(daemon_pids)"/fd | grep -c 'memfd\|events-'
}
few() { [ "$(buffers)" -le 3 ]; }
within 5 few || fail "the daemon holds $(buffers) files of removed sessions"
echo "$checks checks"
