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

bool tracefs_is_model(const char *system, const char *event)
{
	return !strncmp(system, RULES, strlen(RULES)) &&
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

/* Finds the declaration `TYPE NAME` in a field's line. Returns its length; 0: no such line. */
static size_t parse_declaration(const char *line, const char **from, const char **name)
{
	size_t n;

	if (strncmp(line, "\tfield:", 7))
		return 0;
	*from = line + 7;
	n = strcspn(*from, ";\n");
	*name = *from + n;
	while (*name > *from && (*name)[-1] != ' ')
		--*name;
	return (*from)[n] == ';' ? n : 0;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return line + (*line == '\n');
}

/* Finds the declaration of the field with this name. */
static size_t find_declaration(const char *text, const char *wanted, size_t len, const char **from)
{
	const char *name;
	size_t n;

	for (; *text; text = next_line(text)) {
		n = parse_declaration(text, from, &name);
		if (n && (size_t)(*from + n - name) == len && !memcmp(name, wanted, len))
			return n;
	}
	return 0;
}

void tracefs_text_format(const char *tracepoint, const char *probe, bool own_id,
			 struct md_buf *out)
{
	const char *line, *from, *name, *type;
	size_t n, m;

	for (line = probe; *line; line = next_line(line)) {
		if (!strncmp(line, "ID:", 3) && !own_id) {
			type = strstr(tracepoint, "\nID:");
			type = type ? type + 1 : line;
			md_buf_put(out, type, (size_t)(next_line(type) - type));
			continue;
		}
		n = parse_declaration(line, &from, &name);
		m = n && strncmp(from, "__data_loc ", 11)
			    ? find_declaration(tracepoint, name, (size_t)(from + n - name), &type)
			    : 0;
		if (m)
			md_buf_printf(out, "\tfield:%.*s%.*s", (int)m, type,
				      (int)(next_line(line) - from - (ssize_t)n), from + n);
		else
			md_buf_put(out, line, (size_t)(next_line(line) - line));
	}
}
