/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/base/words.h"
#include "fs/tree/errors.h"
#include "fs/tree/rows.h"
#include "tracer/face/tracer.h"

#define PER_PLACE 4     /* of one user in one session or trigger */
#define PER_USER 32
#define IN_ALL 512

/*
 * Where the failure was. Not a pointer to the session or trigger: an entry must not keep it alive,
 * nor appear in a later one of that name.
 */
struct place {
	int64_t made;           /* tells apart those of one name; 0: in no session or trigger */
	char top[256];          /* the name of the session, or triggers/NAME */
	char dir[512];          /* the directory's path in it: "", or ended by a slash */
};

struct failure {
	struct failure *next;
	struct place place;
	uid_t uid;
	uint64_t number;        /* of all that there were: 1 … */
	char text[];
};

static struct {
	pthread_mutex_t lock;           /* guards the list and everything in it */
	struct failure *first;          /* the newest */
	uint64_t count;                 /* ever */
} errors = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Appends the path of dir below top. */
static void put_dir(const struct node *dir, const struct node *top, struct place *p)
{
	size_t n;

	if (dir == top || !dir->parent)
		return;
	put_dir(dir->parent, top, p);
	n = strlen(p->dir);
	snprintf(p->dir + n, sizeof(p->dir) - n, "%s/", dir->name);
}

/* The session or trigger that n is in, if it can be reached: p gets which. */
static const struct node *find_top(const struct node *n, struct place *p)
{
	while (n && !n->row->top)
		n = n->parent;
	return n && n->row->top(n, &p->made, p->top, sizeof(p->top)) ? n : NULL;
}

/* The place of the directory that n is, or is in. */
static void place_of(const struct node *n, struct place *p)
{
	const struct node *top;

	memset(p, 0, sizeof(*p));
	top = find_top(n, p);
	if (!top)
		memset(p, 0, sizeof(*p));       /* nothing reaches the file of a removed one */
	put_dir(S_ISDIR(n->row->mode) || !n->parent ? n : n->parent, top, p);
}

static bool same_top(const struct place *a, const struct place *b)
{
	return a->made == b->made && !strcmp(a->top, b->top);
}

/* p is the directory dir, or below it. */
static bool is_below(const struct place *p, const struct place *dir)
{
	return same_top(p, dir) && !strncmp(p->dir, dir->dir, strlen(dir->dir));
}

static void unlink_at(struct failure **at)
{
	struct failure *f = *at;

	*at = f->next;
	free(f);
}

/*
 * Removes the oldest entry of the user (NULL: of any user) in the session or trigger of the place
 * (NULL: in any) if there are `most` of them.
 */
static void make_room(const uid_t *uid, const struct place *place, unsigned most)
{
	struct failure **oldest = NULL;
	unsigned n = 0;

	for (struct failure **at = &errors.first; *at; at = &(*at)->next) {
		if ((uid && (*at)->uid != *uid) || (place && !same_top(&(*at)->place, place)))
			continue;
		n++;
		oldest = at;
	}
	if (n >= most)
		unlink_at(oldest);
}

/* Removes the user's entries in the session or trigger of the place up to this number. */
static void clear(const struct place *place, uid_t uid, uint64_t most)
{
	struct failure **at = &errors.first;

	while (*at) {
		if ((*at)->uid == uid && (*at)->number <= most && same_top(&(*at)->place, place))
			unlink_at(at);
		else
			at = &(*at)->next;
	}
}

/* Removes the user's earlier entry with this text in the same session or trigger. */
static void remove_equal(const struct failure *f)
{
	for (struct failure **at = &errors.first; *at; at = &(*at)->next)
		if ((*at)->uid == f->uid && same_top(&(*at)->place, &f->place) &&
		    !strcmp((*at)->text, f->text)) {
			unlink_at(at);
			return;
		}
}

static void add_failure(struct failure *f)
{
	remove_equal(f);
	make_room(&f->uid, &f->place, PER_PLACE);
	make_room(&f->uid, NULL, PER_USER);
	make_room(NULL, NULL, IN_ALL);
	f->next = errors.first;
	errors.first = f;
	f->number = ++errors.count;
}

/*
 * The caret stands below the wrong character as a terminal shows the line, so it counts escaped
 * columns.
 */
static void print(struct md_buf *out, const char *what, int rc, const struct tr_err *err)
{
	words_clean(out, what, strlen(what));
	if (err->line > 0)
		md_buf_printf(out, ":%d", err->line);
	md_buf_puts(out, ": ");
	if (err->sentence[0])
		words_clean(out, err->sentence, strlen(err->sentence));
	else
		md_buf_puts(out, strerror(-rc));
	md_buf_putc(out, '\n');
	if (!err->text[0])
		return;
	md_buf_puts(out, "  ");
	words_clean(out, err->text, strlen(err->text));
	md_buf_putc(out, '\n');
	if (err->column < 0 || (size_t)err->column > strlen(err->text))
		return;
	md_buf_puts(out, "  ");
	for (size_t n = words_width(err->text, (size_t)err->column); n; n--)
		md_buf_putc(out, ' ');
	md_buf_puts(out, "^\n");
}

static struct failure *failure_new(const struct place *place, uid_t uid, struct md_buf *text)
{
	const char *s = md_buf_str(text);
	struct failure *f = malloc(sizeof(*f) + strlen(s) + 1);

	if (!f)
		return NULL;
	f->next = NULL;
	f->place = *place;
	f->uid = uid;
	strcpy(f->text, s);
	return f;
}

void errors_result(const struct node *n, const char *what, const struct who *who, uint64_t since,
		   int rc, const struct tr_err *err)
{
	struct md_buf text = MD_BUF_INIT;
	struct failure *f = NULL;
	struct place place;

	place_of(n, &place);
	if (rc < 0) {
		print(&text, what, rc, err);
		f = failure_new(&place, who->uid, &text);
		md_buf_deinit(&text);
	}
	pthread_mutex_lock(&errors.lock);
	if (rc >= 0)
		clear(&place, who->uid, since);
	else if (f)
		add_failure(f);
	pthread_mutex_unlock(&errors.lock);
}

bool errors_refused(const struct node *n, const struct who *who, int rc)
{
	struct tr_err err = TR_ERR_INIT;

	switch (rc) {
	case -EDQUOT:
		if (n->session)
			session_no_room(n->session, &err);
		break;
	case -EOVERFLOW:
		tr_fail(&err, rc, "the numbers of this format are too small for all kinds of "
			"events or CPUs: record fewer, or read trace/");
		break;
	case -EFBIG:
		tr_fail(&err, rc, "the file would be larger than this format allows: hold fewer "
			"events, or read trace/");
		break;
	case -EOPNOTSUPP:       /* export.c says it of files in export/ */
		if (S_ISDIR(n->row->mode))
			return false;
		tr_fail(&err, rc, "this build was made without it");
		break;
	case -ENOMEM:
	case -EIO:
		break;
	default:
		return false;
	}
	errors_result(n, n->name, who, 0, rc, &err);
	return true;
}

int errors_show(const struct node *n, const struct who *who, struct md_buf *out)
{
	struct place place;

	place_of(n, &place);
	pthread_mutex_lock(&errors.lock);
	for (struct failure *f = errors.first; f; f = f->next)
		if (is_below(&f->place, &place) &&
		    (place.made || !who->uid || f->uid == who->uid))
			md_buf_puts(out, f->text);
	pthread_mutex_unlock(&errors.lock);
	if (n->session && !place.dir[0])
		session_troubles(n->session, out);
	return 0;
}

void errors_happened(const char *session, int64_t created, uid_t owner, const char *sentence)
{
	struct place place = { .made = created };
	struct md_buf text = MD_BUF_INIT;
	struct failure *f;

	snprintf(place.top, sizeof(place.top), "%s", session);
	words_clean(&text, sentence, strlen(sentence));
	md_buf_putc(&text, '\n');
	f = failure_new(&place, owner, &text);
	md_buf_deinit(&text);
	pthread_mutex_lock(&errors.lock);
	if (f)
		add_failure(f);
	pthread_mutex_unlock(&errors.lock);
}

uint64_t errors_count(void)
{
	uint64_t count;

	pthread_mutex_lock(&errors.lock);
	count = errors.count;
	pthread_mutex_unlock(&errors.lock);
	return count;
}

void errors_deinit(void)
{
	while (errors.first)
		unlink_at(&errors.first);
}
