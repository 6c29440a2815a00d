#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A daemon that is killed, and an output that the next one does not find: `status` says so, and that
# it is not known to be on the disk; recording continues. When the directory is there again, so is
# everything.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
ill() { grep -q '^output_error No such file' "$S/$1/status" && ! synced "$1"; }
synced() { grep -q '^syncing_files 0$' "$S/$1/status"; }
well() { synced "$1" && ! grep -q '^output_error\|^sync_error' "$S/$1/status"; }

mount_tree -o tz=UTC
for s in stopped active; do
	mkdir "$S/$s" || fail "mkdir $s"
	put "$work/out/$s" "$S/$s/output"
	put 'tick:*' "$S/$s/user/events"
	put start "$S/$s/control"
done
"$ticker" 100 0 || fail ticker
put stop "$S/stopped/control"
kill -9 $(daemon_pids)
within 10 daemon_ended
mv "$work/out" "$work/elsewhere"
mount_tree -o tz=UTC
for s in stopped active; do
	within 10 ill $s || fail "$s: $(cat "$S/$s/status")"
done
"$ticker" 100 0 || fail ticker
mv "$work/elsewhere" "$work/out"
for s in stopped active; do
	within 10 well $s || fail "$s: $(cat "$S/$s/status")"
done
put stop "$S/active/control"
is "stopped" 100 "$(babeltrace2 "$work/out/stopped" | wc -l)"
is "active" 200 "$(babeltrace2 "$work/out/active" | wc -l)"
is "text" 200 "$(wc -l <"$S/active/text")"
rmdir "$S/stopped" "$S/active"
echo "$checks checks"
