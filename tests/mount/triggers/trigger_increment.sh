#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 100
#
# The action `increment S/DOMAIN/MAP KEY` of triggers, which LTTng calls incr-map-value: on events
# and on what happens to sessions, with rates; several at once lose none. The rule `increments` of
# the map has the values.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree
T=$MNT/triggers
s=$S/s
m=$s/user/maps/m
values() { grep '^ *[0-9]' "$m/values" | tr -s ' ' | sed 's/^ //' | sort; }

mkdir "$s" "$m" "$T/a" "$T/b" || fail mkdir
put increments "$m/rules"
is "the rule" increments "$(cat "$m/rules")"
is "no values" '' "$(values)"

# Mistakes
for bad in 'increment' 'increment s' 'increment s/user' 'increment s/jul/m k' 'increment s/user/m' \
	'increment s/user/m k l' 'increment s/user/m/x k'; do
	is "$bad" EINVAL "$(tool open "$T/a/actions" wt write "$bad")"
done
has "$(cat "$T/a/error" "$MNT/error" 2>/dev/null)" 'SESSION/user/MAP'

put 'session s started' "$T/a/condition"
cat >"$T/a/actions" <<'END' || fail "actions: $(cat "$T/a/error")"
increment s/user/m started
increment s/user/m "two words" every 2
increment s/user/none x
increment none/user/m x
END
has "$(cat "$T/a/actions")" '^increment s/user/m "two words" every 2'
put 'session s stopped' "$T/b/condition"
put 'increment s/user/m stopped' "$T/b/actions"
for i in 1 2 3 4 5; do
	put start "$s/control"
	put stop "$s/control"
done
want='2 "two words"
5 started
5 stopped'
all() { [ "$(values)" = "$want" ]; }
within 60 all || fail "values: $(values)"
has "$(cat "$T/a/status")" "has no map 'none'"
has "$(cat "$T/a/status")" "no session 'none'"
has "$(cat "$m/values.json")" '"rule":"increments"'
has "$(cat "$m/values.json")" '"key":"two words"'
has "$(cat "$m/values.sql")" "'two words'"

# Two triggers at once, of events of four programs: no hit is missing, and no action either.
mkdir "$T/c" "$T/d" && cat >"$work/p.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <trail/trail.h>
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;

	/* Attached, and then told when */
	if (argc > 1) {
		TRAIL(inc, hit, n);
		n--;
		getchar();
	}
	for (int i = 0; i < n; i++)
		TRAIL(inc, hit, i);
	return 0;
}
END
gcc -O2 -I"$top/ustlib" -o "$work/p" "$work/p.c" -L"$BUILD" -ltrail -Wl,-rpath,"$BUILD" ||
	fail "the program does not compile"
for t in c d; do
	put 'event user inc:hit' "$T/$t/condition" && put "increment s/user/m both" "$T/$t/actions"
done
"$work/p" & "$work/p" & "$work/p" & "$work/p" &
wait
# counted HITS: of each trigger
counted() {
	grep -qx "hits $1" "$T/c/status" && grep -qx "hits $1" "$T/d/status" &&
		grep -q "^action 1 executed $1 failed 0 " "$T/c/status" &&
		grep -q "^action 1 executed $1 failed 0 " "$T/d/status" &&
		values | grep -qx "$((2 * $1)) both"
}
within 60 counted 400 || fail "values: $(values) $(cat "$T/c/status" "$T/d/status")"
# More hits than the daemon executes one by one, at one look
mkfifo "$work/go" || fail mkfifo
"$work/p" 5000 <"$work/go" &
exec 9>"$work/go"
within 60 counted 401 || fail "a program waits: $(values) $(cat "$T/c/status" "$T/d/status")"
kill -STOP $(daemon_pids)
exec 9>&-
wait $!
kill -CONT $(daemon_pids)
within 60 counted 5400 || fail "at once: $(values) $(cat "$T/c/status" "$T/d/status")"
put 1 "$m/clear"
is "after clear" '' "$(values)"
put 'inc:hit by $event' "$m/rules"
"$work/p"
gone() { grep -q 'has no rule `increments`' "$T/c/status"; }
within 60 gone || fail "a map without the rule: $(cat "$T/c/status")"
rmdir "$T/a" "$T/b" "$T/c" "$T/d" "$s"
