#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# System calls with text on a kernel that permits BPF: programs record them, with the names of
# files. strace says which calls a program made. Nothing is lost unnoticed, in both loss modes;
# recording continues while there is no daemon; no program is left when the session is removed.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
by_programs
grep -q '^kernel.*strings of system calls by BPF' "$MNT/version" ||
	skip "BPF programs record no strings here: $(grep '^kernel' "$MNT/version")"
# Another run of this test beside this one has other names.
own=none$$
cat >"$work/opens.c" <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* opens FIRST COUNT: openat of as many files that there are not, by a number; `long`: of one long name */
int main(int argc, char **argv)
{
	static char name[6000];
	int first = argc > 1 ? atoi(argv[1]) : 0, count = argc > 2 ? atoi(argv[2]) : 0;

	if (argc > 1 && !strcmp(argv[1], "long")) {
		memset(name, 'x', sizeof(name) - 1);
		syscall(SYS_openat, AT_FDCWD, name, O_RDONLY, 0);
		syscall(SYS_openat, AT_FDCWD, NULL, O_RDONLY, 0);
		syscall(SYS_renameat2, AT_FDCWD, OWN "a", AT_FDCWD, "", 1);
		/* The same for the kernel, which takes the lower half of the number. */
		syscall(SYS_renameat2 | 1L << 32, AT_FDCWD, OWN "a", AT_FDCWD, "", 1);
	}
	if (argc > 3 && fork())
		return wait(NULL) < 0;
	for (int i = first; i < first + count; i++) {
		snprintf(name, sizeof(name), OWN "file%d", i);
		syscall(SYS_openat, AT_FDCWD, name, O_RDONLY, 0);
	}
	return 0;
}
C
${CC:-cc} -D_GNU_SOURCE -D"OWN=\"/$own/\"" -o "$work/opens" "$work/opens.c" || skip "no compiler"

# put_rule RULE FILE: with the own directory in the place of /none
put_rule() { put "$(echo "$1" | sed "s,/none/,/$own/,g")" "$2"; }
# hold ARGUMENT...: opens with these, stopped before its calls, as $child
hold() {
	${hold_on-} sh -c 'kill -STOP $$; exec "$@"' sh "$work/opens" "$@" &
	child=$!
	within 20 stands $child || fail "the program does not stop"
}
# names FILE: of the files that the program could not open, in order
names() { sed -n 's/.*syscall_entry_openat: .*filename = "\/'$own'\/file\([0-9]*\)".*/\1/p' "$1"; }

s=$S/t$mark
mkdir "$s" "$s/kernel/channels/channel0"
put_rule 'syscall:openat if filename == "/none/*"' "$s/kernel/events"
put pid "$s/kernel/contexts"
put start "$s/control"
if command -v strace >/dev/null && strace -o "$work/strace" -e trace=openat "$work/opens" 100 50; then
	sed -n 's/^openat(AT_FDCWD, "\/'$own'\/file\([0-9]*\)".*/\1/p' "$work/strace" >"$work/want"
	names "$s/text" >"$work/got"
	is "as strace says" "50 $(cat "$work/want")" "$(wc -l <"$work/got") $(cat "$work/got")"
fi
"$work/opens" 1000 3000
seq 1000 3999 >"$work/want"
names "$s/text" | tail -n 3000 >"$work/got"
cmp -s "$work/want" "$work/got" || fail "3000 names are not the expected ones"
has "$(tail -n 1 "$s/text")" 'dfd = -100, filename = "/'$own'/file3999", flags = 0, mode = 0 }$'
is "losses" 0 "$(key events_discarded "$s/status")"
same_text "$s"

# --- the channel's `backend`
is "choices" "auto tracefs bpf module" "$(tr -d '[]' <"$s/kernel/channels/channel0/backend")"
for by in tracefs bpf module; do
	b=$S/b$mark
	mkdir "$b" "$b/kernel/channels/channel0"
	put $by "$b/kernel/channels/channel0/backend"
	put 'syscall:openat' "$b/kernel/events"
	put 'syscall:renameat2' "$b/kernel/events"
	put tid "$b/kernel/contexts"
	if [ $by = module ]; then
		is "no module" EOPNOTSUPP "$(tool open "$b/control" wt write 'start\n' close |
			grep -o EOPNOTSUPP)"
		has "$(cat "$b/error")" 'backend.* is module, but trail.ko was not loaded'
		rmdir "$b"
		continue
	fi
	printf '%s\n' syscall:openat syscall:renameat2 >"$work/events"
	cat "$work/events" >"$b/kernel/events"
	put start "$b/control"
	"$work/opens" long
	put stop "$b/control"
	same_text "$b"
	cp "$work/text" "$work/by_$by"
	rmdir "$b"
done
# (Tracefs has text only where the kernel has event probes, and not all of these read it.)
has "$(cat "$work/by_tracefs")" 'filename = "\(0x[0-9a-f]*\|x*\|(fault)\)", flags = 0'
has "$(cat "$work/by_tracefs")" \
	'oldname = "\(0x[0-9a-f]*\|/'$own'/a\|(fault)\|\)", newdfd = -100, newname = "[^"]*", flags = 1'
has "$(cat "$work/by_bpf")" 'oldname = "/'$own'/a", newdfd = -100, newname = "", flags = 1'
thread=$(sed -n 's/.*entry_renameat2: .*{ tid = \([0-9]*\) }.*"\/'$own'\/a".*/\1/p' "$work/by_bpf" |
	head -n 1)
is "each call has both sides" "2 2" "$(for side in entry exit; do
	grep -c "syscall_${side}_renameat2: .*{ tid = $thread }" "$work/by_bpf"
done | xargs)"

# --- the exit follows its entry; a text is cut; a text that cannot be read is empty
put 'syscall:openat' "$s/kernel/events"
put 'syscall:entry:renameat2' "$s/kernel/events"
cat >"$s/kernel/events" <<'E'
syscall:openat
syscall:renameat2
E
hold long
pid=$(kernel_pid $child)
kill -CONT $child
wait $child
cat "$s/text" >"$work/text"
has "$(grep -o 'filename = "xx*"' "$work/text" | awk '{ print length }')" '^4108$'
# (Other processes open files meanwhile.)
is "the next" '"" -14' "$(grep "{ pid = $pid }" "$work/text" | grep -A3 'filename = "xxx' |
	sed -n 's/.*entry_openat.*filename = \(""\).*/\1/p; s/.*exit_openat: .*{ ret = \(-14\) }/\1/p' |
	xargs echo | sed 's/^ *-14/"" -14/')"
has "$(cat "$work/text")" 'oldname = "/'$own'/a", newdfd = -100, newname = "", flags = 1'
# (Linux 7.0 may preempt a program, and misses then the events of that thread, which are counted.)
is "in order" "" "$(awk '/^\[/ { if ($1 < last) print; last = $1 }' "$work/text")"
rmdir "$s"

# --- filters: what the program decides is not recorded; the daemon decides the rest
# filtered EVENTS RECORDED FILTER [PATTERN]: of the 300 calls of one process
filtered() {
	mkdir "$S/f$mark"
	hold 0 300
	put_rule "${4-syscall:entry:openat} if $3" "$S/f$mark/kernel/events"
	put $child "$S/f$mark/kernel/track/pid"
	put start "$S/f$mark/control"
	kill -CONT $child
	wait $child
	put stop "$S/f$mark/control"
	is "events of $3" "$1" "$(grep -c . "$S/f$mark/text")"
	is "recorded of $3" "$2" \
		"$("$BUILD/tests/lib/bpf_rings" "trailfs-f$mark" | awk '{ n += $2 } END { print n + 0 }')"
	rmdir "$S/f$mark"
}
filtered 300 300 'filename == "/none/*"'
filtered 1 1 'filename == "/none/file7"'
filtered 0 0 '"/none/file" == filename'
filtered 111 111 'filename == "/none/file2*" && flags == 0 && dfd < 0'
filtered 189 189 'filename == "/none/*" && filename != "/none/file2*"'
filtered 111 300 'filename == "/none/*" && filename == "*file2*"'
filtered 2 2 'flags == 7 || filename == "/none/file8" || filename == "/none/file9"'
filtered 0 0 'filename == "/none/*" && (flags != 0 || mode > 5)'
# What is never true: no `int` has that value; an exit lacks the arguments, an entry `ret`.
filtered 0 0 'flags == 4294967295'
filtered 300 300 'filename == "/none/*"' syscall:openat
filtered 300 300 'ret == -2' syscall:openat
filtered 300 300 'flags == 4294967295 || filename == "/none/*" || ret == -2' syscall:openat
# As the program decides alone, the filter wants all that is lost.
s=$S/x$mark
mkdir "$s" "$s/kernel/channels/channel0"
put 64k "$s/kernel/channels/channel0/subbuf_size"
put 4 "$s/kernel/channels/channel0/subbuf_count"
put discard "$s/kernel/channels/channel0/loss_mode"
hold 0 20000
put_rule "syscall:openat if filename == \"/none/*\" && \$ctx.tid == $(kernel_pid $child)" \
	"$s/kernel/events"
put start "$s/control"
kill -CONT $child
wait $child
put stop "$s/control"
lost=$(key events_discarded "$s/status")
is "held and lost" 20000 $((lost + $(names "$s/text" | wc -l)))
# (All of them, if a text was not in memory, or if Linux 7.0 has preempted a program.)
unfiltered=$(key events_unfiltered "$s/status")
[ "$unfiltered" = "$lost" ] || is "of these unfiltered" 0 "$unfiltered"
[ "$lost" -gt 5000 ] || fail "only $lost are lost"
rmdir "$s"
# Another filter takes the place of the first one while calls are made.
s=$S/r$mark
mkdir "$s"
put_rule 'syscall:entry:openat if filename == "/none/file*"' "$s/kernel/events"
put start "$s/control"
for i in 0 1 2 3 4 5 6 7 8 9; do
	"$work/opens" ${i}000 1000
done &
child=$!
for i in 1 2 3 4 5 6 7 8; do
	put_rule "syscall:entry:openat if filename == \"/none/file*\" && dfd != $i" "$s/kernel/events"
done
wait $child
names "$s/text" | awk 'NR > 1 && $1 != last + 1 { print "after " last " comes " $1 } { last = $1; n++ } END { print n }' \
	>"$work/got"
is "none twice, none missing" 10000 "$(cat "$work/got")"
rmdir "$s"

# --- loss modes: what was recorded is held, or is counted as lost
for mode in discard overwrite; do
	s=$S/$mode$mark
	mkdir "$s" "$s/kernel/channels/channel0"
	put 64k "$s/kernel/channels/channel0/subbuf_size"
	put 4 "$s/kernel/channels/channel0/subbuf_count"
	put $mode "$s/kernel/channels/channel0/loss_mode"
	put 'syscall:entry:openat' "$s/kernel/events"
	hold_on="taskset -c $first_cpu"
	hold 0 20000
	hold_on=
	put $child "$s/kernel/track/pid"
	put start "$s/control"
	kill -CONT $child
	wait $child
	put stop "$s/control"
	names "$s/text" >"$work/got"
	held=$(grep -c syscall_entry_openat "$s/text")
	recorded=$(key events_recorded "$s/status")
	lost=$(($(key events_discarded "$s/status") + $(key events_overwritten "$s/status")))
	others=$((held - $(wc -l <"$work/got")))
	[ "$lost" -gt 5000 ] || fail "$mode: only $lost are lost"
	if [ $mode = discard ]; then
		is "$mode: held and lost" $((20000 + others)) $((held + lost))
		is "$mode: the first ones" "$(seq 0 $((held - others - 1)) | cksum)" \
			"$(cksum <"$work/got")"
	else
		is "$mode: held and lost, with the loader's" 1 \
			$((held + lost >= 20000 && held + lost < 20100))
		is "$mode: the last ones" "$(seq $((20000 - held)) 19999 | cksum)" \
			"$(cksum <"$work/got")"
		is "$mode: recorded" "$((held + lost))" "$recorded"
	fi
	rmdir "$s"
done

# --- only a process, and the children that it makes
s=$S/p$mark
mkdir "$s"
put_rule 'syscall:entry:openat if filename == "/none/*"' "$s/kernel/events"
hold 0 20 fork
put $child "$s/kernel/track/pid"
put start "$s/control"
kill -CONT $child
wait $child
"$work/opens" 500 20
is "of the process and its child" "$(seq 0 19 | xargs)" "$(names "$s/text" | xargs)"
put '*' "$s/kernel/track/pid"
"$work/opens" 600 5
is "of all again" "600 601 602 603 604" "$(names "$s/text" | tail -n 5 | xargs)"
mkdir "$S/q$mark"
put_rule 'syscall:openat if filename == "/none/*"' "$S/q$mark/kernel/events"
put start "$S/q$mark/control"
put $$ "$S/q$mark/kernel/track/pid"
"$work/opens" 610 2
(cd / && "$work/opens" 620 2)
put 1 "$S/q$mark/kernel/track/pid"
"$work/opens" 630 2
is "a set that came later" "610 611 620 621" "$(names "$S/q$mark/text" | xargs)"
rmdir "$S/q$mark"

# --- off at once, however long it takes the kernel to detach a program
"$work/opens" 640 2
put 'syscall:entry:renameat2' "$s/kernel/events"
"$work/opens" 650 2
put_rule 'syscall:openat if filename == "/none/*"' "$s/kernel/events"
"$work/opens" 660 2
is "off and on" "640 641 660 661" "$(names "$s/text" | tail -n 4 | xargs)"

# --- without a daemon; the keeper holds the programs
keeper_programs() { cat /proc/"$keeper"/fdinfo/* 2>/dev/null | grep -c '^prog_id'; }
keeper=$(ps -eo pid=,args= | awk -v a="trail-keeper --keeper $TRAIL_RUNTIME_DIR" \
	'{ p = $1; sub(/^ *[0-9]* /, "") } $0 == a { print p }')
[ "$(keeper_programs)" -gt 0 ] || fail "the keeper holds no program"
kill -9 $(daemon_pids)
within 20 daemon_ended
end_dead_mount "$MNT"
"$work/opens" 700 5
mount_tree
"$work/opens" 800 5
is "while there was no daemon, and later" "700 701 702 703 704 800 801 802 803 804" \
	"$(names "$s/text" | tail -n 10 | xargs)"
is "in order" "" "$(awk '/^\[/ { if ($1 < last) print; last = $1 }' "$s/text")"
kernel_since 7.0 || is "lost" 0 "$(key events_discarded "$s/status")"
rmdir "$s"
is "programs that are left" 0 "$(keeper_programs)"
echo "$checks checks"
