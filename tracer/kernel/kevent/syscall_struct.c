// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Structures of system calls: rows describe both the type and the payload. See
 * kevent/syscall_struct.h.
 */
#include "tracer/kernel/kevent/syscall_struct.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* BIT: one of the two bytes at `at`; in the trace an integer of one byte. */
enum { S32 = 1, X16, X32, X64, BIT, BEGIN, END };

struct row {
	const char *name;
	uint8_t type, at, bit;
};

#define POLL_BITS(poll, at) \
	{ "events", BEGIN, 0, 0 }, { poll "IN", BIT, at, 0 }, { poll "PRI", BIT, at, 1 }, \
	{ poll "OUT", BIT, at, 2 }, { poll "ERR", BIT, at, 3 }, { poll "HUP", BIT, at, 4 }, \
	{ NULL, END, 0, 0 }

static const struct row pollfd[] = {
	{ "fd", S32, 0, 0 }, { "raw_events", X16, 4, 0 }, POLL_BITS("POLL", 4), { NULL, END, 0, 0 }
};
static const struct row polled[] = {
	{ "fd", S32, 0, 0 }, { "raw_events", X16, 6, 0 }, POLL_BITS("POLL", 6), { NULL, END, 0, 0 }
};

#ifdef __x86_64__
#define EPOLL_DATA 4            /* its offset in a packed structure */
#else
#define EPOLL_DATA 8
#endif

/* The lower half of its 32 bits of events */
#define EPOLL_BITS (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 2 : 0)

static const struct row epoll_event[] = {
	{ "data_union", BEGIN, 0, 0 }, { "u64", X64, EPOLL_DATA, 0 }, { "fd", S32, EPOLL_DATA, 0 },
	{ NULL, END, 0, 0 },
	{ "raw_events", X32, 0, 0 }, POLL_BITS("EPOLL", EPOLL_BITS), { NULL, END, 0, 0 },
};

static const struct structure {
	const struct row *rows;
	uint8_t size;
	uint8_t needs;          /* offset of two bytes; if they are zero, the element is left out */
} structures[] = {
	{ pollfd, 8, 0 }, { polled, 8, 6 }, { epoll_event, EPOLL_DATA + 8, 0 },
};
enum { POLLFD, POLLED, EPOLL_EVENT };

static const struct {
	const char *name;
	struct kformat_field field;
} kinds[] = {
	{ "int", { .kind = KFORMAT_LOC_INT, .from = 4, .to = 4, .is_signed = true } },
	{ "ints", { .kind = KFORMAT_LOC_ARRAY, .from = 4, .to = 4, .is_signed = true,
		    .count = 2 } },
	{ "fd_set", { .kind = KFORMAT_SEQUENCE, .from = 1, .to = 1, .hex = true } },
	{ "family", { .kind = KFORMAT_LOC_INT, .from = 2, .to = 2 } },
	{ "port", { .kind = KFORMAT_PORT, .from = 2, .to = 2, .big_endian = true } },
	{ "v4addr", { .kind = KFORMAT_V4, .from = 1, .to = 1 } },
	{ "v6addr", { .kind = KFORMAT_V6, .from = 2, .to = 2, .big_endian = true } },
	{ "pollfds", { .kind = KFORMAT_STRUCTS, .structure = POLLFD } },
	{ "polled", { .kind = KFORMAT_STRUCTS, .structure = POLLED } },
	{ "epoll_event", { .kind = KFORMAT_STRUCT, .structure = EPOLL_EVENT } },
	{ "epoll_events", { .kind = KFORMAT_STRUCTS, .structure = EPOLL_EVENT } },
};

bool kstruct_set(struct kformat_field *f, const char *kind, size_t len)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strlen(kinds[i].name) != len || memcmp(kinds[i].name, kind, len) != 0)
			continue;
		uint32_t offset = f->offset;

		*f = kinds[i].field;
		f->offset = offset;
		f->place = KFORMAT_LOC;
		return true;
	}
	return false;
}

static struct md_type make_integer(uint8_t type)
{
	static const uint8_t sizes[] = { [S32] = 4, [X16] = 2, [X32] = 4, [X64] = 8, [BIT] = 1 };

	return (struct md_type){ .kind = MD_INT, .size = sizes[type], .is_signed = type == S32,
				 .base = type == S32 || type == BIT ? 10 : 16 };
}

/* The row after the END that matches r; *count: the number of members. */
static const struct row *skip_rows(const struct row *r, uint32_t *count)
{
	uint32_t inner;

	for (*count = 0; r->type != END; ++*count)
		r = r->type == BEGIN ? skip_rows(r + 1, &inner) : r + 1;
	return r + 1;
}

static bool make_type(const struct row *r, struct md_type *t)
{
	uint32_t count;

	skip_rows(r, &count);
	*t = (struct md_type){ .kind = MD_STRUCT, .members = calloc(count, sizeof(*t->members)) };
	if (!t->members)
		return false;
	while (r->type != END) {
		struct md_field *m = &t->members[t->count++];

		m->name = strdup(r->name);
		if (!m->name || (r->type == BEGIN && !make_type(r + 1, &m->type)))
			return false;
		if (r->type != BEGIN)
			m->type = make_integer(r->type);
		r = r->type == BEGIN ? skip_rows(r + 1, &count) : r + 1;
	}
	return true;
}

bool kstruct_type(unsigned int structure, struct md_type *t)
{
	return make_type(structures[structure].rows, t);
}

size_t kstruct_size(unsigned int structure)
{
	return structures[structure].size;
}

/* Writes the payload; to may be NULL. Returns its length. */
static size_t put_rows(const struct row *r, const uint8_t *from, uint8_t *to)
{
	size_t n, all = 0;
	uint16_t word;
	int depth = 0;

	for (; r->type != END || depth; r++) {
		if (r->type >= BEGIN) {
			depth += r->type == BEGIN ? 1 : -1;
			continue;
		}
		n = make_integer(r->type).size;
		if (to && !from) {
			memset(to + all, 0, n);
		} else if (to && r->type == BIT) {
			memcpy(&word, from + r->at, sizeof(word));
			to[all] = word >> r->bit & 1;
		} else if (to) {
			memcpy(to + all, from + r->at, n);
		}
		all += n;
	}
	return all;
}

size_t kstruct_payload(unsigned int structure)
{
	return put_rows(structures[structure].rows, NULL, NULL);
}

bool kstruct_put(unsigned int structure, const uint8_t *from, uint8_t *to)
{
	const struct structure *s = &structures[structure];

	if (from && s->needs && !from[s->needs] && !from[s->needs + 1])
		return false;
	put_rows(s->rows, from, to);
	return true;
}

const uint8_t *kstruct_address(unsigned int kind, const uint8_t *from, size_t len, size_t *n)
{
	uint16_t family = 0;
	bool v4, v6;

	if (len >= sizeof(family))
		memcpy(&family, from, sizeof(family));
	v4 = family == AF_INET && len >= 16;    /* struct sockaddr_in, _in6 */
	v6 = family == AF_INET6 && len >= 28;
	*n = 0;
	if (kind == KFORMAT_PORT && (v4 || v6))
		*n = 2;
	if (kind == KFORMAT_V4 && v4)
		*n = 4;
	if (kind == KFORMAT_V6 && v6)
		*n = 16;
	return from + (kind == KFORMAT_PORT ? 2 : kind == KFORMAT_V4 ? 4 : 8);
}
