// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/array.h"
#include "tracer/base/lexer.h"
#include "tracer/base/context/inclusion_set.h"

#define TRACK_MAX 65536u
#define CGROUPS_MAX 256u        /* paths of a set */
#define CGROUP_ROOT "/sys/fs/cgroup"
#define LOOKUP_MAX (1u << 20)   /* bytes of an entry in the group database */

static bool is_pid(int attr)
{
	return attr == TRACK_VPID || attr == TRACK_PID || attr == TRACK_KERNEL_VPID;
}

static bool is_user(int attr)
{
	return attr == TRACK_VUID || attr == TRACK_KERNEL_UID || attr == TRACK_KERNEL_VUID;
}

static void free_paths(struct track *t)
{
	for (size_t i = 0; t->paths && i < t->count; i++)
		free(t->paths[i]);
	free(t->paths);
	t->paths = NULL;
}

void track_deinit(struct track *t)
{
	free_paths(t);
	free(t->ids);
	*t = (struct track){ 0 };
}

static int copy_paths(const struct track *from, struct track *to)
{
	to->paths = calloc(from->count + 1, sizeof(*to->paths));
	for (; to->paths && to->count < from->count; to->count++)
		if (!(to->paths[to->count] = strdup(from->paths[to->count])))
			break;
	if (to->paths && to->count == from->count)
		return 0;
	track_deinit(to);
	return -ENOMEM;
}

int track_copy(const struct track *from, struct track *to)
{
	*to = (struct track){ .some = from->some };
	if (from->paths)
		return copy_paths(from, to);
	to->ids = malloc((from->count + 1) * sizeof(*to->ids));
	if (!to->ids)
		return -ENOMEM;
	if (from->count)
		memcpy(to->ids, from->ids, from->count * sizeof(*to->ids));
	to->count = from->count;
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
	if (a->some != b->some || a->count != b->count)
		return false;
	for (size_t i = 0; a->paths && i < a->count; i++)
		if (strcmp(a->paths[i], b->paths[i]))
			return false;
	return !a->count || a->paths || !memcmp(a->ids, b->ids, a->count * sizeof(*a->ids));
}

char *track_read_cgroups(uint32_t pid)
{
	struct md_buf text = MD_BUF_INIT;
	char path[32];
	ssize_t n = 1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && n > 0 && md_buf_room(&text, 4096)) {
		n = read(fd, text.data + text.len, 4096);
		text.len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	md_buf_putc(&text, '\0');
	if (!text.failed)
		return text.data;
	md_buf_deinit(&text);
	return NULL;
}

/* The path of a line, which is `NUMBER:CONTROLLERS:PATH`; NULL: it has none. */
static const char *path_of(const char *line, size_t len)
{
	const char *end = line + len, *p = memchr(line, ':', len);

	p = p ? memchr(p + 1, ':', (size_t)(end - p - 1)) : NULL;
	return p ? p + 1 : NULL;
}

const char *track_cgroup_path(const char *cgroups, size_t *len)
{
	const char *best = NULL;
	size_t n;

	for (; *cgroups; cgroups += n + (cgroups[n] == '\n')) {
		const char *p = path_of(cgroups, n = strcspn(cgroups, "\n"));
		bool second = p && !strncmp(cgroups, "0::", 3) && cgroups + n - p > 1;

		if (!p || (best && !second && (size_t)(cgroups + n - p) <= *len))
			continue;
		best = p;
		*len = (size_t)(cgroups + n - p);
		if (second)
			break;
	}
	return best;
}

static bool is_below(const char *line, size_t len, const char *path)
{
	const char *end = line + len, *p = path_of(line, len);
	size_t n = strcmp(path, "/") ? strlen(path) : 0;

	if (!p || (size_t)(end - p) < n || memcmp(p, path, n) != 0)
		return false;
	return p + n == end || p[n] == '/';
}

bool track_has_cgroup(const struct track *t, const char *cgroups)
{
	size_t len;

	for (; t->some && *cgroups; cgroups += len + (cgroups[len] == '\n')) {
		len = strcspn(cgroups, "\n");
		for (size_t i = 0; i < t->count; i++)
			if (is_below(cgroups, len, t->paths[i]))
				return true;
	}
	return !t->some;
}

void track_print(const struct track *t, struct md_buf *out, char separator)
{
	if (!t->some)
		md_buf_printf(out, "*%c", separator);
	for (size_t i = 0; i < t->count; i++) {
		if (t->paths)
			word_print(t->paths[i], out);
		else
			md_buf_printf(out, "%u", t->ids[i]);
		md_buf_putc(out, separator);
	}
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

/* The path as the kernel writes it, in `path`; a path below the mount point is taken, too. */
static int parse_path(struct scan *s, struct word *w, size_t skip, char path[4096])
{
	const char *text = word_text(w) + skip;
	size_t root = strlen(CGROUP_ROOT), len;

	if (!strncmp(text, CGROUP_ROOT, root) && (!text[root] || text[root] == '/'))
		text += root;
	len = strlen(text);
	while (len && text[len - 1] == '/')
		len--;
	if ((text[0] != '/' && (text[0] || text == word_text(w) + skip)) || len >= 4096 ||
	    strpbrk(text, "\n\r"))
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, skip),
				  "a path of a control group begins with '/', as in "
				  "/proc/PID/cgroup; or '*'");
	if (!len)
		strcpy(path, "/");
	else {
		memcpy(path, text, len);
		path[len] = '\0';
	}
	return 0;
}

static int insert_path(struct track *t, const char *path)
{
	size_t at = 0;
	char *copy;

	t->some = true;
	while (at < t->count && strcmp(t->paths[at], path) < 0)
		at++;
	if (at < t->count && !strcmp(t->paths[at], path))
		return 0;
	if (t->count >= CGROUPS_MAX)
		return -ENOSPC;
	if (!array_room(t->paths, t->count + 2) || !(copy = strdup(path)))
		return -ENOMEM;
	memmove(t->paths + at + 1, t->paths + at, (t->count - at) * sizeof(*t->paths));
	t->paths[at] = copy;
	t->count++;
	return 0;
}

static int remove_path(struct track *t, const char *path)
{
	for (size_t at = 0; at < t->count; at++) {
		if (strcmp(t->paths[at], path))
			continue;
		free(t->paths[at]);
		t->count--;
		memmove(t->paths + at, t->paths + at + 1, (t->count - at) * sizeof(*t->paths));
		return 0;
	}
	return -ENOENT;
}

static void remove_all(struct track *t)
{
	for (size_t i = 0; t->paths && i < t->count; i++)
		free(t->paths[i]);
	t->count = 0;
}

struct change {
	struct track *track;
	int attr;
};

static int apply_word(void *arg, struct scan *s, struct word *w)
{
	const struct change *change = arg;
	struct track *t = change->track;
	bool remove = word_text(w)[0] == '!' && !w->quoted, by_id = change->attr < TRACK_IDS;
	char path[4096];
	uint32_t id = 0;
	int ret;

	if (!strcmp(word_text(w) + remove, "*")) {
		if (remove && t->some)
			return tr_fail_at(s->err, -ENOENT, s->line, word_column(w, 0),
					  "the set is not '*'");
		remove_all(t);
		t->some = remove;
		return 0;
	}
	ret = by_id ? parse_id(s, w, remove, change->attr, &id) : parse_path(s, w, remove, path);
	if (ret)
		return ret;
	if (remove && !t->some)
		return tr_fail_at(s->err, -ENOENT, s->line, word_column(w, 0),
				  "one value cannot be removed from '*'; write the values to keep");
	if (by_id)
		ret = remove ? remove_id(t, id) : insert_id(t, id);
	else
		ret = remove ? remove_path(t, path) : insert_path(t, path);
	if (ret == -ENOENT)
		return tr_fail_at(s->err, ret, s->line, word_column(w, 0), "not in the set");
	if (ret == -ENOSPC)
		return tr_fail_at(s->err, ret, s->line, word_column(w, 0),
				  "a set has at most %u values", by_id ? TRACK_MAX : CGROUPS_MAX);
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
