/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * formats [EVENTS]: reads every format file below tracefs' directory of events (or a copy of it) as
 * the daemon does, and says which the daemon does not understand wholly: each field the kernel has
 * must be in the trace, with its place and size. Prints the numbers of events and fields; exit
 * status 1: some were not understood.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "metadata/model.h"
#include "tracer/kernel/kevent/kevent.h"

static unsigned events, fields, bad;

static const struct kformat_field *field_at(const struct kformat *f, const char *name, size_t len,
					    unsigned offset)
{
	for (uint32_t i = 0; i < f->field_count; i++)
		if (f->fields[i].offset == offset && strlen(f->fields[i].kernel_name) == len &&
		    !memcmp(f->fields[i].kernel_name, name, len))
			return &f->fields[i];
	return NULL;
}

/*
 * What has no place of its own: the text of a system call's argument, and the pointer that it
 * replaces; the second one of two fields with one name.
 */
static bool is_left_out(const struct kformat *f, const char *name, size_t len)
{
	char text[256];

	for (uint32_t i = 0; i < f->field_count; i++) {
		const struct kformat_field *other = &f->fields[i];

		snprintf(text, sizeof(text), "__%.*s_val", (int)len, name);
		if ((other->place == KFORMAT_LOC && !strcmp(other->kernel_name, text)) ||
		    (strlen(other->kernel_name) == len && !memcmp(other->kernel_name, name, len)))
			return true;
	}
	return !strcmp(f->system, "syscalls") && len > 6 && !memcmp(name, "__", 2) &&
	       !memcmp(name + len - 4, "_val", 4);
}

/*
 * Lines `field:TYPE NAME[…]; offset:N; size:N; signed:N;`, read in another way than kevent/format.c
 * does.
 */
static void check_line(const struct kformat *f, const char *line)
{
	const char *end = strchr(line, ';'), *name;
	const struct kformat_field *field;
	unsigned offset, size;
	size_t len;

	if (!end || sscanf(end, "; offset:%u; size:%u;", &offset, &size) != 2) {
		printf("%s:%s: a line of another kind: %.80s\n", f->system, f->name, line);
		bad++;
		return;
	}
	while (end > line && end[-1] == ']')
		while (*--end != '[')
			;
	for (name = end; name > line && name[-1] != ' ' && name[-1] != ':' && name[-1] != '*';
	     name--)
		;
	len = (size_t)(end - name);
	/* A system call's number is in the event's name. */
	if (!strncmp(name, "common_", 7) || !strncmp(name, "__syscall_nr", 12))
		return;
	fields++;
	field = field_at(f, name, len, offset);
	if (!field && is_left_out(f, name, len))
		return;
	if (!field ||
	    (field->place == KFORMAT_FIXED && field->kind == KFORMAT_INT && field->from != size)) {
		printf("%s:%s: field %.*s of %u bytes\n", f->system, f->name, (int)len, name, size);
		bad++;
	}
}

static void check_event(const char *system, const char *event, int dir)
{
	static char text[KFORMAT_TEXT_MAX];
	struct kformat *f = NULL;
	struct md_event *md;
	size_t len = 0;
	ssize_t n = -1;
	int fd = openat(dir, "format", O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return;         /* ftrace:function and friends have none */
	while (len < sizeof(text) - 1 && (n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	text[len] = 0;
	events++;
	ret = n < 0 ? (int)n : kformat_parse(system, text, len, &f);
	md = ret ? NULL : kformat_event(f);
	if (!md) {
		printf("%s:%s: %s\n", system, event, strerror(-ret));
		bad++;
	}
	md_event_destroy(md);
	for (char *line = text; md && line; line = strchr(line, '\n')) {
		line += strspn(line, "\n\t ");
		if (!strncmp(line, "field:", 6))
			check_line(f, line + 6);
	}
	kformat_free(f);
}

/* Calls with each directory in one. */
static void walk(int dir, const char *system)
{
	DIR *d = fdopendir(dir);
	struct dirent *e;
	int sub;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' ||
		    (sub = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
			continue;
		if (system) {
			check_event(system, e->d_name, sub);
			close(sub);
		} else {
			walk(sub, e->d_name);
		}
	}
	if (d)
		closedir(d);
}

int main(int argc, char **argv)
{
	int dir = open(argc > 1 ? argv[1] : "/sys/kernel/tracing/events",
		       O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0) {
		perror("formats");
		return 1;
	}
	walk(dir, NULL);
	printf("%u events, %u fields, %u not understood\n", events, fields, bad);
	return bad || !events;
}
