#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The context cgroup: the path of a program's control group as the daemon sees it, also of a program
# in a cgroup namespace of its own, as in a container, which sees another one. /proc is the oracle.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/cgroup.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
make_group /sys/fs/cgroup/unified
long=$group/$(printf 'x%.0s' $(seq 120))
longer=$long/$(printf 'y%.0s' $(seq 140))
groups="$longer $long $group/box"
mkdir "$group/box" "$long" "$longer" || fail mkdir
mount_tree -o tz=UTC
grep -qx cgroup "$MNT/available/user/contexts" || fail "cgroup is not available"
"$in_group" "$group" "$ticker" 0 1000 >/dev/null &
a=$!
members=$a
mkdir "$S/s" && put 'tick:*' "$S/s/user/events" && put 'cgroup vpid' "$S/s/user/contexts"
is "read back" 'cgroup vpid' "$(echo $(cat "$S/s/user/contexts"))"
mkdir -p "$S/s/user/maps/m" && put 'tick:* by $ctx.cgroup' "$S/s/user/maps/m/rules"
put start "$S/s/control"
"$in_group" "$group/box" "$ticker" 0 1000 >/dev/null &
b=$!
members="$a $b"
"$in_group" "$longer" "$ticker" 0 1000 >/dev/null &
c=$!
members="$a $b $c"
# That of version 2, or the longest
path() {
	own=$(sed -n 's/^0:://p' "/proc/$1/cgroup")
	[ "${#own}" -gt 1 ] || own=$(sed 's/^[0-9]*:[^:]*://' "/proc/$1/cgroup" |
		awk 'length > n { n = length; p = $0 } END { print p }')
	echo "$own"
}
shown() { grep "vpid = $1 }" "$S/s/text" | head -n 1 | sed 's/.* cgroup = { "\([^"]*\)" }.*/\1/'; }
recorded() { grep -q "vpid = $1 }" "$S/s/text"; }
for p in $a $b $c; do
	within 30 recorded $p || fail "process $p is not recorded"
done
is "a program that ran before" "$(path $a)" "$(shown $a)"
is "one in a group below" "$(path $b)" "$(shown $b)"
is "the end of a long path" "$(path $c | tail -c 256)" "$(shown $c)"
case $(path $b) in */trailfs-$$/box) ;; *) fail "the oracle: $(path $b)" ;; esac
if unshare -C true 2>/dev/null; then
	"$in_group" "$group/box" unshare -C sh -c 'cat /proc/self/cgroup >"$1"; exec "$2" 7 0' \
		- "$work/own" "$ticker"
	! grep -q "trailfs-$$" "$work/own" || fail "no namespace: $(cat "$work/own")"
	number=$(sed -n 's/.*vpid = \([0-9]*\) }.*/\1/p' "$S/s/text" | grep -vx "$a\|$b\|$c" | head -n 1)
	is "in a cgroup namespace" "$(path $b)" "$(shown "$number")"
	is "each event" 7 "$(grep "vpid = $number }" "$S/s/text" | grep -c "/trailfs-$$/box\"")"
else
	echo "# there are no cgroup namespaces here"
fi
put stop "$S/s/control"
TZ=UTC babeltrace2 "$S/s/trace" | cmp - "$S/s/text" || fail "text is not what babeltrace2 prints"
for p in $a $b; do
	is "values of $(path $p)" 1 "$(grep -c " $(path $p)$" "$S/s/user/maps/m/values")"
done
has "$(cat "$S/s/export/json")" "\"cgroup\":\"$(path $a)\""

# --- mistakes
mkdir "$S/k"
is "in a filter" EINVAL "$(tool open "$S/k/user/events" w write 'tick:* if $ctx.cgroup == "/x"\n')"
has "$(cat "$S/k/error")" 'track/cgroup'
is "another name" ENOENT "$(tool open "$S/k/user/contexts" w write 'cgrop\n')"
has "$(cat "$S/k/error")" "did you mean 'cgroup'"
echo "$checks checks"
