#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Contexts are kept per thread, but not longer than they hold: names, forks, namespaces, users.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree
mkdir "$S/s" && echo 'vpid vtid procname veuid uts_ns' >"$S/s/user/contexts" &&
	echo 'c:*' >"$S/s/user/events" &&
	echo start >"$S/s/control" || fail "session"
"$BUILD/tests/mount/rules/names" >"$work/out" &
pid=$!
wait $pid || fail "names: exit status $?"
cat "$S/s/text" >"$work/text"

# has STEP TEXT…: what the contexts of that step begin with
has() {
	line=$(grep "what = \"$1\"" "$work/text")
	case $line in
	*"{ $2"*) ;;
	*) fail "$1: '$line' has not '$2'" ;;
	esac
}
uts=$(stat -Lc %i /proc/self/ns/uts)
me="vpid = $pid, vtid = $pid"
has begin "$me, procname = \"names\", veuid = $(id -u), uts_ns = $uts }"
has prctl "$me, procname = \"first-name\", "
has setname "$me, procname = \"second-name\", "
has thread-named "vpid = $pid, vtid = "
case $line in *'procname = "of-the-thread"'*) ;; *) fail "a thread's name: $line" ;; esac
case $line in *"vtid = $pid,"*) fail "a thread's id: $line" ;; esac
child=$(sed -n 's/^child //p' "$work/out")
raw=$(sed -n 's/^raw //p' "$work/out")
has raw "vpid = $raw, vtid = $raw, procname = \"second-name\", "
has child "vpid = $child, vtid = $child, procname = \"second-name\", "
if grep -q '"unshared"' "$work/text"; then
	grep '"unshared"' "$work/text" | grep -q "uts_ns = $uts " &&
		fail "the namespace is still the old one"
	has unshared "$me, procname = \"second-name\", veuid = 0, "
	grep '"nobody"' "$work/text" | grep -q 'veuid = 65534, ' ||
		fail "veuid: $(grep '"nobody"' "$work/text")"
fi
