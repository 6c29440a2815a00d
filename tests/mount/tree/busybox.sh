#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# With nothing but busybox: its sh, mkdir, echo, cat, tail -f, head, grep, ls, rmdir, cp.
. "$(dirname "$0")/../../lib/mount.sh"
busybox=$(command -v busybox) || skip "there is no busybox"
mount_tree -o tz=UTC
mkdir "$work/bin"
for applet in sh mkdir rmdir echo cat tail head grep ls cp sleep kill rm wc cut ps timeout find \
	stat; do
	"$busybox" $applet --help >/dev/null 2>&1 || [ $applet = echo ] ||
		skip "busybox has no $applet"
	ln -s "$busybox" "$work/bin/$applet"
done
cat >"$work/job" <<'END'
set -e
cd "$S"
mkdir web
cd web
echo 'trail:*' > user/events
echo '!nothing:here' > user/events 2>/dev/null && exit 10
grep -q '!nothing:here' error || exit 11
echo start > control
echo 'first message' > "$MNT/log"
[ "$(cat text | wc -l)" -eq 1 ] || exit 25
grep -q 'first message' text || exit 12

# live, both ways
tail -n +1 -f text > "$WORK/tail" &
tail=$!
cat pipe | head -n 5 > "$WORK/five" &
head=$!
for i in 2 3 4 5 6; do
	sleep 0.2
	echo "message $i" > "$MNT/log"
done
wait $head || true
[ "$(wc -l < "$WORK/five")" -eq 5 ] || exit 13
i=0
until grep -q 'message 6' "$WORK/tail" || [ $i = 400 ]; do
	i=$((i + 1))
	sleep 0.5
done
grep -q 'message 6' "$WORK/tail" || exit 14
kill $tail
echo stop > control
grep -q 'state inactive' status || exit 15
cat text > "$WORK/text"
cp -r trace "$WORK/save"
[ "$(find "$WORK/save" -type f | wc -l)" -ge 2 ] || exit 16
ls -laR . > /dev/null
# busybox cat begins with sendfile, and does so differently for files, pipes and terminals
[ "$(cat status | wc -l)" -ge 4 ] || exit 20
[ "$(cat text | wc -l)" -eq 6 ] || exit 21
[ "$(cat user/events | cat)" = 'trail:*' ] || exit 22
cat "$MNT/README" "$MNT/version" > "$WORK/top"
grep -q ^ctf "$WORK/top" || exit 24
exec 3< wait
cat <&3 > "$WORK/wait" &
waiter=$!
exec 3<&-
sleep 0.2
echo start > control
wait $waiter || exit 17
grep -q 'state active' "$WORK/wait" || exit 18
cd ..
rmdir web
[ ! -e web ] || exit 19
END
env -i PATH="$work/bin" S="$S" MNT="$MNT" WORK="$work" "$work/bin/timeout" 250 "$work/bin/sh" \
	"$work/job" >"$work/out" 2>&1 || {
	status=$?
	cat "$work/out"
	head "$work/five" "$work/tail"
	fail "busybox: exit status $status"
}
is "six messages" 6 "$(wc -l <"$work/text" | tr -d ' ')"

# GNU tail, too
if tail --version 2>/dev/null | grep -q GNU; then
	mkdir "$S/gnu"
	echo 'trail:*' >"$S/gnu/user/events"
	echo start >"$S/gnu/control"
	echo 'before tail' >"$MNT/log"
	tail -f "$S/gnu/text" >"$work/gnu" 2>&1 &
	tail=$!
	within 5 grep -q 'before tail' "$work/gnu" || fail "GNU tail -f shows nothing"
	for i in 1 2 3; do echo "after $i" >"$MNT/log"; done
	within 8 grep -q 'after 3' "$work/gnu" || fail "GNU tail -f does not follow"
	kill $tail
	wait $tail 2>/dev/null
	is "nothing twice, nothing missing" 4 "$(grep -c 'trail:log' "$work/gnu")"
	is "tail -n 2" 2 "$(tail -n 2 "$S/gnu/text" | wc -l | tr -d ' ')"
	rmdir "$S/gnu"
fi
echo "$checks checks"
