#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# Text that system calls are given: entries have LTTng's strings, each call is one event, and what
# that takes in the kernel goes when the daemon ends, or belongs to the next one after a kill. By
# event probes: mount/kernel/bpf_calls.sh is about programs, and data.sh about Linux 6.19, which reads
# the text itself. SOAK: on each kernel that has event probes, and does not read the text itself.
kernel_in_check=6.1
kernels_in_soak='6.1 6.12'
KERNEL_BACKEND=tracefs
. "$(dirname "$0")/lib.sh"

cat >"$work/opens.c" <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* opens NUMBER FILE: that number of openat(2) of the file, one rename of what is not there, and as many getppid; prints its pid */
int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	volatile char first = argv[argc - 1][0];        /* its page is in memory then */

	(void)first;
	for (int i = 0; i < n; i++)
		close((int)syscall(SYS_openat, AT_FDCWD, argv[2], O_RDONLY | O_NOCTTY, 0));
	syscall(SYS_rename, argv[2], argv[2] + 1);
	for (int i = 0; i < n; i++)
		syscall(SYS_getppid);
	printf("%d\n", (int)getpid());
	return 0;
}
C
${CC:-cc} -O1 -o "$work/opens" "$work/opens.c" || skip "no compiler"
echo data >"$work/a file"

reads_text || skip "event probes of this kernel, $(uname -r), read all text as empty"

mount_tree
grep '^kernel' "$MNT/version" | grep -q 'no strings' && fail "$(grep '^kernel' "$MNT/version")"
is "fields" "int32 dfd,string filename,int32 flags,uint16 mode," \
	"$(tr '\n' ',' <"$MNT/available/kernel/events/syscalls/sys_enter_openat")"
is "a pointer stays one" "hex uint64 buf" \
	"$(grep buf "$MNT/available/kernel/events/syscalls/sys_enter_read")"
grep -q trailtext "$MNT/available/kernel/tracepoints" && fail "the probes are listed"

probes() {
	grep -c trailtext_ $T/dynamic_events
}

# --- one event for one call
s=$S/t
mkdir "$s"
printf '%s\n' syscall:openat syscall:rename syscall:getppid >"$s/kernel/events"
echo 'tid' >"$s/kernel/contexts"
echo start >"$s/control"
pid=$("$work/opens" 30 "$work/a file")
echo stop >"$s/control"
same_text "$s"
is "entries" 30 "$(grep -c " syscall_entry_openat: .*{ tid = $pid }, { dfd = -100, filename = \"$work/a file\", flags = 256, mode = 0 }" "$work/text")"
is "no others" "$(grep -c " syscall_exit_openat: .*{ tid = $pid }" "$work/text")" \
	"$(grep -c " syscall_entry_openat: .*{ tid = $pid }" "$work/text")"
is "two strings" 1 "$(grep -c " syscall_entry_rename: .*{ tid = $pid }, { oldname = \"$work/a file\", newname = \"${work#/}/a file\" }" "$work/text")"
is "none" 30 "$(grep -c " syscall_entry_getppid: .*{ tid = $pid }, { }" "$work/text")"
is "nothing lost" 0 "$(key events_discarded "$s/status")"
has "$(tr -d '\0' <"$s/trace/kernel/metadata")" 'string _filename;'

# --- filters on it, in the daemon; of numbers, in the kernel; more rules and fewer while it runs
echo "syscall:entry:openat if filename == \"*/a f*\" && dfd == -100" >"$s/kernel/events"
printf 'clear\nstart\n' >"$s/control"
# (As it is told for the tracepoint, whose arguments are wider: bit by bit.)
has "$(cat $T/instances/trailfs-t-*/events/trailtext_*_*/sys_enter_openat/filter)" \
	'!(dfd & 99) && dfd & 4 &&'
pid=$("$work/opens" 20 "$work/a file")
is "filtered" 20 "$(wc -l <"$s/text")"
echo '!syscall:entry:openat' 2>/dev/null >>"$s/kernel/events"
echo >"$s/kernel/events"
"$work/opens" 5 "$work/a file" >/dev/null
is "switched off" 20 "$(wc -l <"$s/text")"
is "wholly" "" "$(cat $T/instances/trailfs-t-*/set_event)"
rmdir "$s"
is "its probes have gone with it" 0 "$(grep -c 'trailtext_.*_.*/' $T/dynamic_events)"

# --- who is tracked, and two sessions at once
mkdir "$S/a" "$S/b"
echo 'syscall:entry:openat' >"$S/a/kernel/events"
echo 'syscall:entry:open*' >"$S/b/kernel/events"
echo tid >"$S/b/kernel/contexts"
echo $$ >"$S/b/kernel/track/pid"
echo start >"$S/a/control"
echo start >"$S/b/control"
pid=$("$work/opens" 7 "$work/a file")
setsid -f "$work/opens" 9 "$work/a file" >/dev/null 2>&1
echo stop >"$S/b/control"
echo stop >"$S/a/control"
is "a child of who is tracked" 7 \
	"$(grep -c "{ tid = $pid }, { dfd = -100, filename = \"$work/a file\"" "$S/b/text")"
[ "$(grep -c "a file" "$S/a/text")" -ge 7 ] || fail "the other session has nothing"
rmdir "$S/a" "$S/b"

# --- many of them. (babeltrace2 2.0.4 is not asked: at a boundary of its own it shows an empty
# string as the one before.)
s=$S/all
mkdir "$s"
printf '%s\n' 'syscall:entry:*' 'syscall:exit:openat' >"$s/kernel/events"
echo 'tid' >"$s/kernel/contexts"
echo start >"$s/control"
pid=$("$work/opens" 11 "$work/a file")
echo stop >"$s/control"
cat "$s/text" >"$work/text"
is "each once" "11 11 1" "$(grep "{ tid = $pid }" "$work/text" | awk '/entry_openat.*a file/ { a++ } /entry_getppid/ { b++ } /entry_rename/ { c++ } END { print a, b, c }')"
is "nothing lost of all" 0 "$(key events_discarded "$s/status")"
grep -q 'syscall_entry_execve: .*filename = ".*opens"' "$work/text" ||
	fail "no execve with its name: $(grep entry_execve "$work/text")"
[ "$(probes)" -gt 30 ] || fail "only $(probes) probes"
echo 'syscall:entry:open*' >"$s/kernel/events"
echo start >"$s/control"

# --- a killed daemon; then the end
"$work/opens" 3 "$work/a file" >/dev/null
kill -9 $(daemon_pids)
within 20 daemon_ended
umount -l "$MNT"
during=$("$work/opens" 13 "$work/a file")
before=$(probes)
mount_tree
after=$("$work/opens" 17 "$work/a file")
echo stop >"$s/control"
cat "$s/text" >"$work/text"
is "without a daemon" 13 "$(grep -c "{ tid = $during }, { dfd = -100, filename = \"$work/a file\"" \
	"$work/text")"
is "with the next one" 17 "$(grep -c "{ tid = $after }, { dfd = -100, filename = \"$work/a file\"" \
	"$work/text")"
is "the same probes" "$before" "$(probes)"
fusermount3 -u "$MNT"
within 20 daemon_ended
is "nothing is left" "0 0" "$(probes) $(ls $T/instances | grep -c trailfs)"
echo "$checks checks"
