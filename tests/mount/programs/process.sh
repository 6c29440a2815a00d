#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 240
#
# What processes do: fork in all ways, share memory with children, change users and roots, close
# everything, end at once, record from handlers, constructors and destructors, on small stacks,
# large events. Each event there once, and none that must not.
. "$(dirname "$0")/../../lib/mount.sh"
process=$BUILD/tests/lib/process
mount_tree

# count WHO: events in $work/text
count() { grep -c "who = $1," "$work/text"; }

# known WHAT: all events that it says it emits are recorded (a daemon emits them after its parent
# has ended)
known() {
	[ "$(key events_recorded "$S/$1/status")" -ge "$(awk '$1 != "lost" { n += $2 } END { print n + 0 }' "$work/expected")" ]
}

# try WHAT: in a session of its own
try() {
	mkdir "$S/$1" && mkdir "$S/$1/user/channels/c" || fail "session $1"
	echo "${size:-256k}" >"$S/$1/user/channels/c/subbuf_size" &&
		echo "${mode:-discard}" >"$S/$1/user/channels/c/loss_mode" &&
		echo 'p:*' >"$S/$1/user/channels/c/events" &&
			echo 32 >"$S/$1/user/channels/c/subbuf_count" &&
		echo start >"$S/$1/control" || fail "$1: channel"
	timeout 200 "$process" "$1" >"$work/expected" 2>"$work/stderr"
	status=$?
	[ $status != 77 ] || { echo "$1: not possible here"; rmdir "$S/$1"; return 1; }
	[ $status = "${2:-0}" ] || fail "$1: exit status $status: $(cat "$work/stderr")"
	within 20 known "$1" || fail "$1: $(cat "$S/$1/status")"
	echo stop >"$S/$1/control" || fail "$1: stop"
	cat "$S/$1/text" >"$work/text"
	missing=${lost:-0}
	while read -r who n; do
		[ "$who" != lost ] || { missing=$n; continue; }
		[ "$(count "$who")" = "$n" ] ||
			fail "$1: $(count "$who") events of $who, not $n: $(cat "$S/$1/status")"
	done <"$work/expected"
	[ "$(count 2)" = 0 ] || fail "$1: $(count 2) events that must not be there"
	[ "$missing" = "$(sed -n 's/^events_discarded //p' "$S/$1/status")" ] ||
		fail "$1: $(cat "$S/$1/status")"
	rmdir "$S/$1" || fail "$1: rmdir"
}

for what in vfork clone_fork strange_fork close chroot signal exit exec small; do
	try $what
done
try clone_vm
try kill 137
try daemon
PROCESS_ENDS=1
export PROCESS_ENDS
try ends
unset PROCESS_ENDS
lost=2 size=4096
try large
lost=0 size=256k
if [ "$(id -u)" = 0 ] && try setuid; then
	:
fi

# A child for each event: each there once, whichever process it was. SOAK: many more.
PROCESS_CHILDREN=${PROCESS_CHILDREN:-$([ -n "${SOAK-}" ] && echo 20000 || echo 1000)}
export PROCESS_CHILDREN
mkdir "$S/storm" && echo 'p:*' >"$S/storm/user/events" && echo start >"$S/storm/control" ||
	fail "storm"
timeout 200 "$process" storm || fail "storm: exit status $?"
echo stop >"$S/storm/control"
sed -n 's/.*who = 1, n = \([0-9]*\) .*/\1/p' "$S/storm/text" | sort -n >"$work/seen"
seq 0 $((PROCESS_CHILDREN - 1)) | cmp - "$work/seen" ||
	fail "storm: $(wc -l <"$work/seen") events: $(cat "$S/storm/status")"
none() { [ -z "$(ls "$TRAIL_RUNTIME_DIR/apps")" ]; }
within 20 none || fail "left: $(ls "$TRAIL_RUNTIME_DIR/apps" | wc -l)"
