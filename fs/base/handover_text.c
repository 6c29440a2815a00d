/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was written to files and waits for its rest, in the hand-over: see handover.h. */
#include <string.h>
#include <sys/mman.h>

#include "fs/base/handover.h"

static bool is_text(const struct handover_text *t)
{
	for (int i = 0; i < 2; i++)
		if (t->parts[i].half > 1 || t->parts[i].len > HANDOVER_TEXT ||
		    t->parts[i].more > HANDOVER_TEXT - t->parts[i].len)
			return false;
	return t->which < 2;
}

/* NULL: the file has none. */
static struct handover_text *text_of(const struct handover_file *f)
{
	struct handover_text *t = handover_texts();

	if (!t || !f || !f->text || f->text > HANDOVER_TEXTS)
		return NULL;
	t += f->text - 1;
	return t->handle == f->handle && is_text(t) ? t : NULL;
}

static bool is_free(uint64_t handle, uint32_t index)
{
	const struct handover_file *f = handover_file(handle);

	return !f || f->text != index + 1;
}

static struct handover_text *take_text(struct handover_file *f)
{
	struct handover_text *all = handover_texts();

	for (uint32_t i = 0; all && i < HANDOVER_TEXTS; i++) {
		uint64_t handle = __atomic_load_n(&all[i].handle, __ATOMIC_RELAXED);

		if (!is_free(handle, i))
			continue;
		/* Any thread may look for one at a time. The file names it before it has it. */
		f->text = i + 1;
		if (!__atomic_compare_exchange_n(&all[i].handle, &handle, f->handle, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		memset(all[i].parts, 0, sizeof(all[i].parts));
		all[i].which = 0;
		return &all[i];
	}
	f->text = 0;
	return NULL;
}

bool handover_keep_text(struct handover_file *f, uint64_t unique, const struct iovec texts[2])
{
	struct handover_text *t = text_of(f);
	size_t len = texts[0].iov_len, more = texts[1].iov_len, from = 0;
	uint32_t which, half;

	if (!f || len > HANDOVER_TEXT || more > HANDOVER_TEXT - len) {
		handover_drop_text(f);
		return false;
	}
	t = t ? t : take_text(f);
	if (!t)
		return false;
	which = t->which;
	half = t->parts[which].half;
	/* Text is added after the noted one; another text does not replace what is valid. */
	if (!more && !t->parts[which].more && len >= t->parts[which].len &&
	    !memcmp(t->bytes[half], texts[0].iov_base, t->parts[which].len))
		from = t->parts[which].len;
	else
		half = !half;
	if (len > from)
		memcpy(t->bytes[half] + from, (const char *)texts[0].iov_base + from, len - from);
	if (more)
		memcpy(t->bytes[half] + len, texts[1].iov_base, more);
	t->parts[!which].unique = unique;
	t->parts[!which].half = half;
	t->parts[!which].len = (uint32_t)len;
	t->parts[!which].more = (uint32_t)more;
	__atomic_store_n(&t->which, !which, __ATOMIC_RELEASE);
	return true;
}

bool handover_text(const struct handover_file *f, uint64_t *unique, struct iovec texts[2])
{
	struct handover_text *t = text_of(f);
	uint8_t *bytes;
	size_t len;

	if (!t)
		return false;
	bytes = t->bytes[t->parts[t->which].half];
	len = t->parts[t->which].len;
	*unique = t->parts[t->which].unique;
	texts[0] = (struct iovec){ bytes, len };
	texts[1] = (struct iovec){ bytes + len, t->parts[t->which].more };
	return true;
}

void handover_drop_text(struct handover_file *f)
{
	struct handover_text *t = text_of(f);

	if (!t)
		return;
	/* The memory goes back to the system, unless a page is larger. */
	madvise(t->bytes, sizeof(t->bytes), MADV_REMOVE);
	f->text = 0;
	/* Pairs with the exchange in take_text. */
	__atomic_store_n(&t->handle, 0, __ATOMIC_RELEASE);
}
