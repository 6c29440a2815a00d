#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A channel whose `backend` is bpf: programs record all events. They record what tracefs records of
# the same process at the same time, field by field; what they missed is counted. Filters and sets of
# processes hold. An event that the kernel takes no program for is recorded by tracefs.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
[ "$(kernel_pid $$)" = $$ ] || skip "in a PID namespace the numbers of new processes are not known"
programs_record ||
	skip "BPF programs record nothing here: $(grep '^kernel' "$MNT/version")"
cat >"$work/busy.c" <<'C'
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void send_one(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	char text[8];
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	if (!bind(s, (void *)&a, len) && !getsockname(s, (void *)&a, &len) &&
	    sendto(s, "hello", 5, 0, (void *)&a, len) == 5)
		recv(s, text, 5, 0);
	close(s);
}

/* busy FILE: memory, files, signals, threads, sleep, a network */
int main(int argc, char **argv)
{
	struct timespec t = { 0, 200000 };
	static char buf[8192];

	for (int round = 0; round < 10; round++) {
		char *p = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (int i = 0; i < 1 << 18; i += 4096)
			p[i] = 1;
		munmap(p, 1 << 18);
		int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
		for (int i = 0; i < 4; i++)
			if (write(fd, buf, sizeof(buf)) < 0)
				return 1;
		close(fd);
		unlink(argv[1]);
		signal(SIGUSR1, SIG_IGN);
		raise(SIGUSR1);
		if (!fork()) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		wait(NULL);
		nanosleep(&t, NULL);
		send_one();
	}
	return argc != 2;
}
C
${CC:-cc} -O1 -o "$work/busy" "$work/busy.c" || skip "no compiler"
# hold: the program, stopped before it begins, as $child
hold() {
	sh -c 'kill -STOP $$; exec "$@"' sh taskset -c "$first_cpu" "$work/busy" "$work/file" &
	child=$!
	within 20 stands $child || fail "the program does not stop"
}
# events PATTERN…: those that there are, a line each
events() {
	for event; do
		! grep -qx "$event" "$MNT/available/kernel/tracepoints" || echo "$event"
	done
}

# --- the same records
events sched:sched_switch sched:sched_waking sched:sched_wakeup sched:sched_process_fork \
	sched:sched_process_exec sched:sched_process_exit sched:sched_stat_runtime \
	irq:irq_handler_entry irq:softirq_entry irq:softirq_exit timer:timer_start \
	timer:hrtimer_start timer:hrtimer_expire_entry signal:signal_generate signal:signal_deliver \
	kmem:mm_page_alloc kmem:kmem_cache_free exceptions:page_fault_user \
	workqueue:workqueue_queue_work writeback:writeback_dirty_inode net:netif_rx \
	net:net_dev_queue net:netif_receive_skb skb:kfree_skb skb:consume_skb \
	filemap:mm_filemap_add_to_page_cache task:task_newtask >"$work/rules"
[ "$(wc -l <"$work/rules")" -gt 15 ] || skip "this kernel has other events"
echo 'syscall:getsockname' >>"$work/rules"
hold
for by in tracefs bpf; do
	s=$S/$by$mark
	mkdir "$s" "$s/kernel/channels/channel0"
	put $by "$s/kernel/channels/channel0/backend"
	put 1M "$s/kernel/channels/channel0/subbuf_size"
	cat "$work/rules" >"$s/kernel/events"
	put 'tid procname' "$s/kernel/contexts"
	put $child "$s/kernel/track/pid"
	put start "$s/control"
	is "mistakes of $by" "" "$(cat "$s/error")"
done
kill -CONT $child
wait $child
put stop "$S/bpf$mark/control"
put stop "$S/tracefs$mark/control"
# (Linux before 5.18 reads a thread's state for each record anew, and another CPU may wake it.)
state='prev_state'
kernel_since 5.18 || state='prev_state = [0-9]*'
for by in tracefs bpf; do
	is "overwritten by $by" 0 "$(key events_overwritten "$S/$by$mark/status")"
	# Events in other threads are about these processes too. Each backend misses some of those:
	# tracefs the first switch from an idle CPU, where the other one sees it. (The kernel's time
	# in ticks may pass on between the two records of an event.)
	sed -n 's/^\[[0-9:.]*\] ([^)]*) [^ ]* //p' "$S/$by$mark/text" |
		grep ' procname = "\(sh\|taskset\|busy\|true\)" }' |
		sed "s/\(now = \)[0-9]*/\1N/; s/$state/prev_state/" | sort >"$work/$by"
	sed 's/ procname = "[a-z]*" }/ }/' "$work/$by" | sort >"$work/$by.unnamed"
done
# (In an interrupt of execve, one of the two may have the name of before: tracefs has none, and the
# daemon knows it by other events.)
comm -13 "$work/tracefs.unnamed" "$work/bpf.unnamed" >"$work/only_bpf"
comm -23 "$work/tracefs.unnamed" "$work/bpf.unnamed" >"$work/only_tracefs"
is "other records" "" "$(head -n 3 "$work/only_bpf")"
[ "$(comm -13 "$work/tracefs" "$work/bpf" | wc -l)" -lt 100 ] ||
	fail "other names: $(comm -13 "$work/tracefs" "$work/bpf" | head -n 3)"
missing=$(wc -l <"$work/only_tracefs")
lost=$(key events_discarded "$S/bpf$mark/status")
# (Linux before 6.7 does not count what programs of tracepoints miss.)
[ "$missing" -le "$lost" ] || ! kernel_since 6.7 ||
	fail "$missing are missing, $lost were counted: $(head -n 3 "$work/only_tracefs")"
[ $((missing * 10)) -lt "$(wc -l <"$work/tracefs")" ] || fail "$missing are missing"
[ "$(cut -d: -f1 "$work/bpf" | uniq | wc -l)" -gt 15 ] || fail "few events: $(cut -d: -f1 "$work/bpf" | uniq)"
is "none by tracefs" "" "$(grep . /sys/kernel/tracing/instances/trailfs-bpf$mark-*/set_event)"
same_text "$S/bpf$mark"
rmdir "$S/tracefs$mark" "$S/bpf$mark"

# --- filters and sets, of any event
record_filtered() {
	s=$S/f$mark
	mkdir "$s" "$s/kernel/channels/channel0"
	put bpf "$s/kernel/channels/channel0/backend"
	printf '%s\n' 'sched:sched_process_exec if filename == "/bin/tr*"' \
		'kmem:mm_page_alloc if order > 20' 'syscall:entry:getsockname if fd >= 0' \
		>"$s/kernel/events"
	hold
	put $child "$s/kernel/track/pid"
	put start "$s/control"
	kill -CONT $child
	wait $child
	put stop "$s/control"
}
record_whole record_filtered
is "filtered" "10 sched_process_exec 10 syscall_entry_getsockname" \
	"$(sed -n 's/^\[[^)]*) [^ ]* \([^:]*\):.*/\1/p' "$s/text" | sort | uniq -c | xargs)"
"$BUILD/tests/lib/bpf_rings" "trailfs-f$mark" | awk '{ n += $2 } END { print n + 0 }' >"$work/n"
is "recorded" 20 "$(cat "$work/n")"
rmdir "$s"

# --- the kernel runs 64 programs that copy the record of a tracepoint, as those with stacks do: the
# channels beyond say so, and tracefs records (It takes long to detach them.)
if [ -n "${SOAK-}" ]; then
	s=$S/m$mark
	mkdir "$s"
	n=0
	while [ $n -lt 66 ]; do
		mkdir "$s/kernel/channels/c$n" || break
		put 16k "$s/kernel/channels/c$n/subbuf_size"
		put 2 "$s/kernel/channels/c$n/subbuf_count"
		put 'syscall:entry:getsockname if fd == 12345' "$s/kernel/channels/c$n/events"
		put callstack-user "$s/kernel/channels/c$n/contexts"
		n=$((n + 1))
	done
	is "channels" 66 $n
	put start "$s/control"
	refused=$(grep -l '^programs_refused 1 syscalls:sys_enter_getsockname: .*at most 64' \
		"$s"/kernel/channels/*/status | wc -l)
	[ "$refused" -ge 2 ] || fail "only $refused channels have no program"
	is "backends" 66 "$(cat "$s"/kernel/channels/*/status | grep -c '^backend bpf$')"
	rmdir "$s"
fi
echo "$checks checks"
