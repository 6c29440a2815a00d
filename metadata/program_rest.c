/* SPDX-License-Identifier: MIT */
/*
 * What is known of a program as a whole, for example how many bytes of data each step leaves for
 * the steps after it; the end of a program.
 */
#include <stdlib.h>

#include "metadata/program.h"

static uint64_t step_min(const struct md_step *s)
{
	switch (s->op) {
	case MD_STEP_END: return 0;
	case MD_STEP_STRING: return 1;
	case MD_STEP_TEXT: case MD_STEP_BLOB: return s->by_length ? 0 : s->count;
	case MD_STEP_LOOP: return s->by_length ? 0 : s->count * s->body_min;
	case MD_STEP_VARIANT: return s->body_min;
	case MD_STEP_OPTION: return 0;
	case MD_STEP_U8: case MD_STEP_S8: return 1;
	default: return s->size;
	}
}

static struct md_step *next_step(struct md_step *s)
{
	return s + 1 + s->body;
}

bool md_program_is_plain(const struct md_step *list)
{
	while ((list->op >= MD_STEP_U8 && list->op <= MD_STEP_S64) || list->op == MD_STEP_STRING)
		list++;
	return list->op == MD_STEP_END;
}

void md_program_set_rest(struct md_step *list)
{
	struct md_step *s, *option;
	uint64_t rest = 0;
	uint32_t i;

	for (s = list; s->op != MD_STEP_END; s = next_step(s))
		rest += step_min(s);
	for (s = list; s->op != MD_STEP_END; s = next_step(s)) {
		rest -= step_min(s);
		s->rest = rest;
		if (s->op == MD_STEP_LOOP)
			md_program_set_rest(s + 1);
		for (i = 0, option = s + 1; s->op == MD_STEP_VARIANT && i < s->count;
		     i++, option = next_step(option))
			md_program_set_rest(option + 1);
	}
}

void md_program_destroy(struct md_program *p)
{
	if (!p)
		return;
	free(p->walk);
	free(p->steps);
	free(p->labels);
	free(p->text);
	free(p);
}
