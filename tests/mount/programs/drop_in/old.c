/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * old: what the headers of LTTng-UST 2.1 to 2.12 (soname 0) make of a provider `old` with the
 * events old:all and old:none, and of a call site of each, written out by hand. old COUNT hits
 * them, calls tracef and tracelog, and prints how often a probe went on to write to a ring, which
 * it must not.
 */
#include <dlfcn.h>
#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct probe {
	void (*func)(void);
	void *data;
};
struct site {
	const char *name;
	int state;
	struct probe *probes;
	int *ref;
	const char *signature;
	char pad[16];
};
struct integer {
	unsigned size;
	unsigned short align;
	unsigned is_signed : 1, reverse : 1;
	unsigned base;
	int encoding;
	char pad[24];
};
struct value {
	unsigned long long v;
	unsigned is_signed : 1;
};
struct entry {
	struct value start, end;
	const char *string;
	char pad[16];
};
struct enumeration {
	const char *name;
	const struct entry *entries;
	unsigned n;
	char pad[24];
};
union basic {
	struct integer integer;
	struct {
		const struct enumeration *desc;
		struct integer container;
	} e;
	struct {
		unsigned exp, mant;
		unsigned short align;
		unsigned reverse : 1;
		char pad[24];
	} f;
	char pad[128];
};
struct simple {
	int atype;
	union basic u;
};
struct type {
	int atype;
	union {
		union basic basic;
		struct {
			struct simple elem;
			unsigned length;
		} array;
		struct {
			struct simple length, elem;
		} sequence;
		char pad[128];
	} u;
};
struct field {
	const char *name;
	struct type type;
	unsigned nowrite;
	char pad[28];
};
struct event_desc {
	const char *name;
	void (*probe)(void);
	void *ctx;
	const struct field *fields;
	unsigned n;
	const int **level;
	const char *signature;
	char pad[40];
};
struct provider {
	const char *name;
	const struct event_desc **events;
	unsigned n;
	void *heads[4];
	int lazy;
	uint32_t major, minor;
	char pad[12];
};
struct list {
	struct list *next, *prev;
};
struct runtime {
	void *bc;
	uint64_t (*filter)(void *, const char *);
	int failed;
	struct list node;
};
struct session {
	int active;
};
struct ops {
	void *a, *b, *c, *d;
	int (*reserve)(void *, uint32_t);
};
struct channel {
	void *chan;
	int enabled;
	void *ctx;
	struct session *session;
	int objd;
	unsigned x, y;
	struct list node;
	struct ops *ops;
};
struct event {
	unsigned id;
	struct channel *chan;
	int enabled;
	const void *desc;
	void *d1;
	void *ctx;
	int kind;
	struct list node, d2;
	void *d3;
	unsigned d4 : 1;
	struct list runtimes;
	int without;
};

#define SIGNED(type, b, enc)                                                                       \
	{ sizeof(type) * 8, _Alignof(type) * 8, 1, 0, b, enc, "" }
#define UNSIGNED(type, b, enc)                                                                     \
	{ sizeof(type) * 8, _Alignof(type) * 8, 0, 0, b, enc, "" }

static const struct entry colours[] = {{{0, 1}, {0, 1}, "red", ""}, {{1, 1}, {9, 1}, "green", ""}};
static const struct enumeration colour = {"colour", colours, 2, ""};
static const struct field fields[] = {
    {"i", {0, {.basic.integer = SIGNED(int, 10, 0)}}, 0, ""},
    {"hex", {0, {.basic.integer = UNSIGNED(uint64_t, 16, 0)}}, 0, ""},
    {"net", {0, {.basic.integer = {16, 16, 0, 1, 10, 0, ""}}}, 0, ""},
    {"hidden", {0, {.basic.integer = SIGNED(int, 10, 0)}}, 1, ""},
    {"d", {5, {.basic.f = {11, 53, 64, 0, ""}}}, 0, ""},
    {"s", {4, {.basic.pad = ""}}, 0, ""},
    {"c", {1, {.basic.e = {&colour, SIGNED(int, 10, 0)}}}, 0, ""},
    {"text", {2, {.array = {{0, {.integer = SIGNED(char, 10, 1)}}, 4}}}, 0, ""},
    {"seq",
     {3,
      {.sequence = {{0, {.integer = UNSIGNED(uint8_t, 10, 0)}},
		    {0, {.integer = SIGNED(short, 10, 0)}}}}},
     0,
     ""},
};
static int wrote;

static int ask(struct event *e, const char *stack) {
	int record = e->without;

	if (!e->chan->session->active || !e->chan->enabled || !e->enabled)
		return 0;
	for (struct list *l = e->runtimes.next; l != &e->runtimes; l = l->next) {
		struct runtime *r =
		    (struct runtime *)((char *)l - __builtin_offsetof(struct runtime, node));

		record |= (int)(r->filter(r, stack) & 1);
	}
	if (e->runtimes.next != &e->runtimes && !record)
		return 0;
	wrote += e->chan->ops->reserve(NULL, e->id) >= 0;
	return 1;
}

static char *put(char *at, uint64_t v) {
	memcpy(at, &v, 8);
	return at + 8;
}

static void probe_all(void *data, int i) {
	static const short elements[] = {1, -2, 3};
	char stack[16 * 9], *at = stack;
	double d = i + 0.5;

	at = put(at, (uint64_t)(int64_t)i);
	at = put(at, UINT64_C(0xabcdef0123456789));
	at = put(at, 0x1234);
	at = put(at, (uint64_t)(int64_t)(i * 2));
	memcpy(at, &d, 8);
	at = put(at + 8, (uintptr_t) "a string");
	at = put(at, i & 7);
	at = put(put(at, 4), (uintptr_t) "abcd");
	put(put(at, 3), (uintptr_t)elements);
	ask(data, stack);
}

static void probe_none(void *data) {
	char stack[8];
	ask(data, stack);
}

static const int warning = 4, *level = &warning, *no_level;
static const struct event_desc all = {
    "old:all", (void (*)(void))probe_all, NULL, fields, 9, &level, "int, i", ""};
static const struct event_desc none = {
    "old:none", (void (*)(void))probe_none, NULL, fields, 0, &no_level, "void", ""};
static const struct event_desc *events[] = {&all, &none, NULL};
static struct provider provider = {.name = "old", .events = events, .n = 2, .major = 1};
static struct site site_all = {"old:all", 0, NULL, NULL, "int, i", ""},
		   site_none = {"old:none", 0, NULL, NULL, "void", ""};
static struct site *const sites[] = {&site_all, &site_none};

int main(int argc, char **argv) {
	void *t = dlopen("liblttng-ust-tracepoint.so.0", RTLD_NOW | RTLD_GLOBAL);
	void *u = dlopen("liblttng-ust.so.0", RTLD_NOW | RTLD_GLOBAL);
	void (*lock)(void), (*unlock)(void), *(*dereference)(void *);
	struct site *f, *l;

	if (!t || !u)
		return fprintf(stderr, "old: %s\n", dlerror()), 1;
	lock = (void (*)(void))dlsym(t, "tp_rcu_read_lock_bp");
	unlock = (void (*)(void))dlsym(t, "tp_rcu_read_unlock_bp");
	dereference = (void *(*)(void *))dlsym(t, "tp_rcu_dereference_sym_bp");
	f = dlsym(u, "__tracepoint_lttng_ust_tracef___event");
	l = dlsym(u, "__tracepoint_lttng_ust_tracelog___TRACE_WARNING");
	((int (*)(struct site *const *, int))dlsym(t, "tracepoint_register_lib"))(sites, 2);
	if (((int (*)(struct provider *))dlsym(u, "lttng_probe_register"))(&provider))
		return 1;
	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 1); i++)
		for (int s = 0; s < 2; s++) {
			if (!sites[s]->state)
				continue;
			lock();
			for (struct probe *p = dereference(sites[s]->probes); p && p->func; p++)
				if (s)
					((void (*)(void *))p->func)(p->data);
				else
					((void (*)(void *, int))p->func)(p->data, i);
			unlock();
		}
	if (f->state)
		((void (*)(const char *, ...))dlsym(u, "_lttng_ust_tracef"))("%d words", 2);
	if (l->state)
		((void (*)(const char *, int, const char *, const char *, ...))dlsym(
		    u, "_lttng_ust_tracelog_TRACE_WARNING"))("old.c", 7, "main", "of %s", "old");
	((void (*)(struct provider *))dlsym(u, "lttng_probe_unregister"))(&provider);
	((int (*)(struct site *const *))dlsym(t, "tracepoint_unregister_lib"))(sites);
	printf("%d %d %d\n", wrote, site_all.state, site_none.state);
	return 0;
}
