#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# kill -9 of the daemon, again and again, while programs record and read: the next daemon goes on
# with the mount. No reader gets an error, and none a wrong, missing or doubled line: followers of
# text, readers of pipe, a shell in the mount, files that stay open, listings and copies.
#
#   KILLS    how often; SOAK: 1000
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
ticker=$BUILD/tests/lib/ticker
kills=${KILLS:-12}
[ -z "${SOAK-}" ] || kills=${KILLS:-1000}
daemon=

start() {
	# (A daemon that had files of its own mount open would keep the mount.)
	"$TRAILFS" "$MNT" -f -o wait=100000 >>"$work/daemon.log" 2>&1 4<&- 5<&- 6<&- &
	daemon=$!
}
answers() { timeout 60 cat "$MNT/version" >/dev/null 2>&1; }
# a_while: up to 0.3 s, any time
a_while() {
	sleep "0.$(od -An -N2 -t u2 /dev/urandom | awk '{ printf "%03d", $1 % 300 }')"
}
kill_daemon() {
	kill -9 "$daemon" || fail "the daemon has ended by itself"
	wait "$daemon" 2>/dev/null
}
background=
end() {
	code=$?
	kill $background 2>/dev/null
	(exit $code)
	clean_up
}
trap end EXIT

start
within 20 answers || {
	[ "$(id -u)" = 0 ] ||
		skip "an ordinary user cannot mount here: $(cat "$work/daemon.log")"
	fail "no mount"
}
mkdir "$S/s" "$S/s/user/channels/c" "$S/idle" || fail mkdir
put 8M "$S/s/user/channels/c/subbuf_size"
put 16 "$S/s/user/channels/c/subbuf_count"
put discard "$S/s/user/channels/c/loss_mode"
put 'tick:*' "$S/s/user/channels/c/events"
put start "$S/s/control"
# A session that does not record any more: what is open of its trace continues, too
put 'tick:*' "$S/idle/user/events"
put start "$S/idle/control"
"$ticker" 2000 0 >/dev/null || fail ticker
put stop "$S/idle/control"
copy_image "$S/idle/trace" "$work/idle"
mkdir "$S/idle/snapshots/one"

"$ticker" 0 300 >"$work/ticks" &
writer=$!
background=$writer

# ---- readers ----
tail -c +1 -f ---disable-inotify -s 0.05 "$S/s/text" >"$work/tail" 2>"$work/tail.err" &
tail=$!
cat "$S/s/pipe" >"$work/pipe" 2>"$work/pipe.err" &
pipe=$!
cat "$S/s/pipe.json" >"$work/json" 2>"$work/json.err" &
json=$!
: >"$work/loops"
# A shell whose directory is in the mount
(
	cd "$S/s/user" || exit 1
	while [ -e "$work/loops" ]; do
		ls -l channels/c >/dev/null && [ "$(cat channels/c/events)" = 'tick:*' ] &&
			[ "$(pwd -P)" = "$S/s/user" ] || exit 1
	done 2>"$work/shell.err"
) &
shell=$!
(
	while [ -e "$work/loops" ]; do
		ls -lR "$S/s" >/dev/null || exit 1
	done 2>"$work/ls.err"
) &
lister=$!
(
	while [ -e "$work/loops" ]; do
		rm -rf "$work/copy"
		copy_image "$S/idle/trace" "$work/copy" && diff -r "$work/copy" "$work/idle" || exit 1
	done >"$work/copy.err" 2>&1
) &
copier=$!
# Made and removed: each takes effect once
(
	while [ -e "$work/loops" ]; do
		mkdir "$S/once" && echo 'tick:*' >"$S/once/user/events" &&
			echo start >"$S/once/control" && echo stop >"$S/once/control" &&
			rmdir "$S/once" || exit 1
	done 2>"$work/once.err"
) &
maker=$!
background="$background $tail $pipe $json $shell $lister $copier $maker"
# Files that stay open: a read now, the rest at the end
exec 4<"$S/idle/text" 5<"$(find "$S/idle/snapshots/one" -name metadata)" 6<"$S/s/config"
dd bs=1000 count=3 <&4 >"$work/text.open" 2>/dev/null
dd bs=100 count=1 <&5 >"$work/metadata.open" 2>/dev/null
dd bs=100 count=1 <&6 >"$work/config.open" 2>/dev/null
cat "$S/s/config" >"$work/config.text"

killed=0
while [ $killed -lt "$kills" ]; do
	a_while
	kill_daemon
	killed=$((killed + 1))
	[ $((killed % 4)) != 0 ] || a_while
	start
	[ $((killed % 3)) != 0 ] || within 60 answers || fail "the daemon does not answer"
	for p in $background; do
		kill -0 "$p" 2>/dev/null || fail "after $killed kills, a reader has ended: $(cat \
			"$work"/*.err)"
	done
done
within 60 answers || fail "the daemon does not answer"

rm "$work/loops"
for p in $shell $lister $copier $maker; do
	wait "$p" || fail "a loop had an error: $(head -n 3 "$work"/*.err)"
done
kill "$writer"
wait "$writer"
put stop "$S/s/control"
wait "$pipe" || fail "cat pipe: $(cat "$work/pipe.err")"
wait "$json" || fail "cat pipe.json: $(cat "$work/json.err")"
cat "$S/s/text" >"$work/text" || fail "cat text"
caught_up() { [ "$(wc -c <"$work/tail")" -ge "$(wc -c <"$work/text")" ]; }
within 60 caught_up || fail "tail -f has $(wc -c <"$work/tail") of $(wc -c <"$work/text") bytes"
kill "$tail"
background=

is "lines of text" $(($(tr -dc 0-9 <"$work/ticks") + 2000)) "$(grep -vc '^WARNING: Tracer ' "$work/text")"
is "discarded" 0 "$(key events_discarded "$S/s/status")"
cmp "$work/tail" "$work/text" || fail "tail -f text has other bytes than text"
cmp "$work/pipe" "$work/text" || fail "pipe has other bytes than text"
cat "$S/s/export/json" | cmp - "$work/json" || fail "pipe.json has other bytes than export/json"
cat <&4 >>"$work/text.open" || fail "an open text"
cmp "$S/idle/text" "$work/text.open" || fail "a text that stayed open"
cat <&5 >>"$work/metadata.open" || fail "a snapshot that is open"
cmp "$(find "$S/idle/snapshots/one" -name metadata)" "$work/metadata.open" || fail "a snapshot that stayed open"
cat <&6 >>"$work/config.open" || fail "a config that is open"
cmp "$work/config.text" "$work/config.open" || fail "a config that stayed open"
exec 4<&- 5<&- 6<&-
for f in "$work"/*.err; do
	[ ! -s "$f" ] || fail "$f: $(head -n 3 "$f")"
done
[ "$(ls "$S" | tr '\n' ' ')" = "idle s " ] || fail "sessions: $(ls "$S")"
echo "$killed kills, $(wc -l <"$work/text") lines, $checks checks"
