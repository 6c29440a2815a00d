// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls that the instance of tracefs records although programs could, because the channel's
 * `backend` says so, or because the kernel refuses a program. Their events have one format in all
 * channels, so the instance's records are changed to the programs' format. The instance has text
 * only where the kernel has event probes or reads it itself; else a text is the address.
 */
#include "tracer/kernel/programs/bpf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/probe/event_field.h"
#include "tracer/kernel/backend/event_probe.h"
#include "tracer/kernel/kevent/ring_page.h"

#define SYSTEM "syscalls"
#define ADDRESS_MAX 19u                 /* bytes of 0x and 16 digits, with the NUL */
#define TEXT_MAX 4096u                  /* bytes of a text, with the NUL */
#define RECORD_MAX (BPF_CALL_FIXED + 8 * BPF_ARGUMENTS + BPF_TEXTS_MAX * (4 + TEXT_MAX))

static bool bpf_plain_has(const struct bpf_channel *c, const char *event)
{
	for (uint32_t i = 0; i < c->plain_count; i++)
		if (!strcmp(c->plain[i]->name, event))
			return true;
	return false;
}

/* Finds argument i, whose name this is, in the format of the instance's records. */
static void find_argument(struct bpf_plain *p, uint32_t i, const char *name, const char *format)
{
	char read[EVENT_FIELD_WORD_MAX + 8];
	struct event_field f;
	bool found;

	snprintf(read, sizeof(read), "__%s_val", name);
	found = event_field_find(format, read, strlen(read), &f) && f.is_text;
	found = found || event_field_find(format, name, strlen(name), &f);
	if (!found || f.offset > UINT16_MAX || (f.size != 2 && f.size != 4 && f.size != 8))
		return;
	p->from[i].offset = (uint16_t)f.offset;
	p->from[i].size = (uint8_t)f.size;
	p->from[i].is_signed = f.is_signed;
	p->from[i].is_text = f.is_text;
}

static int find_arguments(struct bpf_plain *p, const struct backend *b)
{
	struct md_buf call = MD_BUF_INIT, probe = MD_BUF_INIT;
	bool probed = tracefs_has_text(b, SYSTEM, p->name);
	int ret = tracefs_read_format(b, SYSTEM, p->name, &call);
	struct event_field f;
	uint32_t i = 0;

	if (!ret && probed)
		ret = tracefs_read_format(b, tracefs_text_model(b), p->name, &probe);
	for (const char *t = md_buf_str(&call); !ret && (t = event_field_next(t, &f));)
		if (f.offset >= BPF_CALL_FIXED && !event_probe_is_read(&f) && i < p->call.count)
			find_argument(p, i++, f.name, md_buf_str(probed ? &probe : &call));
	md_buf_deinit(&call);
	md_buf_deinit(&probe);
	return ret;
}

/* Which of the call's arguments has this name. -ENOENT: none. */
static int find_name(const struct backend *b, const char *event, const char *name)
{
	struct md_buf format = MD_BUF_INIT;
	int ret = tracefs_read_format(b, SYSTEM, event, &format), i = 0;
	struct event_field f;
	bool found = false;

	for (const char *t = md_buf_str(&format); !ret && !found && (t = event_field_next(t, &f));)
		if (f.offset >= BPF_CALL_FIXED && !event_probe_is_read(&f)) {
			found = !strcmp(f.name, name);
			i += !found;
		}
	md_buf_deinit(&format);
	return ret ? ret : found && i < BPF_ARGUMENTS ? i : -ENOENT;
}

bool bpf_plain_lacks(const struct backend *b, enum backend_choice by, const char *system,
		     const char *event, const char *field)
{
	struct bpf_plain p = { .name = "" };
	bool is_text = false;
	int at;

	if (by != BACKEND_TRACEFS || strcmp(system, SYSTEM) ||
	    strlen(event) >= sizeof(p.name) ||
	    bpf_source_find(b, system, event, false, &p.call, NULL))
		return false;
	strcpy(p.name, event);
	at = p.call.exit ? -ENOENT : find_name(b, event, field);
	for (uint32_t i = 0; i < p.call.texts && at >= 0; i++)
		is_text |= p.call.text[i] == at;
	return is_text && !find_arguments(&p, b) && !p.from[at].is_text;
}

int bpf_plain_add(struct bpf_channel *c, const char *event, const struct bpf_source *call)
{
	struct bpf_plain *p;
	int ret;

	if (bpf_plain_has(c, event))
		return 0;
	if (!c->record)
		c->record = malloc(RECORD_MAX);
	p = c->record && c->plain_count < BPF_SLOTS ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return -ENOMEM;
	snprintf(p->name, sizeof(p->name), "%s", event);
	p->call = *call;
	ret = call->exit ? 0 : find_arguments(p, c->b);
	if (ret) {
		free(p);
		return ret;
	}
	c->plain[c->plain_count] = p;
	/* Pairs with the acquire in bpf_plain_record, which holds no lock. */
	__atomic_store_n(&c->plain_count, c->plain_count + 1, __ATOMIC_RELEASE);
	return 0;
}

void bpf_plain_adopt(struct bpf_channel *c, const char *enabled)
{
	static const char system[] = SYSTEM ":";
	char event[BPF_EVENT_NAME];
	struct bpf_source call;

	for (; *enabled; enabled += strcspn(enabled, "\n"), enabled += *enabled == '\n') {
		if (strncmp(enabled, system, strlen(system)))
			continue;
		snprintf(event, sizeof(event), "%.*s", (int)strcspn(enabled + strlen(system), "\n"),
			 enabled + strlen(system));
		if (!bpf_source_find(c->b, SYSTEM, event, false, &call, NULL))
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

/* An argument as the programs' records have it; of a text: its place and length. */
static uint64_t get_argument(const struct bpf_plain *p, uint32_t i, const uint8_t *record,
			     size_t len)
{
	uint32_t size = p->from[i].size;
	bool is_signed = p->from[i].is_signed;
	uint64_t value;
	uint32_t word;
	uint16_t half;

	record += p->from[i].offset;
	if (!size || p->from[i].offset + size > len)
		return 0;
	if (size == sizeof(half)) {
		memcpy(&half, record, sizeof(half));
		return is_signed ? (uint64_t)(int16_t)half : half;
	}
	if (size == sizeof(word)) {
		memcpy(&word, record, sizeof(word));
		return is_signed ? (uint64_t)(int32_t)word : word;
	}
	memcpy(&value, record, sizeof(value));
	return value;
}

/* Appends a text, or the address that the record has. Returns its bytes. */
static uint32_t put_text(struct bpf_channel *c, const struct bpf_plain *p, uint32_t i,
			 uint32_t end, const uint8_t *record, size_t len)
{
	uint64_t value = get_argument(p, i, record, len);
	char *to = (char *)c->record + end;
	uint32_t offset = value & 0xffff, bytes = (uint32_t)value >> 16;

	if (!p->from[i].is_text)
		return 1 + (uint32_t)snprintf(to, ADDRESS_MAX, "0x%" PRIx64, value);
	if (offset + bytes > len)
		bytes = 0;
	bytes = (uint32_t)strnlen((const char *)record + offset,
				  bytes < TEXT_MAX ? bytes : TEXT_MAX - 1);
	memcpy(to, record + offset, bytes);
	to[bytes] = '\0';
	return bytes + 1;
}

/* The record of an entry. */
static size_t convert(struct bpf_channel *c, const struct bpf_plain *p, const uint8_t *record,
		      size_t len)
{
	const struct bpf_source *call = &p->call;
	uint32_t at = bpf_source_places(call), end = at + 4 * call->texts, place;
	uint64_t value;

	memcpy(c->record, record, KRECORD_HEADER);
	/* (The trace has the call's number nowhere.) */
	memset(c->record + KRECORD_HEADER, 0, BPF_CALL_FIXED - KRECORD_HEADER);
	for (uint32_t i = 0; i < call->count; i++) {
		value = get_argument(p, i, record, len);
		memcpy(c->record + BPF_CALL_FIXED + 8 * i, &value, sizeof(value));
	}
	for (uint32_t n = 0; n < call->texts; n++, at += 4) {
		place = end;
		end += put_text(c, p, call->text[n], end, record, len);
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

		if (call->id != krecord_id(record) || call->exit || *len < KRECORD_HEADER)
			continue;
		*len = convert(c, c->plain[i], record, *len);
		return c->record;
	}
	return record;
}
