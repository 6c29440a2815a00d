#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# track/cgroup: which control groups are recorded, with what is below them and starts later. The
# kernel says by /proc/PID/cgroup where a process is.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/cgroup.sh"
ticker=$BUILD/tests/lib/ticker
make_group
groups="$group/below $group-2"
mkdir "$group/below" "$group-2"
mount_tree
mkdir "$S/s" && echo 'tick:*' >"$S/s/user/events" && echo vpid >"$S/s/user/contexts" || fail mkdir
is "default" '*' "$(cat "$S/s/user/track/cgroup")"

# ---- the path of this group, as the kernel has it ----

"$in_group" "$group" "$ticker" 0 1000 &
a=$!
members=$a
within 10 grep -q "trailfs-$$" /proc/$a/cgroup || fail "not in the group"
path=$(group_path)
"$in_group" "$group-2" "$ticker" 0 1000 &
b=$!
members="$a $b"
within 10 grep -q "trailfs-$$-2" /proc/$b/cgroup || fail "not in the other group"

# ---- programs ----

vpids() { sed -n 's/.* vpid = \([0-9]*\).*/\1/p' "$S/s/text" | sort -un | tr '\n' ' '; }
records() { grep -q " vpid = $1[ ,]" "$S/s/text"; }
echo "$path" >"$S/s/user/track/cgroup" || fail "the path is refused"
is "the path" "$path" "$(cat "$S/s/user/track/cgroup")"
echo start >"$S/s/control" || fail start
within 20 records $a || fail "the process in the group is not recorded"
"$in_group" "$group/below" "$ticker" 0 1000 &
c=$!
members="$a $b $c"
within 20 records $c || fail "a later process in a group below is not recorded"
is "only these" "$(printf '%s\n' $a $c | sort -n | tr '\n' ' ')" "$(vpids)"
# A name that begins like the group's is another group.
echo "$path-2" >"$S/s/user/track/cgroup" && echo clear >"$S/s/control" || fail "write"
within 20 records $b || fail "the process in the other group is not recorded"
is "only the other" "$b " "$(vpids)"
echo "!$path-2" >>"$S/s/user/track/cgroup" && echo clear >"$S/s/control" || fail "take out"
is "empty" "" "$(cat "$S/s/user/track/cgroup")"
is "none" "" "$(vpids)"
# A path below the mount point
echo /sys/fs/cgroup/x.slice/ >"$S/s/user/track/cgroup" || fail "a path below the mount point"
is "without the mount point" "/x.slice" "$(cat "$S/s/user/track/cgroup")"
echo '*' >"$S/s/user/track/cgroup" && within 20 records $a || fail "all"

# ---- mistakes ----

for bad in no/slash 7 '/a\nb' '"'; do
	is "'$bad'" EINVAL "$(tool open "$S/s/user/track/cgroup" w write "$bad")"
done
echo /a >"$S/s/user/track/cgroup"
is "not in the set" ENOENT "$(tool open "$S/s/user/track/cgroup" w write '!/none')"
echo stop >"$S/s/control"

# ---- in another PID namespace, where the daemon knows no number before the process asks ----

kill $members
wait
members=
if unshare -p -f true 2>/dev/null; then
	mkdir "$S/n" && echo 'tick:*' >"$S/n/user/events" &&
		echo "$path" >"$S/n/user/track/cgroup" && echo start >"$S/n/control" || fail "n"
	"$in_group" "$group/below" unshare -p -f "$ticker" 20 0
	"$in_group" "$group-2" unshare -p -f "$ticker" 20 0
	is "of two namespaces" 20 "$(grep -c 'tick:tock' "$S/n/text")"
	rmdir "$S/n"
fi

# ---- the kernel ----

# (In a PID namespace the numbers of new processes are not known to be the group's.)
if ! grep -q '^kernel none' "$MNT/version" && [ "$(kernel_pid $$ 2>/dev/null)" = $$ ] &&
	[ -e "$MNT/available/kernel/events/syscalls/sys_enter_getppid" ]; then
	mkdir "$S/k" && echo syscall:entry:getppid >"$S/k/kernel/events" &&
		echo tid >"$S/k/kernel/contexts" &&
		echo "$path" >"$S/k/kernel/track/cgroup" && echo start >"$S/k/control" || fail "k"
	# The group is empty. Then a process is moved into it.
	start_caller
	call 5
	is "not in the group" 0 "$(grep -c getppid "$S/k/text")"
	echo $caller >"$group/below/cgroup.procs" || fail "move"
	joined() { call 1 && grep -q " tid = $number[ ,]" "$S/k/text"; }
	within 20 joined || fail "a process that joined is not recorded"
	# What it starts is recorded from its first call on; others are not.
	before=$(grep -c getppid "$S/k/text")
	"$BUILD/tests/lib/calls" 7 >/dev/null
	"$in_group" "$group" "$BUILD/tests/lib/calls" 3 >"$work/third"
	call 2
	is "only the group's" $number "$(sed -n 's/.* tid = \([0-9]*\).*/\1/p' "$S/k/text" |
		grep -v "^$(cat "$work/third")$" | sort -u)"
	[ "$(grep -c getppid "$S/k/text")" -ge $((before + 2)) ] || fail "calls are missing"
	is "no mistake" "" "$(grep -i 'another program' "$S/k/status")"
else
	echo "# the kernel is left out: it cannot be traced here"
fi
echo "$checks checks"
