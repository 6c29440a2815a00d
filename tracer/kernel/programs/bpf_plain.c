// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls with text that the instance of tracefs records, because the channel's `backend` says so, or
 * because the kernel refuses a program. Their events have one format in all channels, so the
 * instance's records are changed to the programs' format: a text is the address, as on kernels
 * that record no text.
 */
#include "tracer/kernel/programs/bpf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/kernel/kevent/ring_page.h"

#define ADDRESS_MAX 19u                 /* bytes of 0x and 16 digits, with the NUL */
#define RECORD_MAX (BPF_CALL_FIXED + 8 * BPF_ARGUMENTS + BPF_TEXTS_MAX * (4 + ADDRESS_MAX))

static bool bpf_plain_has(const struct bpf_channel *c, const char *event)
{
	for (uint32_t i = 0; i < c->plain_count; i++)
		if (!strcmp(c->plain[i]->name, event))
			return true;
	return false;
}

int bpf_plain_add(struct bpf_channel *c, const char *event, const struct bpf_source *call)
{
	struct bpf_plain *p;

	if (bpf_plain_has(c, event))
		return 0;
	if (!c->record)
		c->record = malloc(RECORD_MAX);
	p = c->record && c->plain_count < BPF_SLOTS ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return -ENOMEM;
	snprintf(p->name, sizeof(p->name), "%s", event);
	p->call = *call;
	c->plain[c->plain_count] = p;
	/* Pairs with the acquire in bpf_plain_record, which holds no lock. */
	__atomic_store_n(&c->plain_count, c->plain_count + 1, __ATOMIC_RELEASE);
	return 0;
}

void bpf_plain_adopt(struct bpf_channel *c, const char *enabled)
{
	static const char system[] = "syscalls:";
	char event[BPF_EVENT_NAME];
	struct bpf_source call;

	for (; *enabled; enabled += strcspn(enabled, "\n"), enabled += *enabled == '\n') {
		if (strncmp(enabled, system, strlen(system)))
			continue;
		snprintf(event, sizeof(event), "%.*s", (int)strcspn(enabled + strlen(system), "\n"),
			 enabled + strlen(system));
		if (!bpf_source_find(c->b, "syscalls", event, false, &call, NULL))
			bpf_plain_add(c, event, &call);
	}
}

void bpf_plain_free(struct bpf_channel *c)
{
	while (c->plain_count)
		free(c->plain[--c->plain_count]);
	free(c->record);
	c->record = NULL;
}

/* The record of an entry, which has its arguments alone. */
static size_t convert(struct bpf_channel *c, const struct bpf_source *call, const uint8_t *record)
{
	uint32_t at = bpf_source_places(call), end = at + 4 * call->texts, place;
	uint64_t address;

	memcpy(c->record, record, at);
	for (uint32_t i = 0; i < call->texts; i++, at += 4) {
		memcpy(&address, record + BPF_CALL_FIXED + 8 * call->text[i], sizeof(address));
		place = end;
		end += 1 + (uint32_t)snprintf((char *)c->record + end, ADDRESS_MAX, "0x%" PRIx64,
					      address);
		place |= (end - place) << 16;
		memcpy(c->record + at, &place, sizeof(place));
	}
	return end;
}

const uint8_t *bpf_plain_record(struct bpf_channel *c, const uint8_t *record, size_t *len)
{
	uint32_t count = __atomic_load_n(&c->plain_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++) {
		const struct bpf_source *call = &c->plain[i]->call;

		if (call->id != krecord_id(record) || call->exit || *len < bpf_source_places(call))
			continue;
		*len = convert(c, call, record);
		return c->record;
	}
	return record;
}
