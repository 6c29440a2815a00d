// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/kernel/kernel.h"
#include "tracer/base/lexer.h"

#define TRACK_MAX 65536u
#define LOOKUP_MAX (1u << 20)   /* bytes of an entry in the group database */

static bool is_pid(int attr)
{
	return attr == TRACK_VPID || attr == TRACK_PID || attr == TRACK_KERNEL_VPID;
}

static bool is_user(int attr)
{
	return attr == TRACK_VUID || attr == TRACK_KERNEL_UID || attr == TRACK_KERNEL_VUID;
}

void track_deinit(struct track *t)
{
	free(t->ids);
	*t = (struct track){ 0 };
}

int track_copy(const struct track *from, struct track *to)
{
	*to = (struct track){ .some = from->some, .count = from->count };
	to->ids = malloc((from->count + 1) * sizeof(*to->ids));
	if (!to->ids)
		return -ENOMEM;
	if (from->count)
		memcpy(to->ids, from->ids, from->count * sizeof(*to->ids));
	return 0;
}

/* Where the id is, or would be. */
static size_t place(const struct track *t, uint32_t id)
{
	size_t from = 0, to = t->count;

	while (from < to) {
		size_t mid = (from + to) / 2;

		if (t->ids[mid] < id)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static bool listed(const struct track *t, uint32_t id)
{
	size_t at = place(t, id);

	return at < t->count && t->ids[at] == id;
}

bool track_has(const struct track *t, uint32_t id)
{
	return !t->some || listed(t, id);
}

void track_print(const struct track *t, struct md_buf *out, char separator)
{
	if (!t->some)
		md_buf_printf(out, "*%c", separator);
	for (size_t i = 0; i < t->count; i++)
		md_buf_printf(out, "%u%c", t->ids[i], separator);
}

static int look_up(int attr, const char *name, char *space, size_t size, uint32_t *id)
{
	struct passwd user, *u = NULL;
	struct group group, *g = NULL;
	int ret = is_user(attr) ? getpwnam_r(name, &user, space, size, &u) : getgrnam_r(name, &group, space, size, &g);

	if (u)
		*id = u->pw_uid;
	if (g)
		*id = g->gr_gid;
	return u || g ? 0 : ret == ERANGE ? -ERANGE : -ENOENT;
}

static int by_name(int attr, const char *name, uint32_t *id)
{
	size_t size = 4096;
	int ret = -ERANGE;

	for (; ret == -ERANGE && size <= LOOKUP_MAX; size *= 4) {
		char *space = malloc(size);

		ret = space ? look_up(attr, name, space, size, id) : -ENOMEM;
		free(space);
	}
	return ret;
}

static int parse_id(struct scan *s, struct word *w, size_t skip, int attr, uint32_t *id)
{
	const char *text = word_text(w) + skip;
	unsigned long long n;
	char *end;
	int ret;

	if (*text >= '0' && *text <= '9') {
		errno = 0;
		n = strtoull(text, &end, 10);
		if (*end || errno || n > INT32_MAX + (is_pid(attr) ? 0ull : 0x80000000ull) || (is_pid(attr) && !n))
			return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, skip), is_pid(attr) ?
					  "not a process id" : is_user(attr) ? "not a user id" : "not a group id");
		*id = (uint32_t)n;
		return 0;
	}
	if (is_pid(attr))
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, skip), "a process id or '*' is expected");
	if (!(*text == '_' || (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z')))
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, skip), "a number, a name or '*' is expected");
	ret = by_name(attr, text, id);
	return ret == -ENOMEM ? tr_fail(s->err, ret, "out of memory") : ret ?
		tr_fail_at(s->err, -ENOENT, s->line, word_column(w, skip), "no %s '%.80s'",
			   is_user(attr) ? "user" : "group", text) : 0;
}

static int insert(struct track *t, uint32_t id)
{
	size_t at = place(t, id);
	uint32_t *more;

	t->some = true;
	if (at < t->count && t->ids[at] == id)
		return 0;
	if (t->count >= TRACK_MAX)
		return -ENOSPC;
	more = realloc(t->ids, (t->count + 2) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	t->ids = more;
	memmove(more + at + 1, more + at, (t->count - at) * sizeof(*more));
	more[at] = id;
	t->count++;
	return 0;
}

static int take_out(struct track *t, uint32_t id)
{
	size_t at = place(t, id);

	if (!listed(t, id))
		return -ENOENT;
	memmove(t->ids + at, t->ids + at + 1, (t->count - at - 1) * sizeof(*t->ids));
	t->count--;
	return 0;
}

struct change {
	struct track *track;
	int attr;
};

static int apply_word(void *arg, struct scan *s, struct word *w)
{
	const struct change *change = arg;
	struct track *t = change->track;
	bool remove = word_text(w)[0] == '!' && !w->quoted;
	uint32_t id = 0;
	int ret;

	if (!strcmp(word_text(w) + remove, "*")) {
		if (remove && t->some)
			return tr_fail_at(s->err, -ENOENT, s->line, word_column(w, 0), "not all are in the set");
		t->count = 0;
		t->some = remove;
		return 0;
	}
	ret = parse_id(s, w, remove, change->attr, &id);
	if (ret)
		return ret;
	if (remove && !t->some)
		return tr_fail_at(s->err, -ENOENT, s->line, word_column(w, 0),
				  "the set is '*', from which none can be taken alone; list those that shall stay");
	ret = remove ? take_out(t, id) : insert(t, id);
	if (ret == -ENOENT)
		return tr_fail_at(s->err, ret, s->line, word_column(w, 0), "not in the set");
	if (ret == -ENOSPC)
		return tr_fail_at(s->err, ret, s->line, word_column(w, 0), "a set has at most %u values", TRACK_MAX);
	return ret ? tr_fail(s->err, ret, "out of memory") : 0;
}

int track_apply(const struct track *old, int attr, const char *text, bool replace, struct track *out, struct tr_err *err)
{
	struct track empty = { .some = true }, new;
	struct change change = { &new, attr };
	int ret = track_copy(replace ? &empty : old, &new);

	if (ret)
		return tr_fail(err, ret, "out of memory");
	ret = words_each(text, apply_word, &change, err);
	if (ret) {
		track_deinit(&new);
		return ret;
	}
	*out = new;
	return 0;
}

/* Where the backend cannot tell by an attribute, its set is always `*`. */
static int store_all(enum track_attr attr, const char *text, bool replace, struct tr_err *err)
{
	static const char *const names[TRACK_ATTRS] = {
		[TRACK_KERNEL_VPID] = "vpid", [TRACK_KERNEL_UID] = "uid", [TRACK_KERNEL_VUID] = "vuid", [TRACK_KERNEL_GID] = "gid",
		[TRACK_KERNEL_VGID] = "vgid",
	};
	bool all = !replace;

	for (int line = 1; *text; line++) {
		size_t len = strcspn(text, "\n"), at = strspn(text, " \t"), word = strcspn(text + at, " \t\n");
		bool star = word == 1 && text[at] == '*' && at + 1 + strspn(text + at + 1, " \t") == len;

		if (*text != '#' && at < len && !star) {
			if (err)
				err->line = line;
			return tr_fail_at(err, -EOPNOTSUPP, text, (int)at, "records of tracefs do not tell the %s of who ran: that needs the "
					  "kernel module trail.ko; there is track/pid", names[attr]);
		}
		all = all || star;
		text += len + (text[len] == '\n');
	}
	return all ? 0 : tr_fail(err, -EOPNOTSUPP, "the set cannot be emptied: to tell by %s needs the kernel module trail.ko; there is track/pid",
				 names[attr]);
}

/* ---- of a session ---- */

int track_show(struct session *s, enum track_attr attr, struct md_buf *out)
{
	pthread_mutex_lock(&s->tracer->lock);
	track_print(&s->track[attr], out, '\n');
	pthread_mutex_unlock(&s->tracer->lock);
	return 0;
}

static bool same(const struct track *a, const struct track *b)
{
	return a->some == b->some && a->count == b->count && (!a->count || !memcmp(a->ids, b->ids, a->count * sizeof(*a->ids)));
}

/*
 * Buffers and their switch bytes are shared by all processes of a user. So when some are excluded, all are made to ask
 * again, by another epoch: those then get nothing.
 */
static void put_set(struct session *s, enum track_attr attr, struct track *new)
{
	struct track old = s->track[attr];
	struct tracer *t = s->tracer;
	bool excluded = attr == TRACK_VPID && new->some != old.some;   /* plans are others then: plan_slot */
	struct channel *c;
	struct app *a;

	cds_list_for_each_entry(a, &t->apps, node) {
		bool before = session_wants(s, a);

		s->track[attr] = *new;
		excluded = excluded || (before && !session_wants(s, a));
		s->track[attr] = old;
	}
	s->track[attr] = *new;
	track_deinit(&old);
	cds_list_for_each_entry(c, &s->channels, node)
		c->epoch += excluded;
	session_apply(s);
	session_save(s);
	session_changed(s);
}

int track_store(struct session *s, enum track_attr attr, const char *text, bool replace, struct tr_err *err)
{
	struct tracer *t = s->tracer;
	struct track old, new;
	int ret = -EAGAIN;

	if (attr > TRACK_PID && !(t->kernel && t->kernel->ops->track_by))
		return store_all(attr, text, replace, err);
	/* Names are asked for without the lock, because that may take a while: so again if somebody else was faster. */
	while (ret == -EAGAIN) {
		pthread_mutex_lock(&t->lock);
		ret = track_copy(&s->track[attr], &old);
		pthread_mutex_unlock(&t->lock);
		if (ret)
			return tr_fail(err, ret, "out of memory");
		ret = track_apply(&old, attr, text, replace, &new, err);
		if (!ret) {
			pthread_mutex_lock(&t->lock);
			if (s->gone)
				ret = tr_fail(err, -ENOENT, "the session is gone");
			else if (!same(&old, &s->track[attr]))
				ret = -EAGAIN;
			else
				put_set(s, attr, &new);
			pthread_mutex_unlock(&t->lock);
			if (ret)
				track_deinit(&new);
		}
		track_deinit(&old);
	}
	return ret;
}
