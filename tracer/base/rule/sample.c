// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/base/rule/sample.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "tracer/base/base.h"

static const struct {
	const char *name;
	uint64_t usual, least, most;
	const char *range;
} kinds[SAMPLE_KINDS] = {
	[SAMPLE_CPU] = { "cpu", 99, 1, 10000,
			 "samples in a second, from 1hz to 10000hz" },
	[SAMPLE_CYCLES] = { "cycles", 1000000, 10000, UINT64_C(1000000000000),
			    "cycles between two samples, at least 10000" },
	[SAMPLE_FAULTS] = { "faults", 1, 1, UINT64_C(1000000000000),
			    "page faults between two samples, at least 1" },
};

bool sample_is_rule(const char *pattern)
{
	return !strncmp(pattern, SAMPLE_RULE, strlen(SAMPLE_RULE));
}

const char *sample_name(enum sample_kind kind)
{
	return kinds[kind].name;
}

int sample_kind(const char *pattern)
{
	for (int i = 0; sample_is_rule(pattern) && i < SAMPLE_KINDS; i++)
		if (!strcmp(pattern + strlen(SAMPLE_RULE), kinds[i].name))
			return i;
	return -1;
}

int sample_check(struct scan *s, struct word *w)
{
	const char *names[SAMPLE_KINDS], *name = word_text(w) + strlen(SAMPLE_RULE), *near;

	if (sample_kind(word_text(w)) >= 0)
		return 0;
	for (int i = 0; i < SAMPLE_KINDS; i++)
		names[i] = kinds[i].name;
	near = nearest(name, strlen(name), names, SAMPLE_KINDS);
	return scan_fail(s, word_column(w, strlen(SAMPLE_RULE)),
			 "samples are sample:cpu, sample:cycles and sample:faults%s%s%s",
			 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static bool is_clause(struct word *w)
{
	return word_is(w, "if") || word_is(w, "except") || word_is(w, "with") ||
	       word_is(w, "as") || word_is(w, "loglevel");
}

int sample_parse_rate(struct scan *s, struct word *w, struct rule *r)
{
	int kind = sample_kind(r->pattern), ret;
	const char *text;
	char number[24];
	size_t n, begin;

	scan_blanks(s);
	begin = s->at;
	if (scan_done(s))
		return 0;
	ret = scan_word(s, false, w);
	if (ret)
		return ret;
	if (is_clause(w)) {
		s->at = begin;
		return 0;
	}
	text = word_text(w);
	n = strspn(text, "0123456789");
	if (!n || n >= sizeof(number) ||
	    (text[n] && (kind != SAMPLE_CPU || strcasecmp(text + n, "hz"))))
		return scan_fail(s, word_column(w, 0), "a rate is expected after '%s': %s",
				 r->pattern, kinds[kind].range);
	memcpy(number, text, n);
	number[n] = '\0';
	if (units_count(number, &r->rate, NULL) || r->rate < kinds[kind].least ||
	    r->rate > kinds[kind].most)
		return scan_fail(s, word_column(w, 0), "the rate is out of range: %s",
				 kinds[kind].range);
	return 0;
}

void sample_print_rate(const struct rule *r, struct md_buf *out)
{
	if (r->rate)
		md_buf_printf(out, " %" PRIu64 "%s", r->rate,
			      sample_kind(r->pattern) == SAMPLE_CPU ? "hz" : "");
}

uint64_t sample_rate(const struct rule *r)
{
	int kind = sample_kind(r->pattern);

	return r->rate ? r->rate : kind < 0 ? 0 : kinds[kind].usual;
}

uint64_t sample_wanted(const struct rule_list *l, enum sample_kind kind, const struct rule **other)
{
	uint64_t rate = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct rule *r = &l->rules[i];

		if (r->disabled || r->kind != RULE_SAMPLES ||
		    sample_kind(r->pattern) != (int)kind)
			continue;
		if (other && rate && rate != sample_rate(r)) {
			*other = r;
			return rate;
		}
		rate = rate ? rate : sample_rate(r);
	}
	return rate;
}
