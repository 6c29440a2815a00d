#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# A session in which a program registered, but nothing was recorded: babeltrace2 reads `trace/`, a
# snapshot and the output, and finds no event, before the session is stopped and after it.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
mount_tree -o tz=UTC

# reads DIRECTORY COUNT: babeltrace2 takes it, and finds that many events
reads() {
	babeltrace2 "$1" >"$work/text" 2>"$work/err" ||
		fail "babeltrace2 ${1#"$MNT"}: $(cat "$work/err")"
	is "events of ${1#"$MNT"}" "$2" "$(wc -l <"$work/text" | tr -d ' ')"
	is "complaints about ${1#"$MNT"}" '' "$(cat "$work/err")"
}
mkdir "$S/none" "$S/plain" "$S/out" "$S/process" "$S/ctf2" || fail mkdir
for s in plain out process ctf2; do
	put 'tick:tock if n < 0' "$S/$s/user/events"
done
put "$work/out" "$S/out/output"
put process "$S/process/user/channels/channel0/buffering"
put 2 "$S/ctf2/ctf_version"
for s in plain out process ctf2; do
	put start "$S/$s/control"
	[ $s = out ] || is "files before a program" "" "$(find "$S/$s/trace" -type f)"
done
"$ticker" 10 1000 || fail ticker
for s in plain out process; do
	mkdir "$S/$s/snapshots/before" || fail "snapshot of $s"
	reads "$S/$s/trace" 0
	reads "$S/$s/snapshots/before" 0
	put stop "$S/$s/control"
	reads "$S/$s/trace" 0
	is "text" '' "$(cat "$S/$s/text")"
done
reads "$work/out" 0
is "metadata of CTF 2" 1 "$(find "$S/ctf2/trace" -name metadata | wc -l | tr -d ' ')"
is "a session without a rule" '' "$(find "$S/none/trace" -type f)"
# cp takes it, and an image of it is the same later
copy_image "$S/plain/trace" "$work/copy"
reads "$work/copy" 0
is "the same later" "$(stat -c '%s %Y' "$S"/plain/trace/*/*/*/*/metadata)" \
	"$(stat -c '%s %Y' "$S"/plain/trace/*/*/*/*/metadata)"

# Then something is recorded
put start "$S/plain/control"
mkdir "$S/some" && put 'tick:*' "$S/some/user/events" && put start "$S/some/control"
"$ticker" 10 0 || fail ticker
reads "$S/plain/trace" 0
reads "$S/some/trace" 10
put clear "$S/some/control"
reads "$S/some/trace" 0
# A snapshot without events is one after a kill, too
kill -9 "$(daemon_pids)"
within 10 daemon_ended
fusermount3 -u -z "$MNT" 2>/dev/null || umount -l "$MNT"
mount_tree -o tz=UTC
reads "$S/plain/snapshots/before" 0
reads "$S/plain/trace" 0
echo "$checks checks"
