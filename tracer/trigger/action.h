/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An action, from its line:
 *
 *	notify | start S | stop S | rotate S | clear S | snapshot S [NAME] [last TIME]
 *	[after TIME] [max-size N] [output PLACE] | increment S/DOMAIN/MAP KEY
 *
 * each with `every N` (hits N, 2 N, …) or `once-after N` (hit N only), which count from when the
 * action was written. No state but the counters, no lock of its own. Private to trigger/.
 */
#ifndef TRACER_TRIGGER_ACTION_H
#define TRACER_TRIGGER_ACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/base.h"
#include "tracer/output/snapshot/snapshot.h"
#include "tracer/view/map/maps.h"

enum action_kind {
#define ACTION(kind, word, run) ACTION_##kind,
#include "tracer/trigger/actions.def"
	ACTION_KINDS
};

#define ACTIONS_MAX 64u                 /* of one trigger */

struct action {
	enum action_kind kind;
	char *text;                     /* as written; owned */
	char session[201];
	struct snapshot_request snapshot;       /* what is asked for; owned */
	enum domain domain;             /* ACTION_INCREMENT: of the map */
	char map[MAP_NAME_MAX + 1], key[256];
	uint64_t rate;                  /* N; 1 with `every`: each hit */
	bool once;                      /* once-after */
	bool removes;                   /* in a write: the action with this text is to go */
	uint64_t base;                  /* hits of the trigger when the action was written */
	uint64_t executed, failed;
	uint64_t waiting;               /* ACTION_INCREMENT: hits of the one item in the runner */
	char error[256];                /* sentence of the last failure; "": none */
};

/* One line, not empty. -EINVAL with a caret, -EOPNOTSUPP or -ENOMEM. */
int action_parse(const char *line, struct action *out, struct tr_err *err);
void action_deinit(struct action *a);
/* The actions of lines, written after so many hits; *out is the caller's. As action_parse. */
int actions_parse(const char *text, uint64_t hits, struct action **out, size_t *count,
		  struct tr_err *err);
void actions_free(struct action *list, size_t count);
/* Whether hit number `hit` (1 …) executes it. */
bool action_due(const struct action *a, uint64_t hit);
/* How many of the hits up to number `last` execute it. */
uint64_t action_count_due(const struct action *a, uint64_t last);

#endif
