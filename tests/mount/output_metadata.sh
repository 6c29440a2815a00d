#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The metadata of an output: where the file system refuses to replace it, `status` shows its error at
# each attempt.
. "$(dirname "$0")/lib.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/mount/ticker
session() { # NAME DIRECTORY
	s=$S/$1
	out=$2
	mkdir "$s" "$s/user/channels/c" || fail "mkdir $1"
	put "$out" "$s/output"
	put 'tick:*' "$s/user/channels/c/events"
	put start "$s/control"
}

mount_tree -o tz=UTC

# --- a file system that neither removes nor renames; and then does
faulty_disk
echo 'rename EIO' >"$control"
session faulty "$disk/faulty"
"$ticker" 10 0 || fail ticker
ill() { : <"$s/text" && grep -q '^output_error' "$s/status"; }
within 20 ill || fail "a failed rename is not reported: $(cat "$s/status")"
for attempt in 1 2 3; do
	: <"$s/text"
	has "$(cat "$s/status")" '^output_error Input/output error'
done
: >"$control"
well() { ! grep -q '^output_error' "$s/status"; }
within 20 well || fail "it does not recover: $(cat "$s/status")"
put stop "$s/control"
is "events after recovery" 10 "$(babeltrace2 "$out" | wc -l | tr -d ' ')"
is "temporary files" '' "$(find "$out" -name .metadata)"
rmdir "$s" || fail rmdir
echo "$checks checks"
