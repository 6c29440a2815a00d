/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * map/: maps: events of a session that are aggregated by the values of their fields, in place of
 * being recorded. tracer.h has what fs/ sees.
 *
 *	map.c       the maps of a session: make, remove, save them; a part of sessions
 *	settings.c  buffer_size and max_keys
 *	follow.c    the hidden session of a map
 *	rules.c     the file `rules`, parsed (rules.h)
 *	operators.c … the operators of a rule (parse.h)
 *	value.c     values of the fields of an event (value.h)
 *	table.c     keys, and what is known of each (table.h)
 *	consume.c   events on their way into tables, and the thread that takes them
 *	reason.c    why an event is counted as `missing`, or lost
 *	show.c      `values` and `values.json`
 *
 * A map has a hidden session (session/hidden.h) while its session is active. It has one channel for
 * each rule, two for a pair, and the same inclusion sets. Programs and the kernel record into its
 * rings as into any. A thread takes the events out of them before the rings are full; a read of
 * `values` takes them, too. Nothing of it survives the daemon but the rules.
 *
 * Locks: map.lock, which is taken before session.lock, lets one thread at a time change a map's
 * rules, take events or show values. tracer.lock guards the list of maps of a session. maps.lock
 * guards the list of maps that the thread looks at; it is a leaf.
 */
#ifndef TRACER_MAP_MAP_H
#define TRACER_MAP_MAP_H

#include <pthread.h>
#include <urcu/list.h>

#include "tracer/view/map/maps.h"
#include "tracer/view/map/rules.h"
#include "tracer/view/map/table.h"
#include "tracer/view/map/value.h"
#include "tracer/session/hidden.h"
#include "tracer/view/pair_open.h"

/* Of the keys of a map, with what is known of each, for each MAP_KEYS_DEFAULT keys of a rule. */
#define MAP_BYTES_MAX (16u << 20)
#define MAP_CHANNELS_MAX (2 * MAP_RULES_MAX)

/* Where an event class has the fields of a rule. */
struct map_shape {
	struct map_shape *next;
	const struct md_event *event;   /* of the hidden session */
	struct md_route routes[];       /* by, operators, on; valid as long as `hidden` */
};

/* What one rule has aggregated. */
struct map_state {
	struct map_table table;
	struct pair_waiting *waiting;   /* of a pair; NULL: none yet */
	uint64_t events;                /* of both events of a pair */
	uint64_t lost;                  /* the buffers had no room for them */
	uint64_t missing;               /* without a field that the rule names */
	char reason[256];               /* of the first one of them */
	uint64_t left_out;              /* the table had no room for their keys */
	uint64_t unpaired;              /* second events without a first one */
};

struct map {
	struct cds_list_head node;      /* of the session, or in maps.dead; tracer.lock */
	struct cds_list_head live;      /* in maps.live; maps.lock */
	int refs;                       /* atomic */
	struct tracer *tracer;          /* constant */
	struct session *session;        /* referenced while it is live, or dead; map.lock */
	char name[129];                 /* constant */
	enum domain domain;             /* constant */
	char *saved;                    /* the text of `rules`; tracer.lock */
	/* These change with map.lock and tracer.lock. */
	uint64_t buffer_size;           /* bytes for each rule and CPU, a power of two */
	uint32_t max_keys;              /* of a rule */
	pthread_mutex_t lock;           /* guards what follows */
	bool gone;
	struct map_rules rules;
	struct map_state *states;       /* of each rule; owned */
	size_t bytes;                   /* of all tables; the session's share counts them */
	struct session *hidden;         /* referenced; NULL: none; changes with tracer.lock, too */
	struct map_shape *shapes[MAP_CHANNELS_MAX];     /* of each channel */
	int64_t since;                  /* ns since the epoch: when the values began */
	uint64_t wanted;                /* time of the last `clear`; atomic, without the lock */
	uint64_t cleared;               /* the one that was done last */
	uint64_t clear_ts;              /* events up to this time do not count */
};

/* The maps that have a hidden session, and the thread that takes their events. */
struct maps {
	pthread_mutex_t lock;           /* guards the rest */
	pthread_cond_t nudge;
	struct cds_list_head live;      /* struct map.live */
	struct cds_list_head dead;      /* struct map.node, of removed sessions; tracer.lock */
	pthread_t thread;
	bool runs, closing;
};

/* map.c */
void map_put(struct map *m);            /* without lock */

/* The map of this name, referenced; NULL: there is none. */
struct map *map_get(struct session *s, enum domain domain, const char *name);

/* settings.c */
uint64_t map_default_buffer(const struct tracer *t);
void map_show_setting(const struct map *m, enum map_file what, struct md_buf *out);
/* Lines of the session's file that follow the map's line. Caller holds tracer.lock. */
void map_save_settings(const struct map *m, struct md_buf *out);
/* True: the line is one of these. m NULL: there is no map before it. */
bool map_restore_setting(struct map *m, const char *key, const char *value);

/* follow.c; caller holds map.lock */
/* Brings the map in line with its session: whether it records, and whose events. 0 or -errno. */
int map_follow(struct map *m, struct session *s, struct tr_err *err);
/* The hidden session goes; values stay. */
void map_close_hidden(struct map *m);
/* Checks what the domain can know of rules. 0 or -errno. */
int map_check_rules(struct map *m, struct session *s, const struct map_rules *rules,
		    struct tr_err *err);

/* consume.c; caller holds map.lock */
/* Takes all events recorded before now. */
void map_take(struct map *m);
/* Forgets all values. */
void map_reset(struct map *m);
/* The rules or the hidden session are others now. */
void map_forget_shapes(struct map *m);
/* The thread begins, or ends, to look at the map. */
void map_set_live(struct map *m, bool live);

/* reason.c; caller holds map.lock */
/* Writes the sentence that says which of the rule's fields the event does not have. */
void map_explain(const struct map_rule *r, const struct md_stream *class,
		 const struct md_occurrence *o, char *out, size_t size);

/* Lines `FILE: SENTENCE` about a rule that lost events. */
void map_advise(const struct map *m, const struct map_state *st, struct md_buf *out);

/* show.c; caller holds map.lock */
int map_print(const struct map *m, struct md_buf *out);
int map_print_json(const struct map *m, struct md_buf *out);

struct map_ordered {
	const struct map_row *row;
	long double value;              /* of the first operator */
};

/*
 * The keys of a rule, the greatest value first, and how many of them are shown. Free the array;
 * NULL: no memory.
 */
struct map_ordered *map_order(const struct map_table *t, const struct map_rule *r, uint32_t *shown);
/* What an operator, which is no histogram and no topk, has computed. */
long double map_row_value(const struct map_row *row, const struct map_rule *r, size_t op);
/* Appends value i of a key, as `values` has it. */
void map_key_number(const struct map *m, const struct map_rule *r, const struct map_row *row,
		    size_t i, struct map_value v, struct md_buf *out);

/* The maps of a session, as a part of it. */
extern const struct session_part map_part;
int maps_open(struct tracer *t);        /* before sessions are restored; 0 or -ENOMEM */
/* Ends the thread and all hidden sessions. Before sessions go. Without lock. */
void maps_stop(struct tracer *t);
void maps_close(struct tracer *t);      /* after they went */

#endif
