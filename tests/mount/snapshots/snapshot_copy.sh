#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 90
#
# Snapshots of a session with an output: each is copied to snapshots/NAME-DATE-TIME-N there, in the
# background, whole or not at all; what cannot be copied is reported; a daemon that is killed
# meanwhile is no matter.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker

copied() { [ "$(key snapshots_copied "$s/status")" = "$1" ]; }
print() { TZ=UTC timeout 200 babeltrace2 "$1" 2>"$work/err" ||
	fail "babeltrace2 does not read $1: $(cat "$work/err")" >&2; }
# same NAME DIRECTORY: the snapshot is what was copied
same() {
	print "$s/snapshots/$1" >"$work/one"
	print "$2" >"$work/two"
	[ -s "$work/one" ] || fail "snapshot $1 is empty"
	cmp "$work/one" "$work/two" || fail "$2 is not snapshot $1"
	checks=$((checks + 1))
}
pending() { grep -q '^pending copy ' "$s/status"; }

# A disk that fails on command
faulty_disk

# (A stop does not wait for a disk that hangs.)
mount_tree -o tz=UTC,wait=800
s=$S/web
mkdir "$s" "$s/user/channels/channel0" || fail mkdir
put 64k "$s/user/channels/channel0/subbuf_size"
put "$disk/out" "$s/output"
put 'tick:*' "$s/user/events"
mkdir "$s/snapshots/early" || fail "before the first start"
put start "$s/control"
"$ticker" 3000 0 || fail ticker
mkdir "$s/snapshots/one" || fail "mkdir snapshots/one"
put snapshot "$s/control"
put 'snapshot two' "$s/control"
within 20 copied 3 || fail "three are not copied: $(cat "$s/status")"
out=$disk/out/snapshots
is "names" 3 "$(ls "$out" | grep -c '^one-[0-9]\{8\}-[0-9]\{6\}-[0-9]*$\|^snapshot-[0-9]\{8\}-[0-9]\{6\}-[0-9]*$\|^two-[0-9]\{8\}-[0-9]\{6\}-[0-9]*$')"
same one "$out"/one-*
same two "$out"/two-*
unnamed=$(cd "$out" && ls -d snapshot-*)
same "$unnamed" "$out/$unnamed"
(cd "$s/snapshots/one" && find . -type f -exec cksum {} + | sort) >"$work/sums.one"
(cd "$out"/one-* && find . -type f -exec cksum {} + | sort) >"$work/sums.copy"
cmp "$work/sums.one" "$work/sums.copy" || fail "the copy has other bytes"
is "modes" "700 600" "$(stat -c %a "$out"/one-*/ust) $(stat -c %a "$(find "$out"/one-* -name \
	metadata)")"

# While a disk hangs, the tree does not; it is said how far it is; who removes the snapshot still
# gets the copy.
echo 'write hang' >"$control"
mkdir "$s/snapshots/slow" || fail "a snapshot while the disk hangs"
within 10 pending || fail "nothing is pending: $(cat "$s/status")"
has "$(cat "$s/status")" '^pending copy slow-[0-9-]* [0-9]*%$'
print "$s/snapshots/slow" >"$work/slow"
put stop "$s/control"
put start "$s/control"
is "copies under way after a start" 1 "$(grep -c '^pending copy ' "$s/status")"
rmdir "$s/snapshots/slow" || fail "rmdir while it is copied"
has "$(cat "$s/status")" '^pending copy slow-[0-9-]* [0-9]*%$'
[ "$(key frozen_bytes "$MNT/status")" -gt 0 ] || fail "its memory is gone already"
: >"$control"
within 20 copied 4 || fail "it does not continue: $(cat "$s/status")"
is "an error of the copy" '' "$(grep '^snapshot_error' "$s/status")"
print "$out"/slow-* | cmp - "$work/slow" || fail "the copy is another one"

# What cannot be written is reported, and nothing is left of it.
for how in ENOSPC EIO EACCES; do
	case $how in
	ENOSPC) echo "write $how" >"$control"; why='No space left on device' ;;
	EIO) echo "write $how" >"$control"; why='Input/output error' ;;
	EACCES) echo "make $how" >"$control"; why='Permission denied' ;;
	esac
	mkdir "$s/snapshots/bad-$how" || fail "a snapshot that cannot be copied"
	failed() { grep -q "^snapshot_error $why" "$s/status"; }
	within 20 failed || fail "$how is not told: $(cat "$s/status")"
	explained() { grep -q "snapshot bad-$how-[0-9-]* cannot be copied to the output: $why" \
		"$s/error"; }
	within 20 explained || fail "$how is not explained: $(cat "$s/error")"
	: >"$control"
	not_there() { [ -z "$(ls -A "$out" | grep "bad-$how")" ]; }
	within 10 not_there || fail "something is left: $(ls -A "$out")"
	print "$s/snapshots/bad-$how" >/dev/null
done
mkdir "$s/snapshots/good"
within 20 copied 5 || fail "not copied: $(cat "$s/status")"
is "no error any more" '' "$(grep '^snapshot_error' "$s/status")"
same good "$out"/good-*

# A killed daemon: the next one begins it again.
echo 'write hang' >"$control"
mkdir "$s/snapshots/kept" || fail "a snapshot while the disk hangs"
within 10 pending || fail "nothing is pending: $(cat "$s/status")"
kill -9 $(daemon_pids)
: >"$control"
within 10 daemon_ended
fusermount3 -u -z "$MNT" 2>/dev/null || umount -l "$MNT"
mount_tree -o tz=UTC
arrived() { [ -d "$(echo "$out"/kept-*)" ]; }
within 20 arrived || fail "it is not copied: $(cat "$s/status"; ls -A "$out")"
same kept "$out"/kept-*
within 10 copied 1 || fail "$(cat "$s/status")"
is "what was begun before is gone" '' "$(ls -A "$out" | grep '^\.')"

# An inactive session, and one that is removed at once: what was asked for is there.
put stop "$s/control"
mkdir "$s/snapshots/last" || fail "a snapshot of an inactive session"
print "$s/snapshots/last" >"$work/last"
rmdir "$s" || fail rmdir
print "$out"/last-* | cmp - "$work/last" || fail "the last copy is another one"
for d in "$out"/*; do
	print "$d" >/dev/null
done
left() { [ "$(key frozen_bytes "$MNT/status")" = 0 ]; }
within 10 left || fail "$(key frozen_bytes "$MNT/status") bytes stay"

# A user's: with that user's rights
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir "$work/home" && chown 12345:12345 "$work/home"
	cp "$ticker" "$BUILD"/libtrail.so.0 "$work/"
	as() { timeout 200 setpriv --reuid 12345 --regid 12345 --clear-groups "$@"; }
	s=$S/hers
	as mkdir "$s" || fail mkdir
	as sh -c 'echo "$1" >"$2/output" && echo "tick:*" >"$2/user/events" && echo start >"$2/control"' sh "$work/home/out" "$s" || fail "$(cat "$s/error")"
	LD_LIBRARY_PATH=$work as "$work/ticker" 100 0 || fail ticker
	as mkdir "$s/snapshots/a" || fail "mkdir snapshots/a"
	within 20 copied 1 || fail "not copied: $(cat "$s/status")"
	is "not the owner's" '' "$(find "$work/home/out" ! -uid 12345)"
	is "events" 100 "$(print "$work/home/out/snapshots"/a-* | wc -l | tr -d ' ')"
	# Where she may not write, or another user planted a link
	mkdir "$work/root" && mv "$work/home/out/snapshots" "$work/home/away" &&
		ln -s "$work/root" "$work/home/out/snapshots"
	as mkdir "$s/snapshots/b"
	failed() { grep -q '^snapshot_error' "$s/status"; }
	within 20 failed || fail "a link is no error"
	is "through the link" '' "$(ls -A "$work/root")"
	rmdir "$s"
fi
echo "$checks checks"
