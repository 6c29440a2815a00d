// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Strings of system calls. Records of sys_enter events have only the pointers. On kernels with
 * event probes (event_probe.h), a probe records such an event with its strings under the
 * tracepoint's name and id, so other rooms see no difference.
 *
 * The kernel attaches an event probe only to the first instance that enables it. So each channel
 * has its own probes, in a group named after the channel; the ids in their records are replaced by
 * those of the tracepoints. One more probe, the model, is never enabled and shows the format.
 *
 * A rule with extra data on a tracepoint makes an event probe (probe/probe.h), a model as well: a
 * channel records it by a copy in its own group.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/array.h"
#include "tracer/base/probe/format_line.h"
#include "tracer/base/probe/probe.h"
#include "tracer/kernel/backend/event_probe.h"
#include "tracer/kernel/backend/tracefs.h"
#include "tracer/base/hash.h"

#define GROUP "trailtext_"
#define SYSTEM "syscalls"
#define ENTRY "sys_enter_"
#define RULES "trailfs_"        /* prefix of the groups of probes that rules make */

struct text_event {
	char *name;
	bool probed;
};

struct tracefs_texts {
	pthread_mutex_t lock;           /* guards supported, events and count */
	/* the group of the models, and the prefix of the channels' groups; constant */
	char group[32];
	int supported;                  /* -1: not known yet */
	struct text_event *events;
	size_t count;
};

struct tracefs_texts *tracefs_texts_create(const char *owner)
{
	struct tracefs_texts *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	pthread_mutex_init(&t->lock, NULL);
	snprintf(t->group, sizeof(t->group), GROUP "%.16s", owner);
	t->supported = -1;
	return t;
}

void tracefs_texts_destroy(struct backend *b)
{
	struct tracefs_texts *t = b->texts;
	char path[64];

	if (!t)
		return;
	/* Probes that an instance still has enabled stay, for the next daemon. */
	snprintf(path, sizeof(path), "events/%s", t->group);
	if (b->dir >= 0 && faccessat(b->dir, path, F_OK, 0) == 0)
		dynamic_event_remove_group(b->dir, t->group);
	for (size_t i = 0; i < t->count; i++)
		free(t->events[i].name);
	free(t->events);
	pthread_mutex_destroy(&t->lock);
	free(t);
	b->texts = NULL;
}

bool tracefs_is_text(const char *line)
{
	return !strncmp(line, GROUP, strlen(GROUP));
}

static bool check_support(const struct backend *b)
{
	if (b->texts->supported < 0)
		b->texts->supported = event_probe_supported(b->dir) == 1;
	return b->texts->supported;
}

bool tracefs_texts_supported(const struct backend *b)
{
	bool yes;

	pthread_mutex_lock(&b->texts->lock);
	yes = check_support(b);
	pthread_mutex_unlock(&b->texts->lock);
	return yes;
}

/* Makes the model if the event has strings. An earlier daemon's model is equally good. */
static bool create_model(const struct backend *b, const char *event)
{
	int ret = check_support(b) ? event_probe_create(b->dir, b->texts->group, event, NULL) : 0;

	return ret == 1 || ret == -EEXIST;
}

static bool has_probe(const struct backend *b, const char *event)
{
	struct tracefs_texts *t = b->texts;
	size_t i;

	for (i = 0; i < t->count; i++)
		if (!strcmp(t->events[i].name, event))
			return t->events[i].probed;
	if (!array_room(t->events, t->count + 1))
		return false;
	t->events[i].name = strdup(event);
	if (!t->events[i].name)
		return false;
	t->events[i].probed = create_model(b, event);
	t->count++;
	return t->events[i].probed;
}

bool tracefs_is_rules(const char *system)
{
	return !strncmp(system, RULES, strlen(RULES));
}

bool tracefs_is_model(const char *system, const char *event)
{
	return tracefs_is_rules(system) &&
	       !strncmp(event, DYN_EVENT_NAME "_", strlen(DYN_EVENT_NAME "_"));
}

/* The daemon's group of probes that rules make, and of all models of rules. */
static void print_rules_group(const struct backend *b, char group[TRACEFS_GROUP_MAX])
{
	snprintf(group, TRACEFS_GROUP_MAX, RULES "%s", b->texts->group + strlen(GROUP));
}

void tracefs_text_of(const struct backend *b, const char *name, struct md_buf *out)
{
	char group[TRACEFS_GROUP_MAX];

	print_rules_group(b, group);
	md_buf_puts(out, tracefs_is_model(group, name) ? group : SYSTEM);
}

bool tracefs_has_text(const struct backend *b, const char *system, const char *event)
{
	bool yes;

	if (tracefs_is_model(system, event))
		return true;
	if (strcmp(system, SYSTEM) || strncmp(event, ENTRY, strlen(ENTRY)))
		return false;
	pthread_mutex_lock(&b->texts->lock);
	yes = has_probe(b, event);
	pthread_mutex_unlock(&b->texts->lock);
	return yes;
}

const char *tracefs_text_model(const struct backend *b)
{
	return b->texts->group;
}

/* ---- probes of a channel ---- */

void tracefs_text_group(const struct backend *b, const char *channel, char group[TRACEFS_GROUP_MAX])
{
	snprintf(group, TRACEFS_GROUP_MAX, "%s_%016" PRIx64, b->texts->group,
		 hash_string(HASH_START, channel));
}

int tracefs_event_id(const struct backend *b, const char *system, const char *event)
{
	struct md_buf text = MD_BUF_INIT;
	char path[300];
	ssize_t n = -ENAMETOOLONG;
	long id = 0;

	if ((size_t)snprintf(path, sizeof(path), "events/%s/%s/id", system, event) < sizeof(path))
		n = tracefs_read(b->dir, path, 4096, &text);
	if (n > 0)
		id = strtol(md_buf_str(&text), NULL, 10);
	md_buf_deinit(&text);
	return id > 0 && id <= UINT16_MAX ? (int)id : -ENOENT;
}

static int map_record_id(const struct backend *b, const char *group, const char *system,
			 const char *event, uint16_t *ids)
{
	int id = tracefs_event_id(b, group, event), as = tracefs_event_id(b, system, event);

	if (id < 0 || as < 0)
		return -ENOENT;
	/*
	 * A drain may read ids now. It needs this entry only for the event's first record, which
	 * comes several system calls later.
	 */
	__atomic_store_n(&ids[id], (uint16_t)as, __ATOMIC_RELAXED);
	return 0;
}

/* Finds what follows `e:SYSTEM/EVENT ` in the list of definitions. */
static int find_definition(const struct backend *b, const char *system, const char *event,
			   struct md_buf *out)
{
	char begin[160];
	struct md_buf text = MD_BUF_INIT;
	int n = snprintf(begin, sizeof(begin), "e:%s/%s ", system, event), ret = -ENOENT;

	if (tracefs_read(b->dir, "dynamic_events", 16u << 20, &text) > 0 && n > 0)
		for (const char *p = md_buf_str(&text); *p && ret; p = strchrnul(p, '\n'),
				p += *p == '\n')
			if (!strncmp(p, begin, (size_t)n)) {
				md_buf_put(out, p + n, strcspn(p + n, "\n"));
				ret = 0;
			}
	md_buf_deinit(&text);
	md_buf_str(out);
	return out->failed ? -ENOMEM : ret;
}

int tracefs_model_of(const struct backend *b, const char *system, const char *event,
		     char tracepoint[TRACEFS_TRACEPOINT_MAX])
{
	struct md_buf line = MD_BUF_INIT;
	int ret = find_definition(b, system, event, &line);
	size_t n = ret ? 0 : strcspn(line.data, " ");

	if (!ret && (n >= TRACEFS_TRACEPOINT_MAX || !memchr(line.data, '.', n)))
		ret = -ENOENT;
	if (!ret) {
		memcpy(tracepoint, line.data, n);
		tracepoint[n] = '\0';
		*strchr(tracepoint, '.') = '\0';
	}
	md_buf_deinit(&line);
	return ret;
}

/* Makes the channel's copy of a model that a rule made. As event_probe_create. */
static int copy_model(const struct backend *b, const char *group, const char *system,
		      const char *event)
{
	struct md_buf line = MD_BUF_INIT, rest = MD_BUF_INIT;
	char path[2 * TRACEFS_GROUP_MAX + 32];
	int ret;

	snprintf(path, sizeof(path), "events/%s/%.63s", group, event);
	if (faccessat(b->dir, path, F_OK, 0) == 0)
		return -EEXIST;
	ret = find_definition(b, system, event, &rest);
	if (!ret) {
		md_buf_printf(&line, "e:%s/%s %s\n", group, event, md_buf_str(&rest));
		ret = dynamic_event_write(b->dir, "dynamic_events", md_buf_str(&line), line.len);
	}
	md_buf_deinit(&line);
	md_buf_deinit(&rest);
	return ret ? ret : 1;
}

int tracefs_text_make(const struct backend *b, const char *group, const char *system,
		      const char *event, uint16_t *ids)
{
	int ret = tracefs_is_model(system, event)
			  ? copy_model(b, group, system, event)
			  : event_probe_create(b->dir, group, event, NULL);

	return ret == 1 || ret == -EEXIST ? map_record_id(b, group, system, event, ids)
	       : ret                      ? ret
					  : -ENOENT;
}

void tracefs_text_adopt(const struct backend *b, const char *group, uint16_t *ids)
{
	char path[16 + TRACEFS_GROUP_MAX], rules[TRACEFS_GROUP_MAX];
	struct dirent *d;
	DIR *dir;
	int fd;

	print_rules_group(b, rules);

	snprintf(path, sizeof(path), "events/%s", group);
	fd = openat(b->dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir && (d = readdir(dir)))
		if (!strncmp(d->d_name, ENTRY, strlen(ENTRY)))
			map_record_id(b, group, SYSTEM, d->d_name, ids);
		else if (tracefs_is_model(rules, d->d_name))
			map_record_id(b, group, rules, d->d_name, ids);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

void tracefs_text_remove(const struct backend *b, const char *group)
{
	char path[16 + TRACEFS_GROUP_MAX];

	snprintf(path, sizeof(path), "events/%s", group);
	if (faccessat(b->dir, path, F_OK, 0) == 0)
		dynamic_event_remove_group(b->dir, group);
}

/* ---- formats ---- */

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return line + (*line == '\n');
}

/* The name with its [N] */
static struct span name_of(const struct format_line *l)
{
	return (struct span){ l->name.p, l->declaration.end };
}

/* Finds the field that has the name of `like`. */
static bool find_field(const char *format, const struct format_line *like, struct format_line *out)
{
	struct span text = SPAN(format), line, name = name_of(like);

	while (span_cut(&text, '\n', &line))
		if (format_line_parse(line, out) > 0 &&
		    span_length(name_of(out)) == span_length(name) &&
		    !memcmp(name_of(out).p, name.p, span_length(name)))
			return true;
	return false;
}

void tracefs_text_format(const char *tracepoint, const char *probe, bool own_id,
			 struct md_buf *out)
{
	const char *line, *next, *id;
	struct format_line l, of;

	for (line = probe; *line; line = next) {
		next = next_line(line);
		id = !own_id && !strncmp(line, "ID:", 3) ? strstr(tracepoint, "\nID:") : NULL;
		if (id)
			md_buf_put(out, id + 1, (size_t)(next_line(id + 1) - id - 1));
		else if (format_line_parse((struct span){ line, next }, &l) > 0 &&
			 !span_skip(&(struct span){ l.type.p, l.type.end }, "__data_loc ") &&
			 find_field(tracepoint, &l, &of))
			md_buf_printf(out, "\tfield:%.*s%.*s", (int)span_length(of.declaration),
				      of.declaration.p, (int)(next - l.rest.p), l.rest.p);
		else
			md_buf_put(out, line, (size_t)(next - line));
	}
}
