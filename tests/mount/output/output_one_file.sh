#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# One file for each stream (file_count 1), and the disk refuses to make the next one. The old file
# has left the list of files by then: the daemon must not write to it any more, and continues in a
# new file when the disk allows it.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"

line() { head -c "$1" /dev/zero | tr '\0' x >"$MNT/log"; cat "$s/text" >"$work/text"; }
failing() { grep -q '^output_error' "$s/status"; }
written() { ! failing; }

faulty_disk
mount_tree -o tz=UTC
s=$S/one
mkdir "$s" "$s/user/channels/channel0" || fail mkdir
put 4k "$s/user/channels/channel0/subbuf_size"
put 4 "$s/user/channels/channel0/subbuf_count"
put overwrite "$s/user/channels/channel0/loss_mode"
put 6k "$s/user/channels/channel0/file_size"
put 1 "$s/user/channels/channel0/file_count"
put "$disk/out" "$s/output"
put 'trail:*' "$s/user/events"
put start "$s/control"
line 3000
all_written "$s"
is "events" 1 "$(wc -l <"$work/text" | tr -d ' ')"
file=$(find "$disk/out" -name 'channel0_*_0' -type f)
[ -s "$file" ] || fail "there is no stream file"
size=$(stat -c %s "$file")

# The packets of short lines would have room in the old file, those of long lines would not.
printf 'make EACCES\nrename EACCES\n' >"$control"
for i in 1 2 3 4 5 6 7 8; do
	line 3900
	line 500
done
within 10 failing || fail "the disk refuses a file, and status does not say so: $(cat "$s/status")"
is "size of the file that gave up its place" "$size" "$(stat -c %s "$file")"
[ -n "$(daemon_pids)" ] || fail "the daemon has ended"

: >"$control"
within 10 written || fail "the output does not continue: $(cat "$s/status")"
line 100
grep -q '"x\{100\}"' "$work/text" ||
	fail "the last line is not in text: $(tail -c 200 "$work/text")"
put stop "$s/control"
babeltrace2 "$disk/out" >"$work/bt" 2>"$work/err" || fail "babeltrace2: $(cat "$work/err")"
grep -q '"x\{100\}"' "$work/bt" || fail "the last line is not in the files"
echo "$checks checks"
