#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A fresh child changes its user by a raw system call before its first event. The library asks for
# its user with each question to the daemon: so the events after the next change of the rules are
# those of the new user, and each of them is recorded or counted as discarded, once.
. "$(dirname "$0")/../../lib/mount.sh"
[ "$(id -u)" = 0 ] || skip "only root can become another user"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
mount_tree -o tz=UTC
s=$S/s
mkdir "$s" "$s/user/channels/c" || fail mkdir
put 64K "$s/user/channels/c/subbuf_size"
put 'raw_uid:*' "$s/user/channels/c/events"
put start "$s/control"
mkfifo "$work/go" || fail mkfifo
"$BUILD/tests/mount/users/raw_uid" 65534 500 <"$work/go" >"$work/said" &
app=$!
exec 3>"$work/go"
within 20 grep -q ready "$work/said" || fail "raw_uid does not begin"
put stop "$s/control"
put start "$s/control"
echo >&3
wait $app || fail "raw_uid: $?"
exec 3>&-
known() { [ "$(awk '/^events_(recorded|discarded) / { n += $2 } END { print n }' "$s/status")" -ge 500 ]; }
within 20 known || fail "events are unknown: $(cat "$s/status")"
is "events of the new user" 500 \
	"$(TZ=UTC babeltrace2 "$s/trace/ust/uid/65534" 2>"$work/warnings" | grep -c raw_uid:hit)"
is "traces" 65534 "$(ls "$s/trace/ust/uid")"
is "recorded" 500 "$(key events_recorded "$s/status")"
is "discarded" 0 "$(key events_discarded "$s/status")"
echo "$checks checks"
