#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# With a libfuse that was built without custom io, as Debian's 3.18 is, the mount outlives its daemon
# all the same: open files and directories continue over kill -9 and over an upgrade.
. "$(dirname "$0")/../../lib/mount.sh"
cat >"$work/plain.c" <<'END'
#include <errno.h>
int fuse_session_custom_io(void) { return -EOPNOTSUPP; }
int fuse_session_custom_io_317(void) { return -EOPNOTSUPP; }
END
gcc -shared -fPIC -o "$work/plain.so" "$work/plain.c" || skip "no shared object can be built"
can_mount
ldd "$TRAILFS" | grep -q libasan && skip "nothing is preloaded before a sanitizer"
case $(uname -r) in [1-5].* | 6.[0-8].*) skip "the kernel does not send requests again" ;; esac
begin() {
	(cd / && LD_PRELOAD=$work/plain.so exec "$TRAILFS" -f "$MNT" -o keeper=1,wait=100000) \
		>>"$work/daemon.log" 2>&1 4<&- &
	daemon=$!
	within 60 answers || fail "not mounted"
}
answers() { timeout 10 test -s "$MNT/README" 2>/dev/null; }
begin
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
# A message of more than a page, and a reader that begins before all and ends after all
{ cat "$s/config"; seq 30000 | sed 's/^/# /'; } >"$work/long"
mkdir "$S/long" && cat "$work/long" >"$S/long/config" || fail "a long write: $(cat "$S/long/error")"
tail -n +1 -f ---disable-inotify -s 0.1 "$s/text" >"$work/tail" 2>"$work/tail.err" &
tail=$!
trap 'ended=$?; kill $tail 2>/dev/null; (exit $ended); clean_up' EXIT
exec 4<"$s/status"
cd "$s/user" || fail cd
put start "$s/control"
ticked() { [ "$(grep -c tick:tock "$work/tail")" = "$1" ]; }
expected=30
for how in kill upgrade kill; do
	"$BUILD/tests/lib/ticker" 10 0 >/dev/null || fail "ticker"
	expected=$((expected + 10))
	if [ $how = kill ]; then
		kill -9 $daemon
		wait $daemon 2>/dev/null
		begin
	else
		taken=$(grep -c '' "$work/daemon.log")
		kill -USR2 $daemon
		upgraded() { [ "$(grep -c '' "$work/daemon.log")" -gt "$taken" ] && answers; }
		within 60 upgraded || fail "not upgraded"
	fi
	within 60 ticked $expected || fail "$how: tail has $(grep -c tick:tock "$work/tail") of \
$expected lines: $(cat "$work/tail.err")"
	cat <&4 >/dev/null || fail "$how: an open file"
	has "$(cat events)" '^tick:\*'
done
put stop "$s/control"
has "$(cat "$work/daemon.log")" "takes over"
is "events" $expected "$(grep -c tick:tock "$s/text")"
cd / && exec 4<&-
kill $tail
wait $tail 2>/dev/null
has "x$(cat "$work/tail.err")" '^x$'
umount "$MNT" 2>/dev/null || fusermount3 -u "$MNT"
wait $daemon || fail "the daemon's exit status: $?"
echo "$checks checks"
