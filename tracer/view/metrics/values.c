// SPDX-License-Identifier: GPL-2.0-or-later
/* The metrics of maps: their keys are labels, their histograms are histograms of OpenMetrics. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/session/session.h"
#include "tracer/view/map/map.h"
#include "tracer/view/map/maps.h"
#include "tracer/view/metrics/family.h"

/* One rule, while its samples are written. */
struct rule_metrics {
	struct metrics *m;
	const struct map *map;
	const struct map_rule *r;
	const struct map_state *st;
	struct md_buf rule;                     /* the labels that say which rule it is */
	char *names[MAP_FIELDS_MAX];            /* of the labels of keys; owned */
};

/* ---- names of labels ---- */

static bool is_taken(const struct rule_metrics *w, size_t count, const char *name)
{
	static const char *const own[] = { "session", "domain", "map", "rule", "operator",
					   "le", "rank", "variant" };

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strcmp(own[i], name))
			return true;
	for (size_t i = 0; i < count; i++)
		if (!strcmp(w->names[i], name))
			return true;
	return false;
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/*
 * A name of a label has letters, digits and underscores. A field whose name would be one of the
 * labels that each sample has, or that of another field, or begins with a digit or two underscores,
 * has keyN_ before its name. NULL: no memory.
 */
static char *name_label(const struct rule_metrics *w, size_t field)
{
	const char *text = w->r->by[field].text;
	struct md_buf name = MD_BUF_INIT;
	char *copy;

	if (!strncmp(text, "$ctx.", 5))
		text += 5;
	text += *text == '$';
	for (const char *p = text; *p; p++)
		md_buf_putc(&name, is_name_char(*p) ? *p : '_');
	copy = name.failed ? NULL : strdup(md_buf_str(&name));
	if (copy && (!*copy || (*copy >= '0' && *copy <= '9') || !strncmp(copy, "__", 2) ||
		     is_taken(w, field, copy))) {
		struct md_buf other = MD_BUF_INIT;

		md_buf_printf(&other, "key%zu_%s", field + 1, copy);
		free(copy);
		copy = other.failed ? NULL : strdup(md_buf_str(&other));
		md_buf_deinit(&other);
	}
	md_buf_deinit(&name);
	return copy;
}

/* ---- labels of keys ---- */

struct labelled {
	const struct map_row *row;
	char *labels;                           /* owned */
};

static void put_key(const struct rule_metrics *w, const struct map_row *row, struct md_buf *out)
{
	struct md_buf text = MD_BUF_INIT;
	struct map_value v;
	uint32_t at = 0;

	md_buf_put(out, w->rule.data, w->rule.len);
	for (size_t i = 0; i < w->r->by_count && map_key_next(row, &at, &v); i++) {
		if (v.kind == MAP_TEXT) {
			label_put(out, w->names[i], v.text, v.len);
			continue;
		}
		md_buf_reset(&text);
		map_key_number(w->map, w->r, row, i, v, &text);
		label_puts(out, w->names[i], md_buf_str(&text));
		out->failed |= text.failed;
	}
	md_buf_deinit(&text);
}

static int compare_labels(const void *a, const void *b)
{
	return strcmp(((const struct labelled *)a)->labels, ((const struct labelled *)b)->labels);
}

/*
 * Keys that differ only in their type, as 5 and "5", have the same labels; one more label tells
 * them apart, because a reader refuses a file that has a sample twice.
 */
static bool add_variants(struct labelled *rows, uint32_t count)
{
	if (count)
		qsort(rows, count, sizeof(*rows), compare_labels);
	for (uint32_t i = count; i-- > 0;) {
		struct md_buf text = MD_BUF_INIT;
		uint32_t n;

		/* Backwards, so that those before it still have the labels that were compared. */
		for (n = 1; n <= i && !strcmp(rows[i - n].labels, rows[i].labels); n++)
			;
		if (n == 1)
			continue;
		md_buf_puts(&text, rows[i].labels);
		label_number(&text, "variant", n);
		free(rows[i].labels);
		rows[i].labels = text.failed ? NULL : strdup(md_buf_str(&text));
		md_buf_deinit(&text);
		if (!rows[i].labels)
			return false;
	}
	return true;
}

static void free_rows(struct labelled *rows, uint32_t count)
{
	for (uint32_t i = 0; rows && i < count; i++)
		free(rows[i].labels);
	free(rows);
}

/* The shown keys with their labels; free_rows. NULL: no memory. */
static struct labelled *take_rows(const struct rule_metrics *w, uint32_t *count)
{
	struct map_ordered *all = map_order(&w->st->table, w->r, count);
	struct labelled *rows = all ? calloc(*count + 1, sizeof(*rows)) : NULL;
	bool good = rows;

	for (uint32_t i = 0; i < *count && good; i++) {
		struct md_buf text = MD_BUF_INIT;

		put_key(w, all[i].row, &text);
		rows[i].row = all[i].row;
		rows[i].labels = text.failed ? NULL : strdup(md_buf_str(&text));
		good = rows[i].labels;
		md_buf_deinit(&text);
	}
	free(all);
	if (good && add_variants(rows, *count))
		return rows;
	free_rows(rows, *count);
	return NULL;
}

/* ---- histograms ---- */

/* The greatest double below a finite one. */
static double before(double v)
{
	int64_t bits;

	if (v == 0)
		return -0x1p-1074;
	memcpy(&bits, &v, sizeof(bits));
	bits += v > 0 ? -1 : 1;
	memcpy(&v, &bits, sizeof(v));
	return v;
}

static double bound_of(const struct map_op *op, uint32_t i, bool real)
{
	double to = (double)map_interval_of(op, i).to;

	/* The first interval of hist ends with -1, see table.c. */
	if (op->kind == MAP_HIST && !i)
		return -1;
	/* An interval ends before `to`; a bucket ends with its bound. */
	if (isinf(to))
		return to;
	return real || to > 0x1p53 || to < -0x1p53 ? before(to) : to - 1;
}

/* Which intervals of the operator become buckets: the same ones for each key. */
struct buckets {
	uint32_t first, last;
	bool real;                              /* a number was no integer */
};

static struct buckets choose_buckets(const struct rule_metrics *w, size_t op)
{
	const struct map_op *o = &w->r->ops[op];
	/* Above the greatest number of all keys, hist has 60 empty intervals. */
	struct buckets b = { 1, o->kind == MAP_HIST ? 1 : o->slots - 1, false };
	bool below = false;

	for (uint32_t i = 0; i < w->st->table.count; i++) {
		const struct map_row *row = w->st->table.rows[i];
		const union map_slot *s = map_row_slots(row, w->r, op);

		b.real |= row->real >> op & 1;
		below |= s[0].n > 0;
		for (uint32_t n = o->slots - 1; n > b.last; n--)
			if (s[n].n)
				b.last = n;
	}
	/* A bucket with a negative bound forbids the sum: only if it has something. */
	if (below || bound_of(o, 0, b.real) >= 0)
		b.first = 0;
	return b;
}

static void add_histogram(const struct rule_metrics *w, const struct map_row *row, size_t op,
			  const struct buckets *b, const struct md_buf *labels)
{
	const struct map_op *o = &w->r->ops[op];
	const union map_slot *s = map_row_slots(row, w->r, op);
	bool negative = bound_of(o, b->first, b->real) < 0;
	uint64_t n = 0;

	for (uint32_t i = b->first; i <= b->last; i++) {
		double le = bound_of(o, i, b->real);

		n += s[i].n;
		if (!isinf(le))
			metric_bucket(w->m, METRIC_MAP_HISTOGRAM, labels, le, n);
	}
	metric_bucket(w->m, METRIC_MAP_HISTOGRAM, labels, INFINITY, row->count);
	if (!negative) {
		metric_part(w->m, METRIC_MAP_HISTOGRAM, "_count", labels, row->count);
		metric_real(w->m, METRIC_MAP_HISTOGRAM, "_sum", labels, (double)s[o->slots].v);
	}
	metric_time(w->m, METRIC_MAP_HISTOGRAM, "_created", labels,
		    (uint64_t)map_since(w->map, w->r));
}

/* ---- a rule ---- */

static void add_value(const struct rule_metrics *w, const struct map_row *row, size_t op,
		      const struct md_buf *labels)
{
	const struct map_op *o = &w->r->ops[op];
	const union map_slot *s = map_row_slots(row, w->r, op);

	if (o->kind != MAP_TOPK) {
		metric_real(w->m, METRIC_MAP_VALUE, "", labels,
			    (double)map_row_value(row, w->r, op));
		return;
	}
	for (uint32_t i = 0; i < o->slots && i < row->count; i++) {
		struct md_buf ranked = MD_BUF_INIT;

		md_buf_put(&ranked, labels->data, labels->len);
		label_number(&ranked, "rank", i + 1);
		metric_real(w->m, METRIC_MAP_VALUE, "", &ranked, (double)s[i].v);
		md_buf_deinit(&ranked);
	}
}

static void add_operator(const struct rule_metrics *w, size_t op, const struct labelled *rows,
			 uint32_t count)
{
	const struct map_op *o = &w->r->ops[op];
	bool histogram = o->kind == MAP_HIST || o->kind == MAP_LHIST;
	struct md_buf name = MD_BUF_INIT;
	struct buckets b = { 0 };
	size_t same = 1;

	if (o->kind == MAP_COUNT)
		return;
	/* Of lhist with other intervals, say. */
	for (size_t i = 0; i < op; i++)
		same += !strcmp(w->r->ops[i].label, o->label);
	md_buf_puts(&name, o->label);
	if (same > 1)
		md_buf_printf(&name, "#%zu", same);
	if (histogram)
		b = choose_buckets(w, op);
	for (uint32_t i = 0; i < count; i++) {
		struct md_buf labels = MD_BUF_INIT;

		md_buf_puts(&labels, rows[i].labels);
		label_puts(&labels, "operator", md_buf_str(&name));
		labels.failed |= name.failed;
		if (histogram)
			add_histogram(w, rows[i].row, op, &b, &labels);
		else
			add_value(w, rows[i].row, op, &labels);
		md_buf_deinit(&labels);
	}
	md_buf_deinit(&name);
}

static void add_counters(struct rule_metrics *w)
{
	const struct map_state *st = w->st;
	struct md_buf text = MD_BUF_INIT;

	md_buf_put(&text, w->rule.data, w->rule.len);
	label_puts(&text, "text", w->r->text);
	metric_count(w->m, METRIC_MAP_RULE, &text, 1);
	md_buf_deinit(&text);
	metric_count(w->m, METRIC_MAP_EVENTS, &w->rule, st->events);
	metric_count(w->m, METRIC_MAP_LOST, &w->rule, st->lost);
	metric_count(w->m, METRIC_MAP_MISSING, &w->rule, st->missing);
	metric_count(w->m, METRIC_MAP_LEFT_OUT, &w->rule, st->left_out);
	if (w->r->pair)
		metric_count(w->m, METRIC_MAP_UNPAIRED, &w->rule, st->unpaired);
}

static int add_keys(struct rule_metrics *w)
{
	uint32_t count = 0;
	struct labelled *rows = take_rows(w, &count);

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct md_buf labels = MD_BUF_INIT;

		md_buf_puts(&labels, rows[i].labels);
		metric_count(w->m, METRIC_MAP_KEY, &labels, rows[i].row->count);
		metric_time(w->m, METRIC_MAP_KEY, "_created", &labels,
			    (uint64_t)map_since(w->map, w->r));
		md_buf_deinit(&labels);
	}
	for (size_t op = 0; op < w->r->op_count; op++)
		add_operator(w, op, rows, count);
	free_rows(rows, count);
	return 0;
}

static int add_rule(struct metrics *m, const struct map *map, const char *session, size_t i)
{
	static const char *const domains[DOMAINS] = { [DOMAIN_USER] = "user",
						      [DOMAIN_KERNEL] = "kernel" };
	struct rule_metrics w = { .m = m, .map = map, .r = &map->rules.rules[i],
				  .st = &map->states[i] };
	int ret = 0;

	label_puts(&w.rule, "session", session);
	label_puts(&w.rule, "domain", domains[map->domain]);
	label_puts(&w.rule, "map", map->name);
	label_number(&w.rule, "rule", i + 1);
	for (size_t f = 0; f < w.r->by_count && !ret; f++) {
		w.names[f] = name_label(&w, f);
		ret = w.names[f] && !w.rule.failed ? 0 : -ENOMEM;
	}
	if (!ret) {
		add_counters(&w);
		ret = add_keys(&w);
	}
	for (size_t f = 0; f < MAP_FIELDS_MAX; f++)
		free(w.names[f]);
	md_buf_deinit(&w.rule);
	return ret;
}

static int add_map(struct session *s, enum domain domain, const char *name, struct metrics *m)
{
	struct map *map = map_get(s, domain, name);
	int ret = 0;

	/* It was removed meanwhile. */
	if (!map)
		return 0;
	pthread_mutex_lock(&map->lock);
	map_take(map);
	for (size_t i = 0; i < map->rules.count && !ret; i++)
		ret = add_rule(m, map, s->name, i);
	pthread_mutex_unlock(&map->lock);
	map_put(map);
	return ret;
}

int maps_metrics(struct session *s, struct metrics *m)
{
	int ret = 0;

	for (enum domain d = 0; d < DOMAINS && !ret; d++) {
		struct md_buf names = MD_BUF_INIT;
		const char *name;

		maps_list(s, d, &names);
		ret = names.failed ? -ENOMEM : 0;
		for (name = names.data; !ret && name < names.data + names.len;
		     name += strlen(name) + 1)
			ret = add_map(s, d, name, m);
		md_buf_deinit(&names);
	}
	return ret;
}
