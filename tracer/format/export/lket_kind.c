// SPDX-License-Identifier: GPL-2.0-or-later
/* What LKET's files say of each event: see lket.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "metadata/number.h"
#include "tracer/base/array.h"
#include "tracer/format/export/lket.h"

#define GROUP_FIRST 128u        /* of kinds without a hook; LKET's groups are below */

static const char *const types[2][4] = { { "UINT8", "UINT16", "UINT32", "UINT64" },
					 { "INT8", "INT16", "INT32", "INT64" } };
static const char type_string[] = "STRING";

unsigned int lket_type_size(const char *type)
{
	size_t n = strcspn(type, "0123456789");

	return type[n] ? (unsigned int)atoi(type + n) / 8 : 0;
}

/* The constant of this name: columns do not own their types. */
static const char *find_type(const char *text, size_t len)
{
	for (int sign = 0; sign < 2; sign++)
		for (int i = 0; i < 4; i++)
			if (strlen(types[sign][i]) == len && !memcmp(types[sign][i], text, len))
				return types[sign][i];
	return type_string;
}

static const char *type_of(const struct md_type *t)
{
	if (t->kind != MD_INT && t->kind != MD_ENUM)
		return type_string;
	return types[t->is_signed][__builtin_ctz(md_int_size(t))];
}

/* ---- kinds ---- */

/* The index of a new column; -1: no memory. */
static int32_t add_column(struct lket_kind *k, const char *name, size_t len, const char *type)
{
	char *copy = strndup(name, len);

	if (!copy || !array_room(k->columns, k->count + 1)) {
		free(copy);
		return -1;
	}
	for (char *p = copy; *p; p++)
		*p = *p == ':' ? '_' : *p;
	k->columns[k->count] = (struct lket_column){ .name = copy, .type = type };
	return (int32_t)k->count++;
}

/* The fields that LKET's hook has: `fd:INT64 count:INT64`. False: no memory. */
static bool add_system(struct lket_kind *k, const char *fields)
{
	for (const char *p = fields; p && *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " "), name = strcspn(p, ": ");

		if (name < n &&
		    add_column(k, p, name, find_type(p + name + 1, n - name - 1)) < 0)
			return false;
		p += n;
	}
	k->system = k->count;
	return true;
}

static void free_kind(struct lket_kind *k)
{
	for (uint32_t i = 0; i < k->count; i++)
		free(k->columns[i].name);
	free(k->columns);
	free(k->name);
	free(k);
}

static struct lket_kind *add_kind(struct lket_kinds *all, const struct hook *h, const char *name,
				  int *err)
{
	struct lket_kind *k;

	*err = -ENOMEM;
	k = array_room(all->list, all->count + 1) ? calloc(1, sizeof(*k)) : NULL;
	if (!k)
		return NULL;
	k->name = strdup(name);
	if (!k->name || (h && !add_system(k, h->fields))) {
		free_kind(k);
		return NULL;
	}
	if (h) {
		k->group = (uint8_t)h->group;
		k->hook = (uint8_t)h->id;
	} else {
		/* Hooks are counted from 1. */
		all->next = all->next ? all->next + 1 : GROUP_FIRST << 8 | 1;
		all->next |= !(all->next & 0xff);
		k->group = (uint8_t)(all->next >> 8);
		k->hook = (uint8_t)all->next;
	}
	if (all->next >> 16) {
		free_kind(k);
		*err = -EOVERFLOW;
		return NULL;
	}
	return all->list[all->count++] = k;
}

/* h: the hook that stands for the event; NULL. */
static struct lket_kind *find_kind(struct lket_kinds *all, const struct hook *h,
				   const struct md_event *class, int *err)
{
	struct md_buf text = MD_BUF_INIT;
	struct lket_kind *found = NULL;
	/* Hooks of users may have no numbers, or those of another. */
	bool numbered = h && h->group && h->group < GROUP_FIRST && h->id && h->id < 256;
	const char *name;

	if (!h)
		md_name_event(class->name, &text);
	name = h ? h->name : md_buf_str(&text);
	for (size_t i = 0; i < all->count && !found; i++) {
		if (!strcmp(all->list[i]->name, name))
			found = all->list[i];
		else if (numbered && all->list[i]->group == h->group && all->list[i]->hook == h->id)
			numbered = false;
	}
	if (!found)
		found = add_kind(all, numbered ? h : NULL, name, err);
	md_buf_deinit(&text);
	return found;
}

void lket_kinds_deinit(struct lket_kinds *k)
{
	for (size_t i = 0; i < k->count; i++)
		free_kind(k->list[i]);
	free(k->list);
	lket_hooks_deinit(&k->hooks);
}

/* ---- shapes ---- */

/* The user column; -1: no memory. */
static int32_t find_user_column(struct lket_kind *k, const char *name, const struct md_type *type)
{
	const char *own = type_of(type);

	for (uint32_t i = k->system; i < k->count; i++)
		if (!strcmp(k->columns[i].name, name)) {
			if (k->columns[i].type != own)
				k->columns[i].type = type_string;
			return (int32_t)i;
		}
	return add_column(k, name, strlen(name), own);
}

/* The index of the event's field; -1: it has none of this name. */
static int32_t find_field(const struct row *r, const char *name)
{
	const struct text *names = r->names + r->stream->context_count;

	for (uint32_t i = 0; i < r->class->field_count; i++)
		if (!strcmp(names[i].p, name))
			return (int32_t)i;
	return -1;
}

/* What fills the system column: what its hook says, or the field of its name. */
static struct lket_source find_source(const struct lket_shape *shape, const struct hook *h, int way,
				      const char *column, const struct row *r)
{
	const int ids[] = { shape->tid, shape->pid, shape->ppid };
	struct lket_source s = { -1, HOOK_FIELD, 0 };
	const char *name = column;

	for (size_t i = 0; i < h->source_count; i++) {
		const struct hook_source *from = &h->sources[i];

		if (way < from->first || way > from->last || strcmp(from->field, column) != 0)
			continue;
		s.value = from->value;
		s.number = from->number;
		name = from->name;
		break;
	}
	if (s.value >= HOOK_TID && s.value <= HOOK_PPID)
		s.from = ids[s.value - HOOK_TID];
	if (!name || s.from >= 0)
		return s;
	s.from = find_field(r, name);
	/* The result of a system call or a function */
	if (s.from < 0 && name == column && !strcmp(column, "return"))
		s.from = find_field(r, "ret");
	s.from += s.from < 0 ? 0 : (int32_t)r->stream->context_count;
	return s;
}

/* Whether the value is one that is not negative; *bytes: its size. False: none, or it may be. */
static bool is_unsigned(const struct lket_source *from, const struct md_type *t,
			unsigned int *bytes)
{
	*bytes = 8;
	switch (from->value) {
	case HOOK_BITS:
	case HOOK_MAJOR:
	case HOOK_MINOR:
	case HOOK_IP:
	case HOOK_PORT:
		return true;
	case HOOK_FIELD:
		*bytes = t->kind == MD_INT || t->kind == MD_ENUM ? md_int_size(t) : 8;
		return (t->kind == MD_INT || t->kind == MD_ENUM) && !t->is_signed;
	default:
		return false;
	}
}

/*
 * LKET's INT8 … INT64 are bytes without a sign. A column that an unsigned value of at least its
 * size fills is unsigned, or readers would show large values as negative ones.
 */
static void set_sign(struct lket_column *c, const struct lket_source *from, const struct row *r)
{
	unsigned int size = lket_type_size(c->type), bytes;
	const struct md_type *t;

	if (!size || from->from < 0)
		return;
	t = &row_field(r, (uint32_t)from->from)->type;
	if (!is_unsigned(from, t, &bytes))
		c->filled_signed = true;
	else if (bytes < size)
		return;
	c->type = types[c->filled_signed][__builtin_ctz(size)];
}

static void fill_system(struct lket_kind *k, struct lket_shape *s, bool *shown,
			const struct hook *h, int way, const struct row *r)
{
	for (uint32_t i = 0; h && i < k->system; i++) {
		s->from[i] = find_source(s, h, way, k->columns[i].name, r);
		set_sign(&k->columns[i], &s->from[i], r);
		s->count = i + 1;
		if (s->from[i].from >= 0 && s->from[i].value == HOOK_FIELD)
			shown[(uint32_t)s->from[i].from - r->stream->context_count] = true;
	}
}

/* The columns of contexts and of the other fields. False: no memory. */
static bool fill_user(struct lket_kind *k, struct lket_shape *s, const struct row *r)
{
	uint32_t contexts = r->stream->context_count, count = contexts + r->class->field_count;
	struct md_buf name = MD_BUF_INIT;
	bool good = true;

	for (uint32_t i = 0; i < count && good; i++) {
		const struct md_field *f = i < contexts ? &r->stream->context[i]
							: &r->class->fields[i - contexts];
		int32_t column;

		if ((int)i == s->tid || (int)i == s->pid || (int)i == s->ppid ||
		    (i >= contexts && s->shown[i - contexts]))
			continue;
		md_buf_reset(&name);
		md_buf_puts(&name, i < contexts ? "context." : "");
		md_name_put(f, &name);
		column = find_user_column(k, md_buf_str(&name), &f->type);
		good = column >= 0 && !name.failed;
		if (good) {
			s->from[column] = (struct lket_source){ (int32_t)i, HOOK_FIELD, 0 };
			s->count = (uint32_t)column >= s->count ? (uint32_t)column + 1 : s->count;
		}
	}
	md_buf_deinit(&name);
	return good;
}

int lket_find_context(const struct row *r, const char *kernel, const char *user)
{
	int i = row_find(r->stream->context, r->stream->context_count, kernel);

	return i >= 0 ? i : row_find(r->stream->context, r->stream->context_count, user);
}

/* What LKET calls a system call, as events of the kernel are named. */
static const char *short_name(const char *event)
{
	static const char *const begins[] = { "syscall_entry_", "syscall_exit_", "compat_" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(event, begins[i], strlen(begins[i])))
			event += strlen(begins[i]);
	return event;
}

const struct lket_shape *lket_shape_of(struct lket_kinds *all, const struct row *r, int *err)
{
	int way = 0;
	const struct hook *h = *r->state ? NULL : lket_find_hook(&all->hooks, r->class, &way);
	struct lket_kind *k = *r->state ? NULL : find_kind(all, h, r->class, err);
	uint32_t fields = r->class->field_count;
	struct lket_shape *s;
	bool *shown;
	size_t room;

	if (*r->state || !k)
		return *r->state;
	room = k->count + (size_t)r->stream->context_count + fields;
	s = malloc(sizeof(*s) + room * sizeof(s->from[0]) + fields);
	*err = -ENOMEM;
	if (!s)
		return NULL;
	shown = (bool *)&s->from[room];
	*s = (struct lket_shape){ .kind = k, .tid = lket_find_context(r, "tid", "vtid"),
				  .pid = lket_find_context(r, "pid", "vpid"),
				  .ppid = lket_find_context(r, "ppid", "vppid"),
				  .event = short_name(r->class->name), .shown = shown };
	memset(shown, 0, fields);
	for (size_t i = 0; i < room; i++)
		s->from[i] = (struct lket_source){ -1, HOOK_FIELD, 0 };
	fill_system(k, s, shown, h, way, r);
	if (!fill_user(k, s, r)) {
		free(s);
		return NULL;
	}
	*err = 0;
	return *r->state = s;
}

/* ---- values ---- */

/* The first decimal number in text; 0: none. */
static uint64_t number_in(const char *s, size_t n)
{
	uint64_t number = 0;
	size_t i = 0;

	while (i < n && (s[i] < '0' || s[i] > '9'))
		i++;
	for (; i < n && s[i] >= '0' && s[i] <= '9'; i++)
		number = 10 * number + (uint64_t)(s[i] - '0');
	return number;
}

/* The first 8 bytes after the family of a struct sockaddr_in, which may be a number. */
static bool read_address(const struct md_value *v, uint8_t bytes[8])
{
	uint64_t number, count;

	if (md_value_integer(v, &number)) {
		memcpy(bytes, &number, 8);
		return true;
	}
	if (!md_value_integers(v, &count) || count < 10 || md_value_element(v, 0) != AF_INET)
		return false;
	for (unsigned int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)md_value_element(v, i + 2);
	return true;
}

/* The same of text as 127.0.0.1:80. */
static bool parse_address(const char *s, size_t n, uint8_t bytes[8])
{
	char text[64], *colon;
	uint16_t port;

	n = n < sizeof(text) ? n : sizeof(text) - 1;
	memcpy(text, s, n);
	text[n] = '\0';
	colon = strrchr(text, ':');
	port = htons((uint16_t)(colon ? number_in(colon + 1, strlen(colon + 1)) : 0));
	memcpy(bytes, &port, 2);
	if (colon)
		*colon = '\0';
	return inet_pton(AF_INET, text, bytes + 2) == 1;
}

/* The IP as it is in memory, or the port; 0: the address is none of IPv4. */
static uint64_t address_of(const struct md_value *v, bool port)
{
	uint8_t bytes[8] = { 0 };
	const char *s;
	uint32_t ip;
	size_t n;

	if (md_value_string(v, &s, &n) ? !parse_address(s, n, bytes) : !read_address(v, bytes))
		return 0;
	memcpy(&ip, bytes + 2, sizeof(ip));
	return port ? (uint64_t)bytes[0] << 8 | bytes[1] : ip;
}

/* The number of a field with the number that is in *out. */
static void compute(const struct lket_source *from, const struct md_value *v,
		    struct lket_cell *out)
{
	switch (from->value) {
	case HOOK_NEGATIVE:
		out->number = 0 - out->number;
		break;
	case HOOK_BITS:
		out->number = (out->number & from->number) >> __builtin_ctzll(from->number);
		break;
	case HOOK_MAJOR:        /* as MAJOR of <linux/kdev_t.h> */
		out->number = (out->number & UINT32_MAX) >> 20;
		break;
	case HOOK_MINOR:
		out->number &= (1u << 20) - 1;
		break;
	default:
		out->value = v;
		break;
	}
}

bool lket_cell_of(const struct lket_shape *s, const struct row *r, uint32_t column,
		  struct lket_cell *out)
{
	const struct lket_source *from = column < s->count ? &s->from[column] : NULL;
	const struct md_value *v;
	bool is_text;

	*out = (struct lket_cell){ 0 };
	if (!from || r->torn)
		return false;
	is_text = s->kind->columns[column].type == type_string;
	if (from->value == HOOK_NUMBER) {
		out->number = from->number;
		return true;
	}
	if (from->value == HOOK_NAME) {
		out->text = is_text ? s->event : NULL;
		out->len = strlen(s->event);
		out->number = number_in(s->event, out->len);
		return true;
	}
	if (from->from < 0)
		return false;
	v = &r->context[from->from];
	if (from->value == HOOK_IP || from->value == HOOK_PORT) {
		out->number = address_of(v, from->value == HOOK_PORT);
		return true;
	}
	if (from->value == HOOK_FIELD && md_value_string(v, &out->text, &out->len)) {
		out->number = number_in(out->text, out->len);
		out->text = is_text ? out->text : NULL;
		out->value = is_text ? v : NULL;
		return true;
	}
	if (!md_value_integer(v, &out->number)) {
		out->value = v;
		return from->value == HOOK_FIELD && is_text;
	}
	compute(from, v, out);
	return true;
}
