#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# Applications of another user spoil the rings of triggers, ring their bells without events, and
# match in a loop, beside 1,000 triggers and 100 readers of notifications that never read: each hit
# of a good application is counted and notified, and the daemon stays small.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip "there is no second user"
hits=${HITS:-300}
[ -z "${SOAK-}" ] || hits=10000
chmod 755 "$TMPDIR"
mkdir "$TMPDIR/bin"
cp "$bin/hostile" "$BUILD/tests/lib/ticker" "$BUILD"/libtrail.so.0 "$TMPDIR/bin/"
as="setpriv --reuid 65534 --regid 65534 --clear-groups env LD_LIBRARY_PATH=$TMPDIR/bin"

trigger() { # NAME CONDITION
	mkdir "$mnt/triggers/$1" && echo "$2" >"$mnt/triggers/$1/condition" &&
		echo notify >"$mnt/triggers/$1/actions" || fail "trigger $1"
}
counted() { # NAME KEY N
	[ "$(key "$2" "$mnt/triggers/$1/status")" = "$3" ]
}
hit_some() { # NAME: it has at least one hit
	[ "$(key hits "$mnt/triggers/$1/status")" -gt 0 ]
}

mount_tree
for i in $(seq 40); do trigger "evil$i" 'event user evil:*'; done
for i in $(seq 40); do trigger "hot$i" "event user tick:tock if n >= $i"; done
trigger good 'event user wake:hit'
mkdir $(seq -f "$mnt/triggers/idle%g" 919) || fail "1,000 triggers"
[ "$(ls "$mnt/triggers" | wc -l)" = 1000 ] || fail "not 1,000 triggers"

pids=
for i in $(seq 100); do
	sh -c "exec <'$mnt/triggers/hot1/notifications'; exec sleep 600" &
	pids="$pids $!"
done
within 90 counted hot1 readers 100 || fail "readers"
for how in ring bells; do
	$as "$TMPDIR/bin/hostile" "$TRAIL_RUNTIME_DIR" $how 600 >"$TMPDIR/$how" 2>&1 &
	pids="$pids $!"
	within 90 grep -qs attached "$TMPDIR/$how" || fail "$how: $(cat "$TMPDIR/$how")"
done
$as "$TMPDIR/bin/ticker" 0 0 >/dev/null &
pids="$pids $!"
within 90 hit_some hot1 || fail "the loop"
rss0=$(key RssAnon: "/proc/$daemon/status")

timeout 600 cat "$mnt/triggers/good/notifications" >"$TMPDIR/good" &
pids="$pids $!"
within 90 counted good readers 1 || fail "no reader"
"$BUILD/tests/mount/triggers/waker" "$hits" 2000 >/dev/null
within 90 counted good hits "$hits" || fail "good: $(cat "$mnt/triggers/good/status")"
told() {
	lines=$(awk '/^\[/ { n++ } /^# / { n += $3 } END { print n + 0 }' "$TMPDIR/good")
	[ "$lines" = "$hits" ]
}
within 90 told || fail "notified of $lines of $hits hits"

rss=$(key RssAnon: "/proc/$daemon/status")
[ -n "${SAN-}" ] && [ "$SAN" != 0 ] || [ $((rss - rss0)) -lt 100000 ] ||
	fail "the daemon grew from $rss0 to $rss kB"
kill $pids
wait $pids 2>/dev/null
rmdir "$mnt"/triggers/*
umount_tree
echo "$hits hits beside hostile applications; the daemon grew by $((rss - rss0)) kB"
