#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# -o keep: a reader of `pipe` that waits when a signal ends the daemon gets an error. An end of file
# would say that nothing follows, and the session continues. Without keep the session ends, and the
# reader gets the end of the file.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
for options in nosuid keep; do
	mount_tree -o $options,tz=UTC
	mkdir "$S/s" || fail mkdir
	put 'tick:*' "$S/s/user/events"
	put start "$S/s/control"
	"$BUILD/tests/lib/ticker" 10 0 || fail ticker
	cat "$S/s/pipe" >"$work/$options.read" 2>"$work/said" &
	reader=$!
	has_all() { [ "$(wc -l <"$work/$options.read" 2>/dev/null)" = 10 ]; }
	within 20 has_all || fail "$options: the reader has $(wc -l <"$work/$options.read") lines"
	kill "$(daemon_pids)"
	wait $reader
	status=$?
	within 20 daemon_ended || fail "$options: the daemon stays"
	[ $options = keep ] && wanted=1 || wanted=0
	is "$options: status of the reader" $wanted $status
	is "$options: lines" 10 "$(wc -l <"$work/$options.read")"
done
mount_tree -o tz=UTC
is "sessions" s "$(ls "$S")"
echo "$checks checks"
