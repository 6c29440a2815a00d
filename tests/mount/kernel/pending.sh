#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Kernel rules that wait for their events: accepted where the same rule without `?` is not, shown as
# pending, kept by a restart, and refused where nothing waits. tests/vm/pending.sh has what happens
# when the events appear.
. "$(dirname "$0")/../../lib/mount.sh"
mount_kernel

s=$S/t
mkdir "$s"
tool open "$s/kernel/events" w write 'no_such:event\n' >"$work/ret"
is "without ?" ENOENT "$(cat "$work/ret")"
printf '%s\n' '?no_such:event if x > 3' '~?no_such:other' 'sched:sched_switch' \
	'? sched:sched_wakeup' >"$s/kernel/events" || fail "refused: $(cat "$s/error")"
is "kept as written" '?no_such:event if x > 3,~?no_such:other,sched:sched_switch,?sched:sched_wakeup,' \
	"$(tr '\n' ',' <"$s/kernel/events")"
is "pending" 'channel0 0 pending ?no_such:event if x > 3' "$(sed -n 2p "$s/kernel/rules")"
is "not if disabled" 'channel0 0 0 ~?no_such:other' "$(sed -n 3p "$s/kernel/rules")"
is "not if there is the event" 'channel0 1 0 ?sched:sched_wakeup' "$(sed -n 5p "$s/kernel/rules")"
has "$(tr -d '\n ' <"$s/rules.json")" '"hits":0,"pending":1,"rule":"?no_such:event'
echo start >"$s/control" || fail "$(cat "$s/error")"
echo stop >"$s/control"
echo '!?no_such:event if x > 3' >>"$s/kernel/events" || fail "not removed: $(cat "$s/error")"
is "removed" 3 "$(wc -l <"$s/kernel/events")"

# --- mistakes
for rule in '?' '??a:b' '?a:b:c' '?' '?sched:sched_switch if no_such_field == 1'; do
	tool open "$s/kernel/events" wa write "$rule\n" >"$work/ret"
	is "$rule" EINVAL "$(cat "$work/ret")"
done
# No program can define such events on some kernels.
if ! by_module && [ ! -e "$T/user_events_data" ]; then
	for rule in '?user_events:some' 'user_events:some'; do
		tool open "$s/kernel/events" wa write "$rule\n" >"$work/ret"
		is "$rule" EOPNOTSUPP "$(cat "$work/ret")"
		has "$(cat "$s/error")" "this kernel has no events that programs define"
	done
	has "$(cat "$MNT/version")" '^kernel .*no user_events'
fi
tool open "$s/user/events" w write '?a:b\n' >"$work/ret"
is "programs" EINVAL "$(cat "$work/ret")"
has "$(cat "$s/error")" "leave '?' out"
is "nothing changed" 3 "$(wc -l <"$s/kernel/events")"

# --- a file that is no library keeps no other rule from its event
rmdir "$s"
if ${CC:-cc} --version >/dev/null 2>&1 && [ -e "$T/uprobe_events" ] && ! by_module; then
	mkdir "$s" "$work/lib"
	echo 'int f(int x) { return x; }' >"$work/f.c"
	printf '%s\n' "?uprobe:$work/lib/bad.so:f as bad" "?uprobe:$work/lib/good.so:f as good" \
		>"$s/kernel/events" || fail "uprobes: $(cat "$s/error")"
	echo start >"$s/control"
	echo hello >"$work/lib/bad.so"
	${CC:-cc} -shared -fPIC -o "$work/good.so" "$work/f.c" && mv "$work/good.so" "$work/lib/good.so"
	there() { grep -q "^channel0 1 .*$1.so" "$s/kernel/rules"; }
	within 20 there good || fail "pending: $(cat "$s/kernel/rules")"
	has "$(cat "$s/kernel/rules")" '^channel0 0 pending .*bad.so'
	has "$(cat "$s/error")" "bad.so:f as bad: the file is no program"
	cp "$work/lib/good.so" "$work/good.so" && mv "$work/good.so" "$work/lib/bad.so"
	within 20 there bad || fail "still pending: $(cat "$s/kernel/rules")"
	rmdir "$s"
fi
echo "$checks checks"
