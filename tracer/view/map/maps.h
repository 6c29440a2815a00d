/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps, as the tree shows them: events that are counted by keys, not recorded. Any thread. */
#ifndef TRACER_MAPS_H
#define TRACER_MAPS_H

#include <stdbool.h>

#include "metadata/buf.h"
#include "tracer/base/base.h"
#include "tracer/base/err.h"

struct session;

#define MAP_NAME_MAX 128

void maps_list(struct session *s, enum domain domain, struct md_buf *names);
bool map_exists(struct session *s, enum domain domain, const char *name);
int map_create(struct session *s, enum domain domain, const char *name, struct tr_err *err);
int map_destroy(struct session *s, enum domain domain, const char *name, struct tr_err *err);
enum map_file { MAP_RULES, MAP_VALUES, MAP_JSON, MAP_SQL, MAP_BUFFER_SIZE, MAP_MAX_KEYS };
/* The values have all events recorded before the call. -ENOENT: there is no such map. */
int map_show(struct session *s, enum domain domain, const char *name, enum map_file what,
	     struct md_buf *out);
/* As events_store. The values begin again. */
int map_store_rules(struct session *s, enum domain domain, const char *name, const char *text,
		    bool replace, struct tr_err *err);
/* MAP_BUFFER_SIZE; MAP_MAX_KEYS: the values begin again. 0 or -errno with a sentence. */
int map_store_setting(struct session *s, enum domain domain, const char *name, enum map_file what,
		      const char *text, struct tr_err *err);
int map_clear(struct session *s, enum domain domain, const char *name);        /* -ENOENT */
/*
 * Adds n to a key of the rule `increments`; MAP_TEXT_MAX bytes of it count. -ENOENT, with a
 * sentence: there is no such map, or it has no such rule.
 */
int map_increment(struct session *s, enum domain domain, const char *name, const char *key,
		  uint64_t n, struct tr_err *err);

#endif
