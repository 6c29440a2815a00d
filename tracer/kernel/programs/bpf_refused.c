// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/programs/bpf_refused.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WHY sizeof(((struct tr_err *)0)->sentence)

struct bpf_refused {
	/* As the keeper has it, in a file of memory. */
	struct {
		uint32_t events;                /* without a program */
		char last[BPF_EVENT_NAME];      /* of these */
		char why_none[WHY], why[BPF_LACKS][WHY];
		uint8_t lacks[BPF_SLOTS];       /* of each slot: bits of enum bpf_lack */
	} is;
	bool changed;                           /* since the keeper got it */
};

struct bpf_refused *bpf_refused_new(void)
{
	return calloc(1, sizeof(struct bpf_refused));
}

void bpf_refused_free(struct bpf_channel *c, bool remove)
{
	if (c->refused_file >= 0) {
		if (remove)
			bpf_kept_drop_one(c, BPF_KEPT_REFUSED);
		close(c->refused_file);
		c->refused_file = -1;
	}
	free(c->refused);
	c->refused = NULL;
}

void bpf_refused_event(struct bpf_channel *c, const char *event)
{
	struct bpf_refused *r = c->refused;

	r->is.events++;
	snprintf(r->is.last, sizeof(r->is.last), "%s", event);
	snprintf(r->is.why_none, WHY, "%s", c->why.sentence);
	r->changed = true;
}

void bpf_refused_why(struct bpf_channel *c, enum bpf_lack lack)
{
	snprintf(c->refused->is.why[lack], WHY, "%s", c->why.sentence);
	c->refused->changed = true;
}

void bpf_refused_set(struct bpf_channel *c, uint32_t slot, enum bpf_lack lack, bool lacks)
{
	uint8_t *of = &c->refused->is.lacks[slot], bit = (uint8_t)(1 << lack);

	c->refused->changed |= !(*of & bit) == lacks;
	*of = (uint8_t)(lacks ? *of | bit : *of & ~bit);
}

bool bpf_refused_lacks(const struct bpf_channel *c, const struct bpf_event *e, enum bpf_lack lack)
{
	return e->slot < BPF_SLOTS && c->refused->is.lacks[e->slot] >> lack & 1;
}

void bpf_refused_keep(struct bpf_channel *c)
{
	struct bpf_refused *r = c->refused;
	bool first = c->refused_file < 0;

	if (!r->changed)
		return;
	if (first)
		c->refused_file = memfd_create("trail-refused", MFD_CLOEXEC);
	/* If there is no memory for the file, the next daemon does not know what was refused. */
	if (c->refused_file < 0 ||
	    pwrite(c->refused_file, &r->is, sizeof(r->is), 0) != (ssize_t)sizeof(r->is))
		return;
	if (first)
		bpf_channel_keep_one(c, BPF_KEPT_REFUSED, c->refused_file);
	r->changed = false;
}

void bpf_refused_take(struct bpf_channel *c)
{
	struct bpf_refused *r = c->refused;
	ssize_t n = c->refused_file < 0 ? 0 : pread(c->refused_file, &r->is, sizeof(r->is), 0);

	/* Another version of the daemon may have other ones. */
	if (n != (ssize_t)sizeof(r->is))
		memset(&r->is, 0, sizeof(r->is));
	r->is.last[sizeof(r->is.last) - 1] = r->is.why_none[WHY - 1] = '\0';
	for (int i = 0; i < BPF_LACKS; i++)
		r->is.why[i][WHY - 1] = '\0';
}

/* How many events, the last one, and what the kernel said. */
static void show(struct facts *out, const char *key, uint32_t count, const char *last,
		 const char *why)
{
	if (count)
		fact_text(out, key, "%" PRIu32 " %s: %s", count, last, *why ? why : "unknown");
}

static void show_lack(const struct bpf_channel *c, struct facts *out, enum bpf_lack lack)
{
	static const char *const keys[BPF_LACKS] = {
		[BPF_LACKS_ARGUMENTS] = "arguments_refused",
		[BPF_LACKS_LATE] = "texts_at_entry_only",
	};
	const char *last = NULL;
	uint32_t count = 0;

	for (size_t i = 0; i < c->count; i++)
		if (bpf_refused_lacks(c, &c->events[i], lack)) {
			last = c->events[i].name;
			count++;
		}
	show(out, keys[lack], count, last, c->refused->is.why[lack]);
}

void bpf_refused_show(const struct bpf_channel *c, struct facts *out)
{
	const struct bpf_refused *r = c->refused;

	show(out, "programs_refused", r->is.events, r->is.last, r->is.why_none);
	show_lack(c, out, BPF_LACKS_ARGUMENTS);
	show_lack(c, out, BPF_LACKS_LATE);
}
