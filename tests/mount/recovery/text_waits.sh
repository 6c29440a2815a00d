#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# The daemon is killed between the writes of one text: of `config` before its close, of a line that
# comes in two parts, of the two addresses of a relay. The next daemon has what was written.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree
grep -q ' no .*resend\|older than 6.9' "$work/daemon.log" && skip "requests are not sent again here"
again() {
	kill -9 $(daemon_pids)
	within 10 daemon_ended || fail "the daemon has not ended"
	mount_tree
}
# killed FILE FLAGS OPERATION…: as tool open, with a kill where it meets $work/meet
killed() {
	tool open "$@" >"$work/said" 2>&1 &
	writer=$!
	while kill -0 $writer 2>/dev/null; do
		[ ! -e "$work/meet" ] || { again && rm "$work/meet"; }
		sleep 0.02
	done
	wait $writer
	cat "$work/said"
}
# config N: a text with N channels
config() {
	i=0
	while [ $i -lt "$1" ]; do
		printf '[user channel]\nname = c%04d\nevents = "a:b%d"\n' $i $i
		i=$((i + 1))
	done
}
# parts FILE TEXT: writes a text in parts of 1000 bytes, with a kill after each of the first two and
# before the close
parts() {
	split -b 1000 -a 3 "$2" "$work/part."
	file=$1
	set -- "$1" wt
	for part in "$work"/part.*; do
		set -- "$@" file "$part"
		[ $# -gt 8 ] || set -- "$@" meet "$work/meet"
	done
	is "writes to $file" "ok" "$(killed "$@" meet "$work/meet" close | grep -v '^[0-9]*$')"
	rm "$work"/part.*
}
for n in 1 40 250; do
	mkdir "$S/s$n" || fail mkdir
	config $n >"$work/all"
	parts "$S/s$n/config" "$work/all"
	is "$n channels" "$n" "$(ls "$S/s$n/user/channels" | wc -l)"
done
# Text that is in effect, because a program that had the same open has ended, and more text
mkdir "$S/two" || fail mkdir
config 2 >"$work/all"
printf '[user channel]\nname = more\nevents = c:d\n' >"$work/more"
is "two programs, one open" "ok" "$(killed "$S/two/config" wt file "$work/all" sh true \
	meet "$work/meet" file "$work/more" close | grep -v '^[0-9]*$')"
is "their channels" "c0000 c0001 more" "$(ls "$S/two/user/channels" | paste -s -d " ")"

# Lines in parts
i=0
while [ $i -lt 300 ]; do
	echo "lib$i:event_with_a_long_name_$i"
	i=$((i + 1))
done >"$work/rules"
mkdir "$S/lines" || fail mkdir
parts "$S/lines/user/events" "$work/rules"
is "rules" "$(cat "$work/rules")" "$(cat "$S/lines/user/events")"

# A text that does not fit into what is handed over: an error says so.
mkdir "$S/large" || fail mkdir
config 8000 >"$work/all"
is "a large text" "$(wc -c <"$work/all")
ESTALE" "$(killed "$S/large/config" wt file "$work/all" meet "$work/meet" close)"
is "… is not in effect" "" "$(ls "$S/large/user/channels")"
echo "$checks checks"
