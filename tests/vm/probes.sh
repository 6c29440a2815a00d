#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 1000
#
# Probes that rules make, and function tracing: what is recorded, who shares them, and that nothing
# of them is left. SOAK: on each kernel.
kernel_in_check=backports
VM_SECONDS=${VM_SECONDS:-2000}
export VM_SECONDS
prepare() {
	from=${0%/*}/probed
	cc="${CC:-cc} -O1 -fcf-protection=none"
	mkdir -p "$1/a dir" && $cc -shared -fPIC -o "$1/a dir/libprobed.so" "$from/lib.c" || return
	for program in "probed -fPIE -pie" "fixed -no-pie -fno-pie"; do
		$cc ${program#* } -o "$1/${program%% *}" "$from/probed.c" -L"$1/a dir" -lprobed \
			"-Wl,-rpath,\$ORIGIN/a dir" || return
	done
}
. "$(dirname "$0")/lib.sh"

command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
mkdir "$work/a dir"
P=$work/probed
L="$work/a dir/libprobed.so"
cp -r "$prepared/." "$top/tests/vm/probed/lib.c" "$work/" || fail "no program to probe"

probes() {
	cat $T/kprobe_events $T/uprobe_events | grep -c trailfs_
}

# count EVENT PID [MORE]: events in $work/text
count() {
	grep -c " $1: .*{ tid = $2 }.*{ .*${3-}" "$work/text"
}

# refused ERRNO WORDS RULE: the write fails, `error` says why, and nothing is left of it
refused() {
	before=$(probes)
	is "'$3'" "$1" "$(tool open "$s/kernel/events" w write "$3\n")"
	has "$(cat "$s/error")" "$2"
	is "left by '$3'" "$before" "$(probes)"
}

K='__x64_sys_getppid'
refused_one=$(sed -n 's/.*\t\(.*\)/\1/p' /sys/kernel/debug/kprobes/blacklist 2>/dev/null | head -n 1)
mkdir -p "$XDG_CONFIG_HOME/trailfs/groups.d"
cat >"$XDG_CONFIG_HOME/trailfs/groups.d/own.ini" <<END
[own.ids]
entry = nowhere:nothing
    kprobe:${refused_one:-no_such_function}
    kprobe:$K kprobe:no_such_function
return = kretprobe:$K

[bad.one]
record = kprobe:${refused_one:-no_such_function}
END
mount_tree
F=$(grep -m 1 '_sys_getppid$' $T/available_filter_functions)

# --- each kind, and who calls how often
s=$S/kinds
mkdir "$s"
echo tid >"$s/kernel/contexts"
cat >"$s/kernel/events" <<END
kprobe:$K
kretprobe:$K
uprobe:$P:from_program
uretprobe:$P:from_program
uprobe:$work/fixed:from_program
"uprobe:$L:from_library"
usdt:$P:demo:hit
END
is "reads as written" "$(printf '%s\n' "kprobe:$K" "kretprobe:$K" "uprobe:$P:from_program" "uretprobe:$P:from_program" \
	"uprobe:$work/fixed:from_program" "\"uprobe:$L:from_library\"" "usdt:$P:demo:hit")" "$(cat "$s/kernel/events")"
is "they are there" 8 "$(probes)"
is "none is a tracepoint" 0 "$(grep -c trailfs "$MNT/available/kernel/tracepoints")"
ls "$MNT/available/kernel/events" | grep trailfs && fail "they are listed as tracepoints"
set -- $("$P" 1)
is "no process listens yet" 0 "$2"
echo start >"$s/control"
set -- $("$P" 50)
pid=$1
is "listeners" 2 "$2"
set -- $("$work/fixed" 30)
fixed=$1
echo stop >"$s/control"
# (trail.ko closes its counters a moment later.)
is_alone() {
	set -- $("$P" 1)
	[ "$2" = 0 ]
}
within 20 is_alone || fail "a process listens after the stop"
same_text "$s"
is "kprobe" 50 "$(count "kprobe:$K" $pid 'ip = 0xFF')"
is "kretprobe" 50 "$(count "kretprobe:$K" $pid 'ip = 0xFF.*, parent_ip = 0xFF')"
is "uprobe of a program that lies anywhere" 50 "$(count "uprobe:$P:from_program" $pid 'ip = 0x')"
is "its return" 50 "$(count "uretprobe:$P:from_program" $pid 'ip = 0x.*, parent_ip = 0x')"
is "in a library" 50 "$(count "uprobe:$L:from_library" $pid 'ip = 0x7[EF]')"
is "another's use of it" 30 "$(count "uprobe:$L:from_library" $fixed)"
is "uprobe of a program that lies fast" 30 \
	"$(count "uprobe:$work/fixed:from_program" $fixed 'ip = 0x40')"
is "not of the other" 0 "$(count "uprobe:$P:from_program" $fixed)"
is "usdt" 100 "$(count "usdt:$P:demo:hit" $pid)"
is "its first place" 1 "$(count "usdt:$P:demo:hit" $pid 'arg0 = 49, arg1 = 1234605616436508552 ')"
is "its second place" 1 "$(count "usdt:$P:demo:hit" $pid 'arg0 = -49, arg1 = 5 ')"
is "no loss" 0 "$(key events_discarded "$s/status")"
rmdir "$s"
is "nothing is left of the kinds" 0 "$(probes)"

# --- the same function by its address, and as symbol and offset
s=$S/address
mkdir "$s" && echo tid >"$s/kernel/contexts"
A=0x$(awk -v k="$K" '$3 == k { print $1; exit }' /proc/kallsyms)
printf '%s\n' "kprobe:$A" "kretprobe:$A" "kprobe:$K+0" >"$s/kernel/events" ||
	fail "an address: $(cat "$s/error")"
echo start >"$s/control"; set -- $("$P" 20); echo stop >"$s/control"
same_text "$s"
for r in "kprobe:$A" "kretprobe:$A" "kprobe:$K+0"; do is "$r" 20 "$(count "$r" "$1" 'ip = 0xFF')"; done
rmdir "$s"

# --- entry and return of a function as one rule, and names of one's own
s=$S/calls
mkdir "$s"
echo tid >"$s/kernel/contexts"
rules="kcall:$K
kcall:$K as asked
ucall:$P:from_program as step with %di:s32 as n, \$retval:s32 as got
usdt:$P:demo:hit as one_hit with arg0 as n if n > 48
kprobe:$K as asked_entry"
echo "$rules" >"$s/kernel/events" || fail "kcall: $(cat "$s/error")"
is "reads as written" "$rules" "$(cat "$s/kernel/events")"
is "a rule makes its entry and its return, and shares them" $((2 + 2 + 2 + 2)) "$(probes)"
refused ENOENT "no function 'no_such_thing_at_all'" kcall:no_such_thing_at_all
refused EINVAL "has no offset" "kcall:$K+8 as x"
refused EINVAL "only probes get a name" "sched_switch as x"
refused EINVAL "letters, '_'" "kprobe:$K as x-y"
echo start >"$s/control"
set -- $("$P" 50)
echo stop >"$s/control"
same_text "$s"
for name in "$K" asked; do
	is "entries" 50 "$(count ${name}_entry $1 'ip = 0xFF')"
	is "returns" 50 "$(count ${name}_exit $1 'ip = 0xFF.*, parent_ip = 0xFF')"
done
is "each argument and its result" "" "$(grep " step_[a-z]*: .*{ tid = $1 }" "$work/text" |
	awk '{ want = NR % 2 ? "n = " i++ " }" : "got = " i " }" }
	!index($0, want) || (!/ step_entry: /) == NR % 2 { print want ": " $0 }')"
is "calls" 100 "$(grep -c ' step_[a-z]*: ' "$work/text")"
is "a name of its own" 1 "$(count one_hit $1 'n = 49 }')"
is "with a filter" 1 "$(grep -c ' one_hit: ' "$work/text")"
is "counted as one rule" "2 100 ucall" "$(sed -n 's/^channel0 \(.* ucall\):.*/\1/p' "$s/kernel/rules")"
for name in "$K" asked step; do
	[ "$(awk -v name="$name" '$1 == "pair" && $NF == name { print $4, $5, $6 }' "$s/stats" |
		awk '$1 >= 50')" ] || fail "no times of $name: $(grep ^pair "$s/stats")"
done
echo "!kcall:$K" >>"$s/kernel/events"
is "all are removed but the entry that another rule has, too" $((1 + 2 + 2)) "$(probes)"
rmdir "$s"
is "nothing is left of calls" 0 "$(probes)"

# --- hooks: probes are made and removed with their rule; what the kernel refuses is left out
s=$S/hooks
mkdir "$s"
echo tid >"$s/kernel/contexts"
refused ENOENT "this kernel \(refuses\|does not have\) kprobe:" @bad.one
echo '@own' >"$s/kernel/events" || fail "@own"
is "reads as written" '@own' "$(cat "$s/kernel/events")"
is "the hook's probes" 2 "$(probes)"
has "$(cat "$MNT/available/kernel/groups")" "^own.ids.entry 0.0 kprobe:$K\$"
echo start >"$s/control"
set -- $("$P" 25)
echo stop >"$s/control"
same_text "$s"
is "entries" 25 "$(count "kprobe:$K" $1 'ip = 0xFF')"
is "returns" 25 "$(count "kretprobe:$K" $1 'parent_ip = 0xFF')"
echo '!@own' >>"$s/kernel/events"
is "nothing is left of a hook" 0 "$(probes)"
echo '@* except @syscall,@iosyscall' >"$s/kernel/events" || fail "all hooks"
[ "$(probes)" -gt 5 ] || fail "all hooks need $(probes) probes"
echo start >"$s/control"
"$P" 1 >/dev/null
echo stop >"$s/control"
rmdir "$s"
is "nothing is left of all hooks" 0 "$(probes)"

# --- filters on fields; the same probe in two channels, and in another session
s=$S/filters
mkdir "$s" "$s/kernel/channels/a" "$s/kernel/channels/b" "$S/other"
echo tid >"$s/kernel/channels/a/contexts"
echo "usdt:$P:demo:hit if arg0 > 5" >"$s/kernel/channels/a/events"
echo "usdt:$P:demo:hit if arg1 == 5" >"$s/kernel/channels/b/events"
echo "usdt:$P:demo:hit" >"$S/other/kernel/events"
is "shared" 2 "$(probes)"
echo start >"$s/control"
echo start >"$S/other/control"
"$P" 20 >/dev/null
is "first filter" 14 "$(grep -c '{ tid = .*arg0 = [0-9]*, arg1 = 12346' "$s/text")"
is "second filter" 20 "$(grep -c '}, { ip = .*, arg1 = 5 }' "$s/text")"
is "in all" 34 "$(wc -l <"$s/text")"
rmdir "$s/kernel/channels/a"
is "still in use" 2 "$(probes)"
rmdir "$s"
is "still in use by another session" 2 "$(probes)"
"$P" 10 >/dev/null
is "which continues" 60 "$(wc -l <"$S/other/text")"
echo "~usdt:$P:demo:hit" >"$S/other/kernel/events"
is "disabled" 2 "$(probes)"
"$P" 10 >/dev/null
is "not recorded" 60 "$(wc -l <"$S/other/text")"
echo "!usdt:$P:demo:hit" >>"$S/other/kernel/events"
is "not removed while a process records who had it: that would cost other events" 2 "$(probes)"
is "old events are still there" 60 "$(wc -l <"$S/other/text")"

# --- ids of the kernel's are given again: the next event is not taken for the last
echo stop >"$S/other/control"
is "but then" 0 "$(probes)"
for rule in "kprobe:$K" "uretprobe:$P:from_program" "usdt:$P:demo:hit" "kprobe:$K" \
	"uretprobe:$P:from_program" "usdt:$P:demo:hit"; do
	echo "$rule" >"$S/other/kernel/events"
	echo start >"$S/other/control"
	"$P" 5 >/dev/null
	echo stop >"$S/other/control"
done
is "one at a time" 2 "$(probes)"
same_text "$S/other"
[ "$(grep -c " kprobe:$K: " "$work/text")" -ge 10 ] ||
	fail "kprobe: $(grep -c " kprobe:$K: " "$work/text")"
is "uretprobe" 10 "$(grep -c " uretprobe:$P:from_program: .*parent_ip" "$work/text")"
is "usdt" $((60 + 20)) "$(grep -c " usdt:$P:demo:hit: .*arg1" "$work/text")"
is "no loss" 0 "$(key events_discarded "$S/other/status")"
rmdir "$S/other"
is "nothing is left of filters" 0 "$(probes)"

# --- the kernel empties buffers when a probe goes, and its counters begin anew: losses are not
# forgotten
s=$S/losses
mkdir "$s" "$s/kernel/channels/channel0"
echo 4k >"$s/kernel/channels/channel0/subbuf_size"
echo 2 >"$s/kernel/channels/channel0/subbuf_count"
echo discard >"$s/kernel/channels/channel0/loss_mode"
for i in 1 2; do
	echo "uprobe:$P:from_program" >"$s/kernel/events"
	echo start >"$s/control"
	"$P" 2000 >/dev/null
	printf 'stop\n' >"$s/control"
	sum=$(($(key events_recorded "$s/status") + $(key events_discarded "$s/status")))
	is "recorded and discarded, turn $i" $((2000 * i)) $sum
	echo sched_process_fork >"$s/kernel/events"
	is "the probe went" 0 "$(probes)"
done
[ "$(key events_discarded "$s/status")" -gt 2000 ] || fail "nothing was lost"
rmdir "$s"

. "$(dirname "$0")/extra_data"
# (5 minutes in a guest: for SOAK=1. tests/mount/kernel/hooks.sh fires hooks on the kernel that runs
# here.)
[ -z "${SOAK-}" ] || . "$(dirname "$0")/hook_values"

# --- mistakes
s=$S/wrong
mkdir "$s"
echo sched_switch >"$s/kernel/events"
refused ENOENT "did you mean 'vfs_read'" kprobe:vfs_raed
refused ENOENT "no such file\|No such file" uprobe:/no/such/file:main
refused ENOENT "did you mean 'from_program'" "uprobe:$P:from_progam"
refused ENOENT "no probe 'demo:hot'" "usdt:$P:demo:hot"
refused EINVAL "no ELF file\|ELF" "uprobe:$work/lib.c:main"
refused EINVAL "not a regular file" uprobe:/dev/null:main
refused EINVAL "cannot be compared" "usdt:$P:demo:hit if arg0 == \"x\""
is "a blacklisted function" EINVAL \
	"$(tool open "$s/kernel/events" w write "kprobe:$(sed -n 's/.*\t\(.*\)/\1/p' \
	/sys/kernel/debug/kprobes/blacklist 2>/dev/null | head -n 1 | grep . ||
	echo kprobe_ftrace_handler)\n")"
has "$(cat "$s/error")" "allows no probe\|no function"
is "one wrong line, nothing is made" ENOENT \
	"$(tool open "$s/kernel/events" w write "kprobe:$K\nkprobe:no_such_thing_at_all\n")"
is "nothing is left of what was refused" 0 "$(probes)"
is "the rules are as before" sched_switch "$(cat "$s/kernel/events")"
rmdir "$s"

# --- whose rights
cp /etc/group /etc/passwd "$work/"
sed -i '/^tracing:/d' /etc/group
echo 'tracing:x:54320:bob' >>/etc/group
echo 'bob:x:54321:54321:::/bin/sh' >>/etc/passwd
as_bob() {
	setpriv --reuid 54321 --regid 54321 --groups 54320 "$@"
}
cp "$TOOL" "$work/tool"
cp "$P" "$work/secret"
chmod 700 "$work/secret"
as_bob mkdir "$S/bob"
for rule in "usdt:$work/secret:demo:hit" "uprobe:$work/secret:from_program"; do
	is "'$rule' of who may not read it" EACCES \
		"$(as_bob "$work/tool" open "$S/bob/kernel/events" w write "$rule\n")"
	is "not even root for him" EACCES "$(tool open "$S/bob/kernel/events" w write "$rule\n")"
done
has "$(cat "$S/bob/error")" "owner may not read it"
is "nothing is left of what bob may not" 0 "$(probes)"
as_bob sh -c "echo 'usdt:$P:demo:hit' >'$S/bob/kernel/events'" ||
	fail "a member of the group may not"
is "made for him" 2 "$(probes)"
rmdir "$S/bob"
# (Other tests in this guest have users with these numbers.)
cp "$work/group" "$work/passwd" /etc/

# --- a session's configuration has them, and makes them
s=$S/taken
mkdir "$s"
printf '[session]\nstart = yes\n[kernel channel]\nname = channel0\nevents = kprobe:%s\nevents = usdt:%s:demo:hit\ncontexts = tid\n' "$K" "$P" |
	cat >"$s/config" || fail "config: $(cat "$s/error")"
set -- $("$P" 30)
cat "$s/text" >"$work/text"
is "kprobe, by a configuration" 30 "$(count "kprobe:$K" "$1")"
is "usdt, by a configuration" 60 "$(count "usdt:$P:demo:hit" "$1")"
mkdir "$S/copy"
cat "$s/config" >"$S/copy/config" || fail "copy: $(cat "$S/copy/error")"
rmdir "$s"
is "the copy needs them" 3 "$(probes)"
printf '[kernel channel]\nname = q\nevents = kprobe:vfs_read\nevents = kprobe:no_such_thing\n' |
	cat >"$S/copy/config" 2>/dev/null && fail "taken"
is "what is refused leaves nothing" 3 "$(probes)"
rmdir "$S/copy"
is "nothing is left of it" 0 "$(probes)"

# --- others' events are others'
echo "p:mine/vfs vfs_read" >>$T/kprobe_events
echo "p:trailfs_00c0ffee/kprobe_x vfs_read" >>$T/kprobe_events
is "one that another program made is a tracepoint" 1 \
	"$(grep -c '^mine:vfs$' "$MNT/available/kernel/tracepoints")"
is "another daemon's is not" 0 "$(grep -c trailfs_ "$MNT/available/kernel/tracepoints")"
# Counters are closed a moment after their session.
remove_mine() {
	echo "-:mine/vfs" >>$T/kprobe_events
} 2>/dev/null
mkdir "$S/all"
echo '*' >"$S/all/kernel/events"
echo start >"$S/all/control"
if by_module; then
	"$P" 1 >/dev/null
	grep -q ' vfs: .*{ ip = 0xFF' "$S/all/text" || fail "is not recorded as one"
	grep -q 'kprobe_x:' "$S/all/text" && fail "is not left alone"
else
	i=$(ls -d $T/instances/trailfs-all-*)
	is "is recorded as one" 1 "$(cat "$i/events/mine/vfs/enable" | tr -d '*')"
	is "is left alone" 0 "$(cat "$i/events/trailfs_00c0ffee/kprobe_x/enable")"
fi
rmdir "$S/all"
within 20 remove_mine || fail "cannot be removed"
# One that is made again under its name has another id.
for turn in 1 2; do
	echo "p:mine/vfs vfs_read" >>$T/kprobe_events
	mkdir "$S/again"
	echo mine:vfs >"$S/again/kernel/events"
	echo start >"$S/again/control"
	"$P" 1 >/dev/null
	echo stop >"$S/again/control"
	grep -q ' vfs: .*{ ip = 0xFF' "$S/again/text" || fail "made again ($turn): not recorded"
	is "made again ($turn): nothing is discarded" 0 "$(key events_discarded "$S/again/status")"
	rmdir "$S/again"
	within 20 remove_mine || fail "cannot be removed"
done

# --- functions
s=$S/functions
mkdir "$s"
if by_module; then
	refused EOPNOTSUPP "trail.ko does not trace calls of functions" "function:$F"
else
	echo tid >"$s/kernel/contexts"
	is "no such function" ENOENT \
		"$(tool open "$s/kernel/events" w write "function:no_such_*_thing\n")"
	is "another name of a function" ENOENT \
		"$(tool open "$s/kernel/events" w write "function:$K\n")"
	has "$(cat "$s/error")" "its other name '$F'"
	echo "function:$F" >"$s/kernel/events"
	echo "function:vfs_* except function:vfs_write,function:vfs_w* if func != \"vfs_read*\"" \
		>>"$s/kernel/events"
	echo start >"$s/control"
	set -- $("$P" 40)
	cat "$P" >/dev/null
	echo stop >"$s/control"
	same_text "$s"
	is "calls" 40 "$(count function $1 "func = \"$F\", parent_func = \".*")"
	[ "$(grep -c 'func = "vfs_' "$work/text")" -gt 0 ] || fail "no other functions"
	is "those are excepted" 0 \
		"$(grep -c ' func = "vfs_[wr]' "$work/text" |
		sed "s/^$(grep -c ' func = "vfs_rmdir\| func = "vfs_rename' "$work/text")\$/0/")"
	is "nothing else" 0 "$(grep ' function: ' "$work/text" |
		grep -vc " func = \"vfs_\| func = \"$F\"")"
	echo "sched_process_exit" >"$s/kernel/events"
	echo start >"$s/control"
	is "no function is traced" 1 \
		"$(wc -l <"$(ls -d $T/instances/trailfs-functions-*)/set_ftrace_filter")"
	"$P" 10 >/dev/null
	echo stop >"$s/control"
	is "no more of them" 40 "$(grep -c "func = \"$F\", parent_func" "$s/text")"
	echo $$ >"$s/kernel/track/pid"
	echo "function:$F" >"$s/kernel/events"
	echo start >"$s/control"
	set -- $("$P" 20)
	setsid -f "$P" 3 >/dev/null
	echo stop >"$s/control"
	cat "$s/text" >"$work/text"
	is "of who is tracked" 20 "$(count function $1)"
fi
rmdir "$s"

# --- the program goes while it is probed
s=$S/gone
mkdir "$s"
cp "$P" "$work/short"
echo "uprobe:$work/short:from_program" >"$s/kernel/events"
echo start >"$s/control"
"$work/short" 5 >/dev/null
rm "$work/short"
"$P" 5 >/dev/null
is "what was recorded stays" 5 "$(wc -l <"$s/text")"
cp "$P" "$work/short"
"$work/short" 7 >/dev/null
is "another file is not probed" 5 "$(wc -l <"$s/text")"
echo >"$s/kernel/events"
echo "uprobe:$work/short:from_program" >"$s/kernel/events"
"$work/short" 7 >/dev/null
is "but by a new rule" 12 "$(wc -l <"$s/text")"
rmdir "$s"
echo "-:trailfs_00c0ffee/kprobe_x" >>$T/kprobe_events
is "nothing is left of all" 0 "$(probes)"

# --- a killed daemon: what it recorded, what continues, and what is not wanted any more
s=$S/killed
mkdir "$s" "$S/lost"
echo tid >"$s/kernel/contexts"
printf '%s\n' "usdt:$P:demo:hit" "kretprobe:$K" "kcall:$K as asked" >"$s/kernel/events"
by_module || echo "function:$F" >>"$s/kernel/events"
T_EXTRA=
by_module || ! grep -q '<attached-group>' $T/README ||
	T_EXTRA='sched_process_exit with pid as who'
[ -z "$T_EXTRA" ] || echo "$T_EXTRA" >>"$s/kernel/events" || fail "$T_EXTRA"
printf '%s\n' "usdt:$P:demo:hit" "uprobe:$P:from_program" >"$S/lost/kernel/events"
echo start >"$s/control"
echo start >"$S/lost/control"
set -- $("$P" 10)
before=$1
kill -9 $(daemon_pids)
within 20 daemon_ended
umount -l "$MNT"
is "they stay" 6 "$(probes)"
set -- $("$P" 20)
during=$1
rm -rf "$work/state/sessions/lost"
mount_tree
set -- $("$P" 30)
after=$1
echo stop >"$s/control"
is "but for those of a session that is gone" 5 "$(probes)"
same_text "$s"
for one in "$before 10" "$during 20" "$after 30"; do
	set -- $one
	is "usdt" $((2 * $2)) "$(count "usdt:$P:demo:hit" $1)"
	is "kretprobe" $2 "$(count "kretprobe:$K" $1)"
	is "entry" $2 "$(count asked_entry $1)"
	is "and return" $2 "$(count asked_exit $1)"
	by_module || is "function" $2 "$(count function $1)"
	[ -z "$T_EXTRA" ] || is "extra data" 1 "$(count sched_process_exit $1 ", who = $1 }")"
done
is "no loss" 0 "$(key events_discarded "$s/status")"
fusermount3 -u "$MNT" 2>/dev/null || umount "$MNT"
within 20 daemon_ended
is "a clean unmount leaves nothing" 0 "$(probes)"
is "nor channels" 0 "$(kernel_channels '')"

echo "$checks checks"
