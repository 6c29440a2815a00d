/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/config/inifile.h"

#define LINE_MOST (64 * 1024)
#define BLANKS " \t\v\f\r"        /* at the beginning of a line */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define SECTION_MOST 49         /* the library cuts what is longer */

/*
 * Debian's libinih has these as variables; where there are none, long lines and some values are
 * refused (below).
 */
#pragma weak ini_use_stack
#pragma weak ini_allow_realloc
#pragma weak ini_allow_inline_comments
#pragma weak ini_max_line

struct reading {
	const char *next;       /* what the library has not read yet */
	const char *line;       /* the one that it is at */
	int number;
	bool has_key;           /* the section has a key: an indented line continues its value */
	inifile_item item;
	void *arg;
	struct tr_err *err;
	int rc;
};

void inifile_init(void)
{
	if (&ini_use_stack)
		ini_use_stack = false;
	if (&ini_allow_realloc)
		ini_allow_realloc = true;
	if (&ini_allow_inline_comments)
		ini_allow_inline_comments = false;
	if (&ini_max_line)
		ini_max_line = LINE_MOST + 3;
}

/*
 * Reports the section that begins with this line, if one does. The library itself only reports
 * values.
 */
static void begin_section(struct reading *r)
{
	char name[SECTION_MOST];
	const char *from = r->line;
	size_t n;

	if (r->number == 1 && !strncmp(from, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)))
		from += strlen(BYTE_ORDER_MARK);
	if (!r->has_key)
		from += strspn(from, BLANKS);
	if (*from++ != '[')
		return;
	n = strcspn(from, "]\n");
	/*
	 * The library rejects a line without the bracket; handle() rejects a name that is too long.
	 */
	if (from[n] != ']' || n >= SECTION_MOST)
		return;
	memcpy(name, from, n);
	name[n] = 0;
	r->has_key = false;
	r->rc = r->item(r->arg, r->number, name, NULL, NULL, r->err);
}

/* As fgets(3). */
static char *next_piece(char *buf, int size, void *reading)
{
	struct reading *r = reading;
	size_t n = strcspn(r->next, "\n"), most = (size_t)size - 1;

	if (!*r->next || size < 2 || r->rc)
		return NULL;
	n += r->next[n] == '\n';
	n = n < most ? n : most;
	/* Before the first line there is none to continue. */
	if (!r->line || r->next[-1] == '\n') {
		r->line = r->next;
		r->number++;
		begin_section(r);
		if (r->rc)
			return NULL;
	}
	memcpy(buf, r->next, n);
	buf[n] = 0;
	r->next += n;
	return buf;
}

static int fail(struct reading *r, int column, const char *why)
{
	char text[sizeof(r->err->text)];
	size_t n = strcspn(r->line, "\r\n");

	n = n < sizeof(text) ? n : sizeof(text) - 1;
	memcpy(text, r->line, n);
	text[n] = 0;
	r->rc = tr_fail_at(r->err, -EINVAL, text, column, "%s", why);
	return r->rc;
}

/* Is the value what the line ends with, blanks aside? */
static bool whole(const char *line, const char *value)
{
	const char *end = strchrnul(line, '\n');
	size_t n = strlen(value);

	while (end > line && isspace((unsigned char)end[-1]))
		end--;
	return (size_t)(end - line) >= n && !memcmp(end - n, value, n);
}

/* Returns 0 for a mistake, as the library wants it. */
static int handle(void *reading, const char *section, const char *key, const char *value)
{
	struct reading *r = reading;

	if (r->rc)
		return 0;
	r->has_key = true;
	if (!value || !whole(r->line, value))
		return fail(r, -1,
			    "this line is longer than libinih can read, or has a ; after a blank"),
		       0;
	if (strlen(section) >= SECTION_MOST)
		return fail(r, -1, "there is no section of such a name"), 0;
	r->rc = r->item(r->arg, r->number, section, key, value, r->err);
	return !r->rc;
}

int inifile_read(const char *text, inifile_item item, void *arg, struct tr_err *err)
{
	struct reading r = { .next = text, .item = item, .arg = arg, .err = err };
	int n = ini_parse_stream(next_piece, &r, handle, &r), line = r.number;

	if (!r.rc && n < 0)
		r.rc = tr_fail(err, -ENOMEM, "out of memory");
	if (!r.rc && n > 0) {
		r.line = text;
		for (line = 1; line < n && *strchrnul(r.line, '\n'); line++)
			r.line = strchrnul(r.line, '\n') + 1;
		fail(&r, 0, "neither [SECTION] nor KEY = VALUE");
	}
	if (r.rc && !err->line)
		err->line = line;
	return r.rc;
}

int inifile_load(const char *path, struct md_buf *text)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), rc;
	struct stat st;
	ssize_t n = 1;

	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	while (!rc && n > 0) {
		char *room = md_buf_room(text, 65536);

		n = room ? read(fd, room, 65536) : -1;
		if (n < 0)
			rc = room ? -errno : -ENOMEM;
		else
			text->len += (size_t)n;
		if (text->len > INIFILE_MOST)
			rc = -EFBIG;
	}
	close(fd);
	return rc;
}

static int has_ini_name(const struct dirent *d)
{
	const char *end = strrchr(d->d_name, '.');

	return d->d_name[0] != '.' && end && !strcmp(end, ".ini");
}

void inifile_each(const char *dir, const char *folder, void (*read)(const char *path))
{
	struct dirent **names = NULL;
	char *path = NULL, *file;
	int n;

	if (asprintf(&path, "%s/%s", dir, folder) < 0)
		return;
	n = scandir(path, &names, has_ini_name, alphasort);
	for (int i = 0; i < n; i++) {
		if (asprintf(&file, "%s/%s", path, names[i]->d_name) >= 0) {
			read(file);
			free(file);
		}
		free(names[i]);
	}
	free(names);
	free(path);
}
