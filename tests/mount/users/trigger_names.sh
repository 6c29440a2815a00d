#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# Names of triggers belong to their owners: each user sees his own under their names, root sees all,
# with the owner's number where two names are equal. A crash of the daemon changes nothing.
. "$(dirname "$0")/../../lib/mount.sh"
[ "$(id -u)" = 0 ] || skip "only root can be two users"
command -v setpriv >/dev/null || skip "there is no setpriv"
alice=12345 bob=12346
as() { # UID COMMAND…
	id=$1
	shift
	timeout 200 setpriv --reuid "$id" --regid "$id" --clear-groups "$@"
}
list() { # [UID]
	if [ $# = 0 ]; then ls "$T"; else as "$1" ls "$T"; fi | tr '\n' ' '
}
condition() { # UID NAME
	as "$1" cat "$T/$2/condition"
}

mount_tree
T=$MNT/triggers
as $alice mkdir "$T/alarm" || fail "alice's"
as $alice mkdir "$T/only" || fail "alice's second"
is "what bob sees of private triggers" '' "$(list $bob)"
as $bob ls "$T/alarm" 2>/dev/null && fail "bob sees alice's trigger"
as $bob mkdir "$T/alarm" || fail "a name is another user's: $(as $bob cat "$MNT/error")"
as $bob mkdir "$T/alarm" 2>/dev/null && fail "bob made it twice"
as $alice sh -c 'echo "consumed a > 1" >"$1"' sh "$T/alarm/condition" ||
	fail "$(as $alice cat "$T/alarm/error")"
as $bob sh -c 'echo "consumed b > 2" >"$1"' sh "$T/alarm/condition" || fail "bob's condition"
is "alice's" 'consumed a > 1' "$(condition $alice alarm)"
is "bob's" 'consumed b > 2' "$(condition $bob alarm)"
is "what root sees" "alarm@$alice alarm@$bob only " "$(list)"
is "alice's, read by root" 'consumed a > 1' "$(cat "$T/alarm@$alice/condition")"
[ -e "$T/alarm" ] && fail "a name that two have means one of them"
mkdir "$T/alarm" || fail "root's own"
echo 'consumed r > 3' >"$T/alarm/condition" || fail "root's condition"
is "what root sees beside its own" "alarm alarm@$alice alarm@$bob only " "$(list)"
is "root's" 'consumed r > 3' "$(cat "$T/alarm/condition")"

# Readers of one name at once get each his own.
for i in 1 2 3; do
	for id in $alice $bob; do
		as "$id" sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cat "$1"; done' sh \
			"$T/alarm/condition" >"$work/read.$id.$i" &
	done
done
wait
is "alice's at once" 'consumed a > 1' "$(sort -u "$work"/read.$alice.*)"
is "bob's at once" 'consumed b > 2' "$(sort -u "$work"/read.$bob.*)"

mkdir "$T/alarm@7" 2>/dev/null && fail "a name like another user's was taken"
has "$(cat "$MNT/error")" 'cannot end with @ and a number'
mkdir "$T/me@home" || fail "a name with @"
chown $bob "$T/me@home" && chown $alice "$T/me@home" || fail chown
is "what alice has now" 'alarm me@home only ' "$(list $alice)"
chown $bob "$T/alarm" 2>/dev/null && fail "bob has two of one name"

# Shared by its mode: others see it with its owner's number.
as $alice chmod 755 "$T/only" || fail chmod
is "what bob sees of a shared one" "alarm only@$alice " "$(list $bob)"
as $bob cat "$T/only@$alice/status" >"$work/x" || fail "bob may not read the shared one"
as $bob rmdir "$T/only@$alice" 2>/dev/null && fail "bob removed alice's"

# A current directory stays its user's while another removes his of the same name.
chmod 777 "$work"
as $alice sh -c 'cd "$1" || exit 1; : >"$2"; while [ ! -e "$3" ]; do sleep 0.1; done
	cat condition' sh "$T/alarm" "$work/in" "$work/removed" >"$work/there" 2>&1 &
reader=$!
within 60 test -e "$work/in" || fail "no one is in the directory"
as $bob rmdir "$T/alarm" || fail rmdir
touch "$work/removed"
wait $reader
is "read from the current directory" 'consumed a > 1' "$(cat "$work/there")"
as $bob mkdir "$T/alarm" || fail "bob's again"

kill -9 "$(daemon_pids)"
within 60 daemon_ended
umount -l "$MNT"
mount_tree
is "after a crash" "alarm alarm@$alice alarm@$bob me@home only " "$(list)"
is "alice's after a crash" 'consumed a > 1' "$(condition $alice alarm)"
is "root's after a crash" 'consumed r > 3' "$(cat "$T/alarm/condition")"
is "bob's new one after a crash" '' "$(condition $bob alarm)"
rmdir "$T/alarm@$alice" && rmdir "$T/alarm" || fail "root's rmdir"
is "what is left is unique" "alarm me@home only " "$(list)"
