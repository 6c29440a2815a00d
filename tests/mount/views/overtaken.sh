#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Readers whose rings are overwritten completely after their open and before their first read: they
# get the events held when they read, not an empty file.
. "$(dirname "$0")/../../lib/mount.sh"

TICKER=${TICKER:-$BUILD/tests/lib/ticker}
[ -x "$TICKER" ] || skip "there is no ticker"
command -v taskset >/dev/null || skip "there is no taskset"
cpu=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
mount_tree
s=$S/fast

# One ring of 256 KiB, whose text is longer than the piece that the daemon keeps
mkdir "$s" "$s/user/channels/channel0" && echo 65536 >"$s/user/channels/channel0/subbuf_size" &&
	echo 4 >"$s/user/channels/channel0/subbuf_count" &&
	echo 'tick:*' >"$s/user/events" && put start "$s/control" || fail "session"

tick() { taskset -c "$cpu" "$TICKER" "$1" 0 || fail "ticker"; }

for form in text text.symbols export/json export/json.symbols export/csv; do
	tick 40000
	exec 3<"$s/$form"
	tick 60000
	cat <&3 >"$work/read" || fail "$form: cat"
	exec 3<&-
	[ -s "$work/read" ] || fail "$form is empty"
	# csv is made at the open
	case $form in *csv) last=39999 ;; *) last=59999 ;; esac
	tail -n 1 "$work/read" | grep -q "[^0-9]$last[^0-9]*\$" ||
		fail "$form: $(tail -n 1 "$work/read")"
	is "$form: no line twice" "" "$(sort "$work/read" | uniq -d)"
done
put stop "$s/control" && rmdir "$s" || fail "rmdir"
echo "$checks checks"
