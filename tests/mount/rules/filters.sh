#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Filters and contexts on a real application: each filter lets through what it says, and nothing
# else.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
fields=$BUILD/tests/lib/fields
mount_tree
round=0

# seen RULE EXPECTED: the values of n that come through, with blanks between
seen() {
	round=$((round + 1))
	s=$S/r$round
	mkdir "$s" && mkdir "$s/user/channels/channel0" || fail "session"
	[ -z "$contexts" ] || echo "$contexts" >"$s/user/channels/channel0/contexts" ||
		fail "contexts: $contexts"
	echo "$1" >"$s/user/events" && echo start >"$s/control" || fail "rule: $1"
	"$fields" 10 || fail "fields: exit status $?"
	echo stop >"$s/control"
	cat "$s/text" >"$work/text"
	# Where no event can come through, there is no stream.
	: >"$work/bt2"
	[ -z "$(ls "$s/trace")" ] || TZ=UTC babeltrace2 "$s/trace" >"$work/bt2" 2>"$work/bt2.err" ||
		fail "babeltrace2: $(cat "$work/bt2.err")"
	cmp "$work/text" "$work/bt2" || fail "$1: text and babeltrace2 differ"
	set -- "$1" "$2" "$(sed -n 's/.*{ n = \([0-9]*\),.*/\1/p' "$work/text" | tr '\n' ' ')"
	[ "$3" = "$2" ] || fail "$1: '$3', not '$2'; $(cat "$s/status")"
	[ "$(sed -n 's/^events_discarded //p' "$s/status")" = 0 ] || fail "$1: discarded"
	rmdir "$s"
}

contexts=
all="0 1 2 3 4 5 6 7 8 9 "
seen 'f:all' "$all"
# Without a colon a pattern is for the whole name.
seen 'f*all' "$all"
seen '*all except *x*' "$all"
seen '* except f*l' ""
seen 'f\*all*' ""
seen 'f:all if n < 3' "0 1 2 "
seen 'f:all if n >= 3 && n != 7' "3 4 5 6 8 9 "
seen 'f:all if n == 2 || n == 4' "2 4 "
seen 'f:all if !(n & 1)' "0 2 4 6 8 "
seen 'f:all if small < -3' "0 1 "
seen 'f:all if small >= -1 && small <= 1' "4 5 6 "
seen 'f:all if large < 0xfffffffffffffffe' "2 3 4 5 6 7 8 9 "
seen 'f:all if large > n' "$all"
seen 'f:all if port == 3' "3 "
seen 'f:all if half > 3.25' "7 8 9 "
seen 'f:all if word == "word-3"' "3 "
seen 'f:all if word == "word-*"' "$all"
seen 'f:all if word == "*-4" || word == "w*5"' "4 5 "
seen 'f:all if word != "word-3" && n < 5' "0 1 2 4 "
seen 'f:all if list[1] == 8' "4 "
seen 'f:all if list[3] == 8' ""
seen 'f:all if text == "ac*"' "2 "
seen 'f:all if behind == 1' "1 4 7 "
seen 'f:all if n << 1 == 6' "3 "
seen 'f:all if missing == 1' ""
seen 'f:all if n == 1 || missing == 1' "1 "
seen 'f:all if $ctx.procname == "fields" && n < 2' "0 1 "
seen 'f:all if $ctx.procname == "field"' ""
seen 'f:all if $ctx.vpid == $ctx.vtid && n == 9' "9 "
seen 'f:all if $app.fields:turn == 4' "4 "
seen 'f:all if $app.fields:name == "turn-6"' "6 "
seen 'f:all if $app.fields:half > 4' "9 "
seen 'f:all if $app.other:thing == 1' ""
# Two rules of one channel: once if any lets it through.
seen 'f:all if n == 1
f:* loglevel debug_line if n < 3' "0 1 2 "

contexts='vpid vtid procname'
seen 'f:all if n < 3' "0 1 2 "
grep -q '{ vpid = [0-9]*, vtid = [0-9]*, procname = "fields" }' "$work/text" ||
	fail "contexts: $(head -n 1 "$work/text")"
contexts='pthread_id ip cpu_id vuid veuid vsuid vgid vegid vsgid cgroup_ns ipc_ns mnt_ns net_ns pid_ns time_ns user_ns uts_ns'
seen 'f:all if word == "word-5"' "5 "
ns=$(stat -Lc %i /proc/self/ns/net)
grep -q "vuid = $(id -u), veuid = $(id -u), .*net_ns = $ns," "$work/text" ||
	fail "contexts: $(head -n 1 "$work/text")"
contexts='$app.fields:turn $app.fields:name $app.fields:half $app.nobody:nothing vpid'
seen 'f:all if n == 7' "7 "
grep -q '"turn-7".* 3.5 ' "$work/text" ||
	fail "contexts of the application: $(head -n 1 "$work/text")"

# A mistake is shown where it is.
mkdir "$S/bad"
for rule in 'f:all if n <' 'f:all if n = 3' 'f:all if $ctx.pidd == 1' 'f:all if (n == 1' \
	'f:all if "a" < 3'; do
	echo "$rule" >"$S/bad/user/events" 2>/dev/null && fail "accepted: $rule"
	grep -q '\^' "$S/bad/error" || fail "no place: $rule: $(cat "$S/bad/error")"
done
