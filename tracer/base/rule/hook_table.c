// SPDX-License-Identifier: GPL-2.0-or-later
/* Fills the table of hooks from the lines of INI files: see hook.h. */
#include "tracer/base/rule/hook_table.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/probe/probe.h"
#include "tracer/base/rule/rule.h"

#define HOOKS_MAX 4096u

struct hook_table hook_table;
static void (*fill)(void);

void hooks_fill_with(void (*with)(void))
{
	fill = with;
}

static void fill_table(void)
{
	if (fill)
		fill();
}

size_t hooks_count(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fill_table);
	return hook_table.count;
}

const struct hook *hook_at(size_t i)
{
	return &hook_table.hooks[i];
}

static void empty(struct hook *h)
{
	for (size_t i = 0; i < h->count; i++)
		event_key_deinit(&h->patterns[i].key);
	free(h->patterns);
	hook_sources_free(h);
	free(h->fields);
	free(h->gone);
	*h = (struct hook){ .name = h->name, .chosen = -1 };
}

void hooks_free(void)
{
	for (size_t i = 0; i < hook_table.count; i++) {
		empty(&hook_table.hooks[i]);
		free(hook_table.hooks[i].name);
	}
	free(hook_table.hooks);
	hook_table = (struct hook_table){ 0 };
}

/* The hook of this name; a new one if there is none. NULL: no memory, or too many. */
static struct hook *find_or_add(const char *name)
{
	struct hook *h;

	for (size_t i = 0; i < hook_table.count; i++)
		if (!strcmp(hook_table.hooks[i].name, name))
			return &hook_table.hooks[i];
	if (hook_table.count >= HOOKS_MAX)
		return NULL;
	if (!array_room(hook_table.hooks, hook_table.count + 1))
		return NULL;
	h = &hook_table.hooks[hook_table.count];
	*h = (struct hook){ .name = strdup(name), .chosen = -1 };
	if (!h->name)
		return NULL;
	hook_table.count++;
	return h;
}

/* The three hooks that a section may have; an entry has an odd number, its return the next. */
static const struct kind {
	const char *key, *suffix;
	unsigned int later;
} kinds[] = { { "record", "", 0 }, { "entry", ".entry", 0 }, { "return", ".return", 1 } };

/* The section's hook, made on the first line that needs it. NULL: no memory, or too many. */
static struct hook *begin_hook(struct hook_section *s, unsigned int kind)
{
	char name[sizeof(s->name) + 8];
	struct hook *h;

	snprintf(name, sizeof(name), "%s%s", s->name, kinds[kind].suffix);
	h = find_or_add(name);
	if (!h || s->begun & 1u << kind)
		return h;
	s->begun |= 1u << kind;
	empty(h);
	h->group = s->group;
	h->id = s->id ? s->id + kinds[kind].later : 0;
	if (kind == 2)
		snprintf(s->fields, sizeof(s->fields), "return:%s",
			 s->result[0] ? s->result : "INT64");
	h->fields = strdup(s->fields);
	return h->fields ? h : NULL;
}

/* Whether the pattern is spelled as the keys of its events. */
static bool is_exact(const char *pattern)
{
	const char *colon = strchr(pattern, ':');

	return colon && !strchr(pattern, '*') &&
	       (strncmp(pattern, "syscall:", 8) != 0 || strchr(colon + 1, ':'));
}

/* Checks the pattern as a rule, with the extra data; with NULL: none. Sets the key. */
static int set_key(struct hook_pattern *p, const char *text, size_t len, const char *with,
		   struct tr_err *err)
{
	struct md_buf line = MD_BUF_INIT;
	struct rule r;
	int ret = -ENOMEM;

	md_buf_printf(&line, "%.*s%s%s", (int)len, text, with ? " with " : "", with ? with : "");
	md_buf_str(&line);
	if (!line.failed)
		ret = rule_parse(SCAN(line.data, 0, err), DOMAIN_KERNEL, NULL, &r);
	md_buf_deinit(&line);
	if (ret)
		return ret;
	p->key = r.keys[0];
	r.keys[0] = (struct event_key){ 0 };
	rule_deinit(&r);
	return 0;
}

static int add_pattern(struct hook *h, const char *text, size_t len, const char *with, int way,
		       bool bare, struct tr_err *err)
{
	/* What no hook stands for. */
	static const char *const others[] = { "@", "uprobe:", "uretprobe:", "usdt:", "kcall:",
					      "ucall:", "function:" };
	struct hook_pattern p = { .way = way, .bare = bare };
	int ret;

	if (!array_room(h->patterns, h->count + 1))
		return -ENOMEM;
	if (with && !dynamic_event_is_rule(text))
		return tr_fail_at(err, -EINVAL, text, 0,
				  "only probes of a hook have extra data");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(text, others[i], strlen(others[i])))
			return tr_fail_at(err, -EINVAL, text, 0,
					  "a hook stands for tracepoints, system calls and probes "
					  "of the kernel");
	ret = set_key(&p, text, len, with, err);
	if (ret)
		return ret;
	p.exact = is_exact(p.key.place);
	h->patterns[h->count++] = p;
	return 0;
}

static int last_way(const struct hook *h)
{
	return h->count ? h->patterns[h->count - 1].way : -1;
}

/* Patterns separated by blanks, up to `end`. */
static int add_patterns(struct hook *h, const char *text, const char *end, const char *with,
			int way, bool bare, struct tr_err *err)
{
	int ret = 0;

	while (!ret && (text += strspn(text, " \t")) < end) {
		size_t len = strcspn(text, " \t");

		ret = add_pattern(h, text, len, with, way, bare, err);
		text += len;
	}
	return ret;
}

/*
 * The parts of an alternative, PATTERN… [with EXPR…] with ` and ` between them; without their extra
 * data if bare. Sets *extra if one has any. Cuts text.
 */
static int add_parts(struct hook *h, char *text, bool bare, bool *extra, struct tr_err *err)
{
	int way = last_way(h) + 1, ret = 0;

	for (char *next; !ret && text; text = next) {
		char *with = strstr(text, " with ");

		next = strstr(text, " and ");
		if (next) {
			*next = '\0';
			with = with && with < next ? with : NULL;
			next += 5;
		}
		*extra |= with != NULL;
		ret = add_patterns(h, text, with ? with : text + strlen(text),
				   with && !bare ? with + 6 : NULL, way, bare && with, err);
	}
	return ret;
}

/*
 * One alternative: PATTERN… [with EXPR…] [and …] [as FIELD=SOURCE…]; with extra data, there is one
 * without it, too.
 */
static int add_way(struct hook *h, const char *line, struct tr_err *err)
{
	const char *as = hook_sources_begin(line);
	size_t len = (size_t)(as - line);
	char *text = strndup(line, len), *again = strndup(line, len);
	int first = last_way(h) + 1, ret = text && again ? 0 : -ENOMEM;
	bool extra = false;

	if (!ret)
		ret = add_parts(h, text, false, &extra, err);
	if (!ret && extra)
		ret = add_parts(h, again, true, &extra, err);
	free(text);
	free(again);
	return ret ? ret : hook_sources_add(h, as, first, last_way(h), err);
}

static int set_number(unsigned int *out, const char *value, struct tr_err *err)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	if (*end || end == value || n > 255)
		return tr_fail_at(err, -EINVAL, value, 0, "a number from 0 to 255 is expected");
	*out = (unsigned int)n;
	return 0;
}

static int set_text(char *out, size_t size, const char *value, struct tr_err *err)
{
	if (strlen(value) >= size)
		return tr_fail_at(err, -EINVAL, value, 0, "more than %zu bytes", size - 1);
	strcpy(out, value);
	return 0;
}

/* A section with `gone` and without alternatives is one hook, or those that were made. */
static int set_gone(struct hook_section *s, const char *value)
{
	for (unsigned int kind = 0; kind < 3; kind++) {
		struct hook *h;

		if (s->begun ? !(s->begun & 1u << kind) : kind)
			continue;
		h = begin_hook(s, kind);
		if (!h)
			return -ENOMEM;
		free(h->gone);
		h->gone = strdup(value);
		if (!h->gone)
			return -ENOMEM;
	}
	return 0;
}

static int begin_section(struct hook_section *s, const char *section, struct tr_err *err)
{
	size_t n = strspn(section, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "_-.");

	if (!*section || section[n] || n >= sizeof(s->name))
		return tr_fail_at(err, -EINVAL, section, (int)n,
				  "a hook's name has letters, digits, '_', '-' and '.'");
	strcpy(s->name, section);
	s->id = 0;
	s->fields[0] = '\0';
	s->begun = 0;
	return 0;
}

int hook_item(struct hook_section *s, const char *section, const char *key, const char *value,
	      struct tr_err *err)
{
	struct hook *h;

	if (!key)
		return begin_section(s, section, err);
	if (!s->name[0])
		return tr_fail_at(err, -EINVAL, key, 0,
				  "a hook begins with its name: [GROUP.HOOK]");
	if (!strcmp(key, "group"))
		return set_number(&s->group, value, err);
	if (!strcmp(key, "id"))
		return set_number(&s->id, value, err);
	if (!strcmp(key, "gone"))
		return set_gone(s, value);
	if (!strcmp(key, "fields"))
		return set_text(s->fields, sizeof(s->fields), value, err);
	if (!strcmp(key, "result"))
		return set_text(s->result, sizeof(s->result), value, err);
	for (unsigned int kind = 0; kind < 3; kind++)
		if (!strcmp(key, kinds[kind].key)) {
			h = begin_hook(s, kind);
			return h ? add_way(h, value, err)
				 : tr_fail(err, -ENOMEM, "out of memory, or too many hooks");
		}
	return tr_fail_at(err, -EINVAL, key, 0,
			  "no such key; a hook has group, id, fields, result, record, entry, "
			  "return, gone");
}
