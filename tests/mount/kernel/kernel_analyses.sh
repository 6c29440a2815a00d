#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 240
#
# A kernel trace is one for programs that were written for LTTng's: babeltrace 1 reads it, from the
# mount too, and the tables that lttng-analyses makes of it have the figures of a process that says
# what it did.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
# Asking for its number would be work of the process that is measured.
[ "$(kernel_pid $$)" = $$ ] || skip "in a PID namespace the measured process does not know its number"
for program in babeltrace lttng-cputop-mi python3; do
	command -v $program >/dev/null ||
		skip "there is no $program (packages babeltrace, python3-lttnganalyses)"
done
[ -e $T/events/syscalls/sys_enter_getppid ] || skip "this kernel has no system call events"

cat >"$work/known_work.c" <<'C'
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static long send_some(int n, size_t size)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(to);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	char data[4096] = { 0 };
	long sent = 0;

	if (fd < 0 || bind(fd, (struct sockaddr *)&to, len) || getsockname(fd, (struct sockaddr *)&to, &len))
		return 0;
	while (n--)
		if (sendto(fd, data, size, 0, (struct sockaddr *)&to, len) == (ssize_t)size)
			sent += recv(fd, data, sizeof(data), 0);
	return sent;
}

/* known_work FILE OUTPUT: reads, writes, calls, computes and sleeps, and says how much */
int main(int argc, char **argv)
{
	struct timespec nap = { .tv_nsec = 500000 };
	char data[4096] = { 0 }, line[200];
	long long begin, burnt;
	long net;
	int fd, n;

	if (argc < 3)
		return 2;
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < 200; i++)
		if (pwrite(fd, data, 1000, i * 1000) != 1000)
			return 4;
	fsync(fd);
	for (int i = 0; i < 300; i++)
		if (pread(fd, data, 512, i * 512) != 512)
			return 5;
	for (int i = 0; i < 700; i++)
		syscall(SYS_getppid);
	net = send_some(10, 100);
	begin = cpu_ns();
	while ((burnt = cpu_ns() - begin) < 200000000)
		for (volatile int i = 0; i < 100000; i++)
			;
	for (int i = 0; i < 20; i++)
		nanosleep(&nap, NULL);
	n = snprintf(line, sizeof(line), "%d %ld %lld\n", (int)getpid(), net, cpu_ns());
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	return pwrite(fd, line, (size_t)n, 0) != n;
}
C
# Without a loader, which reads files too
${CC:-cc} -static -o "$work/known_work" "$work/known_work.c" 2>/dev/null ||
	skip "no compiler, or no static libc"

cat >"$work/check.py" <<'PYTHON'
import json, re, subprocess, sys

trace, irq_trace, irq_text = sys.argv[1:4]
pid, net, cpu_ns, line_size, ran_ns = map(int, sys.argv[4:9])

def tables(program, *args, of=trace):
    out = subprocess.run(['lttng-' + program + '-mi', '--no-intersection', *args, of], capture_output=True, text=True, timeout=1000)
    try:
        return json.loads(out.stdout)['results']
    except (ValueError, KeyError):
        sys.exit('%s: %s' % (program, (out.stdout + out.stderr)[-1000:]))

def of_pid(rows):
    return [r for r in rows if r[0].get('tid') == pid]

def title(table):
    return table['class'] if isinstance(table['class'], str) else table['class'].get('title', '')

def equal(what, want, got):
    if want != got:
        sys.exit('%s: %s instead of %s' % (what, got, want))

def near(what, want, got, slack):
    if abs(want - got) > slack:
        sys.exit('%s: %s instead of %s' % (what, got, want))

calls = {}
for t in tables('syscallstats', '--tid', str(pid)):
    for row in t['data']:
        calls[row[0]['name']] = row[1]['value']
for name, n in ('getppid', 700), ('pwrite64', 201), ('pread64', 300), ('sendto', 10), ('clock_nanosleep', 20):
    if name != 'sendto' or net:
        equal(name, n, calls.get(name, calls.get(name.replace('clock_', ''), 0)))

seen = set()
for t in tables('iousagetop', '--limit', '1000'):
    if title(t).startswith('Per-process top I/O'):
        way = 'read' if 'read' in title(t) else 'written'
        row, = of_pid(t['data'])
        _, total, disk, sent, unknown = (c.get('value') for c in row)
        own = 300 * 512 if way == 'read' else 200 * 1000 + line_size
        equal('bytes ' + way, own, disk)
        equal('bytes of sockets ' + way, net, sent)
        equal('all bytes ' + way, own + net, total)
        seen.add(way)
equal('tables of iousagetop', {'read', 'written'}, seen)

# Who runs for how long: the share of the trace's whole time
for t in tables('cputop', '--limit', '1000'):
    span = t['time-range']['end']['value'] - t['time-range']['begin']['value']
    if t['class'] == 'per-process':
        row, = of_pid(t['data'])
        near('share of the CPU', ran_ns / span, row[3]['value'], 0.05 + 0.02 * ran_ns / span)
        # What the process counts lacks its own end, and what a hypervisor took from its CPU.
        if cpu_ns / span > row[3]['value'] + 0.05 + 0.02 * cpu_ns / span:
            sys.exit('share of the CPU: %s, and it used %s' % (row[3]['value'], cpu_ns / span))

naps = [r for t in tables('schedlog') for r in t['data'] if r[5].get('tid') == pid]
if len(naps) < 20:
    sys.exit('only %d wake-ups' % len(naps))

lines = open(irq_text).read()
irqs, begun = {}, {}
for m in re.finditer(r' irq_handler_(entry|exit): .*\bcpu_id = (\d+) .*\birq = (\d+)', lines):
    if m[1] == 'entry':
        begun[m[2]] = m[3]
    elif begun.pop(m[2], None) == m[3]:
        irqs[int(m[3])] = irqs.get(int(m[3]), 0) + 1
told = {r[0]['nr']: r[1]['value'] for t in (tables('irqstats', of=irq_trace) if irqs else []) for r in t['data'] if r[0].get('hard')}
equal('interrupts', irqs, told)
print('%d kinds of calls, %d wake-ups, %d interrupts' % (len(calls), len(naps), sum(told.values())))
PYTHON

# What lttng-analyses-record asks for, as far as this kernel has it
cat >"$work/rules" <<'RULES'
sched_switch
sched_wakeup*
sched_waking
sched_process_*
irq_softirq_*
block_rq_complete
block_rq_issue
block_bio_*
net_dev_xmit
net_if_receive_skb
kmem_mm_page_*
syscall:*
RULES

record() { # CPU
	mkdir "$s" "$s/kernel/channels/channel0"
	echo 4M >"$s/kernel/channels/channel0/subbuf_size"
	echo 4 >"$s/kernel/channels/channel0/subbuf_count"
	while read -r rule; do
		echo "$rule" 2>/dev/null >>"$s/kernel/events" || echo "left out: $rule"
	done <"$work/rules"
	# This shell and what it starts: the analyses take long for what all others do.
	echo $$ >"$s/kernel/track/pid"
	mkdir "$s.irq"
	echo 'irq_handler_*' >"$s.irq/kernel/events"
	echo start >"$s.irq/control"
	echo start >"$s/control"
	# It stays where this shell is.
	taskset -cp "$1" $$ >/dev/null || skip "no taskset"
	"$work/known_work" "$work/file" "$work/said" || fail "the process failed: $?"
	taskset -cp "$cpus" $$ >/dev/null
	echo stop >"$s/control"
	echo stop >"$s.irq/control"
	cat "$s/text" >"$work/text"
	read -r pid net cpu_ns <"$work/said"
}

whole() {
	[ "$(key events_discarded "$s/status")$(key events_overwritten "$s/status")" = 00 ]
}

# Only where the kernel tells of all switches of the process (a damaged one may not) can the tables
# be right.
continuous() {
	awk -v p="$pid" '$4 == "sched_switch:" {
		match($0, /cpu_id = [0-9]+/); cpu = substr($0, RSTART + 9, RLENGTH - 9)
		match($0, /prev_tid = [0-9]+/); prev = substr($0, RSTART + 11, RLENGTH - 11)
		match($0, /next_tid = [0-9]+/); next_ = substr($0, RSTART + 11, RLENGTH - 11)
		if (cpu in now && now[cpu] != prev && (now[cpu] == p || prev == p)) bad = 1
		now[cpu] = next_
	} END { exit bad }' "$work/text"
}

# How long the process ran, by the switches in the text; ns
ran() {
	awk -v p="$pid" '$4 == "sched_switch:" {
		split(substr($1, 2), t, "[:.\\]]")
		now = ((t[1] * 60 + t[2]) * 60 + t[3]) * 1e9 + t[4]
		match($0, /prev_tid = [0-9]+/); prev = substr($0, RSTART + 11, RLENGTH - 11)
		match($0, /next_tid = [0-9]+/); next_ = substr($0, RSTART + 11, RLENGTH - 11)
		if (prev == p && begun) sum += now - begun + (now < begun) * 86400e9
		begun = next_ == p ? now : prev == p ? 0 : begun
	} END { printf "%d", sum }' "$work/text"
}

cpus=$(taskset -cp $$ | sed 's/.*: //')
s=$S/analyses
try=$(echo "$cpus" | tr ',' '\n' |
	awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }' | head -n 4)
# Twice each
for cpu in $try $try again; do
	[ "$cpu" != again ] ||
		skip "too busy to record all, or a kernel that does not tell of all switches"
	record "$cpu"
	whole && continuous && break
	rmdir "$s" "$s.irq"
done

# --- babeltrace 1, from the mount and from a copy
copy_image "$s/trace" "$work/copy"
for trace in "$s/trace" "$work/copy"; do
	TZ=UTC timeout 200 babeltrace --clock-gmt "$trace" >"$work/bt1" 2>"$work/bt1.err" ||
		fail "babeltrace: $(cat "$work/bt1.err")"
	[ ! -s "$work/bt1.err" ] || fail "babeltrace: $(cat "$work/bt1.err")"
	is "events that babeltrace reads" "$(wc -l <"$work/text")" "$(wc -l <"$work/bt1")"
done
babeltrace2 "$work/copy" 2>"$work/bt.err" | wc -l >"$work/bt" ||
	fail "babeltrace2: $(cat "$work/bt.err")"
is "events that babeltrace2 reads" "$(wc -l <"$work/text")" "$(($(cat "$work/bt")))"
copy_image "$s.irq/trace" "$work/irqs"
cat "$s.irq/text" >"$work/irq_text"
rmdir "$s" "$s.irq"

# --- the tables
size=$(wc -c <"$work/said")
timeout 1000 python3 "$work/check.py" "$work/copy" "$work/irqs" "$work/irq_text" "$pid" "$net" \
	"$cpu_ns" "$size" "$(ran)" >"$work/checked" 2>&1 || fail "$(cat "$work/checked")"
echo "$(cat "$work/checked"), $(wc -l <"$work/text") events, $checks checks"
