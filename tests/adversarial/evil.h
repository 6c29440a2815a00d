/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The application's side of tracer/abi/app.h, done by hand, for hostile.c to do wrong.
 */
#ifndef EVIL_H
#define EVIL_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tracer/abi/app.h"
#include "tracer/abi/ring.h"

static inline void evil_random(void *to, size_t n)
{
	static uint64_t x;
	uint8_t *p = to;

	if (!x)
		x = ((uint64_t)getpid() << 32 | (uint64_t)rand()) | 1;
	while (n) {
		size_t k = n < 8 ? n : 8;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(p, &x, k);
		p += k;
		n -= k;
	}
}

/* A good registration file: evil:tick { int32 n } and evil:word { enum n, string s }. */
struct evil_file {
	uint8_t bytes[512];
	size_t size;
};

static inline void evil_file_make(struct evil_file *f)
{
	static const char strings[] = "\0evil\0tick\0word\0n\0s\0/bin/evil\0one";
	struct trail_reg h = {
		.magic = TRAIL_REG_MAGIC,
		.version = TRAIL_ABI_VERSION,
		.word_bits = 8 * sizeof(void *),
		.event_count = 2,
		.state_offset = sizeof(h),
		.event_offset = sizeof(h) + 8,
		.field_offset = sizeof(h) + 8 + 2 * sizeof(struct trail_reg_event),
		.field_count = 3,
		.enum_count = 1,
		.label_count = 1,
		.string_size = (sizeof(strings) + 7) & ~7u,
		.object = 20,
		.pid = (uint32_t)getpid(),
	};
	struct trail_reg_event events[2] = {
		{ .provider = 1,
		  .name = 6,
		  .first_field = 0,
		  .field_count = 1,
		  .level = 13,
		  .uri = TRAIL_NO_STRING },
		{ .provider = 1,
		  .name = 11,
		  .first_field = 1,
		  .field_count = 2,
		  .level = 4,
		  .uri = TRAIL_NO_STRING },
	};
	struct trail_reg_field fields[3] = {
		{ .name = 16, .kind = TRAIL_KIND_INT, .size = 4, .flags = TRAIL_FIELD_SIGNED },
		{ .name = 16,
		  .kind = TRAIL_KIND_INT,
		  .size = 4,
		  .flags = TRAIL_FIELD_SIGNED | TRAIL_FIELD_ENUM },
		{ .name = 18, .kind = TRAIL_KIND_STRING },
	};

	struct trail_reg_enum values = { .name = 16, .label_count = 1 };
	struct trail_reg_label label = { .name = 30, .begin = 1, .end = 1 };

	memset(f, 0, sizeof(*f));
	h.enum_offset = (h.field_offset + (uint32_t)sizeof(fields) + 7) & ~7u;
	h.label_offset = h.enum_offset + (uint32_t)sizeof(values);
	h.string_offset = h.label_offset + (uint32_t)sizeof(label);
	h.size = h.string_offset + h.string_size;
	f->size = h.size;
	memcpy(f->bytes, &h, sizeof(h));
	memcpy(f->bytes + h.event_offset, events, sizeof(events));
	memcpy(f->bytes + h.field_offset, fields, sizeof(fields));
	memcpy(f->bytes + h.enum_offset, &values, sizeof(values));
	memcpy(f->bytes + h.label_offset, &label, sizeof(label));
	memcpy(f->bytes + h.string_offset, strings, sizeof(strings));
}

static inline int evil_connect(const char *state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/socket", state);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		close(fd);
		return -1;
	}
	return fd;
}

static inline void evil_hello_make(struct trail_hello *h, const uint8_t object[16], uint32_t count)
{
	*h = (struct trail_hello){
		.magic = TRAIL_HELLO_MAGIC,
		.version = TRAIL_ABI_VERSION,
		.word_bits = 8 * sizeof(void *),
		.lane = TRAIL_LANE_ROOT,
		.object_count = count,
	};
	if (object)
		memcpy(h->objects[0], object, 16);
}

/* name: of the registration file, 32 hex digits. */
static inline void evil_hello_send(int fd, const char *name)
{
	uint8_t bytes[sizeof(struct trail_hello) + 16] = { 0 }, id[16];

	for (int i = 0; i < 16; i++) {
		unsigned int byte = 0;

		sscanf(name + 2 * i, "%2x", &byte);
		id[i] = (uint8_t)byte;
	}
	evil_hello_make((struct trail_hello *)bytes, id, 1);
	if (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) < 0)
		return;
}

struct evil_plan {
	unsigned int region_count;
	uint8_t *maps[TRAIL_REGION_MAX];
	size_t sizes[TRAIL_REGION_MAX];
};

static inline void evil_plan_free(struct evil_plan *p)
{
	for (unsigned int i = 0; i < p->region_count; i++)
		munmap(p->maps[i], p->sizes[i]);
	p->region_count = 0;
}

/* Waits up to a second. 0, or -errno: what the daemon said, or what went wrong. */
static inline int evil_plan_receive(int fd, struct evil_plan *plan)
{
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(253 * sizeof(int))];
	} control;
	struct trail_answer answer = { 0 };
	struct iovec io = { &answer, sizeof(answer) };
	struct msghdr m = { .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	struct timeval second = { 1, 0 };
	int flags = fcntl(fd, F_GETFL), error = 0;
	ssize_t n;

	plan->region_count = 0;
	fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	if (n < (ssize_t)sizeof(answer) || answer.magic != TRAIL_ANSWER_MAGIC)
		error = n < 0 ? -errno : -EBADMSG;
	else
		error = answer.error;
	for (struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		for (size_t i = 0; i < count; i++) {
			struct stat st;
			void *map;
			int got;

			memcpy(&got, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (i > 0 && i <= TRAIL_REGION_MAX && !error && !fstat(got, &st)) {
				map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
					   MAP_SHARED, got, 0);
				if (map != MAP_FAILED) {
					plan->maps[plan->region_count] = map;
					plan->sizes[plan->region_count++] = (size_t)st.st_size;
				}
			}
			close(got);
		}
	}
	return error;
}

#endif
