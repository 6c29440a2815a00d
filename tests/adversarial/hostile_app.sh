#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An application that means harm (hostile.c), of another user where that can be had, beside good
# ones: the daemon neither dies nor hangs nor grows, and the good applications' streams are what
# they would be without it.
. "$(dirname "$0")/lib.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
seconds=${HOSTILE_SECONDS:-5}
[ -z "${SOAK-}" ] || seconds=120

# The hostile one is another user, so that it has rings of its own.
as=
chmod 755 "$TMPDIR"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	as="setpriv --reuid 65534 --regid 65534 --clear-groups"
fi

rss() {
	key RssAnon: "/proc/$daemon/status"
}

descriptors() {
	find "/proc/$daemon/fd" -mindepth 1 2>/dev/null | wc -l
}

threads() {
	key Threads: "/proc/$daemon/status"
}

mount_tree
make_session evil discard 64k 8
put 'evil:*' "$s/user/events"
put start "$s/control"
# (Room for all that the herd writes, however long this takes.)
make_session good discard 4M 16
put start "$s/control"
"$bin/herd" "$bin/writer" "$slots" 2 2 32000 1000 none >"$TMPDIR/herd" &
herd=$!
herd_writes
rss0=$(rss) fds0=$(descriptors) threads0=$(threads)
writer=100

for how in files mutations shrink connect hellos ring; do
	if [ $how = ring ] && [ -z "$as" ]; then
		echo "ring: left out, there is no second user"
		continue
	fi
	$as "$bin/hostile" "$TRAIL_RUNTIME_DIR" $how "$seconds" >"$TMPDIR/hostile.out" 2>&1 &
	hostile=$!
	if [ $how = ring ]; then
		# Look at what cannot be right while it changes. What these print does not matter,
		# that they end does.
		i=0
		while kill -0 $hostile 2>/dev/null && [ $i -lt 200 ]; do
			i=$((i + 1))
			for f in text status user/channels/channel0/status; do
				timeout 200 cat "$mnt/sessions/evil/$f" >"$TMPDIR/look" ||
					fail "reading $f beside a spoilt ring"
				[ "$(wc -c <"$TMPDIR/look")" -lt 200000000 ] || fail "$f has no end"
			done
			timeout 5 dd if="$mnt/sessions/evil/pipe" of=/dev/null iflag=nonblock \
				count=100 2>/dev/null
			for f in "$mnt"/sessions/evil/user/channels/channel0/streams/*/*; do
				timeout 5 dd if="$f" of=/dev/null iflag=nonblock count=100 \
					2>/dev/null
			done
			rm -rf "$TMPDIR/copy"
			timeout 200 cp -r "$mnt/sessions/evil/trace" "$TMPDIR/copy"
			[ $? != 124 ] || fail "copying trace/ beside a spoilt ring"
			timeout 200 babeltrace2 "$TMPDIR/copy" >/dev/null 2>&1
			[ $? != 124 ] || fail "babeltrace2 on a spoilt ring"
			timeout 200 mkdir "$mnt/sessions/evil/snapshots/x" ||
				fail "a snapshot of a spoilt ring"
			timeout 200 cat $(find "$mnt/sessions/evil/snapshots/x" -type f) \
				>/dev/null || fail "reading a snapshot of a spoilt ring"
			timeout 200 rmdir "$mnt/sessions/evil/snapshots/x" ||
				fail "removing a snapshot of a spoilt ring"
			alive
		done
	fi
	# Meanwhile others come and are served.
	timeout 200 "$bin/writer" "$slots" $writer 1 2000 10000 >"$TMPDIR/count" ||
		fail "$how: a good application is not traced"
	writer=$((writer + 1))
	wait $hostile
	status=$?
	[ $status = 0 ] ||
		{ cat "$TMPDIR/hostile.out"; fail "$how: hostile ended with status $status"; }
	alive
	echo "$how: daemon $(rss) kB, $(descriptors) descriptors, $(threads) threads"
	find "$TRAIL_RUNTIME_DIR/apps" -mindepth 1 -user 65534 -delete 2>/dev/null
done

put stop "$mnt/sessions/evil/control"
timeout 200 rmdir "$mnt/sessions/evil" || fail "rmdir of the spoilt session"
alive
# Before text is read: an index over all that the good ones recorded is not the hostile one's doing.
# Sanitizers keep what was freed.
small() { [ "$(rss)" -le $((rss0 + 20000)) ]; }
if [ -z "$SAN" ] || [ "$SAN" = 0 ]; then
	within 90 small || fail "memory of the daemon: $rss0 kB before, $(rss) kB after"
	echo "memory: $rss0 kB before, $(rss) kB after"
fi
kill $herd
wait $herd || fail "the herd"
put stop "$s/control"
same_text "$s"
tally
nothing_lost "$s"
few_descriptors() { [ "$(descriptors)" -le $((fds0 + 8)) ]; }
within 90 few_descriptors || fail "descriptors of the daemon: $fds0 before, $(descriptors) after"
few_threads() { [ "$(threads)" -le $((threads0 + 12)) ]; }
within 90 few_threads || fail "threads of the daemon: $threads0 before, $(threads) after"
few_apps() { [ "$(find "$mnt/apps" -mindepth 1 -maxdepth 1 | wc -l)" -le 1 ]; }
within 90 few_apps || { ls "$mnt/apps"; fail "dead applications are still registered"; }
rmdir "$s" || fail "rmdir"
umount_tree
