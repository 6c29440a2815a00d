#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A file of export/ or trace/ that needs more memory than views may hold is EDQUOT, and `error` says
# which limit it is, and how much it leaves: of all users, and of one.
. "$(dirname "$0")/../../lib/mount.sh"
ticker=$BUILD/tests/lib/ticker
mount_tree -o tz=UTC,max_frozen=60k,user_frozen=1k
s=$S/full
mkdir "$s" "$s/user/channels/c"
echo 4M >"$s/user/channels/c/subbuf_size"
echo 'tick:*' >"$s/user/channels/c/events"
put start "$s/control"
one_cpu "$ticker" 20000 0
put stop "$s/control"

# refused FILE NAME WORDS: a read is EDQUOT; the newest entry of error has NAME and the words
refused() {
	cat "$1" 2>"$work/why" >/dev/null && fail "$1 has room"
	has "$(cat "$work/why")" 'Disk quota exceeded'
	has "$(head -n 1 "${4:-$s}/error")" "^$2: .* bytes that views may still hold.*$3"
}
for f in "$s"/export/*; do
	name=${f##*/}
	case $name in
	json*) continue ;;      # they are made as they are read
	flame.*) continue ;;    # no slice: they are small
	lket | ltt) ;;
	live.html | report.html) continue ;;    # bounded
	*) refused "$f" "$name" 'max_frozen is 61440: close files' ;;
	esac
done
for d in lket ltt; do
	ls "$s/export/$d" >/dev/null 2>"$work/why" && fail "$d has room"
	has "$(cat "$work/why")" 'Disk quota exceeded'
	has "$(head -n 1 "$s/error")" "^$d: .*max_frozen is 61440"
	is "its own error file" 1 "$(head -n 1 "$s/error" | grep -c "^$d: ")"
done
refused "$(find "$s/trace" -name 'c_*' -size +0 | head -n 1)" 'c_[0-9]*' 'max_frozen'
echo 'tick:*' >"$s/user/channels/c/events"
is "a success of a write" "" "$(cat "$s/error")"
cat "$s/export/csv" >/dev/null 2>&1
cat "$s/export/flame.folded" >/dev/null || fail "flame.folded has no room"
is "a success of a read takes nothing away" 1 "$(grep -c '^csv: ' "$s/error")"

if setpriv --reuid 65534 --clear-groups true 2>/dev/null; then
	as() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
	s=$S/own
	as mkdir "$s" && as sh -c "echo 'tick:*' >'$s/user/events'; echo start >'$s/control'" ||
		fail "a user's session"
	as "$ticker" 2000 0
	as sh -c "echo stop >'$s/control'"
	as cat "$s/export/csv" >/dev/null 2>&1 && fail "the user has room"
	has "$(head -n 1 "$s/error")" '^csv: .*the 1024 bytes .* for user 65534, whose limit of frozen bytes is 1024'
fi
echo "$checks checks"
