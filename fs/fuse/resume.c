/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of open files is in the hand-over (fs/base/handover.h): see file.h. */
#include <errno.h>
#include <string.h>

#include "fs/base/handover.h"
#include "fs/fuse/channel.h"
#include "fs/fuse/file.h"
#include "tracer/base/hash.h"

void file_recall_all(bool (*unanswered)(uint64_t unique), void (*wake)(int fd, uint64_t poll),
		     int fd)
{
	struct handover_file *f;

	for (uint32_t i = 0; (f = handover_file_used(i)); i++) {
		const struct handover_given *newest = &f->given[f->which & 1];

		if (!f->handle)
			continue;
		/* The kernel does not know this handle: it sends the request to open again. */
		if (f->opening && unanswered(f->opening)) {
			handover_file_free(f);
			continue;
		}
		f->opening = 0;
		if (!(f->state & HANDOVER_SHOWN) && newest->unique && unanswered(newest->unique))
			handover_take_back(f);
		if (f->poll)
			wake(fd, f->poll);
	}
}

/* What was written without its end. If it is lost, the writer must not take it for done. */
static void resume_text(struct file *f)
{
	struct iovec texts[2];

	if (handover_text(f->kept, &f->taken, texts)) {
		md_buf_put(&f->tail, texts[0].iov_base, texts[0].iov_len);
		md_buf_put(&f->addresses, texts[1].iov_base, texts[1].iov_len);
		f->lost = f->tail.failed || f->addresses.failed;
	} else {
		f->lost = true;
	}
	if (f->lost)
		f->failed = -ESTALE;
}

void file_resume(struct file *f)
{
	const struct handover_given *g = &f->kept->given[0];
	uint32_t state = f->kept->state;

	f->wrote = state & HANDOVER_WROTE;
	f->commented = state & HANDOVER_COMMENTED;
	f->failed = f->kept->failed < 0 ? f->kept->failed : 0;
	if (state & HANDOVER_PARTIAL)
		resume_text(f);
	f->recalled = true;
	if (!(state & HANDOVER_SHOWN) || f->node->row->view || S_ISDIR(f->node->row->mode))
		return;
	if (!g->more) {
		md_buf_put(&f->shown, g->bytes, g->len);
		f->is_shown = !f->shown.failed;
	}
}

bool file_lost(const struct handover_file *kept)
{
	return kept->failed || kept->state & HANDOVER_PARTIAL;
}

bool file_is_recalled(const struct file *f)
{
	return f->recalled && f->kept->state & HANDOVER_SHOWN;
}

void file_note_writes(struct file *f)
{
	struct iovec texts[2] = { { f->tail.data, f->tail.len },
				  { f->addresses.data, f->addresses.len } };
	bool partial = f->tail.len || f->addresses.len;
	bool applied = partial && f->node->row->how == STORE_WHOLE && !f->wrote;
	bool noted = partial && handover_keep_text(f->kept, channel_unique(), texts);

	if (!f->kept)
		return;
	/* A text that is in effect is not lost, but another write would have to continue it. */
	f->kept->failed = applied && !noted && !f->failed ? -ESTALE : f->failed;
	f->kept->state = (f->kept->state & HANDOVER_SHOWN) |
			 (partial && (noted || !applied) ? HANDOVER_PARTIAL : 0) |
			 (f->wrote ? HANDOVER_WROTE : 0) |
			 (f->commented ? HANDOVER_COMMENTED : 0);
	/* After the state, which says that there is one. */
	if (!partial)
		handover_drop_text(f->kept);
}

void file_note_text(struct file *f, const struct md_buf *text)
{
	handover_show(f->kept, text->data, text->len);
	f->recalled = false;
}
