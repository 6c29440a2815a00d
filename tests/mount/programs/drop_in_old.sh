#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Programs that were compiled with LTTng-UST 2.12 and older (soname 0), as libraries of .NET are, run
# with the libraries of $BUILD/lttng (trail-lttng(3)): fields, filters on a field that is not
# recorded, levels, tracef and tracelog; nothing is recorded, and no argument taken, without a
# session.
. "$(dirname "$0")/../../lib/mount.sh"
gcc -O1 -w -o "$work/old" "$here/drop_in/old.c" -ldl || skip "the program does not compile"
LD_LIBRARY_PATH=$BUILD/lttng
export LD_LIBRARY_PATH
mount_tree
is "without a session" "0 0 0" "$("$work/old" 5)"
s=$S/s
mkdir "$s"
printf '%s\n' 'old:all if hidden == 4 || i == 3' 'old:none' 'lttng_ust_trace*' >"$s/user/events" || fail rules
put start "$s/control"
is "a ring of LTTng's" "0 0 0" "$("$work/old" 5)"
put stop "$s/control"
same_text "$s"
sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$work/text" >"$work/have"
rest='hex = 0xABCDEF0123456789, net = 4660'
more='text = "abcd", _seq_length = 3, seq = [ [0] = 1, [1] = -2, [2] = 3 ] }'
for i in 2 3; do
	echo "old:all { i = $i, $rest, d = $i.5, s = \"a string\", c = ( \"green\" : container = $i ), $more"
done >"$work/want"
grep old:all "$work/have" | diff "$work/want" - || fail "old:all"
is "old:none" 5 "$(grep -c '^old:none { }$' "$work/have")"
has "$(cat "$work/have")" '^lttng_ust_tracef:event { _msg_length = 7, msg = "2 words" }'
has "$(cat "$work/have")" '^lttng_ust_tracelog:TRACE_WARNING { line = 7, file = "old.c", func = "main", .*"of old" }'
rmdir "$s"
# Levels; a session that starts while the program runs, and one that ends
mkdir "$s" && put 'old:* loglevel <= warning' "$s/user/events" && put start "$s/control"
"$work/old" 100000 >/dev/null || fail "old"
is "by level" "100000 0" "$(key events_recorded "$s/status") $(grep -c old:none "$s/text")"
put stop "$s/control"
rmdir "$s"
echo "$checks checks"
