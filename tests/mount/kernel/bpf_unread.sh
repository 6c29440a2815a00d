#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A program cannot decide a filter of text while the page with the text is not in memory, and lets
# the entry pass. So not all that a full ring loses is what the filter wants: the status says so.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
by_programs
grep -q '^kernel.*strings of system calls by BPF' "$MNT/version" ||
	skip "BPF programs record no strings here: $(grep '^kernel' "$MNT/version")"
cat >"$work/opens.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* opens FILE COUNT: openat of a name in each page of a file, which is not in memory; then COUNT others */
int main(int argc, char **argv)
{
	enum { PAGES = 64, PAGE = 4096 };
	int fd = argc == 3 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1, n = argc == 3 ? atoi(argv[2]) : 0;
	char *pages;

	for (int i = 0; i < PAGES; i++)
		if (pwrite(fd, "/none/late", 11, (off_t)i * PAGE) != 11)
			return 1;
	pages = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (pages == MAP_FAILED || madvise(pages, PAGES * PAGE, MADV_RANDOM))
		return 1;
	for (int i = 0; i < PAGES; i++)
		syscall(SYS_openat, AT_FDCWD, pages + i * PAGE, O_RDONLY, 0);
	for (int i = 0; i < n; i++)
		syscall(SYS_openat, AT_FDCWD, "/none/wanted", O_RDONLY, 0);
	return 0;
}
C
${CC:-cc} -o "$work/opens" "$work/opens.c" || skip "no compiler"
s=$S/u$mark
mkdir "$s" "$s/kernel/channels/channel0"
c=$s/kernel/channels/channel0
put bpf "$c/backend"
put 64k "$c/subbuf_size"
put 2 "$c/subbuf_count"
put discard "$c/loss_mode"
put 'syscall:entry:openat if filename == "/none/wanted"' "$s/kernel/events"
put start "$s/control"
"$work/opens" "$work/pages" 1
is "what the filter wants" 1 "$(grep -c 'filename = "/none/wanted"' "$s/text")"
is "others" 0 "$(grep -c 'filename = "/none/late"' "$s/text")"
"$work/opens" "$work/pages" 30000
put stop "$s/control"
lost=$(key events_discarded "$s/status")
[ "$lost" -gt 1000 ] || fail "only $lost are lost"
is "a filter might have rejected them" "$lost" "$(key events_unfiltered "$s/status")"
rmdir "$s"
echo "$checks checks"
