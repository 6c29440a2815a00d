// SPDX-License-Identifier: GPL-2.0-or-later
/* The words that follow the verb `snapshot`, and the action of that name; which were executed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tracer/base/base.h"
#include "tracer/output/snapshot/snapshot.h"
#include "tracer/output/snapshot/target.h"
#include "tracer/session/session.h"

#define AFTER_MOST UINT64_C(86400000000)        /* us: a snapshot waits for a day at most */

/* `last TIME` or `after TIME`, into *out in ns. */
static int parse_time(struct scan *s, struct word *w, const char *word, uint64_t most,
		      uint64_t *out)
{
	struct tr_err why = TR_ERR_INIT;
	uint64_t us = 0;
	int ret;

	if (*out)
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, 0), "'%s' comes once",
				  word);
	scan_blanks(s);
	if (scan_at_end(s))
		return tr_fail_at(s->err, -EINVAL, s->line, (int)s->at,
				  "a time is missing here, as in '%s 10s'", word);
	ret = scan_word(s, false, w);
	if (ret)
		return ret;
	ret = units_time(word_text(w), &us, &why);
	/* `inf` is all that is held: more than any time before the moment. */
	us = us == UINT64_MAX && most != AFTER_MOST ? most : us;
	if (most == AFTER_MOST && (ret || !us || us > most))
		ret = tr_fail(&why, -EINVAL, "must be from 1us to a day, as in 500ms");
	else if (!ret && (!us || us > most))
		ret = tr_fail(&why, -EINVAL, "must be from 1us to 292 years, or inf");
	*out = us * 1000;
	return ret ? tr_fail_at(s->err, ret, s->line, word_column(w, 0), "%s", why.sentence) : 0;
}

static int parse_output(struct scan *s, struct word *w, struct snapshot_request *r)
{
	int ret;

	if (r->target)
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, 0),
				  "'output' comes once");
	scan_blanks(s);
	if (scan_at_end(s))
		return tr_fail_at(s->err, -EINVAL, s->line, (int)s->at,
				  "a directory or the address of a relay is missing here");
	ret = scan_word(s, false, w);
	return ret ? ret : target_parse(s, w, &r->target);
}

int snapshot_request_option(struct scan *s, struct word *w, struct snapshot_request *r)
{
	if (word_is(w, "output"))
		return parse_output(s, w, r);
	if (word_is(w, "last"))
		return parse_time(s, w, "last", INT64_MAX / 1000, &r->last);
	if (word_is(w, "after"))
		return parse_time(s, w, "after", AFTER_MOST, &r->after);
	return target_parse_limit(s, w, &r->max_size);
}

int snapshot_request_name(struct scan *s, struct word *w, struct snapshot_request *r)
{
	struct tr_err why = TR_ERR_INIT;
	int ret = name_check(word_text(w), SNAPSHOT_NAME_MAX, &why);

	if (ret)
		return tr_fail_at(s->err, ret, s->line,
				  word_column(w, why.column > 0 ? (size_t)why.column : 0), "%s",
				  why.sentence);
	snprintf(r->name, sizeof(r->name), "%s", word_text(w));
	return 0;
}

int snapshot_request_parse(const char *line, size_t at, struct snapshot_request *r,
			   struct tr_err *err)
{
	struct scan s = { line, at, err, NULL };
	struct word w = { 0 };
	bool first = true;
	int ret = 0;

	*r = (struct snapshot_request){ 0 };
	for (scan_blanks(&s); !ret && !scan_at_end(&s); scan_blanks(&s), first = false) {
		ret = scan_word(&s, false, &w);
		ret = ret ? ret : snapshot_request_option(&s, &w, r);
		if (ret == 1 && first)
			ret = snapshot_request_name(&s, &w, r);
		else if (ret == 1)
			ret = tr_fail_at(err, -EINVAL, line, word_column(&w, 0),
					 "'%.60s' is not expected here: snapshot [NAME] "
					 "[last TIME] [after TIME] [max-size N] [output PLACE]",
					 word_text(&w));
	}
	word_deinit(&w);
	if (ret)
		snapshot_request_deinit(r);
	return ret;
}

int snapshot_request_copy(const struct snapshot_request *r, struct snapshot_request *out)
{
	*out = *r;
	out->target = r->target ? target_copy(r->target) : NULL;
	return r->target && !out->target ? -ENOMEM : 0;
}

void snapshot_request_deinit(struct snapshot_request *r)
{
	targets_free(r->target);
	r->target = NULL;
}
