#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The mount, looked at from afar with sshfs as docs/fleets.md says: a session is made, started,
# stopped and read there. OpenSSH's server for files runs without a network.
. "$(dirname "$0")/../../lib/mount.sh"
server=${SFTP_SERVER:-/usr/lib/openssh/sftp-server}
command -v sshfs >/dev/null || skip "there is no sshfs"
[ -x $server ] || skip "there is no $server"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"

mount_tree -o tz=UTC
far=$work/far
mkdir "$far" && mkfifo "$work/reply" || fail mkdir
# What one of them prints, the other one reads.
{ sshfs ":$MNT" "$far" -f -o passive,direct_io <"$work/reply" 2>"$work/sshfs.log"; } |
	$server >"$work/reply" &
far_mounted() { grep -qs " $far fuse.sshfs" /proc/self/mounts; }
within 20 far_mounted || skip "sshfs does not mount here: $(cat "$work/sshfs.log")"
trap 'code=$?; fusermount3 -u -z "$far"; (exit $code); clean_up' EXIT

s=$far/sessions/afar
mkdir "$s" || fail "mkdir"
echo 'tick:*' >"$s/user/events" || fail "events"
echo start >"$s/control" || fail "start"
"$BUILD/tests/lib/ticker" 300 0 2 || fail ticker
echo stop >"$s/control" || fail "stop"
# A second stop is refused; the protocol has no number for that.
(echo stop >"$s/control") 2>/dev/null
has "$(cat "$s/error")" 'not active'
has "$(cat "$s/status")" '^events_recorded 600$'
cat "$s/text" >"$work/text"
cmp "$work/text" "$S/afar/text" || fail "text from afar"
TZ=UTC timeout 60 babeltrace2 --clock-gmt "$s/trace" >"$work/bt" 2>"$work/bt.err" || fail "babeltrace2: $(cat "$work/bt.err")"
cmp "$work/bt" "$work/text" || fail "trace/ from afar"
rmdir "$s" || fail rmdir
echo "$checks checks"
