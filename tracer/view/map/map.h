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
 *	event.c     an event as a key and numbers; the row of a key
 *	pairs.c     first events that wait for their second one
 *	consume.c   events on their way into tables, and the thread that takes them
 *	counters.c  rules whose hits applications count
 *	in_kernel.c rules whose events the kernel counts by keys
 *	journal.c   the values in a file of the state directory
 *	journal_read.c  … as the next daemon reads them
 *	increments.c  the rule to which triggers add
 *	reason.c    why an event is counted as `missing`, or lost
 *	show.c      `values`
 *	show_json.c `values.json`
 *	sql.c       `values.sql`
 *	put.c       … keys and numbers in them (put.h)
 *
 * A map has a hidden session (session/hidden.h) while its session is active. It has one channel for
 * each rule, two for a pair, and the same inclusion sets. Programs and the kernel record into its
 * rings as into any. A thread takes the events out of them before the rings are full; a read of
 * `values` takes them, too. The hidden session and the values survive the daemon. Each look at the
 * rings writes what it changed, and how far it came, to the journal, with one write(2), before
 * writers may use the space of these events again. So a daemon that is killed has either both or
 * none of them, and the next one neither forgets an event nor counts it twice.
 *
 * Rules that only count, and whose key is the event or nothing, have another hidden session. Its
 * buffers are counters (TRAIL_MODE_COUNT), to which applications add. They are the values: nothing
 * is taken out of them, so no hit is lost; the session stays while the map's session is stopped,
 * and survives the daemon.
 *
 * Rules of the kernel domain whose keys and operators BPF programs can compute have no channel. The
 * kernel has their values, which survive the daemon.
 *
 * Locks: map.lock, which is taken before session.lock, lets one thread at a time change a map's
 * rules, take events or show values. tracer.lock guards the list of maps of a session. maps.lock
 * guards the list of maps that the thread looks at; it is a leaf.
 */
#ifndef TRACER_MAP_MAP_H
#define TRACER_MAP_MAP_H

#include <pthread.h>
#include <urcu/list.h>

#include "tracer/base/os/watcher.h"
#include "tracer/base/ring/reader.h"
#include "tracer/view/cursor.h"
#include "tracer/view/map/maps.h"
#include "tracer/view/map/rules.h"
#include "tracer/view/map/table.h"
#include "tracer/view/map/value.h"
#include "tracer/session/hidden.h"
#include "tracer/view/slice/outages.h"
#include "tracer/view/slice/pair_open.h"

/* Of the keys of a map, with what is known of each, for each MAP_KEYS_DEFAULT keys of a rule. */
#define MAP_BYTES_MAX (16u << 20)
#define MAP_CHANNELS_MAX (2 * MAP_RULES_MAX)

/* Where an event class has the fields of a rule. */
struct map_shape {
	struct map_shape *next;
	const struct md_event *event;   /* of the hidden session */
	struct md_route routes[];       /* by, operators, on; valid as long as `hidden` */
};

/* Which event of a pair; what is no pair is a last one. */
enum map_side { MAP_SIDE_FIRST, MAP_SIDE_LAST };

/* Values of a first event, for its pair: the keys first.FIELD in their order, and the numbers. */
struct map_first {
	struct map_numbers numbers;     /* of the operators on it */
	uint32_t len;
	uint8_t hex, single;            /* as in struct map_key */
	uint8_t bytes[];                /* as in struct map_key */
};

/* What the second event of a pair has besides its own values. */
struct map_made {
	uint64_t latency;
	struct map_first *first;        /* owned; NULL: the rule names none of its fields */
};

/* journal.c: the file of a map's values. */
struct map_journal {
	bool known;                     /* dir is open: the file may exist */
	bool open;                      /* fd is open: the next batch can be appended */
	bool left;                      /* for the next daemon: nothing is written or removed */
	int dir, fd;
	bool changed;                   /* a number of a state differs from the file */
	struct md_buf pairs, passes;    /* of the next batch */
	size_t first, length;           /* bytes of its first record, of all */
	uint64_t failed;                /* monotonic time of the last failure; 0: none */
};

/* What one rule has aggregated. */
struct map_state {
	struct map_table table;
	struct pair_waiting *waiting;   /* of a pair; NULL: none yet */
	struct map_first **firsts;      /* PAIR_WAITING, of those that wait; NULL: none */
	size_t first_bytes;             /* of them */
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
	uint32_t saved_in_kernel;       /* bit n: the kernel counts rule n; tracer.lock */
	/* These change with map.lock and tracer.lock. */
	uint64_t buffer_size;           /* bytes for each rule and CPU, a power of two */
	uint32_t max_keys;              /* of a rule */
	pthread_mutex_t lock;           /* guards what follows */
	bool gone;
	struct map_rules rules;
	struct map_state *states;       /* of each rule; owned */
	size_t bytes;                   /* of all tables; the session's share counts them */
	struct session *hidden;         /* referenced; NULL: none; changes with tracer.lock, too */
	struct session *counters;       /* the same for the counters */
	/* Their names, also before a daemon has found them again; "": none. Also tracer.lock. */
	char hidden_name[sizeof(((struct session *)0)->name)];
	char counters_name[sizeof(((struct session *)0)->name)];
	bool restored;                  /* an earlier daemon may have left values */
	struct map_journal journal;
	bool counts_spoiled;            /* an application wrote what cannot be true to them */
	struct map_shape *shapes[MAP_CHANNELS_MAX];     /* of each channel */
	struct outages outages;         /* of the channels of pairs */
	struct {                        /* of each rule */
		struct counts *counts;  /* NULL: none; changes with tracer.lock, too */
		struct map_shape *shapes;
	} counted[MAP_RULES_MAX];
	int64_t since;                  /* ns since the epoch: when the values began */
	uint64_t wanted;                /* time of the last `clear`; atomic, without the lock */
	uint64_t cleared;               /* the one that was done last */
	uint64_t clear_ts;              /* events up to this time do not count */
};

/* The maps that have a hidden session, and the thread that takes their events. */
struct maps {
	pthread_mutex_t lock;           /* guards the rest */
	struct cds_list_head live;      /* struct map.live */
	struct cds_list_head dead;      /* struct map.node, of removed sessions; tracer.lock */
	struct watcher watcher;         /* consume.c */
};

extern const struct tracer_room map_room;       /* consume.c */

static inline struct maps *all_maps(const struct tracer *t)
{
	return tracer_data(t, &map_room);
}

/* map.c */
void map_put(struct map *m);            /* without lock */

/* The map of this name, referenced; NULL: there is none. */
struct map *map_get(struct session *s, enum domain domain, const char *name);

/* settings.c */
uint64_t map_default_buffer(const struct tracer *t);
void map_show_setting(const struct map *m, enum map_file what, struct md_buf *out);
/* Lines of the session's file that follow the map's line. Caller holds tracer.lock. */
void map_save_settings(const struct map *m, struct md_buf *out);
/* Those that follow the lines of its rules. */
void map_save_in_kernel(const struct map *m, struct md_buf *out);
/* True: the line is one of these. m NULL: there is no map before it. */
bool map_restore_setting(struct map *m, const char *key, const char *value);

/* follow.c; caller holds map.lock */
/* Brings the map in line with its session: whether it records, and whose events. 0 or -errno. */
int map_follow(struct map *m, struct session *s, struct tr_err *err);
/* The map holds its session while it has values of it. */
void map_hold_session(struct map *m, struct session *s);
/* The hidden session goes; values stay. */
void map_close_hidden(struct map *m);
/* The next daemon has it. */
void map_leave_hidden(struct map *m);
/* Checks what the domain can know of rules. 0 or -errno. */
int map_check_rules(struct map *m, struct session *s, const struct map_rules *rules,
		    struct tr_err *err);

/* event.c; any thread, with the map's lock */
/* Where the fields of the rule are in events of a class. NULL: no memory. */
struct map_shape *map_make_shape(const struct map_rule *r, enum map_side side,
				 const struct md_stream *class, const struct md_event *e);
/*
 * Adds the values after `by` to a key; those of a first event come from *made. False: one is
 * missing.
 */
bool map_event_key(const struct map_rule *r, const struct map_shape *shape,
		   const struct md_occurrence *o, const struct map_made *made, struct map_key *k);
/* The number of each operator. False: a field is missing, or no number. */
bool map_event_numbers(const struct map_rule *r, const struct map_shape *shape,
		       const struct md_occurrence *o, const struct map_made *made,
		       struct map_numbers *numbers);
/* The values after `on`. False: one is missing. */
bool map_event_join(const struct map_rule *r, const struct map_shape *shape,
		    const struct md_occurrence *o, struct map_key *k);
/* What the rule takes of a first event; false: a value is missing. NULL in *first: no memory. */
bool map_event_first(const struct map_rule *r, const struct map_shape *shape,
		     const struct md_occurrence *o, struct map_first **first);

/* The row of the key; a new one counts in the share of the session's owner. NULL: no room. */
struct map_row *map_get_row(struct map *m, const struct map_rule *r, struct map_state *st,
			    const struct map_key *k);
/* When the values of the rule began, ns since the epoch; r NULL: when the values of the map did. */
int64_t map_since(const struct map *m, const struct map_rule *r);

/* pairs.c; caller holds map.lock */
enum map_pairing { PAIR_MISSING, PAIR_WAITS, PAIR_ALONE, PAIR_MADE, PAIR_NO_ROOM };
/*
 * Finds the first event of a second one, the cursor's, and the time between them; or remembers a
 * first one. MADE: *made is set. ALONE: it has none, or losses keep both apart (outages.h).
 */
enum map_pairing map_pair_event(struct map *m, const struct map_rule *r, struct map_state *st,
				enum map_side side, const struct map_shape *shape,
				const struct cursor *c, struct map_made *made);
void map_pairs_forget(struct map_state *st);
/* The channels are gone: losses from now on are no losses of what waits. */
void map_outages_forget(struct map *m);
/* Repeats what the journal says that an event of a pair did. Takes `first` over, if not NULL. */
void map_pair_repeat(struct map *m, const struct map_rule *r, struct map_state *st,
		     enum map_side side, const struct pair_open *key, struct map_first *first);

/* in_kernel.c; caller holds map.lock, or as the line says */
/* Whether the daemon has to continue what the kernel counts now. */
bool map_kernel_ends(const struct map *m, const struct session *s);
/* Gives it to the daemon. The map has no hidden session. */
void map_kernel_hand_over(struct map *m);
/* Begins or stops counting in the kernel. */
void map_kernel_follow(struct map *m, struct session *s, bool wanted);
/* Takes over what an earlier daemon left. False: some of it is lost. */
bool map_kernel_adopt(struct map *m);
/* Sets the rows of these rules to what the kernel has. */
void map_kernel_take(struct map *m);
/* Makes them 0. Caller holds map.lock or tracer.lock. */
void map_kernel_clear(struct map *m);
/* When the first of them was 0, ns since the epoch; 0: there is none. */
int64_t map_kernel_since(const struct map *m);
/* keep: the next daemon has them. */
void map_kernel_close(struct map *m, bool keep);

/* consume.c; caller holds map.lock */
/* Takes all events recorded before now. */
void map_take(struct map *m);
/* Forgets the values if they were cleared, but not yet here. */
void map_check_clear(struct map *m);
/* Forgets all values; the second one: but those that applications count. */
void map_reset(struct map *m);
void map_forget_values(struct map *m);
/* The rules or the hidden session are others now. */
void map_forget_shapes(struct map *m);
/* The thread begins, or ends, to look at the map. */
void map_set_live(struct map *m, bool live);

/* counters.c; caller holds map.lock */
/* Sets the values of rules whose hits are counted to what the counters say. */
void map_counters_take(struct map *m);
void map_counters_clear(struct map *m);
/* Takes over the counters that an earlier daemon left, if the map has none. */
void map_counters_claim(struct map *m);
/* New ones, which a file of the session names now. Takes the reference over. */
void map_counters_set(struct map *m, struct session *s, struct session *counters);
/* Those that applications and the kernel have. keep: the next daemon has them. */
void map_counters_close(struct map *m, bool keep);

/* journal.c; caller holds map.lock. A map without its file works on, and begins again later. */
/* A first event waits, or a second one has found it; key has what both have. */
void map_journal_pair(struct map *m, const struct map_rule *r, enum map_side side,
		      const struct pair_open *key, const struct map_first *first);
/* How far a ring is taken, with all losses up to there, after the next batch is written. */
void map_journal_pass(struct map *m, const struct stream *s, const struct ring_mark *mark);
/* Writes all that has changed. */
void map_journal_write(struct map *m);
void map_journal_drop(struct map *m);   /* removes the file */
void map_journal_close(struct map *m);
/* The number that tells values of these rules from others. */
uint64_t map_journal_identity(const struct map *m);
int map_journal_dir(struct map *m);     /* opens journal.dir; 0 or -errno */
void map_journal_name(const struct map *m, char *out, size_t size);

#define MAP_JOURNAL_MAGIC 0x314a504du   /* "MPJ1": before each record, then its length */
#define MAP_JOURNAL_NAME_MAX 160
/* The entries of a record. */
enum map_entry { MAP_ENTRY_HEAD = 'H', MAP_ENTRY_STATE = 'S', MAP_ENTRY_ROW = 'R',
		 MAP_ENTRY_PAIR = 'P', MAP_ENTRY_PASS = 'C' };

/* journal_read.c; caller holds map.lock */
/*
 * The values that an earlier daemon left, and how far it came in the rings of `hidden`. False: they
 * are none of these rules; the caller forgets what was read of them.
 */
bool map_journal_read(struct map *m);

/* reason.c; caller holds map.lock */
/* Writes the sentence that says which of the rule's fields the event does not have. */
void map_explain(const struct map_rule *r, enum map_side side, const struct md_stream *class,
		 const struct md_occurrence *o, char *out, size_t size);

/* Lines `FILE: SENTENCE` about a rule that lost events. */
void map_advise(const struct map *m, const struct map_rule *r, const struct map_state *st,
		struct md_buf *out);

/* show.c, show_json.c, sql.c, put.c; caller holds map.lock */
int map_print(const struct map *m, struct md_buf *out);
int map_print_json(const struct map *m, struct md_buf *out);
int map_print_sql(const struct map *m, struct md_buf *out);

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
/* Ends the thread and all hidden sessions. Before sessions go. Without lock. */
/* keep: the counters of applications stay for the next daemon. */
void maps_stop(struct tracer *t, bool keep);

#endif
