// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What apps/ and available/user show of the applications.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "metadata/json.h"
#include "tracer/app/app.h"
#include "tracer/app/apps.h"
#include "tracer/base/context/context.h"
#include "tracer/base/field_look.h"
#include "tracer/base/rows.h"
#include "tracer/session/session.h"

static void match_lock(struct tracer *t, const char *line)
{
	unsigned int pid, major, minor;
	unsigned long long ino;         /* more than a long on processors of 32 bits */
	struct app *a;

	if (sscanf(line, "%*s FLOCK %*s %*s %u %x:%x:%llu", &pid, &major, &minor, &ino) != 4)
		return;
	a = app_by_file(t, makedev(major, minor), ino);
	if (a && !a->pid)
		app_set_pid(t, a, pid);
}

static void identify_rest(struct tracer *t)
{
	struct md_buf text = MD_BUF_INIT;
	char *line, *save = NULL;
	bool unknown = false;
	struct app *a;
	ssize_t n = 1;
	int fd;

	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(a, &apps_of(t)->list, node)
		unknown = unknown || !a->pid;
	pthread_mutex_unlock(&t->lock);
	fd = unknown ? open("/proc/locks", O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	while (n > 0 && md_buf_room(&text, 65536)) {
		n = read(fd, text.data + text.len, 65536);
		text.len += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	md_buf_str(&text);
	pthread_mutex_lock(&t->lock);
	for (line = text.failed ? NULL : strtok_r(text.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		match_lock(t, line);
	pthread_mutex_unlock(&t->lock);
	md_buf_deinit(&text);
}

static bool visible(const struct app *a, uid_t viewer)
{
	return viewer == 0 || a->file->uid == viewer;
}

/* The next registration of a process that the viewer may see. */
static struct app *next_of(struct tracer *t, uid_t viewer, uint32_t pid, const struct app *after)
{
	struct app *a = app_of_pid(t, pid, after);

	while (a && !visible(a, viewer))
		a = app_of_pid(t, pid, a);
	return a;
}

uint32_t apps_count(const struct tracer *t)
{
	return __atomic_load_n(&apps_of(t)->count, __ATOMIC_RELAXED);
}

void apps_list(struct tracer *t, uid_t viewer, struct md_buf *names)
{
	struct app *a;

	identify_rest(t);
	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(a, &apps_of(t)->list, node)
		/* A process has a file per object: it is listed with the first. */
		if (a->pid && next_of(t, viewer, a->pid, NULL) == a) {
			md_buf_printf(names, "%u", a->pid);
			md_buf_putc(names, 0);
		}
	pthread_mutex_unlock(&t->lock);
}

static struct app *find_pid(struct tracer *t, uid_t viewer, const char *pid)
{
	char *end;
	unsigned long n = strtoul(pid, &end, 10);

	/* As it is listed, not as 007. */
	if (*pid < '1' || *pid > '9' || *end || n > UINT32_MAX)
		return NULL;
	return next_of(t, viewer, (uint32_t)n, NULL);
}

int app_owner(struct tracer *t, uid_t viewer, const char *pid, uid_t *uid)
{
	struct app *a;

	identify_rest(t);
	pthread_mutex_lock(&t->lock);
	a = find_pid(t, viewer, pid);
	if (a)
		*uid = a->file->uid;
	pthread_mutex_unlock(&t->lock);
	return a ? 0 : -ENOENT;
}

static void read_proc(uint32_t pid, const char *file, struct md_buf *out)
{
	char path[64], text[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	if (!strcmp(file, "exe")) {
		n = readlink(path, text, sizeof(text));
	} else {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, text, sizeof(text));
		if (fd >= 0)
			close(fd);
	}
	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (n > 0)
		md_buf_escape(out, text, (size_t)n);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void lines_each_sorted(struct md_buf *lines, void (*fn)(void *arg, const char *line), void *arg)
{
	char **all, *line, *save = NULL, *text = (char *)md_buf_str(lines);
	size_t n = 0, i = 0;

	for (const char *p = text; *p; p++)
		n += *p == '\n';
	all = n ? malloc(n * sizeof(*all)) : NULL;
	if (!all)
		return;
	for (line = strtok_r(text, "\n", &save); line && i < n; line = strtok_r(NULL, "\n", &save))
		all[i++] = line;
	qsort(all, i, sizeof(*all), by_name);
	for (size_t j = 0; j < i; j++)
		if (!j || strcmp(all[j], all[j - 1]) != 0)
			fn(arg, all[j]);
	free(all);
}

static void put_line(void *out, const char *line)
{
	md_buf_printf(out, "%s\n", line);
}

static void lines_put_sorted(struct md_buf *lines, struct md_buf *out)
{
	lines_each_sorted(lines, put_line, out);
}

static void put_tracepoints(const struct app *a, struct md_buf *lines)
{
	for (uint32_t e = 0; e < a->file->event_count; e++) {
		const struct registration_event *ev = &a->file->events[e];

		if (!ev->refused)
			md_buf_printf(lines, "%s %s\n", ev->name, level_name(ev->level));
	}
}

/* text is an array of characters; a bit field of 5 bits is `uint5` */
static struct field_look look_at_field(const struct registration *f,
				       const struct trail_reg_field *field)
{
	bool integer = field->kind == TRAIL_KIND_INT, be = field->flags & TRAIL_FIELD_BIG_ENDIAN;
	struct field_look l = {
		.name = f->strings + field->name,
		.nowrite = field->flags & TRAIL_FIELD_NOWRITE,
		.array = field->kind == TRAIL_KIND_ARRAY,
		.sequence = field->kind == TRAIL_KIND_SEQUENCE,
		.length = field->count,
	};

	if (field->kind == TRAIL_KIND_STRING) {
		strcpy(l.type, "string");
	} else if ((l.array || l.sequence) && field->flags & TRAIL_FIELD_TEXT) {
		strcpy(l.type, "char");
	} else if (field->flags & TRAIL_FIELD_BLOB) {
		strcpy(l.type, "blob");
		l.media_type = registration_media_type(f->strings, field);
	} else if (field->kind == TRAIL_KIND_FLOAT || field->flags & TRAIL_FIELD_FLOAT) {
		strcpy(l.type, field->size == 4 ? "float" : "double");
		l.big_endian = be && field->kind == TRAIL_KIND_FLOAT;
	} else {
		if (integer && field->flags & TRAIL_FIELD_ENUM)
			l.enum_name = f->strings + f->enums[field->count].name;
		l.hex = field->flags & TRAIL_FIELD_HEX;
		l.big_endian = be && field->size > 1;
		snprintf(l.type, sizeof(l.type), "%sint%u",
			 field->flags & TRAIL_FIELD_SIGNED ? "" : "u",
			 field->kind == TRAIL_KIND_BITS ? field->size : 8u * field->size);
	}
	return l;
}

static bool is_nested(const struct trail_reg_field *field)
{
	return field->kind == TRAIL_KIND_STRUCT || field->kind == TRAIL_KIND_VARIANT;
}

/*
 * `struct { members } name` for a structure, `variant { options } name` for a variant. Returns the
 * field after it.
 */
static const struct trail_reg_field *
put_nested(const struct registration *f, const struct trail_reg_field *field, struct md_buf *out)
{
	const struct trail_reg_field *member = field + 1;
	const char *name = f->strings + field->name;
	struct field_look look;

	md_buf_putc(out, ' ');
	if (!is_nested(field)) {
		look = look_at_field(f, field);
		field_look_text(&look, out);
		return member;
	}
	md_buf_puts(out, field->kind == TRAIL_KIND_STRUCT ? "struct {" : "variant {");
	for (uint32_t i = 0; i < field->count; i++) {
		md_buf_puts(out, i ? ";" : "");
		member = put_nested(f, member, out);
	}
	md_buf_puts(out, " } ");
	md_buf_escape(out, name, strlen(name));
	return member;
}

/* The same as an object. */
static const struct trail_reg_field *
put_object(const struct registration *f, const struct trail_reg_field *field, struct md_buf *out)
{
	const struct trail_reg_field *member = field + 1;
	struct field_look look;

	if (is_nested(field)) {
		look = (struct field_look){ .name = f->strings + field->name };
		strcpy(look.type, field->kind == TRAIL_KIND_STRUCT ? "struct" : "variant");
	} else {
		look = look_at_field(f, field);
	}
	field_look_json(&look, out);
	if (is_nested(field)) {
		md_buf_puts(out, ",\"fields\":[");
		for (uint32_t i = 0; i < field->count; i++) {
			md_buf_puts(out, i ? "," : "");
			member = put_object(f, member, out);
		}
		md_buf_putc(out, ']');
	}
	md_buf_putc(out, '}');
	return member;
}

/* `provider:name { fields }`, or the same as an object; one a line. */
static void put_events(const struct app *a, bool json, struct md_buf *lines)
{
	for (uint32_t e = 0; e < a->file->event_count; e++) {
		const struct registration_event *ev = &a->file->events[e];
		const struct trail_reg_field *field = &a->file->fields[ev->first_field],
					     *begin = field, *end = begin + ev->field_count;

		if (ev->refused)
			continue;
		if (json)
			md_buf_puts(lines, "{\"name\":\"");
		if (json)
			md_json_escape_put(ev->name, strlen(ev->name), lines);
		else
			md_buf_printf(lines, "%s {", ev->name);
		if (json)
			md_buf_printf(lines, "\",\"loglevel\":\"%s\",\"fields\":[",
				      level_name(ev->level));
		while (field < end) {
			md_buf_puts(lines, field == begin ? "" : json ? "," : ";");
			field = (json ? put_object : put_nested)(a->file, field, lines);
		}
		md_buf_puts(lines, json ? "]}\n" : " }\n");
	}
}

static void put_fields(const struct app *a, struct md_buf *lines)
{
	put_events(a, false, lines);
}

static void show_status(struct tracer *t, uid_t viewer, struct app *first, struct md_buf *out)
{
	struct md_buf lines = MD_BUF_INIT;
	unsigned int problems = PROBLEMS_MOST;
	uint32_t objects = 0, on = 0;

	for (struct app *a = first; a; a = next_of(t, viewer, first->pid, a)) {
		objects++;
		for (uint32_t e = 0; e < a->file->event_count; e++)
			on += a->words[e] != 0;
		md_buf_puts(&lines, "object ");
		md_buf_escape(&lines, a->file->object, strlen(a->file->object));
		md_buf_printf(&lines, " tracepoints %u\n",
			      a->file->event_count - a->file->refused_count);
		app_problems(a, &problems, &(struct facts){ .out = &lines });
	}
	md_buf_printf(out, "state %s\nexe ", on ? "traced" : "idle");
	read_proc(first->pid, "exe", out);
	md_buf_printf(out, "\npid_inside %u\ngid %u\nword_bits %u\nobjects %u\ntracepoints_on %u\n",
		      first->file->pid, first->gid, first->file->word_bits, objects, on);
	if (first->file->clock)
		md_buf_printf(out, "clock %s\n", first->file->clock->name);
	md_buf_put(out, lines.data, lines.len);
	md_buf_deinit(&lines);
}

int app_show(struct tracer *t, uid_t viewer, const char *pid, enum app_file what,
	     struct md_buf *out)
{
	void (*put)(const struct app *a, struct md_buf *lines) =
		what == APP_FIELDS ? put_fields : put_tracepoints;
	struct md_buf lines = MD_BUF_INIT;
	struct app *first, *a;

	pthread_mutex_lock(&t->lock);
	first = find_pid(t, viewer, pid);
	switch (first ? what : APP_UID) {
	case APP_COMM:
		read_proc(first->pid, "comm", out);
		md_buf_putc(out, '\n');
		break;
	case APP_UID:
		if (first)
			md_buf_printf(out, "%u\n", first->file->uid);
		break;
	case APP_TRACEPOINTS:
	case APP_FIELDS:
		for (a = first; a; a = next_of(t, viewer, first->pid, a))
			put(a, &lines);
		lines_put_sorted(&lines, out);
		break;
	case APP_STATUS:
		show_status(t, viewer, first, out);
		break;
	}
	pthread_mutex_unlock(&t->lock);
	md_buf_deinit(&lines);
	return first ? 0 : -ENOENT;
}

void available_user(struct tracer *t, uid_t viewer, enum app_file what, struct md_buf *out)
{
	struct md_buf lines = MD_BUF_INIT;
	struct app *a;

	md_buf_puts(&lines, what == APP_FIELDS ? "trail:log { string msg }\n" : "trail:log info\n");
	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(a, &apps_of(t)->list, node)
		if (visible(a, viewer))
			(what == APP_FIELDS ? put_fields : put_tracepoints)(a, &lines);
	pthread_mutex_unlock(&t->lock);
	lines_put_sorted(&lines, out);
	md_buf_deinit(&lines);
}

static void add_row(void *rows, const char *object)
{
	row_json(rows, object);
}

void available_user_json(struct tracer *t, uid_t viewer, struct md_buf *out)
{
	struct rows rows = { .out = out, .json = true };
	struct md_buf lines = MD_BUF_INIT;
	struct app *a;

	md_buf_puts(&lines, "{\"name\":\"trail:log\",\"loglevel\":\"info\",\"fields\":"
			    "[{\"name\":\"msg\",\"type\":\"string\"}]}\n");
	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(a, &apps_of(t)->list, node)
		if (visible(a, viewer))
			put_events(a, true, &lines);
	pthread_mutex_unlock(&t->lock);
	rows_begin(&rows);
	table_begin(&rows, "tracepoints", NULL);
	lines_each_sorted(&lines, add_row, &rows);
	table_end(&rows);
	table_begin(&rows, "contexts", NULL);
	context_available(&rows);
	table_end(&rows);
	rows_end(&rows);
	out->failed |= lines.failed;
	md_buf_deinit(&lines);
}
