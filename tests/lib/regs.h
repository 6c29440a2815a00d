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
#include "tracer/abi/app.h"

struct regs {
	struct md_buf strings;
	struct trail_reg_event events[64];
	struct trail_reg_field fields[256];
	struct trail_reg_enum enums[64];
	struct trail_reg_label labels[256];
	uint32_t event_count, field_count, enum_count, label_count, object;
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
		.provider = regs_string(r, provider),
		.name = regs_string(r, name),
		.first_field = r->field_count,
		.level = (uint8_t)level,
		.uri = TRAIL_NO_STRING,
	};
}

/* A field of the last event. */
static inline void regs_field(struct regs *r, const char *name, int kind, int size,
			      unsigned int flags, uint32_t count)
{
	r->fields[r->field_count++] = (struct trail_reg_field){
		.name = regs_string(r, name),
		.kind = (uint8_t)kind,
		.size = (uint8_t)size,
		.flags = (uint8_t)flags,
		.length = kind == TRAIL_KIND_SEQUENCE ? 4 : 0,
		.count = count,
	};
	r->events[r->event_count - 1].field_count++;
}

/* An enumeration without labels; returns its index. */
static inline uint32_t regs_enum(struct regs *r, const char *name)
{
	r->enums[r->enum_count] = (struct trail_reg_enum){ .name = regs_string(r, name),
							   .first_label = r->label_count };
	return r->enum_count++;
}

/* A label of the last enumeration. */
static inline void regs_label(struct regs *r, const char *name, uint64_t begin, uint64_t end)
{
	r->labels[r->label_count++] = (struct trail_reg_label){ .name = regs_string(r, name),
								.begin = begin,
								.end = end };
	r->enums[r->enum_count - 1].label_count++;
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
		.enum_count = r->enum_count,
		.label_count = r->label_count,
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
	h.enum_offset = (uint32_t)b->len;
	md_buf_put(b, r->enums, r->enum_count * sizeof(r->enums[0]));
	regs_pad(b);
	h.label_offset = (uint32_t)b->len;
	md_buf_put(b, r->labels, r->label_count * sizeof(r->labels[0]));
	regs_pad(b);
	h.string_offset = (uint32_t)b->len;
	md_buf_put(b, r->strings.data, r->strings.len);
	h.size = (uint32_t)b->len;
	memcpy(b->data, &h, sizeof(h));
	return (struct trail_reg *)(void *)b->data;
}

/*
 * One more event, with what is rare: field 9 and 10 have enumerations, 11 to 13 lengths of other
 * sizes, 14 is not written.
 */
static inline void regs_rare(struct regs *r)
{
	uint32_t colours, states;

	colours = regs_enum(r, "colours");
	regs_label(r, "RED", 0, 0);
	regs_label(r, "other \"ones\"\\", 2, 10);
	regs_label(r, "below", (uint64_t)-5, (uint64_t)-1);
	states = regs_enum(r, "states");
	regs_label(r, "all", 0, UINT64_MAX);
	regs_event(r, "my_app", "rare", 6);
	r->events[r->event_count - 1].uri = regs_string(r, "http://example.com/?\"a\"");
	regs_field(r, "colour", TRAIL_KIND_INT, 4, TRAIL_FIELD_SIGNED | TRAIL_FIELD_ENUM, colours);
	regs_field(r, "state", TRAIL_KIND_INT, 8, TRAIL_FIELD_ENUM | TRAIL_FIELD_BIG_ENDIAN,
		   states);
	regs_field(r, "s1", TRAIL_KIND_SEQUENCE, 4, TRAIL_FIELD_SIGNED, 0);
	r->fields[r->field_count - 1].length = 1;
	regs_field(r, "s2", TRAIL_KIND_SEQUENCE, 1, TRAIL_FIELD_TEXT, 0);
	r->fields[r->field_count - 1].length = 2;
	regs_field(r, "s8", TRAIL_KIND_SEQUENCE, 2, TRAIL_FIELD_HEX, 0);
	r->fields[r->field_count - 1].length = 8;
	regs_field(r, "hidden", TRAIL_KIND_INT, 4, TRAIL_FIELD_NOWRITE, 0);
}

/* One of everything that is common. */
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
