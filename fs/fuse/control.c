/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fs/base/words.h"
#include "fs/fuse/channel.h"
#include "fs/fuse/file.h"
#include "fs/fuse/fuse.h"
#include "fs/tree/errors.h"
#include "tracer/base/hash.h"

#define CUT 512                 /* a write of this size or more may end within a line */
#define LINE_MOST (64 * 1024)   /* bytes of one line */
#define WHOLE_MOST (16 << 20)   /* of what is taken as a whole */
/*
 * Of writes of CUT or more that follow each other: the parts of one text. Each part costs time, so
 * that a text without an end would keep a thread of the daemon.
 */
#define PARTS_MOST (4 << 20)
#define BLANK " \t\r\n"

/* The line of text that contains byte `at`, for an explanation. */
static int fail_in_line(struct tr_err *err, char *text, size_t at, const char *why)
{
	size_t begin = at;
	int line = 1;

	while (begin && text[begin - 1] != '\n')
		begin--;
	for (size_t i = 0; i < begin; i++)
		line += text[i] == '\n';
	tr_fail_at(err, -EINVAL, text + begin, (int)(at - begin), "%s", why);
	err->line = line;
	return -EINVAL;
}

/* Refuses text that no control file takes. */
static int check(char *text, size_t len, enum store_how how, struct tr_err *err)
{
	const char *nul = memchr(text, 0, len);
	size_t bad, begin = 0;

	if (nul)
		return fail_in_line(err, text, (size_t)(nul - text), "a NUL byte is no text");
	if (how != STORE_RAW && !words_utf8(text, len, &bad))
		return fail_in_line(err, text, bad, "this is not UTF-8 text");
	while (begin < len && how != STORE_WHOLE) {
		size_t n = strcspn(text + begin, "\n");

		if (n > LINE_MOST)
			return fail_in_line(err, text, begin, "a line of more than 65536 bytes");
		begin += n + 1;
	}
	return 0;
}

/* Comments become empty lines, so that the numbers of the others stay. */
static void blank_comments(char *text)
{
	char *to = text;
	bool skip = false, begin = true;

	for (; *text; text++) {
		if (begin)
			skip = *text == '#';
		begin = *text == '\n';
		if (!skip || begin)
			*to++ = *text;
	}
	*to = 0;
}

static int apply_value(struct file *f, char *text, struct tr_err *err)
{
	char *word;
	int line, rc = words_value(text, &word, &line, err);

	if (!rc)
		rc = f->node->row->store(f->node, &f->who, word, false, err);
	if (rc < 0 && !err->text[0] && *word)
		strncpy(err->text, word, sizeof(err->text) - 1);
	err->line = 0;          /* there is only one */
	return rc;
}

/* The kernel counts requests from the beginning of the mount. */
static uint64_t write_number(void)
{
	return hash_step(hash_step(HASH_START, (uint64_t)fs.born), channel_unique());
}

/* Whether a killed daemon has made the change. Its answer would have been success. */
static bool was_done(const struct file *f)
{
	return channel_again() && tree_write_done(f->node, write_number());
}

/* text: len bytes and a NUL. */
static int apply_text(struct file *f, char *text, size_t len, bool replace)
{
	const struct tree_row *r = f->node->row;
	struct tr_err err = TR_ERR_INIT;
	uint64_t since = errors_count();
	int rc = check(text, len, r->how, &err);

	if (!rc && was_done(f))
		return 0;
	if (!rc && tree_gone(f->node))
		rc = tr_fail(&err, -ENOENT, "the session was removed");
	if (!rc && r->how != STORE_RAW && r->how != STORE_WHOLE)
		blank_comments(text);
	session_write_begin(write_number());
	if (!rc && (r->how == STORE_VALUE || r->how == STORE_CHOICE))
		rc = apply_value(f, text, &err);
	else if (!rc)
		rc = r->store(f->node, &f->who, text, replace, &err);
	session_write_end();
	errors_result(f->node, r->name, &f->who, since, rc, &err);
	return rc < 0 ? rc : 0;
}

/* Takes the first n bytes out of the tail as a string. Caller holds f->lock. */
static char *cut(struct md_buf *tail, size_t n)
{
	char *text = malloc(n + 1);

	if (!text)
		return NULL;
	memcpy(text, tail->data, n);
	text[n] = 0;
	memmove(tail->data, tail->data + n, tail->len - n);
	tail->len -= n;
	if (!tail->len) {
		md_buf_deinit(tail);
		*tail = (struct md_buf)MD_BUF_INIT;
	}
	return text;
}

/*
 * A shell that writes line by line writes a comment alone, and the empty lines after it: there is
 * nothing to store yet. Caller holds f->lock.
 */
static bool is_comment(struct file *f, const char *text)
{
	enum store_how how = f->node->row->how;
	size_t n = strcspn(text, "\n");

	if (how != STORE_VALUE && how != STORE_CHOICE && how != STORE_PAIR)
		return false;
	if (*text == '#' && text[n] && !text[n + 1])
		return f->commented = true;
	return f->commented && !text[strspn(text, BLANK)];
}

/* Is the text one of the two addresses of STORE_PAIR? */
static bool is_address(const char *text)
{
	size_t n;

	text += strspn(text, BLANK);
	n = strcspn(text, BLANK);
	return !strncmp(text, "tcp", 3) && !text[n + strspn(text + n, BLANK)];
}

/*
 * STORE_PAIR: if the text is an address, and earlier writes of the open were, returns them together
 * in place of the text. Caller holds f->lock.
 */
static char *add_address(struct file *f, char *text, size_t *len)
{
	struct md_buf *all = &f->addresses;

	if (!text[strspn(text, BLANK)])
		return text;
	if (!is_address(text)) {
		md_buf_reset(all);
		return text;
	}
	md_buf_put(all, text, *len);
	md_buf_putc(all, '\n');
	free(text);
	*len = all->len;
	return all->failed ? NULL : strdup(md_buf_str(all));
}

/* Applies n bytes of the tail. Caller holds f->lock; this function releases it. */
static int apply_unlock(struct file *f, size_t n)
{
	bool replace = f->node->row->how == STORE_LIST && (f->flags & O_TRUNC) && !f->wrote;
	char *text = cut(&f->tail, n);
	int rc = -ENOMEM;

	if (text && is_comment(f, text)) {
		file_note_writes(f);
		pthread_mutex_unlock(&f->lock);
		free(text);
		return 0;
	}
	if (text && f->node->row->how == STORE_PAIR)
		text = add_address(f, text, &n);
	if (text)
		f->wrote = true;
	pthread_mutex_unlock(&f->lock);
	if (text)
		rc = apply_text(f, text, n, replace);
	free(text);
	pthread_mutex_lock(&f->lock);
	if (rc) {
		f->failed = rc;
		md_buf_reset(&f->tail);
	}
	file_note_writes(f);
	pthread_mutex_unlock(&f->lock);
	return rc;
}

static size_t complete(const struct md_buf *tail, size_t written)
{
	const char *end;

	if (written < CUT)
		return tail->len;
	end = memrchr(tail->data, '\n', tail->len);
	if (end)
		return (size_t)(end - tail->data) + 1;
	/* apply_text reports a line that is too long. */
	return tail->len > LINE_MOST ? tail->len : 0;
}

/* The open takes no more. Caller holds f->lock; this function releases it. */
static ssize_t refuse_unlock(struct file *f, int most)
{
	struct tr_err err = TR_ERR_INIT;

	f->failed = -EFBIG;
	md_buf_deinit(&f->tail);
	f->tail = (struct md_buf)MD_BUF_INIT;
	pthread_mutex_unlock(&f->lock);
	errors_result(f->node, f->node->row->name, &f->who, errors_count(),
		      tr_fail(&err, -EFBIG, "more than %d bytes", most), &err);
	return -EFBIG;
}

/* STORE_WHOLE: the text waits for close. Caller holds f->lock; this function releases it. */
static ssize_t add_unlock(struct file *f, size_t size)
{
	if (f->tail.len > WHOLE_MOST)
		return refuse_unlock(f, WHOLE_MOST);
	f->wrote = true;
	file_note_writes(f);
	pthread_mutex_unlock(&f->lock);
	return (ssize_t)size;
}

/* Is it too much of one text? Lines of `log` are events, of which there may be any number. */
static bool is_endless(struct file *f, size_t size)
{
	f->parts = size < CUT ? 0 : f->parts + size;
	return f->node->row->how != STORE_RAW && f->node->row->how != STORE_WHOLE &&
	       f->parts > PARTS_MOST;
}

/*
 * Each close of one of the open's descriptors comes here, also that of `cat a` in { cat a; cat b;
 * }. So the text stays, and later text is added to it. Caller holds f->lock; this function releases
 * it.
 */
static int apply_whole_unlock(struct file *f)
{
	bool news = f->wrote && !f->failed;
	size_t len = f->tail.len;
	char *text = news ? malloc(len + 1) : NULL;
	int rc = 0;

	if (text) {
		memcpy(text, f->tail.data, len);
		text[len] = 0;
	}
	f->wrote = false;
	pthread_mutex_unlock(&f->lock);
	if (news)
		rc = text ? apply_text(f, text, len, true) : -ENOMEM;
	free(text);
	pthread_mutex_lock(&f->lock);
	f->failed = rc ? rc : f->failed;
	file_note_writes(f);
	pthread_mutex_unlock(&f->lock);
	return rc;
}

/* A line of `log` may be recorded already, and nothing tells. */
static int refuse_again(struct file *f)
{
	struct tr_err err = TR_ERR_INIT;
	int rc = tr_fail(&err, -EIO, "the daemon was killed while it had this text, and it is not "
				     "known whether the text was recorded");

	errors_result(f->node, f->node->row->name, &f->who, errors_count(), rc, &err);
	return rc;
}

ssize_t control_write(struct file *f, const char *buf, size_t size)
{
	size_t n;
	int rc;

	if (channel_again() && f->node->row->how == STORE_RAW)
		return refuse_again(f);
	pthread_mutex_lock(&f->lock);
	if (f->failed || !size) {
		rc = f->failed;
		pthread_mutex_unlock(&f->lock);
		return rc;
	}
	/* The killed daemon has added it, and has executed the lines that were complete. */
	if (channel_again() && f->taken == channel_unique()) {
		pthread_mutex_unlock(&f->lock);
		return (ssize_t)size;
	}
	if (is_endless(f, size))
		return refuse_unlock(f, PARTS_MOST);
	md_buf_put(&f->tail, buf, size);
	if (f->tail.failed) {
		md_buf_deinit(&f->tail);
		f->tail = (struct md_buf)MD_BUF_INIT;
		f->failed = -ENOMEM;
		pthread_mutex_unlock(&f->lock);
		return -ENOMEM;
	}
	if (f->node->row->how == STORE_WHOLE)
		return add_unlock(f, size);
	n = complete(&f->tail, size);
	if (!n) {
		file_note_writes(f);
		pthread_mutex_unlock(&f->lock);
		return (ssize_t)size;
	}
	rc = apply_unlock(f, n);
	return rc ? rc : (ssize_t)size;
}

/*
 * What a killed daemon had of the text is lost; unless the daemon has applied it, and was killed
 * before it answered. Caller holds f->lock; this function releases it.
 */
static int finish_lost_unlock(struct file *f)
{
	bool done = was_done(f);

	if (done) {
		f->lost = f->wrote = false;
		file_note_writes(f);
	}
	pthread_mutex_unlock(&f->lock);
	return done ? 0 : -ESTALE;
}

int control_finish(struct file *f)
{
	pthread_mutex_lock(&f->lock);
	if (f->lost)
		return finish_lost_unlock(f);
	if (f->node->row->how == STORE_WHOLE)
		return apply_whole_unlock(f);
	if (!f->tail.len || f->failed) {
		pthread_mutex_unlock(&f->lock);
		return 0;
	}
	return apply_unlock(f, f->tail.len);
}
