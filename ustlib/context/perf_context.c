// SPDX-License-Identifier: MIT
/*
 * Performance counters of a thread as contexts: perf_event_open(2) at the first event that has the
 * context, then one read(2) an event. All of it may run in a signal handler.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ustlib/context/context.h"

static struct counter *open_counter(struct counters *all, uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {
		.type = type, .size = sizeof(attr), .config = config, .exclude_hv = 1,
	};
	struct counter *c;
	int fd;

	if (all->count == COUNTERS || library_sealed)
		return NULL;
	c = &all->counter[all->count];
	*c = (struct counter){ .type = type, .config = config, .fd = -1 };
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {   /* perf_event_paranoid may forbid to count in the kernel */
		attr.exclude_kernel = 1;
		fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	}
	if (fd >= 0)
		fd = fd_move_up(fd);
	if (fd >= 0) {
		if (ioctl(fd, PERF_EVENT_IOC_ID, &c->event_id) == 0)
			c->fd = fd;
		else
			close(fd);
	}
	all->count++;
	return c;
}

static uint64_t read_counter(struct counters *all, uint32_t type, uint64_t config)
{
	struct counter *c = NULL;
	uint64_t value = 0, id = 0;

	for (uint32_t i = 0; !c && i < all->count; i++)
		if (all->counter[i].type == type && all->counter[i].config == config)
			c = &all->counter[i];
	if (!c)
		c = open_counter(all, type, config);
	if (!c || c->fd < 0 || library_sealed)
		return 0;
	/* The program may have closed all descriptors and opened others: read only our own. */
	if (ioctl(c->fd, PERF_EVENT_IOC_ID, &id) < 0 || id != c->event_id) {
		c->fd = -1;
		return 0;
	}
	return read(c->fd, &value, sizeof(value)) == (ssize_t)sizeof(value) ? value : 0;
}

uint64_t counters_read(struct counters *c, uint32_t type, uint64_t config)
{
	int saved = errno;
	uint64_t n = read_counter(c, type, config);

	errno = saved;
	return n;
}

void counters_close(struct counters *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->counter[i].fd >= 0 && !library_sealed)
			close(c->counter[i].fd);
	c->count = 0;
}

/* Not by sscanf(3), which is not async-signal-safe. */
bool counter_numbers(const char *s, uint32_t *type, uint64_t *config)
{
	uint64_t n[2] = { 0, 0 };

	for (int part = 0; *s; s++) {
		if (*s == ':' && part == 0)
			part = 1;
		else if (*s >= '0' && *s <= '9')
			n[part] = n[part] << 4 | (uint64_t)(*s - '0');
		else if (*s >= 'a' && *s <= 'f')
			n[part] = n[part] << 4 | (uint64_t)(*s - 'a' + 10);
		else
			return false;
	}
	*type = (uint32_t)n[0];
	*config = n[1];
	return n[0] < UINT32_MAX;
}
