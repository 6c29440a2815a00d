#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 900
#
# Filters in trail.ko: what they let through is what tracefs and the daemon let through, and what
# they do not has never been in the ring.
kernel_in_check=backports
if [ -z "${VM-}${SOAK-}" ]; then
	echo "a guest takes a minute for all operators: for SOAK=1"
	exit 77
fi
prepare() {
cat >"$1/load.c" <<'C'
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nothing(int signal) { (void)signal; }

/* load [N]: a bit of everything on CPU 0, between two calls of getppid, or N calls of getppid; prints its pid */
int main(int argc, char **argv)
{
	cpu_set_t cpu;
	struct timespec t = { 0, 1000000 };
	char *p;

	if (argc > 1) {
		for (int n = atoi(argv[1]); n; n--)
			syscall(SYS_getppid);
		printf("%d\n", (int)getpid());
		return 0;
	}
	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	signal(SIGUSR1, nothing);
	signal(SIGUSR2, nothing);
	syscall(SYS_getppid);
	for (int i = 0; i < 24; i++) {
		static const char program[] = "/bin/true";
		static const char *const names[] = { "/etc/passwd", "/nonexistent/a", "/nonexistent/b.conf", "/dev/null", "" };

		p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(p, 1, 65536);
		munmap(p, 65536);
		kill(getpid(), i & 1 ? SIGUSR1 : SIGUSR2);
		nanosleep(&t, NULL);
		close((int)syscall(SYS_openat, AT_FDCWD, names[i % 5], O_RDONLY | (i & 2 ? O_CLOEXEC : 0), 0));
		if (i % 6 == 0) {
			/* The page is in the child's memory then: programs also read a text later. */
			if (!fork() && *(const volatile char *)program)
				execl(program, "true", (char *)NULL);
			wait(NULL);
		}
	}
	syscall(SYS_getppid);
	printf("%d\n", (int)getpid());
	return 0;
}
C
	${CC:-cc} -D_GNU_SOURCE -o "$1/load" "$1/load.c"
}
. "$(dirname "$0")/modlib.sh"
cp "$prepared/load" "$work/" || fail "no program"


# ring SESSION: events, bytes and losses of its rings
ring() {
	"$BUILD/tests/vm/heads" "trailfs-$1-" | cut -d ' ' -f 2-
}

texts=
! reads_text || texts='
syscall:entry:openat if filename == "/nonexistent/*.conf" || (flags & 0x80000) == 0x80000 && filename == ""
syscall:entry:execve if filename == "*rue"
'
other=$(mktemp -d)
TRAIL_RUNTIME_DIR=$work/other-state "$TRAILFS" "$other" || fail "no other mount"
has "$(cat "$other/version")" '^kernel tracefs'
load
mount_tree
has "$(cat "$MNT/version")" '^kernel module '

# --- the same rules by tracefs and by the module
# session NAME, with rules from standard input; and getppid, for the marks
session() {
	cat >"$work/rules"
	names="${names-} $1"
	for m in "$other" "$MNT"; do
		s=$m/sessions/$1
		mkdir "$s" "$s/kernel/channels/channel0"
		echo 1M >"$s/kernel/channels/channel0/subbuf_size"
		{ cat "$work/rules"; echo 'syscall:entry:getppid'; } >"$s/kernel/events" ||
			fail "$1: $(cat "$s/error")"
		echo tid >"$s/kernel/contexts"
	done
}

session numbers <<'E2'
sched:sched_switch if next_prio < 120 || prev_prio <= 100
timer:hrtimer_start if softexpires > 5u && softexpires >= -1 && !(expires == 0)
kmem:mm_page_alloc if (gfp_flags & 0x40) == 0x40 && order < 1u
kmem:mm_page_free if ~order > 0 || -order < 0 || pfn > 0x8000000000000000
irq:softirq_entry if vec == 1
irq:softirq_exit if vec != 1 && vec << 2 > 4
signal:signal_generate if sig == 10 && (group == 1 || result != 0)
task:task_newtask if (clone_flags >> 8) & 1 == 1 || pid < 0
E2
# (Linux 5.10 records the address of the workqueue.)
named=
! grep -q 'char\[\] workqueue;' $T/events/workqueue/workqueue_queue_work/format ||
	named='workqueue:workqueue_queue_work if workqueue == "events*"'
session texts <<E2
$named
sched:sched_wakeup if comm == "load"
sched:sched_switch if prev_comm == "lo*" && next_comm != "*wor*" && prev_comm[0] == 108
sched:sched_process_exec if filename == "/bin/*e" || filename == "*load*"
task:task_rename if newcomm == "true"
task:task_newtask if comm != "load"
irq:irq_handler_entry if name == "*a*"
sched:sched_process_exit if !(comm == "load") && comm == "t*u*e"
signal:signal_deliver if sig == 12
E2
session syscalls <<E2
$texts
syscall:exit:openat if ret == -2
syscall:entry:kill if sig == 12
syscall:entry:mmap if len == 65536u && fd < 0 && addr == 0
syscall:exit:mmap if ret > 0
syscall:exit:munmap if ret != 0
syscall:nanosleep if \$ctx.tid == 1
E2
# Several for one event; counters; what only the daemon can do; contexts.
session mixed <<E2
sched:sched_switch if next_comm == "load"
sched:sched_sw* if prev_comm == "load" && \$ctx.procname == "load"
sched:sched_waking if \$ctx.cpu_id == 0 && (\$ctx.pid == \$ctx.tid || prio < 100) && comm == "load"
sched:sched_process_fork if parent_pid == parent_tid && parent_comm == "load"
sched:sched_process_free if prio < 0 || (tid > 0 && comm == "true")
$(! on_x86 || echo 'exceptions:page_fault_user if (error_code & 2) == 2 && $ctx.procname == "load"')
raw_syscalls:sys_enter if id == $kill && args[1] == 12
raw_syscalls:sys_exit if id == $openat && ret < 0
irq:softirq_raise if vec == 9 && vec == 8 || vec == 1
signal:signal_generate if \$ctx.procname == "l?ad" || \$ctx.procname == "load"
E2
# What CPU 0 did between the marks, without times. An interrupt may have come between the two probes
# of one event: order is not compared. (Before Linux 5.18 each probe reads the state of a thread
# itself, which another CPU may wake meanwhile.)
state=none
kernel_since 5.18 || state='prev_state = [0-9]+'
window() {
	awk -v mark="syscall_entry_getppid: { cpu_id = 0 }, { tid = $pid }" -v state="$state" '
		!/: { cpu_id = 0 }, / { next }
		{ sub(/^\[[^]]*\] \([^)]*\) /, ""); sub(state, "prev_state = N") }
		index($0, mark) { marks++ }
		marks == 1 && !index($0, mark)' "$1/text" | sort
}
compare() {
	for n in $names; do
		echo start >"$other/sessions/$n/control"
		echo start >"$S/$n/control"
	done
	pid=$("$work/load")
	for n in $names; do
		echo stop >"$S/$n/control"
		echo stop >"$other/sessions/$n/control"
	done
	for n in $names; do
		is "$n: no loss" "0 0" \
			"$(key events_discarded "$S/$n/status") $(key events_discarded \
			"$other/sessions/$n/status")"
		window "$other/sessions/$n" >"$work/$n.tracefs"
		window "$S/$n" >"$work/$n.module"
		diff "$work/$n.tracefs" "$work/$n.module" >"$work/$n.diff" ||
			{ differs=$n; return 1; }
	done
}
compare || compare || compare || fail "$differs: not the same: $(head -n 20 "$work/$differs.diff")"
for n in $names; do
	kinds=$(awk '{ print $2 }' "$work/$n.module" | sort | uniq -c | awk '{ print $2, $1 }' |
		sed 's/: / /')
	echo "$n: $(echo $kinds)"
	# What was in the rings is what is in the text: nothing was left to the daemon, in these.
	case $n in
	numbers | texts | syscalls)
		set -- $(ring $n)
		is "$n: the module has decided" "$(key events_recorded "$S/$n/status")" "$1" ;;
	esac
done
for m in "$other" "$MNT"; do
	for n in $names; do
		rmdir "$m/sessions/$n"
	done
done
fusermount3 -u "$other" 2>/dev/null || umount "$other"
clean

# --- what is rejected never was in a ring, nor lost, though there is hardly room: by a compiled
# probe, a system call, a counter
s=$S/rejected
mkdir "$s" "$s/kernel/channels/channel0"
echo 4k >"$s/kernel/channels/channel0/subbuf_size"
echo 2 >"$s/kernel/channels/channel0/subbuf_count"
cat >"$s/kernel/events" <<E2
sched:sched_switch if next_comm == "nobody" || prev_prio > 1000
syscall:getppid if ret == -1
syscall:entry:openat if filename == "*\\**"
raw_syscalls:sys_exit if id == $getppid && ret < 0
E2
echo start >"$s/control"
"$work/load" 5000 >/dev/null
"$work/load" >/dev/null
echo stop >"$s/control"
is "nothing was in the rings" "0 0 0" "$(ring rejected)"
is "nothing was lost" "0 0" "$(key events_recorded "$s/status") $(key events_discarded "$s/status")"
rmdir "$s"

# --- contexts that the channel does not record: the module decides alone
s=$S/alone
mkdir "$s"
cat >"$s/kernel/events" <<'E2'
syscall:entry:getppid if $ctx.uid == 0 && $ctx.nice == 0
syscall:exit:getppid if $ctx.uid == 1
E2
echo tid >"$s/kernel/contexts"
echo start >"$s/control"
pid=$("$work/load" 40)
echo stop >"$s/control"
is "root's" 40 "$(grep -c "syscall_entry_getppid: .*{ tid = $pid }" "$s/text")"
is "and no other process's" 0 "$(grep -c "syscall_exit_getppid" "$s/text")"
rmdir "$s"

# --- rules that change while it records; a filter ends with its rule
s=$S/changing
mkdir "$s"
echo 'syscall:entry:getppid if $ctx.procname == "nobody"' >"$s/kernel/events"
echo tid >"$s/kernel/contexts"
echo start >"$s/control"
a=$("$work/load" 100)
echo "syscall:entry:getppid if \$ctx.procname == \"l*d\"" >"$s/kernel/events"
b=$("$work/load" 200)
echo 'syscall:entry:getppid' >>"$s/kernel/events"
c=$("$work/load" 300)
echo 'syscall:entry:getppid if $ctx.tid == 0' >"$s/kernel/events"
d=$("$work/load" 400)
echo stop >"$s/control"
cat "$s/text" >"$work/text"
for w in "0 $a" "200 $b" "300 $c" "0 $d"; do
	is "with the rules of that time" "${w% *}" "$(grep -c "{ tid = ${w#* } }" "$work/text")"
done
is "they have decided in the kernel" 500 "$(ring changing | cut -d ' ' -f 1)"
rmdir "$s"
clean
echo "$checks checks"
