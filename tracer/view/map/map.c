// SPDX-License-Identifier: GPL-2.0-or-later
/* The maps of a session: make, find, remove and save them; their files. */
#include "tracer/view/map/map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAPS_MAX 64u                    /* of a session */

static const char *const keys[DOMAINS] = { [DOMAIN_USER] = "map", [DOMAIN_KERNEL] = "kernel_map" };

/* ---- the list ---- */

/* struct map, of the session; tracer.lock. */
static struct cds_list_head *maps_of(const struct session *s)
{
	return session_data(s, &map_part);
}

/* Caller holds tracer.lock. */
static struct map *find_map(const struct session *s, enum domain domain, const char *name)
{
	struct map *m;

	cds_list_for_each_entry(m, maps_of(s), node)
		if (m->domain == domain && !strcmp(m->name, name))
			return m;
	return NULL;
}

static struct map *map_ref(struct map *m)
{
	if (m)
		__atomic_fetch_add(&m->refs, 1, __ATOMIC_RELAXED);
	return m;
}

struct map *map_get(struct session *s, enum domain domain, const char *name)
{
	struct map *m;

	pthread_mutex_lock(&s->tracer->lock);
	m = map_ref(find_map(s, domain, name));
	pthread_mutex_unlock(&s->tracer->lock);
	return m;
}

void map_put(struct map *m)
{
	if (!m || __atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL))
		return;
	map_journal_close(m);
	map_rules_deinit(&m->rules);
	free(m->states);
	free(m->saved);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* Caller holds tracer.lock. NULL: no memory. */
static struct map *map_new(struct session *s, enum domain domain, const char *name)
{
	struct map *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->refs = 1;
	m->tracer = s->tracer;
	m->domain = domain;
	snprintf(m->name, sizeof(m->name), "%s", name);
	m->since = wall_clock();
	m->buffer_size = map_default_buffer(s->tracer);
	m->max_keys = MAP_KEYS_DEFAULT;
	lock_init(&m->lock, NULL, LOCK_MAP);
	CDS_INIT_LIST_HEAD(&m->live);
	cds_list_add_tail(&m->node, maps_of(s));
	return m;
}

void maps_list(struct session *s, enum domain domain, struct md_buf *names)
{
	struct map *m;

	pthread_mutex_lock(&s->tracer->lock);
	cds_list_for_each_entry(m, maps_of(s), node)
		if (m->domain == domain)
			md_buf_put(names, m->name, strlen(m->name) + 1);
	pthread_mutex_unlock(&s->tracer->lock);
}

bool map_exists(struct session *s, enum domain domain, const char *name)
{
	struct map *m = map_get(s, domain, name);

	map_put(m);
	return m != NULL;
}

int map_create(struct session *s, enum domain domain, const char *name, struct tr_err *err)
{
	struct map *m;
	uint32_t n = 0;
	int ret = 0;

	session_lock(s);
	cds_list_for_each_entry(m, maps_of(s), node)
		n++;
	if (s->gone || s->ending)
		ret = tr_fail(err, -ENOENT, "the session is gone");
	else if (find_map(s, domain, name))
		ret = tr_fail(err, -EEXIST, "there is a map '%s' already", name);
	else if (n == MAPS_MAX)
		ret = tr_fail(err, -ENOSPC, "no more than %u maps in a session", MAPS_MAX);
	else if (!map_new(s, domain, name))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	else
		session_save(s);
	session_unlock(s);
	return ret;
}

/* ---- when it records ---- */

/* Caller holds tracer.lock. References to the maps of the session; free the array. */
static struct map **take_maps(struct session *s, size_t *count)
{
	struct map *m, **all = NULL;

	*count = 0;
	if (!cds_list_empty(maps_of(s)))
		all = calloc(MAPS_MAX, sizeof(*all));
	if (all)
		cds_list_for_each_entry(m, maps_of(s), node)
			if (*count < MAPS_MAX)
				all[(*count)++] = map_ref(m);
	return all;
}

static void follow_session(struct session *s)
{
	struct map **all;
	size_t count;

	pthread_mutex_lock(&s->tracer->lock);
	all = take_maps(s, &count);
	pthread_mutex_unlock(&s->tracer->lock);
	for (size_t i = 0; i < count; i++) {
		struct tr_err err = TR_ERR_INIT;

		pthread_mutex_lock(&all[i]->lock);
		if (map_follow(all[i], s, &err))
			session_failed(s, "map %s: %s", all[i]->name, err.sentence);
		pthread_mutex_unlock(&all[i]->lock);
		map_put(all[i]);
	}
	free(all);
}

/*
 * Caller holds map.lock, and the map is in no list. keep: this daemon ends, and the next one has
 * the values.
 */
static void end_map(struct map *m, bool keep)
{
	struct session *s = m->session;

	m->gone = true;
	m->journal.left = keep;
	if (keep)
		map_leave_hidden(m);
	else
		map_close_hidden(m);
	map_counters_close(m, keep);
	map_reset(m);
	m->session = NULL;
	session_put(s);
}

int map_destroy(struct session *s, enum domain domain, const char *name, struct tr_err *err)
{
	struct map *m;

	session_lock(s);
	m = find_map(s, domain, name);
	if (m) {
		cds_list_del(&m->node);
		session_save(s);
	}
	session_unlock(s);
	if (!m)
		return tr_fail(err, -ENOENT, "no map '%s'", name);
	pthread_mutex_lock(&m->lock);
	end_map(m, false);
	pthread_mutex_unlock(&m->lock);
	map_put(m);
	return 0;
}

/* ---- files ---- */

int map_show(struct session *s, enum domain domain, const char *name, enum map_file what,
	     struct md_buf *out)
{
	struct map *m = map_get(s, domain, name);
	int ret = 0;

	if (!m)
		return -ENOENT;
	pthread_mutex_lock(&m->lock);
	if (what == MAP_RULES) {
		map_rules_print(&m->rules, out);
	} else if (what == MAP_BUFFER_SIZE || what == MAP_MAX_KEYS) {
		map_show_setting(m, what, out);
	} else {
		map_take(m);
		ret = what == MAP_JSON  ? map_print_json(m, out)
		      : what == MAP_SQL ? map_print_sql(m, out)
					: map_print(m, out);
	}
	pthread_mutex_unlock(&m->lock);
	map_put(m);
	return ret;
}

/* Caller holds map.lock. Takes the rules over. */
static int set_rules(struct map *m, struct session *s, struct map_rules *rules, struct tr_err *err)
{
	struct map_state *states = calloc(rules->count + 1, sizeof(*states));
	struct md_buf text = MD_BUF_INIT;
	char *saved;

	map_rules_print(rules, &text);
	saved = text.failed ? NULL : strdup(md_buf_str(&text));
	md_buf_deinit(&text);
	if (!states || !saved) {
		map_rules_deinit(rules);
		free(states);
		free(saved);
		return tr_fail(err, -ENOMEM, "out of memory");
	}
	map_close_hidden(m);
	map_counters_close(m, false);
	map_reset(m);
	map_rules_deinit(&m->rules);
	free(m->states);
	m->rules = *rules;
	m->states = states;
	session_lock(s);
	free(m->saved);
	m->saved = saved;
	session_save(s);
	session_unlock(s);
	return map_follow(m, s, err);
}

int map_store_rules(struct session *s, enum domain domain, const char *name, const char *text,
		    bool replace, struct tr_err *err)
{
	struct map *m = map_get(s, domain, name);
	struct map_rules rules;
	int ret;

	if (!m)
		return tr_fail(err, -ENOENT, "no map '%s'", name);
	pthread_mutex_lock(&m->lock);
	ret = map_rules_apply(&m->rules, domain, text, replace, &rules, err);
	if (!ret && (ret = map_check_rules(m, s, &rules, err)))
		map_rules_deinit(&rules);
	else if (!ret)
		ret = set_rules(m, s, &rules, err);
	pthread_mutex_unlock(&m->lock);
	map_put(m);
	return ret;
}

int map_clear(struct session *s, enum domain domain, const char *name)
{
	struct map *m = map_get(s, domain, name);

	if (!m)
		return -ENOENT;
	pthread_mutex_lock(&m->lock);
	map_take(m);            /* what the buffers lost until now belongs to the old values */
	map_reset(m);
	pthread_mutex_unlock(&m->lock);
	map_put(m);
	return 0;
}

/* ---- the part of a session ---- */

static void save_maps(const struct session *s, struct md_buf *out)
{
	struct map *m;

	cds_list_for_each_entry(m, maps_of(s), node) {
		const char *line = m->saved ? m->saved : "";

		md_buf_printf(out, "%s %s\n", keys[m->domain], m->name);
		map_save_settings(m, out);
		for (size_t n; *line; line += n + 1) {
			n = strcspn(line, "\n");
			md_buf_printf(out, "map_rule %.*s\n", (int)n, line);
		}
		map_save_in_kernel(m, out);
	}
}

/* The map that the file named last. */
static struct map *last_map(struct session *s)
{
	return !cds_list_empty(maps_of(s))
		       ? cds_list_entry(maps_of(s)->prev, struct map, node)
		       : NULL;
}

/* One more rule of it. */
static void restore_rule(struct session *s, const char *line)
{
	struct map *m = last_map(s);
	struct map_rules rules;
	char *saved = NULL;

	if (!m || map_rules_apply(&m->rules, m->domain, line, false, &rules, NULL))
		return;
	map_rules_deinit(&m->rules);
	m->rules = rules;
	free(m->states);
	m->states = calloc(rules.count + 1, sizeof(*m->states));
	if (!m->states || asprintf(&saved, "%s%s\n", m->saved ? m->saved : "", line) < 0) {
		map_rules_deinit(&m->rules);
		return;
	}
	free(m->saved);
	m->saved = saved;
}

static bool restore_line(struct session *s, const char *key, const char *value)
{
	enum domain domain = !strcmp(key, keys[DOMAIN_KERNEL]) ? DOMAIN_KERNEL : DOMAIN_USER;
	struct map *m;

	if (!strcmp(key, "map_rule")) {
		restore_rule(s, value);
		return true;
	}
	if (map_restore_setting(last_map(s), key, value))
		return true;
	if (strcmp(key, keys[domain]) != 0)
		return false;
	if (!name_check(value, sizeof(((struct map *)0)->name) - 1, NULL) &&
	    !find_map(s, domain, value) && (m = map_new(s, domain, value)))
		m->restored = true;
	return true;
}

static void move_maps(struct cds_list_head *from, struct cds_list_head *to)
{
	cds_list_splice(from, to);
	CDS_INIT_LIST_HEAD(from);
}

/* Sessions that were never started: their maps have no values. */
static void exchange_maps(struct session *a, struct session *b)
{
	struct cds_list_head maps;

	CDS_INIT_LIST_HEAD(&maps);
	move_maps(maps_of(a), &maps);
	move_maps(maps_of(b), maps_of(a));
	move_maps(&maps, maps_of(b));
}

static bool records(const struct session *s)
{
	struct map *m;

	cds_list_for_each_entry(m, maps_of(s), node)
		if (m->saved && m->saved[0])
			return true;
	return false;
}

static void clear_maps(struct session *s)
{
	struct map *m;

	cds_list_for_each_entry(m, maps_of(s), node) {
		__atomic_store_n(&m->wanted, clock_now(&s->tracer->clock),
				 __ATOMIC_RELEASE);
		/* Its counters have no times: now, not with the next look. */
		hidden_clear(m->counters);
		map_kernel_clear(m);
	}
	/* The next daemon may be the one that looks. */
	if (!cds_list_empty(maps_of(s)))
		session_save(s);
}

/* Lines about rules of maps that can record nothing now. */
static void show_problems(struct session *s, struct facts *out)
{
	struct map *m;

	cds_list_for_each_entry(m, maps_of(s), node) {
		hidden_show_problems(m->hidden, out);
		hidden_show_problems(m->counters, out);
	}
}

static void drop_maps(struct session *s, bool keep)
{
	(void)keep;
	move_maps(maps_of(s), &all_maps(s->tracer)->dead);
}

static void end_dead_maps(struct tracer *t)
{
	struct map *m;

	for (;;) {
		pthread_mutex_lock(&t->lock);
		m = cds_list_empty(&all_maps(t)->dead)
			    ? NULL
			    : cds_list_first_entry(&all_maps(t)->dead, struct map, node);
		if (m)
			cds_list_del(&m->node);
		pthread_mutex_unlock(&t->lock);
		if (!m)
			return;
		pthread_mutex_lock(&m->lock);
		end_map(m, false);
		pthread_mutex_unlock(&m->lock);
		map_put(m);
	}
}

/* Of a draft, or of a session that a draft replaced: they never recorded. */
static void destroy_maps(struct session *s)
{
	struct map *m, *next;

	cds_list_for_each_entry_safe(m, next, maps_of(s), node)
		map_put(m);
}

static void create_list(struct session *s)
{
	CDS_INIT_LIST_HEAD(maps_of(s));
}

const struct session_part map_part = {
	.name = "maps",
	.size = sizeof(struct cds_list_head),
	.create = create_list,
	.save = save_maps,
	.restore_line = restore_line,
	.exchange = exchange_maps,
	.records = records,
	.follow = follow_session,
	.clear = clear_maps,
	.status = show_problems,
	.drop = drop_maps,
	.gc = end_dead_maps,
	.destroy = destroy_maps,
};

void maps_stop(struct tracer *t, bool keep)
{
	struct maps *all = all_maps(t);
	struct session **sessions, *s;
	size_t n, count;

	watcher_end(&all->watcher, &all->lock);
	sessions = sessions_take(t, &n);
	for (size_t i = 0; i < n; i++) {
		struct map **maps;

		s = sessions[i];
		pthread_mutex_lock(&t->lock);
		maps = take_maps(s, &count);
		pthread_mutex_unlock(&t->lock);
		for (size_t j = 0; j < count; j++) {
			pthread_mutex_lock(&maps[j]->lock);
			end_map(maps[j], keep);
			pthread_mutex_unlock(&maps[j]->lock);
			map_put(maps[j]);
		}
		free(maps);
		session_put(s);
	}
	free(sessions);
}
