// SPDX-License-Identifier: GPL-2.0-or-later
/* Turns the expressions of a rule into fetch arguments of tracefs: see extra.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/base.h"
#include "tracer/base/probe/btf_files.h"
#include "tracer/base/probe/event_field.h"
#include "tracer/base/probe/probe.h"

enum { NAMES_MAX = 1024, BIG = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ };
struct resolver {
	struct dynamic_event *d;
	struct extra_item *item;
	struct btf_files *types;
	const struct btf *btf;  /* the one that has the probed function; NULL: not looked for yet */
	uint32_t proto;         /* of the function */
	struct tr_err *err;
};

#define FAIL(r, at, code, ...) \
	extra_fail(&(r)->d->extra, (r)->item, (at), (code), (r)->err, __VA_ARGS__)

static bool is_root(const struct extra_item *i, const char *name)
{
	return i->root_len == strlen(name) && !memcmp(i->text + i->root, name, i->root_len);
}

/* N of `$argN`, or of `argN`; -1: another place. */
static int get_number(const struct extra_item *i, const char *prefix)
{
	size_t n = strlen(prefix);
	const char *p = i->text + i->root;

	if (i->root_len <= n || i->root_len > n + 3 || memcmp(p, prefix, n) ||
	    strspn(p + n, "0123456789") < i->root_len - n)
		return -1;
	return atoi(p + n);
}

/* Reads memory at the place that the item has now. */
static int add_wrap(struct extra_item *i, uint64_t offset)
{
	struct md_buf text = MD_BUF_INIT;

	md_buf_printf(&text, "+%" PRIu64 "(%s", offset, i->before);
	md_buf_str(&text);
	if (text.failed) {
		md_buf_deinit(&text);
		return -ENOMEM;
	}
	free(i->before);
	i->before = text.data;
	i->closers++;
	return 0;
}

static void set_type(struct extra_item *i, const char *other)
{
	snprintf(i->as, sizeof(i->as), "%s", *i->type ? i->type : other);
}

static void set_number_type(struct extra_item *i, uint32_t size, bool is_signed)
{
	char type[8];

	snprintf(type, sizeof(type), "%c%u", is_signed ? 's' : 'u', (size & 15) * 8);
	set_type(i, type);
}

/* ---- types of the kernel ---- */

static int fail_no_param(struct resolver *r)
{
	const char *names[64], *near;
	uint32_t first = dynamic_event_has_record(r->d), n = 0, type;
	char list[200];

	for (; n < 64 && n + first < btf_param_count(r->btf, r->proto); n++)
		names[n] = btf_param(r->btf, r->proto, n + first, &type);
	near = nearest(r->item->text + r->item->root, r->item->root_len, names, n);
	if (near)
		return FAIL(r, r->item->root, -EINVAL,
			    "'%.60s' has no argument of this name; did you mean '%.60s'?",
			    r->d->symbol, near);
	return FAIL(r, r->item->root, -EINVAL, "'%.60s' has no argument of this name; it has %s",
		    r->d->symbol, join_names(names, n, list, sizeof(list)));
}

static int load_types(struct resolver *r)
{
	/* The kernel makes the second and the third for each tracepoint, with its arguments. */
	static const char *const functions[] = { "", "__traceiter_", "__probestub_" };
	bool event = dynamic_event_has_record(r->d);
	const char *symbol = event ? r->d->name : r->d->symbol;
	int ret = 0, len = (int)strcspn(symbol, "+");

	for (int i = event ? 1 : 0; i <= (event ? 2 : 0) && !r->proto && !ret; i++) {
		char name[256];
		int n = snprintf(name, sizeof(name), "%s%.*s", functions[i], len, symbol);

		ret = btf_files_find(r->types, name, (size_t)n < sizeof(name) ? (size_t)n : 0,
				     &r->btf, &r->proto);
	}
	if (ret)
		return FAIL(r, r->item->root, -EOPNOTSUPP,
			    "the kernel's types are not known (%.60s: %s); $argN, %%REG and "
			    "+OFF(EXPR) do without", r->types->path, strerror(-ret));
	if (!r->proto)
		return FAIL(r, r->item->root, -EINVAL,
			    "the kernel's types have no %s '%.*s', or several; %s do without",
			    event ? "tracepoint" : "function", len < 60 ? len : 60, symbol,
			    event ? "fields and +OFF(FIELD)" : "$argN and +OFF(EXPR)");
	return 0;
}

/* The type of argument n; a structure that is passed by value moves the arguments after it. */
static int get_param(struct resolver *r, uint32_t n, uint32_t *type)
{
	for (uint32_t i = 0; i <= n; i++) {
		btf_param(r->btf, r->proto, i, type);
		if (btf_classify(r->btf, *type).class == BTF_STRUCTURE)
			return FAIL(r, r->item->root, -EINVAL,
				    "'%.60s' gets a structure by value: the registers of its "
				    "arguments are not known", r->d->symbol);
	}
	return 0;
}

/* Sets the place and its type from `$argN`, `$retval` or an argument's name. */
static int resolve_root(struct resolver *r, uint32_t *type)
{
	struct extra_item *i = r->item;
	int n = get_number(i, "$arg"), ret = load_types(r);
	char from[16];

	if (ret)
		return ret;
	*type = btf_returned(r->btf, r->proto);
	if (is_root(i, "$retval"))
		return 0;
	if (n < 0 && strchr("$%", i->text[i->root]))
		return FAIL(r, i->root, -EINVAL, "the type of this place is not known: it has no "
			    "members; +OFF(EXPR) reads memory");
	for (uint32_t k = 0; n < 0 && k < btf_param_count(r->btf, r->proto); k++) {
		const char *name = btf_param(r->btf, r->proto, k, type);

		if (is_root(i, name))
			n = (int)k + 1;
	}
	if (n < 1 || (uint32_t)n > btf_param_count(r->btf, r->proto))
		return fail_no_param(r);
	ret = get_param(r, (uint32_t)n - 1, type);
	if (ret)
		return ret;
	snprintf(from, sizeof(from), "$arg%d", n);
	free(i->from);
	i->from = strdup(from);
	return i->from ? 0 : -ENOMEM;
}

/*
 * Of a tracepoint: its argument NAME is in the record as a field NAME or NAMEaddr, as the kernel
 * calls them; -EAGAIN: it is not. Without members the place may be any field.
 */
static int resolve_field(struct resolver *r, uint32_t *type)
{
	static const char *const suffixes[] = { "", "addr", "_addr", "ptr" };
	struct extra_item *i = r->item;
	struct event_field f = { .size = 0 };
	struct md_buf from = MD_BUF_INIT;
	uint32_t place = 0;
	int ret = load_types(r);

	if (ret)
		return ret;
	/* The first argument is the tracer's own. */
	for (uint32_t k = 1; k < btf_param_count(r->btf, r->proto) && !place; k++)
		place = is_root(i, btf_param(r->btf, r->proto, k, type)) ? k : 0;
	if (!place)
		return fail_no_param(r);
	if (r->d->kind == DYN_ARGUMENTS)
		md_buf_printf(&from, "$arg%u", place);
	for (size_t k = 0; k < 4 && !from.len; k++) {
		char name[EVENT_FIELD_WORD_MAX + 8];
		int n = snprintf(name, sizeof(name), "%.*s%s", (int)i->root_len, i->text + i->root,
				 suffixes[k]);

		if (n > 0 && (size_t)n < sizeof(name) &&
		    event_field_find(r->d->format, name, (size_t)n, &f) && f.size == 8 &&
		    !f.is_text && !f.is_array)
			md_buf_printf(&from, "$%s", name);
	}
	if (!from.len)
		return -EAGAIN;
	free(i->from);
	i->from = from.data;
	return md_buf_str(&from) ? 0 : -ENOMEM;
}

static int fail_no_member(struct resolver *r, uint32_t structure, size_t at, size_t len)
{
	const char **names = malloc(NAMES_MAX * sizeof(*names)), *near = NULL;
	const char *word = r->item->text + at;
	int shown = len < 60 ? (int)len : 60;

	if (names)
		near = nearest(word, len, names,
			       btf_member_names(r->btf, structure, names, NAMES_MAX));
	free(names);
	if (near)
		return FAIL(r, at, -EINVAL, "no member '%.*s'; did you mean '%.60s'?", shown, word,
			    near);
	return FAIL(r, at, -EINVAL, "no member '%.*s'", shown, word);
}

/* Where the members so far lead: `offset` bits from a pointer, or the pointer itself. */
struct spot {
	struct btf_type type;
	uint64_t offset;
	uint32_t bits;
	bool in_memory;
};

/* One `->NAME` or `.NAME`; *at: where it begins, then where it ends. */
static int resolve_member(struct resolver *r, struct spot *s, size_t *at)
{
	const char *text = r->item->text;
	bool arrow = text[*at] == '-';
	size_t name = *at + (arrow ? 2 : 1), len = strcspn(text + name, ".-)");
	enum btf_class wanted = arrow ? BTF_POINTER : BTF_STRUCTURE;
	struct btf_member m;

	if (s->type.class != wanted)
		return FAIL(r, *at, -EINVAL, "%s",
			    s->type.class == BTF_POINTER   ? "its members follow '->'"
			    : s->type.class == BTF_STRUCTURE ? "its members follow '.'"
							     : "this is no structure");
	if (arrow && s->in_memory && add_wrap(r->item, s->offset / 8))
		return -ENOMEM;
	if (arrow) {
		s->type = btf_classify(r->btf, s->type.id);
		s->offset = 0;
		if (s->type.class != BTF_STRUCTURE)
			return FAIL(r, *at, -EINVAL, "this pointer leads to no known structure");
	}
	if (!btf_find_member(r->btf, s->type.id, text + name, len, &m))
		return fail_no_member(r, s->type.id, name, len);
	*s = (struct spot){ btf_classify(r->btf, m.type), s->offset + m.offset, m.bits, true };
	*at = name + len;
	return 0;
}

/* Bits of the type that the rule gives; 0: none. */
static uint32_t given_bits(const struct extra_item *i)
{
	return *i->type && !extra_is_string(i->type) ? (uint32_t)atoi(i->type + 1) : 0;
}

/*
 * A bit field is read in the smallest aligned integer that has all of it, and the bits that the
 * rule wants. tracefs knows no other way to give a member more bits than it has.
 */
static int set_bits(struct resolver *r, const struct spot *s)
{
	for (uint32_t size = 8; size <= 64; size *= 2) {
		uint64_t in = s->offset % size;

		if (in + s->bits > size || size < given_bits(r->item))
			continue;
		/* tracefs counts from the lowest bit, types from the first in memory. */
		snprintf(r->item->as, sizeof(r->item->as), "b%u@%u/%u", s->bits,
			 (unsigned int)(BIG ? size - in - s->bits : in), size);
		return add_wrap(r->item, (s->offset - in) / 8);
	}
	return FAIL(r, r->item->root, -EINVAL, "this bit field cannot be read");
}

/* The value at the end of an expression. */
static int finish(struct resolver *r, struct spot *s)
{
	struct extra_item *i = r->item;
	bool text = extra_is_string(i->type);

	if (s->in_memory && s->type.class == BTF_NUMBER && !s->bits && !s->type.is_signed &&
	    given_bits(i) > 8 * s->type.size)
		s->bits = 8 * s->type.size;
	if (s->bits)
		return text ? FAIL(r, i->root, -EINVAL, "a bit field is no string")
			    : set_bits(r, s);
	if (s->in_memory && add_wrap(i, s->offset / 8))
		return -ENOMEM;
	if (s->type.class == BTF_TEXT && (text || !*i->type)) {
		set_type(i, "string");
		return 0;
	}
	if (text && s->type.class != BTF_POINTER)
		return FAIL(r, i->root, -EINVAL, "this is neither text nor a pointer to text");
	if (text && add_wrap(i, 0))
		return -ENOMEM;
	if (!*i->type && s->type.class != BTF_NUMBER && s->type.class != BTF_POINTER)
		return FAIL(r, i->root, -EINVAL, "%s",
			    s->type.class == BTF_STRUCTURE
				    ? "this is a structure: name one of its members"
				    : "neither a number nor text: give its type, as in :u32");
	if (s->type.class == BTF_NUMBER && s->in_memory && given_bits(i) > 8 * s->type.size)
		snprintf(i->as, sizeof(i->as), "s%u", 8 * (s->type.size & 15));
	else if (s->type.class == BTF_NUMBER)
		set_number_type(i, s->type.size, s->type.is_signed);
	else
		set_type(i, "u64");
	return 0;
}

static int resolve_typed(struct resolver *r)
{
	struct spot s = { .in_memory = false };
	size_t at = r->item->root + r->item->root_len;
	uint32_t type;
	int ret = dynamic_event_has_record(r->d) ? resolve_field(r, &type) : resolve_root(r, &type);

	if (ret)
		return ret;
	s.type = btf_classify(r->btf, type);
	if (r->item->wraps) {           /* +8(skb) */
		set_type(r->item, "u64");
		return 0;
	}
	while (!ret && r->item->text[at])
		ret = resolve_member(r, &s, &at);
	return ret ? ret : finish(r, &s);
}

/* ---- places without types ---- */

/* Of a usdt probe: each place has an operand for it. */
static int resolve_usdt_arg(struct resolver *r, int n)
{
	struct extra_item *i = r->item;
	bool text = extra_is_string(i->type);
	char first[8] = "", type[8];

	for (size_t p = 0; p < r->d->place_count; p++) {
		struct md_buf fetch = MD_BUF_INIT;
		bool good = dynamic_event_arg(&r->d->places[p], n, &fetch, type);
		bool constant = good && *md_buf_str(&fetch) == '\\';

		md_buf_deinit(&fetch);
		if (!good)
			return FAIL(r, i->root, -EINVAL, "the probe has no argument %d that the "
				    "kernel can fetch", n);
		if ((text || i->wraps) && (constant || !strchr("us", *type) ||
					   strcmp(type + 1, "64") != 0))
			return FAIL(r, i->root, -EINVAL, "argument %d is no pointer", n);
		if (p && !*i->type && !i->wraps && strcmp(type, first) != 0)
			return FAIL(r, i->root, -EINVAL, "argument %d has several types: give one, "
				    "as in :u32", n);
		if (!p)
			memcpy(first, type, sizeof(first));
	}
	if (text && !i->wraps && add_wrap(i, 0))
		return -ENOMEM;
	set_type(i, i->wraps ? "u64" : "");
	return 0;
}

/* `$argN` of a function of a program: its register at the entry. */
static int resolve_register(struct resolver *r, int n)
{
	const char *name = dynamic_event_register(n);

	if (!name)
		return FAIL(r, r->item->root, -EINVAL, "argument %d is in no register", n);
	free(r->item->from);
	r->item->from = strdup(name);
	return r->item->from ? 0 : -ENOMEM;
}

/* Checks that this kind of probe has the place. */
static int check_place(struct resolver *r)
{
	const struct extra_item *i = r->item;
	const struct dynamic_event *d = r->d;
	int n = get_number(i, "$arg");

	if (is_root(i, "$retval") && d->kind != DYN_KRETPROBE && d->kind != DYN_URETPROBE)
		return FAIL(r, i->root, -EINVAL, "only return probes (kretprobe:, uretprobe:) have "
			    "$retval");
	if (n > 0 && d->kind == DYN_USDT)
		return FAIL(r, i->root, -EINVAL, "arguments of a usdt probe are arg0, arg1, …");
	if (n > 0 && d->kind == DYN_URETPROBE)
		return FAIL(r, i->root, -EINVAL, "arguments are known at the function's entry "
			    "only");
	if (n > 0 && d->symbol && strchr(d->symbol, '+'))
		return FAIL(r, i->root, -EINVAL, "arguments are known at the function's entry "
			    "only, not at +OFF");
	if (dynamic_event_has_file(d) && i->members)
		return FAIL(r, i->root + i->root_len, -EINVAL, "types of programs are not known; "
			    "+OFF(EXPR) reads memory");
	if (dynamic_event_has_file(d) && !strchr("$%", i->text[i->root]) &&
	    (d->kind != DYN_USDT || get_number(i, "arg") < 0))
		return FAIL(r, i->root, -EINVAL,
			    d->kind == DYN_USDT ? "arguments of a usdt probe are arg0, arg1, …"
						: "names of a program's arguments are not known; "
						  "they are $arg1, $arg2, …");
	return 0;
}

static int resolve_plain(struct resolver *r)
{
	struct extra_item *i = r->item;
	bool comm = is_root(i, "$comm");
	int n = get_number(i, "$arg"), ret = 0;

	if (comm && (i->wraps || (*i->type && !extra_is_string(i->type))))
		return FAIL(r, i->root, -EINVAL, "$comm is a string");
	if (n > 0 && dynamic_event_has_file(r->d))
		ret = resolve_register(r, n);
	if (!ret && extra_is_string(i->type) && !i->wraps && !comm)
		ret = add_wrap(i, 0);
	set_type(i, comm ? "string" : "u64");
	return ret;
}

/* A tracepoint has fields, and arguments with members. */
static int resolve_event(struct resolver *r)
{
	struct extra_item *i = r->item;
	struct event_field f = { .size = 0 };
	struct md_buf from = MD_BUF_INIT;

	if (!r->d->format)
		return FAIL(r, i->root, -EINVAL, "the tracepoint is not known");
	if (is_root(i, "$comm"))
		return resolve_plain(r);
	if (strchr("$%", i->text[i->root]))
		return FAIL(r, i->root, -EINVAL,
			    "a tracepoint has fields, $comm, and members of its arguments");
	if (r->d->kind == DYN_ARGUMENTS || i->members ||
	    !event_field_find(r->d->format, i->text + i->root, i->root_len, &f) || f.is_array)
		return resolve_typed(r);
	if (f.is_text && (i->wraps || (*i->type && !extra_is_string(i->type))))
		return FAIL(r, i->root, -EINVAL, "this field is text");
	if (extra_is_string(i->type) && !i->wraps && !f.is_text && add_wrap(i, 0))
		return -ENOMEM;
	md_buf_printf(&from, "$%s", f.name);
	free(i->from);
	i->from = strdup(md_buf_str(&from));
	md_buf_deinit(&from);
	if (f.is_text)
		set_type(i, "string");
	else
		set_number_type(i, i->wraps ? 8 : f.size, !i->wraps && f.is_signed);
	return i->from ? 0 : -ENOMEM;
}

static int resolve_item(struct resolver *r)
{
	struct extra_item *i = r->item;
	int ret;

	free(i->before);
	free(i->from);
	i->before = strndup(i->text, i->root);
	i->from = strndup(i->text + i->root, i->root_len);
	i->closers = i->wraps;
	if (!i->before || !i->from)
		return -ENOMEM;
	if (dynamic_event_has_record(r->d))
		return resolve_event(r);
	ret = check_place(r);
	if (ret)
		return ret;
	if (r->d->kind == DYN_USDT && get_number(i, "arg") >= 0)
		return resolve_usdt_arg(r, get_number(i, "arg"));
	if (i->members || !strchr("$%", i->text[i->root]))
		return resolve_typed(r);
	return resolve_plain(r);
}

int extra_resolve(struct dynamic_event *d, struct btf_files *types, struct tr_err *err)
{
	struct resolver r = { .d = d, .types = types, .err = err };
	int ret = 0;

	for (size_t i = 0; i < d->extra.count && !ret; i++) {
		r.item = &d->extra.items[i];
		ret = resolve_item(&r);
		d->lacking = ret == -EAGAIN ? i : d->lacking;
	}
	if (ret == -ENOMEM)
		tr_fail(err, ret, "out of memory");
	if (ret != -EAGAIN)
		return ret;
	d->kind = DYN_ARGUMENTS;
	return extra_resolve(d, types, err);
}
