/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds registration files in memory, right ones, for tests to spoil. */
#ifndef TESTS_UNIT_REGS_H
#define TESTS_UNIT_REGS_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "metadata/buf.h"
#include "tracer/abi.h"

struct regs {
	struct md_buf strings;
	struct trail_reg_event events[64];
	struct trail_reg_field fields[256];
	uint32_t event_count, field_count, object;
};

static inline uint32_t regs_string(struct regs *r, const char *s)
{
	uint32_t at = (uint32_t)r->strings.len;

	md_buf_put(&r->strings, s, strlen(s) + 1);
	return at;
}

static inline void regs_event(struct regs *r, const char *provider, const char *name, int level)
{
	r->events[r->event_count++] = (struct trail_reg_event){
		.provider = regs_string(r, provider), .name = regs_string(r, name), .first_field = r->field_count,
		.level = (uint8_t)level,
	};
}

/* A field of the last event. */
static inline void regs_field(struct regs *r, const char *name, int kind, int size, unsigned int flags, uint32_t count)
{
	r->fields[r->field_count++] = (struct trail_reg_field){
		.name = regs_string(r, name),
		.kind = (uint8_t)kind,
		.size = (uint8_t)size,
		.flags = (uint8_t)flags,
		.count = count,
	};
	r->events[r->event_count - 1].field_count++;
}

static inline void regs_pad(struct md_buf *b)
{
	while (b->len % 8)
		md_buf_putc(b, '\0');
}

/* The whole file; the header is at its start. */
static inline struct trail_reg *regs_file(const struct regs *r, struct md_buf *b)
{
	struct trail_reg h = {
		.magic = TRAIL_REG_MAGIC,
		.version = TRAIL_ABI_VERSION,
		.word_bits = 64,
		.event_count = r->event_count,
		.field_count = r->field_count,
		.string_size = (uint32_t)r->strings.len,
		.object = r->object,
		.pid = 1234,
	};
	uint32_t i, zero = 0;

	md_buf_reset(b);
	md_buf_put(b, &h, sizeof(h));
	regs_pad(b);
	h.state_offset = (uint32_t)b->len;
	for (i = 0; i < r->event_count; i++)
		md_buf_put(b, &zero, sizeof(zero));
	regs_pad(b);
	h.event_offset = (uint32_t)b->len;
	md_buf_put(b, r->events, r->event_count * sizeof(r->events[0]));
	regs_pad(b);
	h.field_offset = (uint32_t)b->len;
	md_buf_put(b, r->fields, r->field_count * sizeof(r->fields[0]));
	regs_pad(b);
	h.string_offset = (uint32_t)b->len;
	md_buf_put(b, r->strings.data, r->strings.len);
	h.size = (uint32_t)b->len;
	memcpy(b->data, &h, sizeof(h));
	return (struct trail_reg *)(void *)b->data;
}

/* One of everything. */
static inline void regs_sample(struct regs *r)
{
	*r = (struct regs){ .strings = MD_BUF_INIT };
	r->object = regs_string(r, "/usr/bin/app");
	regs_event(r, "my_app", "request", 4);
	regs_field(r, "id", TRAIL_KIND_INT, 4, TRAIL_FIELD_SIGNED, 0);
	regs_field(r, "path", TRAIL_KIND_STRING, 0, 0, 0);
	regs_field(r, "ms", TRAIL_KIND_FLOAT, 8, 0, 0);
	regs_field(r, "at", TRAIL_KIND_INT, 8, TRAIL_FIELD_HEX, 0);
	regs_field(r, "port", TRAIL_KIND_INT, 2, TRAIL_FIELD_BIG_ENDIAN, 0);
	regs_event(r, "my_app", "ns::empty", 14);
	regs_event(r, "my_app", "lists", 0);
	regs_field(r, "mac", TRAIL_KIND_ARRAY, 1, TRAIL_FIELD_HEX, 6);
	regs_field(r, "name", TRAIL_KIND_ARRAY, 1, TRAIL_FIELD_TEXT, 16);
	regs_field(r, "values", TRAIL_KIND_SEQUENCE, 4, TRAIL_FIELD_SIGNED, 0);
	regs_field(r, "msg", TRAIL_KIND_SEQUENCE, 1, TRAIL_FIELD_TEXT, 0);
}

static inline int regs_save(int dir, const char *name, const void *data, size_t len)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd >= 0 && write(fd, data, len) != (ssize_t)len) {
		close(fd);
		return -1;
	}
	return fd;
}

#endif
