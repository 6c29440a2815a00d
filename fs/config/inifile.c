/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/config/inifile.h"

#define BLANKS " \t\v\f\r"
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

struct reading {
	char *line;             /* the one that it is at, without its newline */
	int number;
	const char *section;
	const char *key;        /* "": none since the section began */
	inifile_item item;
	void *arg;
	struct tr_err *err;
};

/* The text without the blanks around it. It cuts those that follow. */
static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && strchr(BLANKS, end[-1]))
		end--;
	*end = 0;
	return text + strspn(text, BLANKS);
}

static int fail(struct reading *r)
{
	char text[sizeof(r->err->text)];

	snprintf(text, sizeof(text), "%s", r->line);
	return tr_fail_at(r->err, -EINVAL, text, 0, "neither [SECTION] nor KEY = VALUE");
}

static int read_line(struct reading *r)
{
	char *from = trim(r->line), *end;

	if (!*from || *from == ';' || *from == '#')
		return 0;
	if (*r->key && from > r->line)
		return r->item(r->arg, r->number, r->section, r->key, from, r->err);
	if (*from == '[') {
		end = strchr(from, ']');
		if (!end)
			return fail(r);
		*end = 0;
		r->section = from + 1;
		r->key = "";
		return r->item(r->arg, r->number, r->section, NULL, NULL, r->err);
	}
	end = strpbrk(from, "=:");
	if (!end)
		return fail(r);
	*end = 0;
	r->key = trim(from);
	return r->item(r->arg, r->number, r->section, r->key, trim(end + 1), r->err);
}

int inifile_read(const char *text, inifile_item item, void *arg, struct tr_err *err)
{
	struct reading r = { .section = "", .key = "", .item = item, .arg = arg, .err = err };
	char *copy = strdup(text), *next = copy;
	int rc = copy ? 0 : tr_fail(err, -ENOMEM, "out of memory");

	if (copy && !strncmp(copy, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)))
		next += strlen(BYTE_ORDER_MARK);
	while (!rc && next && *next) {
		r.line = strsep(&next, "\n");
		r.number++;
		rc = read_line(&r);
	}
	if (rc && !err->line)
		err->line = r.number;
	free(copy);
	return rc;
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
