/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * Switches tracepoints on in one channel of trail.ko, one after the other, until all are: those
 * named on stdin, lines `system:name`. Says for each how it is recorded, `compiled` or `counters`,
 * or why the kernel refuses. The channel records; it is removed in the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/vm/event_id.h"
#include "tracer/abi/module.h"

int main(void)
{
	struct modabi_channel m = {
		.name = "each", .subbuf_size = 65536, .subbuf_count = 4, .overwrite = 1
	};
	struct modabi_event e;
	uint32_t on = 1;
	int device = open("/dev/trail", O_RDWR | O_CLOEXEC),
	    channel = device < 0 ? -1 : ioctl(device, MODABI_CREATE, &m);

	if (channel < 0 || ioctl(channel, MODABI_RECORD, &on)) {
		perror("/dev/trail");
		return 1;
	}
	while (memset(&e, 0, sizeof(e)), scanf("%63[^:\n]:%127s\n", e.system, e.name) == 2) {
		e.id = id_of(e.system, e.name);
		e.on = 1;
		if (!e.id)
			printf("%s:%s has no id\n", e.system, e.name);
		else if (ioctl(channel, MODABI_EVENT, &e))
			printf("%s:%s %s\n", e.system, e.name, strerror(errno));
		else
			printf("%s:%s %s\n", e.system, e.name,
			       e.how == MODABI_COMPILED ? "compiled" : "counters");
	}
	close(channel);
	return ioctl(device, MODABI_REMOVE, &m) ? 1 : 0;
}
