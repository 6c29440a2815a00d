#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# With a libfuse that was built without custom io, as Debian's 3.18 is: the daemon says that the
# mount will end with it, and all else is as ever. After kill -9, the next mount has the session.
. "$(dirname "$0")/../../lib/mount.sh"
cat >"$work/plain.c" <<'END'
#include <errno.h>
int fuse_session_custom_io(void) { return -EOPNOTSUPP; }
int fuse_session_custom_io_317(void) { return -EOPNOTSUPP; }
END
gcc -shared -fPIC -o "$work/plain.so" "$work/plain.c" || skip "no shared object can be built"
can_mount
ldd "$TRAILFS" | grep -q libasan && skip "nothing is preloaded before a sanitizer"
begin() {
	LD_PRELOAD=$work/plain.so "$TRAILFS" -f "$MNT" >>"$work/daemon.log" 2>&1 &
	daemon=$!
	within 20 test -s "$MNT/README" || fail "not mounted"
}
begin
has "$(cat "$work/daemon.log")" 'mount will end with this daemon.*built without custom io'
s=$S/s
mkdir "$s" && put 'tick:*' "$s/user/events"
# Each write is a request of its own.
for i in 1 2 3; do
	put start "$s/control"
	"$BUILD/tests/lib/ticker" 10 0 >/dev/null || fail "ticker"
	put stop "$s/control"
done
is "events" 30 "$(grep -c tick:tock "$s/text")"
mkdir "$S/t" && rmdir "$S/t"
is "twice" EEXIST "$(tool mkdir "$s")"
tail -f "$s/text" >"$work/tail" &
tail=$!
put start "$s/control"
"$BUILD/tests/lib/ticker" 10 0 >/dev/null || fail "ticker"
kill -9 $daemon
wait $daemon 2>/dev/null
kill $tail
wait $tail 2>/dev/null
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
begin
has "$(cat "$s/status")" '^state active'
is "events after kill -9" 40 "$(grep -c tick:tock "$s/text")"
umount "$MNT" 2>/dev/null || fusermount3 -u "$MNT"
wait $daemon || fail "the daemon's exit status: $?"
echo "$checks checks"
