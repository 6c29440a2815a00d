// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "tracer/base/request.h"

/* The index of the number, or REQUESTS_MOST. */
static size_t find(const struct requests *r, uint64_t request)
{
	size_t i = 0;

	while (i < REQUESTS_MOST && (!request || r->all[i] != request))
		i++;
	return i;
}

bool requests_have(const struct requests *r, uint64_t request)
{
	return find(r, request) < REQUESTS_MOST;
}

void requests_add(struct requests *r, uint64_t request)
{
	if (request && !requests_have(r, request))
		r->all[r->next++ % REQUESTS_MOST] = request;
}

void requests_drop(struct requests *r, uint64_t request)
{
	size_t i = find(r, request);

	if (i < REQUESTS_MOST)
		r->all[i] = 0;
}

void requests_print(const struct requests *r, struct md_buf *out)
{
	bool some = false;

	for (uint32_t i = 0; i < REQUESTS_MOST; i++) {
		uint64_t request = r->all[(r->next + i) % REQUESTS_MOST];

		if (request)
			md_buf_printf(out, "%s%" PRIx64, some ? " " : "requests ", request);
		some = some || request;
	}
	if (some)
		md_buf_putc(out, '\n');
}

void requests_read(struct requests *r, const char *value)
{
	char *end;

	for (uint64_t n; (n = strtoull(value, &end, 16)) && end != value; value = end)
		requests_add(r, n);
}
