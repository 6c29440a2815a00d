// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/lexer.h"
#include "tracer/base/context/inclusion_set.h"

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

/* The index of the id, or where to insert it. */
static size_t find_index(const struct track *t, uint32_t id)
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

static bool is_listed(const struct track *t, uint32_t id)
{
	size_t at = find_index(t, id);

	return at < t->count && t->ids[at] == id;
}

bool track_has(const struct track *t, uint32_t id)
{
	return !t->some || is_listed(t, id);
}

bool track_equal(const struct track *a, const struct track *b)
{
	return a->some == b->some && a->count == b->count &&
	       (!a->count || !memcmp(a->ids, b->ids, a->count * sizeof(*a->ids)));
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
	int ret = is_user(attr) ? getpwnam_r(name, &user, space, size, &u)
				: getgrnam_r(name, &group, space, size, &g);

	if (u)
		*id = u->pw_uid;
	if (g)
		*id = g->gr_gid;
	return u || g ? 0 : ret == ERANGE ? -ERANGE : -ENOENT;
}

static int look_up_name(int attr, const char *name, uint32_t *id)
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
		if (*end || errno || n > INT32_MAX + (is_pid(attr) ? 0ull : 0x80000000ull) ||
		    (is_pid(attr) && !n))
			return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, skip),
					  is_pid(attr)    ? "not a process id"
					  : is_user(attr) ? "not a user id"
							  : "not a group id");
		*id = (uint32_t)n;
		return 0;
	}
	if (is_pid(attr))
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, skip),
				  "a process id or '*' is expected");
	if (!(*text == '_' || (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z')))
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, skip),
				  "a number, a name or '*' is expected");
	ret = look_up_name(attr, text, id);
	return ret == -ENOMEM ? tr_fail(s->err, ret, "out of memory") : ret ?
		tr_fail_at(s->err, -ENOENT, s->line, word_column(w, skip), "no %s '%.80s'",
			   is_user(attr) ? "user" : "group", text) : 0;
}

static int insert_id(struct track *t, uint32_t id)
{
	size_t at = find_index(t, id);

	t->some = true;
	if (at < t->count && t->ids[at] == id)
		return 0;
	if (t->count >= TRACK_MAX)
		return -ENOSPC;
	if (!array_room(t->ids, t->count + 2))
		return -ENOMEM;
	memmove(t->ids + at + 1, t->ids + at, (t->count - at) * sizeof(*t->ids));
	t->ids[at] = id;
	t->count++;
	return 0;
}

static int remove_id(struct track *t, uint32_t id)
{
	size_t at = find_index(t, id);

	if (!is_listed(t, id))
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
			return tr_fail_at(s->err, -ENOENT, s->line, word_column(w, 0),
					  "the set is not '*'");
		t->count = 0;
		t->some = remove;
		return 0;
	}
	ret = parse_id(s, w, remove, change->attr, &id);
	if (ret)
		return ret;
	if (remove && !t->some)
		return tr_fail_at(s->err, -ENOENT, s->line, word_column(w, 0),
				  "one value cannot be removed from '*'; write the values to keep");
	ret = remove ? remove_id(t, id) : insert_id(t, id);
	if (ret == -ENOENT)
		return tr_fail_at(s->err, ret, s->line, word_column(w, 0), "not in the set");
	if (ret == -ENOSPC)
		return tr_fail_at(s->err, ret, s->line, word_column(w, 0),
				  "a set has at most %u values", TRACK_MAX);
	return ret ? tr_fail(s->err, ret, "out of memory") : 0;
}

int track_apply(const struct track *old, int attr, const char *text, bool replace,
		struct track *out, struct tr_err *err)
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
