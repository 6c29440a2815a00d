// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pointers on the way to extra data, as hidden fields of the record: see extra.h. A pointer
 * that several items need is recorded once.
 */
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/probe/probe.h"

struct pointer {
	char *fetch;            /* owned */
	bool user;              /* memory of the process is read there */
	uint32_t items;
};

struct pointers {
	struct pointer *list;   /* owned */
	size_t count;
	bool failed;
};

/* Takes `fetch`. */
static void add_pointer(struct pointers *p, char *fetch, bool user, uint32_t item)
{
	for (size_t i = 0; fetch && i < p->count; i++)
		if (p->list[i].user == user && !strcmp(p->list[i].fetch, fetch)) {
			p->list[i].items |= item;
			free(fetch);
			return;
		}
	if (!fetch || !array_room(p->list, p->count + 1)) {
		free(fetch);
		p->failed = true;
		return;
	}
	p->list[p->count++] = (struct pointer){ fetch, user, item };
}

/* Of `+8(+u16(FROM))`: `+u16(FROM)` is a pointer of the kernel, FROM one of the process. */
static void add_item(struct pointers *p, const struct dynamic_event *d,
		     const struct extra_item *i, const char *from, uint32_t item)
{
	const char *at = i->before, *open;

	for (unsigned int closers = i->closers; closers && (open = strchr(at, '(')); closers--) {
		bool user = at[1] == 'u' || dynamic_event_has_file(d);
		struct md_buf fetch = MD_BUF_INIT;

		at = open + 1;
		md_buf_printf(&fetch, "%s%s", at, from ? from : i->from);
		for (unsigned int n = 1; n < closers; n++)
			md_buf_putc(&fetch, ')');
		md_buf_str(&fetch);
		if (fetch.failed) {
			md_buf_deinit(&fetch);
			p->failed = true;
			return;
		}
		add_pointer(p, fetch.data, user, item);
	}
}

void extra_put_pointers(const struct dynamic_event *d, const char *const *from,
			struct md_buf *out)
{
	size_t count = d->extra.count;
	struct pointers p = { 0 };

	for (size_t i = 0; i < count; i++)
		add_item(&p, d, &d->extra.items[i], from[i], 1u << (count - 1 - i));
	for (size_t i = 0; i < p.count; i++) {
		md_buf_printf(out, " " EXTRA_POINTER "%c%zu_%x=%s:u64",
			      p.list[i].user ? 'u' : 'k', i, p.list[i].items, p.list[i].fetch);
		free(p.list[i].fetch);
	}
	free(p.list);
	out->failed |= p.failed;
}
