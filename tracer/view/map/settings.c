// SPDX-License-Identifier: GPL-2.0-or-later
/* The sizes of a map: what its buffers hold, and how many keys a rule may have. */
#include "tracer/view/map/map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_MIN (UINT64_C(64) << 10)
#define BUFFER_MAX (UINT64_C(1) << 30)
#define KEYS_MOST 262144u               /* 4 MiB of tables for each rule */

/*
 * The pages of a buffer that was once full stay in memory: all CPUs together get a 1024th of it.
 * 2 MiB for each CPU last for 20 ms at 100 MB/s.
 */
uint64_t map_default_buffer(const struct tracer *t)
{
	uint64_t share = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) /
			 1024 / (t->cpus ? t->cpus : 1);
	uint64_t size = UINT64_C(2) << 20;

	while (size < UINT64_C(8) << 20 && 2 * size <= share)
		size *= 2;
	return size;
}

static int parse_buffer_size(const char *text, uint64_t *out, struct tr_err *err)
{
	uint64_t v, size = BUFFER_MIN;
	int ret = units_size(text, &v, err);

	if (ret)
		return ret;
	if (!v || v > BUFFER_MAX)
		return tr_fail_at(err, -EINVAL, text, 0, "must be from 64k to 1G");
	while (size < v)
		size *= 2;
	*out = size;
	return 0;
}

static int parse_max_keys(const char *text, uint64_t *out, struct tr_err *err)
{
	int ret = units_count(text, out, err);

	if (!ret && (!*out || *out > KEYS_MOST))
		ret = tr_fail_at(err, -EINVAL, text, 0, "must be from 1 to %u", KEYS_MOST);
	return ret;
}

void map_show_setting(const struct map *m, enum map_file what, struct md_buf *out)
{
	if (what == MAP_BUFFER_SIZE)
		md_buf_printf(out, "%" PRIu64 "\n", m->buffer_size);
	else
		md_buf_printf(out, "%" PRIu32 "\n", m->max_keys);
}

/* Caller holds map.lock. A new buffer begins empty, a new table, too. */
static int set_setting(struct map *m, struct session *s, enum map_file what, uint64_t v,
		       struct tr_err *err)
{
	if (v == (what == MAP_BUFFER_SIZE ? m->buffer_size : m->max_keys))
		return 0;
	if (what == MAP_BUFFER_SIZE)
		map_close_hidden(m);
	else
		map_take(m);
	session_lock(s);
	if (what == MAP_BUFFER_SIZE)
		m->buffer_size = v;
	else
		m->max_keys = (uint32_t)v;
	session_save(s);
	session_unlock(s);
	if (what == MAP_MAX_KEYS && m->saved_in_kernel) {
		/* Without the rules that the kernel counts, the channels would be others. */
		map_close_hidden(m);
		map_kernel_close(m, false);
	}
	if (what == MAP_MAX_KEYS)
		map_reset(m);
	return map_follow(m, s, err);
}

int map_store_setting(struct session *s, enum domain domain, const char *name, enum map_file what,
		      const char *text, struct tr_err *err)
{
	uint64_t v;
	int ret = (what == MAP_BUFFER_SIZE ? parse_buffer_size : parse_max_keys)(text, &v, err);
	struct map *m = ret ? NULL : map_get(s, domain, name);

	if (ret)
		return ret;
	if (!m)
		return tr_fail(err, -ENOENT, "no map '%s'", name);
	pthread_mutex_lock(&m->lock);
	ret = m->gone ? tr_fail(err, -ENOENT, "the map is gone")
		      : set_setting(m, s, what, v, err);
	pthread_mutex_unlock(&m->lock);
	map_put(m);
	return ret;
}

void map_save_settings(const struct map *m, struct md_buf *out)
{
	if (m->buffer_size != map_default_buffer(m->tracer))
		md_buf_printf(out, "map_buffer_size %" PRIu64 "\n", m->buffer_size);
	if (m->max_keys != MAP_KEYS_DEFAULT)
		md_buf_printf(out, "map_max_keys %" PRIu32 "\n", m->max_keys);
	if (m->hidden_name[0])
		md_buf_printf(out, "map_hidden %s\n", m->hidden_name);
	if (__atomic_load_n(&m->wanted, __ATOMIC_RELAXED))
		md_buf_printf(out, "map_cleared %" PRIu64 "\n", m->wanted);
	if (m->counters_name[0])
		md_buf_printf(out, "map_counters %s\n", m->counters_name);
}

void map_save_in_kernel(const struct map *m, struct md_buf *out)
{
	for (uint32_t i = 0; i < MAP_RULES_MAX; i++)
		if (m->saved_in_kernel >> i & 1)
			md_buf_printf(out, "map_in_kernel %" PRIu32 "\n", i);
}

/* The kernel counted this rule, of those before the line. */
static void restore_in_kernel(struct map *m, unsigned long rule)
{
	if (m && rule < m->rules.count) {
		m->rules.rules[rule].in_kernel = true;
		m->saved_in_kernel |= UINT32_C(1) << rule;
	}
}

bool map_restore_setting(struct map *m, const char *key, const char *value)
{
	uint64_t v;

	if (!strcmp(key, "map_buffer_size")) {
		if (m && !parse_buffer_size(value, &v, NULL))
			m->buffer_size = v;
		return true;
	}
	if (!strcmp(key, "map_hidden")) {
		if (m)
			snprintf(m->hidden_name, sizeof(m->hidden_name), "%s", value);
		return true;
	}
	if (!strcmp(key, "map_cleared")) {
		if (m)
			m->wanted = strtoull(value, NULL, 10);
		return true;
	}
	if (!strcmp(key, "map_in_kernel")) {
		restore_in_kernel(m, strtoul(value, NULL, 10));
		return true;
	}
	if (!strcmp(key, "map_counters")) {
		if (m)
			snprintf(m->counters_name, sizeof(m->counters_name), "%s", value);
		return true;
	}
	if (strcmp(key, "map_max_keys") != 0)
		return false;
	if (m && !parse_max_keys(value, &v, NULL))
		m->max_keys = (uint32_t)v;
	return true;
}
