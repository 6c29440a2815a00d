/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/output/snapshot/target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/base.h"
#include "tracer/output/directory.h"
#include "tracer/output/relay/relay.h"

#define MAX_SIZE "max-size"

/* ---- lists ---- */

static void free_target(struct snapshot_target *t)
{
	free(t->place);
	free(t);
}

void targets_free(struct snapshot_target *list)
{
	while (list) {
		struct snapshot_target *t = list;

		list = t->next;
		free_target(t);
	}
}

static struct snapshot_target *new_target(const char *place, bool remote, uint64_t max_size)
{
	struct snapshot_target *t = calloc(1, sizeof(*t));

	if (t && !(t->place = strdup(place))) {
		free(t);
		return NULL;
	}
	if (t) {
		t->remote = remote;
		t->max_size = max_size;
	}
	return t;
}

struct snapshot_target *target_copy(const struct snapshot_target *t)
{
	return new_target(t->place, t->remote, t->max_size);
}

static int copy_list(const struct snapshot_target *from, struct snapshot_target **out)
{
	struct snapshot_target **last = out;

	*out = NULL;
	for (; from; from = from->next) {
		*last = target_copy(from);
		if (!*last) {
			targets_free(*out);
			return -ENOMEM;
		}
		last = &(*last)->next;
	}
	return 0;
}

static bool same_lists(const struct snapshot_target *a, const struct snapshot_target *b)
{
	for (; a && b; a = a->next, b = b->next)
		if (strcmp(a->place, b->place) || a->max_size != b->max_size)
			return false;
	return a == b;
}

/* ---- parsing ---- */

static int parse_size(struct scan *s, const char *text, int column, uint64_t *out)
{
	struct tr_err why = TR_ERR_INIT;
	int ret = units_size(text, out, &why);

	if (!ret && (!*out || *out > INT64_MAX))
		ret = tr_fail(&why, -EINVAL, "must be from 1 byte to 8 EB");
	return ret ? tr_fail_at(s->err, ret, s->line, column, "%s", why.sentence) : 0;
}

int target_parse_limit(struct scan *s, struct word *w, uint64_t *out)
{
	const char *text = word_text(w);
	size_t n = strlen(MAX_SIZE);
	int ret;

	if (w->quoted || strncmp(text, MAX_SIZE, n) || (text[n] && text[n] != '='))
		return 1;
	if (*out)
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, 0),
				  "'" MAX_SIZE "' comes once");
	if (text[n])
		return parse_size(s, text + n + 1, word_column(w, n + 1), out);
	scan_blanks(s);
	if (scan_at_end(s))
		return tr_fail_at(s->err, -EINVAL, s->line, (int)s->at, "a size is missing here");
	ret = scan_word(s, false, w);
	return ret ? ret : parse_size(s, word_text(w), word_column(w, 0), out);
}

/* If a tcp:// address follows, appends it to the one in `pair`. *column: where it is. */
static int add_data_address(struct scan *s, struct md_buf *pair, int *column)
{
	struct scan ahead = { s->line, s->at, NULL, NULL };
	struct word w = { 0 };
	int ret = 0;

	scan_blanks(&ahead);
	if (!scan_at_end(&ahead))
		ret = scan_word(&ahead, false, &w);
	if (!ret && w.text.len && !w.quoted && !strncmp(word_text(&w), "tcp", 3)) {
		md_buf_putc(pair, ' ');
		md_buf_puts(pair, word_text(&w));
		*column = word_column(&w, 0);
		s->at = ahead.at;
	}
	word_deinit(&w);
	/* A mistake in the next word is found when that word is read. */
	return pair->failed ? -ENOMEM : 0;
}

static int parse_address(struct scan *s, const struct word *w, struct md_buf *text, char **shown)
{
	struct tr_err why = TR_ERR_INIT;
	size_t first = text->len, at;
	int second = -1, ret = 0;

	if (!w->quoted && !strncmp(md_buf_str(text), "tcp", 3))
		ret = add_data_address(s, text, &second);
	ret = ret ? ret : relay_address(md_buf_str(text), shown, &why);
	if (!ret && (strncmp(md_buf_str(text), "tcp", 3) ||
		     strpbrk(md_buf_str(text), " \t\r\n")))
		return 0;
	/* In a list, a line with the second address would be another place. */
	if (!ret)
		return tr_fail_at(s->err, -EINVAL, s->line, (int)s->at,
				  "the address for data, tcp://HOST[:PORT], is missing in this "
				  "line");
	/* The caret is where the address has its mistake; of a long one it is at the begin. */
	at = why.column > 0 && text->len < sizeof(why.text) ? (size_t)why.column : 0;
	at = second >= 0 && at > first ? (size_t)second + at - first - 1
				       : (size_t)word_column(w, at);
	return tr_fail_at(s->err, ret, s->line, (int)at, "%s",
			  ret == -ENOMEM ? "out of memory" : why.sentence);
}

int target_parse(struct scan *s, struct word *w, struct snapshot_target **out)
{
	struct md_buf text = MD_BUF_INIT;
	struct tr_err why = TR_ERR_INIT;
	bool remote = relay_takes(word_text(w));
	char *shown = NULL;
	int ret = 0;

	*out = NULL;
	md_buf_puts(&text, output_dir_path(word_text(w)));
	if (remote)
		ret = parse_address(s, w, &text, &shown);
	else if (md_buf_str(&text)[0] != '/')
		ret = tr_fail_at(s->err, -EINVAL, s->line, word_column(w, 0),
				 "must be an absolute path, or begin with net://, net6://, tcp:// "
				 "or tcp6://");
	else if ((ret = output_dir_check(md_buf_str(&text), &why)))
		ret = tr_fail_at(s->err, ret, s->line,
				 word_column(w, why.column > 0 ? (size_t)why.column : 0), "%s",
				 why.sentence);
	if (!ret && !(*out = new_target(shown ? shown : md_buf_str(&text), remote, 0)))
		ret = tr_fail(s->err, -ENOMEM, "out of memory");
	md_buf_deinit(&text);
	free(shown);
	return ret;
}

/* PLACE [max-size N], up to the end of the line. */
static int parse_target(struct scan *s, struct word *w, struct snapshot_target **out)
{
	int ret = target_parse(s, w, out);

	for (scan_blanks(s); !ret && !scan_at_end(s); scan_blanks(s)) {
		ret = scan_word(s, false, w);
		ret = ret ? ret : target_parse_limit(s, w, &(*out)->max_size);
		if (ret == 1)
			ret = tr_fail_at(s->err, -EINVAL, s->line, word_column(w, 0),
					 "only '" MAX_SIZE "' and a size may follow");
	}
	if (ret) {
		targets_free(*out);
		*out = NULL;
	}
	return ret;
}

/* ---- one line of a list ---- */

static struct snapshot_target **find_place(struct snapshot_target **list, const char *place)
{
	while (*list && strcmp((*list)->place, place))
		list = &(*list)->next;
	return list;
}

/* Makes the directory, so that a mistake is noticed now. */
static int make_place(const struct snapshot_target *t, const struct output_owner *of,
		      struct tr_err *err)
{
	int dir = t->remote ? -1 : output_dir_make(t->place, of, false, err);

	if (dir >= 0)
		close(dir);
	return t->remote || dir >= 0 ? 0 : dir;
}

/* Takes t over. */
static int put_target(struct snapshot_target **list, struct snapshot_target *t, struct scan *s)
{
	struct snapshot_target **at = find_place(list, t->place);
	size_t n = 0;

	for (const struct snapshot_target *i = *list; i; i = i->next)
		n++;
	if (*at) {
		(*at)->max_size = t->max_size;
		free_target(t);
	} else if (n == SNAPSHOT_TARGETS_MAX) {
		free_target(t);
		return tr_fail_at(s->err, -ENOSPC, s->line, 0,
				  "a session has at most %d snapshot outputs",
				  SNAPSHOT_TARGETS_MAX);
	} else {
		*at = t;
	}
	return 0;
}

static int drop_target(struct snapshot_target **list, struct snapshot_target *t, struct scan *s)
{
	struct snapshot_target **at = find_place(list, t->place), *old = *at;

	free_target(t);
	if (!old)
		return tr_fail_at(s->err, -ENOENT, s->line, 0, "no such snapshot output");
	*at = old->next;
	free_target(old);
	return 0;
}

/* One line: PLACE [max-size N], or !PLACE. */
static int apply_line(struct snapshot_target **list, struct scan *s, const struct output_owner *of)
{
	struct snapshot_target *t = NULL;
	struct word w = { 0 };
	bool drop = false;
	int ret = 0;

	scan_blanks(s);
	if (scan_at_end(s) || s->line[s->at] == '#')
		return 0;
	if (s->line[s->at] == '!') {
		drop = true;
		s->at++;
	}
	ret = scan_word(s, false, &w);
	ret = ret ? ret : parse_target(s, &w, &t);
	if (!ret && drop)
		ret = drop_target(list, t, s);
	else if (!ret && (ret = make_place(t, of, s->err)))
		free_target(t);
	else if (!ret)
		ret = put_target(list, t, s);
	word_deinit(&w);
	return ret;
}

static int apply_lines(struct snapshot_target **list, const char *text,
		       const struct output_owner *of, struct tr_err *err)
{
	int line = 0, ret = 0;

	while (*text && !ret) {
		struct scan s = { text, 0, err, NULL };

		line++;
		ret = apply_line(list, &s, of);
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	if (ret && err)
		err->line = line;
	return ret;
}

/* ---- the file `snapshot_outputs` ---- */

int snapshot_outputs_store(void *session, const char *text, bool replace, struct tr_err *err)
{
	struct session *s = session;
	struct snapshot_target *old = NULL, *new = NULL;
	struct output_owner of;
	int ret;

	/* Directories are made without the lock. Once more if another thread changed the list. */
	do {
		pthread_mutex_lock(&s->tracer->lock);
		of = output_owner_of(s);
		ret = copy_list(snapshots_of(s)->targets, &old);
		ret = ret || replace ? ret : copy_list(snapshots_of(s)->targets, &new);
		pthread_mutex_unlock(&s->tracer->lock);
		ret = ret ? tr_fail(err, ret, "out of memory") : apply_lines(&new, text, &of, err);
		session_lock(s);
		if (!ret && (s->gone || s->ending)) {
			ret = tr_fail(err, -ENOENT, "the session is gone");
		} else if (!ret && !same_lists(old, snapshots_of(s)->targets)) {
			ret = -EAGAIN;
		} else if (!ret) {
			struct snapshot_target *before = snapshots_of(s)->targets;

			snapshots_of(s)->targets = new;
			new = before;
			session_save(s);
			session_changed(s);
		}
		session_unlock(s);
		targets_free(old);
		targets_free(new);
		old = new = NULL;
	} while (ret == -EAGAIN);
	return ret;
}

void target_print(const struct snapshot_target *t, struct md_buf *out)
{
	word_print(t->place, out);
	if (t->max_size)
		md_buf_printf(out, " " MAX_SIZE " %" PRIu64, t->max_size);
	md_buf_putc(out, '\n');
}

void snapshot_outputs_show(const void *session, struct md_buf *out)
{
	const struct session *s = session;

	for (const struct snapshot_target *t = snapshots_of(s)->targets; t; t = t->next)
		target_print(t, out);
}

void targets_save(const struct session *s, struct md_buf *out)
{
	for (const struct snapshot_target *t = snapshots_of(s)->targets; t; t = t->next) {
		md_buf_puts(out, "snapshot_output ");
		target_print(t, out);
	}
}

struct snapshot_target *target_read(const char *line)
{
	struct scan scan = { line, 0, NULL, NULL };
	struct snapshot_target *t = NULL;
	struct word w = { 0 };

	if (!scan_word(&scan, false, &w))
		parse_target(&scan, &w, &t);
	word_deinit(&w);
	return t;
}

void targets_restore(struct session *s, const char *line)
{
	struct snapshot_target *t = target_read(line);
	struct scan scan = { line, 0, NULL, NULL };

	if (t)
		put_target(&snapshots_of(s)->targets, t, &scan);
}
