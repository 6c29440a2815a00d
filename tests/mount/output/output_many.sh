#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# A recording of thousands of files: all of them are on their way to the disk after stop, without an
# error, and without a descriptor each.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker

mount_tree -o tz=UTC
s=$S/many c=$S/many/user/channels/channel0
mkdir "$s" "$c" || fail mkdir
put "$work/out" "$s/output"
put 'tick:*' "$s/user/events"
put 4K "$c/file_size"
put 4K "$c/subbuf_size"
put 256 "$c/subbuf_count"
put start "$s/control"
round=0
while [ $round -lt 36 ]; do
	round=$((round + 1))
	"$ticker" 20000 0 || fail ticker
	all_written "$s"
done
put stop "$s/control"
open=$(ls /proc/"$(daemon_pids)"/fd | wc -l)
files=$(find "$work/out" -name 'channel0_*' ! -name '*.idx' | wc -l)
[ "$files" -gt 2048 ] || fail "only $files files"
[ "$open" -lt 400 ] || fail "$open descriptors"
synced() { grep -q '^syncing_files 0$' "$s/status"; }
within 60 synced || fail "$(grep sync "$s/status")"
is "no error" '' "$(grep sync_error "$s/status")"
lost=$(awk '$1 == "events_discarded" { print $2 }' "$s/status")
is "events" $((720000 - lost)) "$(TZ=UTC babeltrace2 "$work/out" 2>/dev/null | wc -l)"
rmdir "$s" || fail rmdir
echo "$checks checks"
