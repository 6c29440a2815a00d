/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * What the rings of trail.ko have taken, whatever the daemon makes of it: for each channel whose
 * name contains WORD, `NAME EVENTS BYTES LOST`, summed up over CPUs. heads [WORD]
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracer/abi/module.h"
#include "tracer/abi/module_ring.h"

static int show(int device, const char *name)
{
	struct modabi_channel m = { .reserved = 0 };
	uint64_t events = 0, bytes = 0, lost = 0;
	int fd;

	snprintf(m.name, sizeof(m.name), "%s", name);
	fd = ioctl(device, MODABI_OPEN, &m);
	if (fd < 0)
		return printf("%s: %s\n", name, strerror(errno)), 1;
	for (uint32_t cpu = 0; cpu < m.cpus; cpu++) {
		const struct kring *r = mmap(NULL, m.ring_stride, PROT_READ, MAP_SHARED, fd,
					     (off_t)(cpu * m.ring_stride));

		if (r == MAP_FAILED)
			continue;       /* no such CPU */
		events += kring_events(r->events, r->reserve);
		bytes += r->head;
		lost += r->lost;
	}
	close(fd);
	printf("%s %llu %llu %llu\n", name, (unsigned long long)events, (unsigned long long)bytes,
	       (unsigned long long)lost);
	return 0;
}

int main(int argc, char **argv)
{
	static char names[1 << 16];
	struct modabi_list l = { .buffer = (uintptr_t)names, .size = sizeof(names) };
	int device = open("/dev/trail", O_RDWR | O_CLOEXEC), bad = 0;

	if (device < 0 || ioctl(device, MODABI_LIST, &l) || l.size > sizeof(names)) {
		printf("/dev/trail: %s\n", strerror(errno));
		return 1;
	}
	for (const char *name = names; name < names + l.size; name += strlen(name) + 1)
		if (argc < 2 || strstr(name, argv[1]))
			bad |= show(device, name);
	return bad;
}
