#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 200
#
# A session is cleared, and then the daemon is killed: readers of `text` and `pipe` get what they
# would get from the first daemon: `text` is another one, with the same offsets; `pipe` continues at
# the oldest event held, after the end of a line that it had begun. The same if the daemon is killed
# in the clear, and with an output.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/held.sh"
ticker=$BUILD/tests/lib/ticker

kill_daemon() {
	kill -9 $(daemon_pids)
	within 10 daemon_ended || fail "the daemon has not ended"
}
# begin NAME: a session with five events, of which readers have all, or a part of a line
begin() {
	s=$S/$1
	mkdir "$s" && put 'tick:*' "$s/user/events" || fail "session"
	[ -z "${2-}" ] || put "$2" "$s/output" || fail "output"
	put start "$s/control" && "$ticker" 5 0 || fail "record"
	exec 4<"$s/text" 5<"$s/pipe" 6<"$s/pipe" 7<"$s/export/json" 8<"$s/text"
	dd bs=65536 count=1 <&4 >"$work/text" 2>/dev/null
	is "pipe of $1" "$(known <"$work/text")" "$(some 5)"
	dd bs=60 count=1 <&6 >"$work/part" 2>/dev/null
	some 7 >"$work/json"
	dd bs=100 count=1 <&8 >"$work/text.part" 2>/dev/null
	is "lines of $1" 5 $(wc -l <"$work/json")
}
# some FD: one read; without the times since the event before, which not each open knows
some() { dd bs=65536 count=1 <&$1 2>/dev/null | known; }
known() { sed 's/ (+[^)]*)//'; }
# Four events after the clear, the third and fourth after the first reads.
check() {
	"$ticker" 2 0 || fail "record again"
	new=$(known <"$s/text")
	is "lines after the clear ($1)" 2 $(echo "$new" | wc -l)
	is "pipe ($1)" "$new" "$(some 5)"
	dd bs=65536 count=1 <&6 >>"$work/part" 2>/dev/null
	# (A daemon that has lines ready gives them, also those that were cleared since.)
	is "pipe, from within a line ($1)" "$(head -n 1 "$work/text" | known; echo "$new")" \
		"$(known <"$work/part" | sed -n '1p'; known <"$work/part" | tail -n 2)"
	[ "$1" = "no kill" ] || is "… gives no cleared lines ($1)" 3 "$(wc -l <"$work/part")"
	is "text, beyond its end ($1)" "" "$(some 4)"
	is "json, beyond its end ($1)" "" "$(some 7)"
	is "text, within it ($1)" "$(tail -c +101 "$s/text" | known)" "$(some 8)"
	"$ticker" 6 0 || fail "record more"
	is "pipe, more ($1)" "$(tail -n 6 "$s/text" | known)" "$(some 5)"
	is "text, more ($1)" "$(tail -c +$(($(wc -c <"$work/text") + 1)) "$s/text" | known)" \
		"$(some 4)"
	is "json, more ($1)" "$(tail -c +$(($(wc -c <"$work/json") + 1)) "$s/export/json")" \
		"$(some 7)"
	exec 4<&- 5<&- 6<&- 7<&- 8<&-
	put stop "$s/control"
}

mount_held
grep -q ' no .*resend\|older than 6.9' "$work/daemon.log" && skip "requests are not sent again here"
begin plain
put clear "$s/control"
check "no kill"
for output in "" "$work/out"; do
	begin "killed${output:+-out}" "$output"
	put clear "$s/control"
	kill_daemon
	mount_held
	check "killed after it${output:+, with an output}"
done
begin within
: >"$HOLD"
tool open "$s/control" w write 'clear\n' close >"$work/said" 2>&1 &
writer=$!
within 20 test -e "$HOLD.reached" || fail "the daemon does not save the session"
kill_daemon
rm "$HOLD.reached"
mount_held
wait $writer
is "the write" "6
ok" "$(cat "$work/said")"
check "killed in it"
# Twice, and the readers have read nothing in between
begin twice
put clear "$s/control" && kill_daemon && mount_held && put clear "$s/control" && kill_daemon &&
	mount_held || fail "kills"
check "two kills"
# What was read after a clear is found again.
begin after
put clear "$s/control" && "$ticker" 3 0 || fail "record"
old=$(some 5)
kill_daemon
mount_held
"$ticker" 1 0 || fail "record again"
is "pipe, read after the clear" "$(sed 1,3d "$s/text" | known)" "$(some 5)"
is "pipe, before the kill" "$(head -n 3 "$s/text" | known)" "$old"
exec 4<&- 5<&- 6<&- 7<&- 8<&-
# A few bytes, of the first line and of the second one
s=$S/few
mkdir "$s" && put 'tick:*' "$s/user/events" && put start "$s/control" && "$ticker" 3 0 || fail "few"
exec 4<"$s/pipe" 5<"$s/pipe" 6<"$s/text"
for fd in 4 5 6; do dd bs=5 count=1 <&$fd >"$work/$fd" 2>/dev/null; done
dd bs=90 count=1 <&5 >>"$work/5" 2>/dev/null
kill_daemon
mount_held
dd bs=5 count=1 <&5 >>"$work/5" 2>/dev/null
kill_daemon
mount_held
for fd in 4 5 6; do
	dd bs=65536 count=1 <&$fd >>"$work/$fd" 2>/dev/null
	cmp "$work/$fd" "$s/text" || fail "a few bytes ($fd): $(cat "$work/$fd")"
done
exec 4<&- 5<&- 6<&-
echo "$checks checks"
