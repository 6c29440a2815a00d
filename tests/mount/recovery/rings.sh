#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `-o rings=DIR`: the buffers of the daemon's own user are files of the directory. When the daemon,
# its keeper and the programs are gone, as after a crash of the machine, trail-recover makes traces
# of them. Programs of other users get no such file.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
TZ=UTC
export TZ
rings=$work/rings
mkdir "$rings"
regions() {
	ls "$rings" | grep -c '^trail-region-'
}

# refused PATH SENTENCE
refused() {
	"$TRAILFS" "$MNT" -o "rings=$1" 2>"$work/err" && fail "accepted: $1"
	has "$(cat "$work/err")" "$2"
}
mkdir -p "$MNT"
refused rings "must be an absolute path"
refused "$work/none" "cannot be opened: No such file"
: >"$work/file"
refused "$work/file" "cannot be opened: Not a directory"
mkdir -m 777 "$work/open"
refused "$work/open" "writable for no other"
# (In a mount namespace, so that nothing is left of it.)
mkdir "$work/huge"
if unshare -m mount -t hugetlbfs none "$work/huge" 2>/dev/null; then
	unshare -m sh -c 'mount -t hugetlbfs -o mode=755 none "$1" && "$2" "$3" -o "rings=$1"' - \
		"$work/huge" "$TRAILFS" "$MNT" 2>"$work/err" && fail "accepted: hugetlbfs"
	has "$(cat "$work/err")" "only whole huge pages can be mapped; a tmpfs with huge=always"
fi

mount_tree -o tz=UTC,rings="$rings"
mkdir "$S/a" "$S/b"
for s in a b; do
	echo 'tick:*' >"$S/$s/user/events"
	echo start >"$S/$s/control" || fail "start"
done
"$ticker" 3000 0 || fail ticker
is "files" 2 "$(regions)"
is "for their user only" 600 "$(stat -c %a "$rings"/trail-region-* | sort -u)"
rmdir "$S/b"
gone() {
	[ "$(regions)" = 1 ]
}
within 20 gone || fail "its file is left: $(ls "$rings")"
checks=$((checks + 1))
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
	chmod 711 "$work"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$ticker" 200 0 || fail "the other user"
	is "another user is recorded" 3200 "$(wc -l <"$S/a/text")"
	is "in no file" 1 "$(regions)"
fi

# --- the next daemon continues with the file
kill -9 $(daemon_pids)
within 20 daemon_ended
umount -l "$MNT" 2>/dev/null
mount_tree -o tz=UTC,rings="$rings"
"$ticker" 1000 0 || fail ticker
is "one file still" 1 "$(regions)"
# What programs of this user recorded
babeltrace2 "$S/a/trace/ust/uid/$(id -u)" >"$work/a" 2>/dev/null || fail babeltrace2
is "events" 4000 "$(wc -l <"$work/a")"

# --- all ends
keeper=$(key keeper "$MNT/status")
kill -9 $(daemon_pids) "$keeper"
within 20 daemon_ended
umount -l "$MNT" 2>/dev/null
cp -r "$rings" "$work/copy" && cp -r "$TRAIL_RUNTIME_DIR" "$work/kept" || fail cp
"$BUILD/tools/trail-recover" -o "$work/out" "$work/kept" "$work/copy" >"$work/log" 2>&1 ||
	cat "$work/log"
has "$(cat "$work/log")" "copy: 1 buffers"
babeltrace2 "$work/out/a" >"$work/found" 2>"$work/err" || fail "babeltrace2: $(cat "$work/err")"
cmp "$work/a" "$work/found" || fail "recovered: $(wc -l <"$work/found") events"
checks=$((checks + 1))
rm -rf "$rings"/*
echo "$checks checks"
