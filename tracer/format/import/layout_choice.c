/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiles what depends on the value of another field: variants and optional fields; and finds that
 * field.
 */
#include "tracer/format/import/layout.h"

#include <stdlib.h>
#include <string.h>

/* ---- the fields that types name ---- */

static bool is_in_block(const struct block *b, uint32_t id)
{
	while (id && b && b->id != id)
		b = b->up;
	return !id || b;
}

/* The symbol of this path that was added last. */
static const struct layout_symbol *find_whole(struct compiler *c, const char *path)
{
	if (!layout_may_work(c, c->symbol_count))
		return NULL;
	for (size_t i = c->symbol_count; i--;)
		if (!strcmp(c->symbols[i].path, path))
			return &c->symbols[i];
	return NULL;
}

uint32_t layout_add_symbol(struct compiler *c, const struct tsdl_type *t)
{
	const struct layout_symbol *same = NULL;
	const struct block *b = c->block;
	struct layout_symbol *more;
	uint32_t slot;

	/*
	 * Two options of a variant of CTF 2 may have fields of one path. Only one of them has a
	 * value: they share its slot, and what refers to the path reads that.
	 */
	if (c->t->ctf2 && b)
		same = find_whole(c, md_buf_str(&c->path));
	while (b && !b->is_loop)
		b = b->up;
	slot = same ? same->slot : c->slots++;
	more = layout_grow(c, c->symbols, c->symbol_count, sizeof(*more));
	if (!more)
		return slot;
	c->symbols = more;
	more += c->symbol_count;
	/* The caller adds the step now. */
	*more = (struct layout_symbol){ .path = strdup(md_buf_str(&c->path)), .slot = slot,
					.step = (uint32_t)c->out->step_count,
					.block = c->block ? c->block->id : 0,
					.loop = b ? b->id : 0, .field = c->field, .type = t };
	if (more->path)
		c->symbol_count++;
	else
		layout_fail_memory(c);
	return slot;
}

static const struct layout_symbol *find_path(struct compiler *c, const char *prefix, size_t n,
				      const char *ref)
{
	if (!layout_may_work(c, c->symbol_count * (1 + n / 16)))
		return NULL;
	for (size_t i = c->symbol_count; i--;) {
		const char *path = c->symbols[i].path;

		if (!n && !strcmp(path, ref))
			return &c->symbols[i];
		if (n && !strncmp(path, prefix, n) && path[n] == '.' && !strcmp(path + n + 1, ref))
			return &c->symbols[i];
	}
	return NULL;
}

/* The field that a length or a tag names: of the nearest structure around, or by its whole path. */
static const struct layout_symbol *find_symbol(struct compiler *c, const char *ref)
{
	const struct layout_symbol *s = NULL;
	const char *path = md_buf_str(&c->path);
	size_t n = c->path.len, least = strlen(layout_scope_name(c->scope));

	while (!s && !c->failed && n >= least) {
		s = find_path(c, path, n, ref);
		do
			n--;
		while (n > least && path[n] != '.');
	}
	if (!s && !c->failed)
		s = find_path(c, NULL, 0, ref);
	if (!s)
		layout_fail(c, "there is no field '%.80s' before its use as a length or a tag"
			    IN_CTF("7.3.2"), ref);
	else if (!is_in_block(c->block, s->block))
		layout_fail(c, "the length or tag '%.80s' is in an option or an element, and may "
			    "have no value" IN_CTF("7.3.2"), ref);
	return c->failed ? NULL : s;
}

/* The path of a location of CTF 2: from its origin, or from the structure around the type. */
static bool put_location(struct compiler *c, const struct tsdl_location *at, struct md_buf *path)
{
	const char *own = md_buf_str(&c->path);
	size_t len = c->path.len, least = strlen(layout_scope_name(c->scope));

	if (at->origin != SCOPES) {
		md_buf_puts(path, layout_scope_name(at->origin));
	} else {
		/* The last name is the member whose type has the location. */
		for (uint32_t n = at->up + 1; n; n--) {
			if (len <= least) {
				layout_fail(c, "the location of a length or a selector is outside "
					    "of its root field" IN_CTF2("6.4.2"));
				return false;
			}
			while (own[--len] != '\xff')
				;
		}
		md_buf_put(path, own, len);
	}
	for (uint32_t i = 0; i < at->count; i++) {
		md_buf_putc(path, '\xff');
		md_buf_puts(path, at->names[i]);
	}
	if (path->failed)
		layout_fail_memory(c);
	return !c->failed;
}

/* Whether all fields of this path are of one kind: each of them may be the one that has a value. */
static bool are_alike(struct compiler *c, const struct layout_symbol *of)
{
	if (!of->block)
		return true;
	if (!layout_may_work(c, c->symbol_count))
		return false;
	for (size_t i = 0; i < c->symbol_count; i++) {
		const struct layout_symbol *s = &c->symbols[i];

		if (s->slot == of->slot && !strcmp(s->path, of->path) &&
		    (s->type->is_signed != of->type->is_signed ||
		     (s->type->kind == TSDL_BOOL) != (of->type->kind == TSDL_BOOL)))
			return false;
	}
	return true;
}

static const struct layout_symbol *find_location(struct compiler *c, const struct tsdl_location *at,
					  bool *checked)
{
	const char *name = at->names[at->count - 1];
	struct md_buf path = MD_BUF_INIT;
	const struct layout_symbol *s = NULL;

	if (put_location(c, at, &path))
		s = find_whole(c, md_buf_str(&path));
	md_buf_deinit(&path);
	if (!s)
		layout_fail(c, "there is no field '%.60s' at the location of a length or a "
			    "selector" IN_CTF2("6.4.2"), name);
	else if (!is_in_block(c->block, s->loop))
		layout_fail(c, "the length or selector '%.60s' is in an element of an array that "
			    "is not decoded then" IN_CTF2("6.4.2"), name);
	else if (!are_alike(c, s))
		layout_fail(c, "the fields that can be the length or selector '%.60s' are of "
			    "different kinds" IN_CTF2("5.3.23"), name);
	if (c->failed)
		return NULL;
	*checked = !is_in_block(c->block, s->block);
	return s;
}

const struct layout_symbol *layout_find_field(struct compiler *c, const struct tsdl_type *t,
					      bool *checked)
{
	const struct layout_symbol *found;

	*checked = false;
	found = t->at ? find_location(c, t->at, checked) : find_symbol(c, t->ref);
	for (size_t i = 0; found && i < c->symbol_count; i++)
		if (c->symbols[i].slot == found->slot)
			c->out->steps[c->symbols[i].step].used = true;
	return found;
}

uint32_t layout_needed_field(const struct compiler *c, const struct layout_symbol *s)
{
	return s && s->field != c->field ? s->field : 0;
}

/* ---- variants ---- */

static void add_range(struct compiler *c, const struct range *range)
{
	struct range *more = layout_grow(c, c->out->ranges, c->out->range_count, sizeof(*more));

	if (!more)
		return;
	c->out->ranges = more;
	more[c->out->range_count++] = *range;
}

/* Adds the values of the tag that select an option, by the label that has the option's name. */
static void add_labels(struct compiler *c, const struct tsdl_type *tag, const char *name,
		       uint8_t option, uint32_t step)
{
	if (!layout_may_work(c, tag->count))
		return;
	for (uint32_t i = 0; i < tag->count && !c->failed; i++) {
		const struct tsdl_mapping *m = &tag->mappings[i];

		if (strcmp(m->label, name) &&
		    strcmp(layout_plain_name(c, m->label), layout_plain_name(c, name)))
			continue;
		add_range(c, &(struct range){ m->begin, m->end, tag->is_signed, option, step });
	}
}

/* Adds the ranges of values for which CTF 2 has the option. */
static void add_ranges(struct compiler *c, const struct tsdl_type *tag,
		       const struct tsdl_ranges *ranges, uint8_t option, uint32_t step)
{
	for (uint32_t i = 0; i < ranges->count && !c->failed; i++) {
		const struct tsdl_range *r = &ranges->list[i];

		if (tag->is_signed ? r->large : r->negative)
			layout_fail(c, "a range has values that the selector cannot have"
				    IN_CTF2("5.3.23"));
		add_range(c, &(struct range){ r->begin, r->end, tag->is_signed, option, step });
	}
}

/* The steps of a variant or an optional field, with all slots in it forgotten first. */
struct choice { uint32_t forget, at, slots; struct step step; };

/* False: failed. */
static bool begin_choice(struct compiler *c, const struct tsdl_type *t, struct choice *choice)
{
	struct step forget = { .code = STEP_FORGET };
	const struct layout_symbol *tag;

	*choice = (struct choice){ .step = { .code = STEP_VARIANT } };
	tag = layout_find_field(c, t, &choice->step.checked);
	if (!tag)
		return false;
	choice->step.slot = tag->slot;
	choice->step.needs = layout_needed_field(c, tag);
	choice->slots = forget.slot = c->slots;
	if (c->t->ctf2)
		choice->forget = layout_add_step(c, &forget);
	choice->at = layout_add_step(c, &choice->step);
	return !c->failed;
}

static void begin_ranges(struct compiler *c, const struct choice *choice)
{
	c->out->steps[choice->at].body = (uint32_t)(c->out->step_count - 1 - choice->at);
	c->out->steps[choice->at].ranges = (uint32_t)c->out->range_count;
	if (c->t->ctf2)
		c->out->steps[choice->forget].count = c->slots - choice->slots;
}

static void end_ranges(struct compiler *c, const struct choice *choice)
{
	c->out->steps[choice->at].count =
		(uint32_t)c->out->range_count - c->out->steps[choice->at].ranges;
}

/* Compiles the options; first[i]: the first step of each. */
static void compile_options(struct compiler *c, const struct tsdl_type *t, struct md_type *to,
			    uint32_t *first)
{
	for (uint32_t i = 0; i < t->count && !c->failed; i++) {
		const char *name = t->members[i].name;
		/* A path of CTF 2 does not name options. */
		size_t len = c->t->ctf2 ? c->path.len : layout_enter(c, name);

		first[i] = (uint32_t)c->out->step_count;
		to->members[i].exact = c->t->ctf2;
		to->members[i].name = strdup(layout_plain_name(c, name));
		to->count = i + 1;
		layout_compile_block(c, t->members[i].type, false, &to->members[i].type);
		layout_end_steps(c);
		c->path.len = len;
		if (!to->members[i].name)
			layout_fail_memory(c);
	}
}

static bool is_tag(const struct compiler *c, const struct tsdl_type *t)
{
	return t->kind == TSDL_ENUM || (c->t->ctf2 && t->kind == TSDL_INT);
}

/* The options' steps follow the variant's, each with an end; ranges say where each begins. */
void layout_compile_variant(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	const struct layout_symbol *tag = NULL;
	struct choice choice;
	uint32_t *first;
	bool checked;

	if (!t->ref && !t->at)
		layout_fail(c, "a variant has no tag" IN_CTF("4.2.2"));
	if (t->count > 127)
		layout_fail(c, "a variant has more than 127 options" OWN_LIMIT);
	if (c->failed || !begin_choice(c, t, &choice))
		return;
	*to = (struct md_type){ .kind = MD_VARIANT, .quiet = true };
	to->members = calloc(t->count + 1, sizeof(*to->members));
	first = calloc(t->count + 1, sizeof(*first));
	if (to->members && first)
		compile_options(c, t, to, first);
	else
		layout_fail_memory(c);
	tag = c->failed ? NULL : layout_find_field(c, t, &checked);
	if (tag && !is_tag(c, tag->type))
		layout_fail(c, c->t->ctf2 ? "the selector '%.80s' is not an integer"
					    IN_CTF2("5.3.23")
					  : "the tag '%.80s' is not an enumeration"
					    IN_CTF("4.2.2"),
			    t->ref ? t->ref : t->at->names[t->at->count - 1]);
	if (!c->failed) {
		begin_ranges(c, &choice);
		for (uint32_t i = 0; i < t->count && !c->failed; i++) {
			const struct tsdl_member *m = &t->members[i];

			if (c->t->ctf2)
				add_ranges(c, tag->type, &m->ranges, (uint8_t)i, first[i]);
			else
				add_labels(c, tag->type, m->name, (uint8_t)i, first[i]);
		}
		end_ranges(c, &choice);
	}
	free(first);
}

/* ---- values that may be missing ---- */

bool layout_init_optional(struct compiler *c, struct md_type *to)
{
	*to = (struct md_type){ .kind = MD_VARIANT, .quiet = true, .optional = true };
	to->members = calloc(2, sizeof(*to->members));
	to->count = to->members ? 2 : 0;
	if (!to->members || !(to->members[0].name = strdup("missing")) ||
	    !(to->members[1].name = strdup("value"))) {
		layout_fail_memory(c);
		return false;
	}
	to->members[0].type.kind = MD_STRUCT;
	return !c->failed;
}

/* A boolean selects the value if it is true: all numbers from 1 on. */
static void add_selector(struct compiler *c, const struct tsdl_type *t,
			 const struct tsdl_type *selector, uint32_t step)
{
	struct tsdl_range all = { .begin = 1, .end = -1, .large = true };
	const struct tsdl_ranges is_true = { &all, 1 };

	if (selector->kind == TSDL_BOOL && !t->ranges.count)
		add_ranges(c, selector, &is_true, 1, step);
	else if (is_tag(c, selector) && t->ranges.count)
		add_ranges(c, selector, &t->ranges, 1, step);
	else
		layout_fail(c, "the selector of an optional field must be a boolean without "
			    "ranges, or an integer with them" IN_CTF2("5.3.22"));
}

void layout_compile_optional(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	const struct layout_symbol *selector;
	struct choice choice;
	uint32_t none, value;
	bool checked;

	if (c->failed || !begin_choice(c, t, &choice) || !layout_init_optional(c, to))
		return;
	none = (uint32_t)c->out->step_count;
	layout_end_steps(c);
	value = (uint32_t)c->out->step_count;
	layout_compile_block(c, t->element, false, &to->members[1].type);
	layout_end_steps(c);
	to->show = MD_SHOW_BRACES;
	selector = c->failed ? NULL : layout_find_field(c, t, &checked);
	if (!selector)
		return;
	begin_ranges(c, &choice);
	c->out->steps[choice.at].other = none;
	add_selector(c, t, selector->type, value);
	end_ranges(c, &choice);
}
