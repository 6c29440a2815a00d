// SPDX-License-Identifier: GPL-2.0-or-later
/* Drafts: a session is replaced as a whole, or not at all. */
#include <errno.h>

#include "tracer/face/face.h"
#include "tracer/output/output.h"
#include "tracer/session/session.h"
#include "tracer/kernel/kernel.h"
#include "tracer/verb/verbs.h"

struct session *session_draft(struct session *s)
{
	struct session *draft;
	struct owner owner;

	pthread_mutex_lock(&s->tracer->lock);
	owner = session_owner(s);
	draft = session_alloc(s->tracer, s->name, &owner);
	if (draft) {
		draft->draft = true;
		draft->is_ctf2 = s->tracer->config.ctf2;        /* as a new one */
		/* Its rules may need dynamic kernel events: mark them as used. */
		cds_list_add_tail(&draft->node, &s->tracer->drafts);
	}
	pthread_mutex_unlock(&s->tracer->lock);
	return draft;
}

void session_draft_drop(struct session *draft)
{
	struct channel *c, *next;

	if (!draft)
		return;
	session_lock(draft);
	cds_list_for_each_entry_safe(c, next, &draft->channels, node)
		channel_drop(c);
	cds_list_del(&draft->node);
	session_unlock(draft);
	kernel_channels_gc(draft->tracer);     /* frees what a failed start made */
	kernel_probes_gc(draft->tracer);
	session_put(draft);
}

static void move_channels(struct cds_list_head *from, struct session *to)
{
	struct channel *c;

	cds_list_for_each_entry(c, from, node)
		c->session = to;
	cds_list_splice(from, &to->channels);
	CDS_INIT_LIST_HEAD(from);
}

/* Exchanges everything that the functions of tracer.h set in a draft. */
static void exchange_contents(struct session *a, struct session *b)
{
	uint32_t next = a->next_channel;
	uint64_t bytes = a->buffer_bytes;
	CDS_LIST_HEAD(channels);

	a->next_channel = b->next_channel;
	b->next_channel = next;
	a->buffer_bytes = b->buffer_bytes;      /* those of the channels */
	b->buffer_bytes = bytes;
	session_exchange_parts(a, b);
	for (int i = 0; i < TRACK_ATTRS; i++) {
		struct track track = a->track[i];

		a->track[i] = b->track[i];
		b->track[i] = track;
	}
	pthread_mutex_lock(&a->tracer->lists_lock);
	cds_list_splice(&a->channels, &channels);
	CDS_INIT_LIST_HEAD(&a->channels);
	move_channels(&b->channels, a);
	move_channels(&channels, b);
	pthread_mutex_unlock(&a->tracer->lists_lock);
	/* Before a start: the output's thread learns from it that streams have files. */
	session_publish(a);
	session_publish(b);
}

static bool was_started(const struct session *s)
{
	const struct channel *c;
	bool started = s->starts > 0;

	cds_list_for_each_entry(c, &s->channels, node)
		started = started || c->started;
	return started;
}

int session_become(struct session *s, struct session *draft, bool start, struct tr_err *err)
{
	int ret = 0;

	/*
	 * The draft is the caller's alone, so the directory of its output is made before s is
	 * locked.
	 */
	session_lock(draft);
	if (start && !was_started(s))
		ret = session_prepare_parts(draft, err);
	session_unlock(draft);
	session_lock(s);
	if (ret) {
		;
	} else if ((ret = session_check_alive(s, err))) {
		;
	} else if (was_started(s)) {
		ret = tr_fail(
			err, -EBUSY,
			"the session was started already; a new one can take a configuration");
	} else {
		exchange_contents(s, draft);
		ret = start ? session_start(s, err) : session_save(s);
		if (ret && !start)
			tr_fail(err, ret, "the state directory cannot be written");
		if (ret) {
			requests_drop(&s->requests, session_write_end());
			exchange_contents(s, draft);
		}
		session_save(s);
		session_changed(s);
	}
	session_unlock(s);
	session_follow_parts(s);
	kernel_pending_update(s->tracer);
	if (!ret && start)
		domains_dump(s);
	buffers_keep(s->tracer);
	return ret;
}
