#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# A user's output in root's mount: written with that user's rights and no others. Links that another
# user planted are not followed.
. "$(dirname "$0")/../../lib/mount.sh"
[ "$(id -u)" = 0 ] || skip "only root can be two users"
command -v setpriv >/dev/null || skip "there is no setpriv"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
# Where other users may read it, wherever the tree is
cp "$BUILD/tests/lib/ticker" "$BUILD"/libtrail.so.0 "$work/" || fail cp
ticker=$work/ticker
LD_LIBRARY_PATH=$work
export LD_LIBRARY_PATH
alice=12345 bob=12346
as() { # UID COMMAND…
	u=$1
	shift
	timeout 200 setpriv --reuid "$u" --regid "$u" --clear-groups "$@"
}
put() { as "$1" sh -c 'printf "%s\n" "$1" >"$2"' sh "$2" "$3"; }
refused() { # UID VALUE FILE PATTERN
	put "$1" "$2" "$3" 2>/dev/null && fail "user $1 may write '$2' to ${3#"$MNT"/}"
	has "$(cat "$S"/*/error)" "$4"
}

mount_tree -o tz=UTC
mkdir "$work/open" "$work/alice" "$work/bob" "$work/root" && chmod 1777 "$work/open" &&
	chmod 700 "$work"/alice "$work/bob" "$work/root"
chown $alice "$work/alice"
chown $bob "$work/bob"
as $alice mkdir "$S/a" || fail "mkdir as a user"
put $alice 'tick:*' "$S/a/user/events" || fail events

# Where the user may not write, the session may not either, though the daemon could.
refused $alice "$work/root/x" "$S/a/output" 'ermission denied'
refused $alice "$work/bob/x" "$S/a/output" 'ermission denied'
refused $alice "$work/root" "$S/a/output" 'ermission denied'
refused $alice /proc/self/cwd/x "$S/a/output" '.'
# A link that another user made
as $bob ln -s "$work/alice" "$work/open/trap"
refused $alice "$work/open/trap/x" "$S/a/output" 'symbolic link'
[ -z "$(ls "$work/alice")" ] || fail "the link was followed"
# Not even root's session follows it.
mkdir "$S/r"
refused 0 "$work/open/trap/x" "$S/r/output" 'symbolic link'
rmdir "$S/r"
# One that is the user's own, or root's, is followed.
as $alice ln -s "$work/alice" "$work/open/mine"
put $alice "$work/open/mine/trace" "$S/a/output" || fail "a user's own link: $(cat "$S/a/error")"
[ -d "$work/alice/trace" ] || fail "no directory at the user's own link"

as $alice sh -c 'echo start >"$1"' sh "$S/a/control" || fail "start: $(cat "$S/a/error")"
as $alice "$ticker" 1000 100 || fail ticker
# What the user plants himself leads no further than the user's own rights do.
d=$work/alice/trace/ust/uid/$alice/64-bit
as $alice sh -c 'echo stop >"$1"' sh "$S/a/control"
is "owner of the files" "$alice $alice" "$(stat -c '%u %g' "$d/metadata")"
[ -z "$(find "$work/alice/trace" ! -uid $alice)" ] ||
	fail "not all is the user's: $(find "$work/alice/trace" ! -uid $alice)"
is "events" 1000 "$(as $alice babeltrace2 "$work/alice/trace" 2>/dev/null | wc -l)"
as $alice rm "$d/metadata"
as $alice ln -s /etc/trailfs-test-$$ "$d/metadata"
as $alice ln -s /etc/trailfs-test-$$ "$d/.metadata"
as $alice sh -c 'echo "regenerate metadata" >"$1"' sh "$S/a/control"
as $alice sh -c 'echo start >"$1"' sh "$S/a/control"
as $alice "$ticker" 10 100
as $alice sh -c 'echo stop >"$1"' sh "$S/a/control"
[ ! -e /etc/trailfs-test-$$ ] ||
	{ rm /etc/trailfs-test-$$; fail "a link was followed with root's rights"; }
[ -f "$d/metadata" ] && [ ! -L "$d/metadata" ] || fail "the metadata was not made anew"
is "events" 1010 "$(as $alice babeltrace2 "$work/alice/trace" 2>/dev/null | wc -l)"

# The user puts something else where a file was: that is not read for him, nor for any user.
f=$(ls "$d" | grep channel0 | head -n 1)
echo secret >"$work/root/secret"
as $alice mv "$d/$f" "$work/alice/away"
as $alice ln -s "$work/root/secret" "$d/$f"
as $alice cat "$S/a/trace/ust/uid/$alice/64-bit/$f" 2>/dev/null | grep -q secret &&
	fail "trace/ reads what a link leads to"
cat "$S/a/text" | grep -q secret && fail "text reads what a link leads to"
as $alice rm "$d/$f"
as $alice mkfifo "$d/$f"
timeout 200 cat "$S/a/text" >/dev/null || fail "a FIFO in place of a file holds text up"
timeout 200 ls -R "$S/a/trace" >/dev/null || fail "a FIFO in place of a file holds trace/ up"
as $alice rmdir "$S/a" || fail "rmdir"

# Another mount namespace, another root
if unshare -m true 2>/dev/null; then
	mkdir "$S/ns"
	unshare -m sh -c 'echo "$1" >"$2"' sh "$work/root/ns" "$S/ns/output" 2>/dev/null &&
		fail "a path of another mount namespace"
	has "$(cat "$S/ns/error")" 'mount namespace'
	rmdir "$S/ns"
fi
echo "$checks checks"
