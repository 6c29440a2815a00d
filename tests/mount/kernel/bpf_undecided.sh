#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Of what a channel of BPF programs loses, `events_unfiltered` has those about which a filter on text
# had not decided, and no others: lost where the ring was full, or recorded without their text, as
# its page was not in memory, and overwritten.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
by_programs
grep -q '^kernel.*strings of system calls by BPF' "$MNT/version" ||
	skip "BPF programs record no strings here: $(grep '^kernel' "$MNT/version")"
cat >"$work/calls.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Calls chroot as often, of a name in a page that is not in memory. */
static int call_late(const char *file, int n)
{
	int fd = open(file, O_RDWR | O_CREAT, 0600);
	char *page;

	if (pwrite(fd, "/none/late", 11, 0) != 11)
		return 1;
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return 1;
	while (n-- > 0) {
		if (madvise(page, 4096, MADV_DONTNEED))
			return 1;
		syscall(SYS_chroot, page);
	}
	return 0;
}

/*
 * calls FILE LATE N OTHERS: all on one CPU; LATE of chroot without text, N of getpgid, OTHERS of
 * chroot with text
 */
int main(int argc, char **argv)
{
	char other[] = "/none/other";
	int cpu = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (argc != 5 || sched_setaffinity(0, sizeof(one), &one))
		return 1;
	if (call_late(argv[1], atoi(argv[2])))
		return 1;
	for (int n = atoi(argv[3]); n > 0; n--)
		syscall(SYS_getpgid, 0);
	for (int n = atoi(argv[4]); n > 0; n--)
		syscall(SYS_chroot, other);
	return 0;
}
C
${CC:-cc} -o "$work/calls" "$work/calls.c" || skip "no compiler"

# lose MODE LATE OTHERS: records such calls in a small ring; lost and unfiltered are what status says
lose() {
	s=$S/u$mark
	mkdir "$s" "$s/kernel/channels/channel0"
	c=$s/kernel/channels/channel0
	put bpf "$c/backend"
	put 64k "$c/subbuf_size"
	put 2 "$c/subbuf_count"
	put $1 "$c/loss_mode"
	printf '%s\n' 'syscall:entry:getpgid' 'syscall:entry:chroot if filename == "/none/wanted"' \
		'syscall:entry:setsid if $ctx.tid == 1' >"$s/kernel/events" || fail "$(cat "$s/error")"
	put start "$s/control"
	"$work/calls" "$work/pages" $2 30000 $3 || fail "the calls cannot be made"
	put stop "$s/control"
	lost=$(($(key events_discarded "$s/status") + $(key events_overwritten "$s/status")))
	unfiltered=$(key events_unfiltered "$s/status")
	[ $lost -gt 1000 ] || fail "$1: only $lost are lost"
	is "$1: what the filter wants" 0 "$(grep -c entry_chroot "$s/text")"
	rmdir "$s"
}
lose discard 0 0
is "of an event without a filter" 0 $unfiltered
lose discard 0 50
is "in a full ring" 50 $unfiltered
lose discard 20 0
is "read without text, and decided by the daemon" 0 $unfiltered
lose overwrite 0 0
is "of an event without a filter, overwritten" 0 $unfiltered
lose overwrite 20 0
is "without text, and overwritten" 20 $unfiltered
lose overwrite 0 50
is "decided, at the end" 0 $unfiltered
echo "$checks checks"
