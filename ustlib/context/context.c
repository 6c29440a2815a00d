// SPDX-License-Identifier: MIT
/*
 * Contexts: fields that a channel adds to each event, before its payload. Filters may use them,
 * too.
 *
 * Values that cost a system call are cached per thread until context_changed(): after fork, setuid
 * and related calls, setns, unshare, prctl(PR_SET_NAME) (interpose.c sees these calls). The
 * generation in the thread's cache is compared with the process's. Everything here may run in a
 * signal handler; a handler that interrupts a fetch of the same thread fetches the same thing.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ustlib/context/context.h"
#include "tracer/abi/filter_interp.h"

#define COMM_SIZE 17
#define IDS 6
#define NAMESPACES 8

bool context_may_block;
/*
 * A page of its own, which the kernel fills with zeros in every child that does not share our
 * memory, whichever system call made it. The cached values then have another generation and are
 * fetched again. Written by context_init and context_changed.
 */
struct context_page context_page __attribute__((aligned(sizeof(struct context_page))));
/* the newest of this process and of those that it was forked from */
static uint32_t last_generation;
__thread struct context_block context_block;

/* ---- the cache ---- */

/* Rarely used values: a page per thread, from the first use until the thread ends. */
struct more {
	uint32_t have;                  /* a bit per id and namespace */
	uint32_t ids[IDS];
	uint64_t namespaces[NAMESPACES];
	struct counters counters;
};

struct cache {
	uint32_t generation;            /* of the process when the rest was fetched; 0: never */
	int32_t vtid;
	char procname[COMM_SIZE + 3];
	bool has_procname;
	struct more *more;
};

static __thread struct cache cache __attribute__((tls_model("initial-exec")));
static pthread_key_t more_key;
static bool has_key;

void context_changed(void)
{
	/*
	 * Pairs with the load in fresh(): a hit that begins after the call that changed a value
	 * fetches it again.
	 */
	__atomic_store_n(&context_page.generation,
			 __atomic_add_fetch(&last_generation, 1, __ATOMIC_SEQ_CST),
			 __ATOMIC_SEQ_CST);
}

static struct cache *fresh(void)
{
	uint32_t now = __atomic_load_n(&context_page.generation, __ATOMIC_ACQUIRE);

	if (unlikely(cache.generation != now) && !library_sealed) {
		cache.vtid = 0;
		cache.has_procname = false;
		if (cache.more)
			cache.more->have = 0;
		cache.generation = now;
	}
	return &cache;
}

static void drop_more(void *p)
{
	struct more *m = p;

	if (library_sealed)
		return;
	counters_close(&m->counters);
	cache.more = NULL;
	munmap(m, sizeof(*m));
}

static __attribute__((noinline)) struct more *map_more(void)
{
	struct more *m =
		mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		return NULL;
	cache.more = m;
	if (has_key)
		pthread_setspecific(more_key, m);
	return m;
}

/* NULL: no memory for them. May change errno. */
static inline __attribute__((always_inline)) struct more *more(void)
{
	struct more *m = fresh()->more;

	return m || library_sealed ? m : map_more();
}

void context_init(void)
{
	const char *ours = secure_getenv("TRAIL_ALLOW_BLOCKING"),
		   *theirs = secure_getenv("LTTNG_UST_ALLOW_BLOCKING");

	context_may_block = ours || theirs;
	context_changed();
#ifdef MADV_WIPEONFORK
	/*
	 * Linux 4.14; without, a child that neither fork(3) nor clone(2) of libc made has its
	 * parent's identifiers.
	 */
	madvise(&context_page, sizeof(context_page), MADV_WIPEONFORK);
#endif
	has_key = pthread_key_create(&more_key, drop_more) == 0;
}

void context_forked(void)
{
	struct more *m = cache.more;

	context_changed();
	otel_process_forked();
	__atomic_store_n(&context_page.vpid, 0, __ATOMIC_RELAXED);
	/*
	 * The counters are of the parent's thread. Those of its other threads are not known here;
	 * exec closes them.
	 */
	if (m)
		counters_close(&m->counters);
}

/* ---- the values ---- */

static int32_t get_vpid(void)
{
	int32_t pid = __atomic_load_n(&context_page.vpid, __ATOMIC_RELAXED);

	if (unlikely(!pid) && !library_sealed) {
		pid = (int32_t)syscall(SYS_getpid);
		__atomic_store_n(&context_page.vpid, pid, __ATOMIC_RELAXED);
	}
	return pid;
}

static int32_t get_vtid(void)
{
	struct cache *c = fresh();

	if (unlikely(!c->vtid) && !library_sealed)
		c->vtid = (int32_t)syscall(SYS_gettid);
	return c->vtid;
}

/* TASK_COMM_LEN bytes with their NUL, and one more. */
static const char *get_procname(void)
{
	struct cache *c = fresh();
	char name[COMM_SIZE] = "";

	if (unlikely(!c->has_procname) && !library_sealed) {
		int saved = errno;

		syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
		memset(name + strnlen(name, COMM_SIZE - 1), 0,
		       COMM_SIZE - strnlen(name, COMM_SIZE - 1));
		memcpy(c->procname, name, COMM_SIZE);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		c->has_procname = true;
		errno = saved;
	}
	return c->procname;
}

#ifndef SYS_getresuid32         /* the older calls of processors of 32 bits have numbers of 16 */
#define SYS_getresuid32 SYS_getresuid
#define SYS_getresgid32 SYS_getresgid
#endif

static uint32_t ask_id(uint32_t kind)
{
	uid_t u[3] = { 0 };
	gid_t g[3] = { 0 };

	if (kind <= TRAIL_CONTEXT_VSUID) {
		syscall(SYS_getresuid32, &u[0], &u[1], &u[2]);
		return u[kind - TRAIL_CONTEXT_VUID];
	}
	syscall(SYS_getresgid32, &g[0], &g[1], &g[2]);
	return g[kind - TRAIL_CONTEXT_VGID];
}

static uint32_t get_id(uint32_t kind)
{
	/* getresuid and getresgid do not fail with valid addresses, but more() may. */
	int saved = errno;
	struct more *m = more();
	uint32_t i = kind - TRAIL_CONTEXT_VUID;

	errno = saved;
	if (!m)
		return library_sealed ? 0 : ask_id(kind);
	if (!(m->have & 1u << i) && !library_sealed) {
		m->ids[i] = ask_id(kind);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		m->have |= 1u << i;
	}
	return m->ids[i];
}

static uint64_t ask_namespace(uint32_t i)
{
	static const char names[NAMESPACES][8] = { "cgroup", "ipc",  "mnt",  "net",
						   "pid",    "time", "user", "uts" };
	char path[40] = "/proc/thread-self/ns/";
	struct stat st;

	strcat(path, names[i]);
	if (stat(path, &st) < 0)
		st.st_ino = 0;
	return st.st_ino;
}

static uint64_t get_namespace(uint32_t kind)
{
	int saved = errno;
	struct more *m = more();
	uint32_t i = kind - TRAIL_CONTEXT_CGROUP_NS;
	uint64_t inode;

	if (m && (library_sealed || m->have & 1u << (IDS + i)))
		return m->namespaces[i];
	inode = library_sealed ? 0 : ask_namespace(i);
	if (m) {
		m->namespaces[i] = inode;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		m->have |= 1u << (IDS + i);
	}
	errno = saved;
	return inode;
}

int (*plugin_getcpu)(void);

/* An event that the plug-in itself records has the CPU. False: there is no plug-in, or that. */
static bool ask_plugin(int32_t *cpu)
{
	static __thread bool asks __attribute__((tls_model("initial-exec")));
	int (*plugin)(void) = __atomic_load_n(&plugin_getcpu, __ATOMIC_RELAXED), saved = errno;

	if (!plugin || asks)
		return false;
	asks = true;
	*cpu = plugin();
	asks = false;
	errno = saved;
	return true;
}

static int32_t get_cpu(void)
{
	unsigned int cpu = 0;
	int32_t number;

	if (ask_plugin(&number))
		return number;
	if (rseq_usable && __atomic_load_n(&rseq_real()->cpu_id, __ATOMIC_RELAXED) < 65536)
		return (int32_t)__atomic_load_n(&rseq_real()->cpu_id, __ATOMIC_RELAXED);
	if (!library_sealed)
		syscall(SYS_getcpu, &cpu, NULL, NULL);
	return (int32_t)cpu;
}

static uint64_t get_counter(uint32_t type, uint64_t config)
{
	int saved = errno;
	struct more *m = more();

	errno = saved;
	return m ? counters_read(&m->counters, type, config) : 0;
}

/* ---- writing ---- */

static const uint8_t sizes[TRAIL_CONTEXT_KINDS] = {
#define CONTEXT(kind, name, shape, bytes) [TRAIL_CONTEXT_##kind] = bytes,
#include "tracer/abi/contexts.def"
	[TRAIL_CONTEXT_PERF] = 8,
};

static const bool is_signed[TRAIL_CONTEXT_KINDS] = {
#define SIGNED true
#define UNSIGNED false
#define TEXT false
#define CONTEXT(kind, name, shape, bytes) [TRAIL_CONTEXT_##kind] = shape,
#include "tracer/abi/contexts.def"
#undef SIGNED
#undef UNSIGNED
#undef TEXT
};

uint32_t context_size(uint32_t kind)
{
	if (kind == TRAIL_CONTEXT_APP)
		return UINT32_MAX;
	return kind < TRAIL_CONTEXT_KINDS ? sizes[kind] : 0;
}

static uint64_t number(uint32_t kind, uint32_t type, uint64_t config, const void *ip)
{
	switch (kind) {
	case TRAIL_CONTEXT_VPID:
		return (uint32_t)get_vpid();
	case TRAIL_CONTEXT_VTID:
		return (uint32_t)get_vtid();
	case TRAIL_CONTEXT_PTHREAD_ID:
		return (uint64_t)(uintptr_t)pthread_self();
	case TRAIL_CONTEXT_IP:
		return (uintptr_t)ip;
	case TRAIL_CONTEXT_CPU_ID:
		return (uint32_t)get_cpu();
	case TRAIL_CONTEXT_PERF:
		return get_counter(type, config);
	default:
		if (kind >= TRAIL_CONTEXT_CGROUP_NS && kind <= TRAIL_CONTEXT_UTS_NS)
			return get_namespace(kind);
		if (kind >= TRAIL_CONTEXT_VUID && kind <= TRAIL_CONTEXT_VSGID)
			return get_id(kind);
		return 0;
	}
}

/* The common contexts, inline. */
static inline __attribute__((always_inline)) bool put_common(uint32_t kind, uint8_t *at,
							     const void *ip)
{
	int32_t n;
	uint64_t v;

	switch (kind) {
	case TRAIL_CONTEXT_VPID:
		n = get_vpid();
		memcpy(at, &n, 4);
		return true;
	case TRAIL_CONTEXT_VTID:
		n = get_vtid();
		memcpy(at, &n, 4);
		return true;
	case TRAIL_CONTEXT_PROCNAME:
		memcpy(at, get_procname(), COMM_SIZE);
		return true;
	case TRAIL_CONTEXT_IP:
		v = (uintptr_t)ip;
		memcpy(at, &v, 8);
		return true;
	default:
		return false;
	}
}

static size_t put_other(const struct placed_context *c, uint8_t *at, size_t room, const void *ip)
{
	uint64_t value;

	if (c->kind == TRAIL_CONTEXT_APP)
		return app_context_put(c->index, at, room);
	value = number(c->kind, c->index, c->config, ip);
	if (context_size(c->kind) == 4) {
		memcpy(at, &(uint32_t){ (uint32_t)value }, 4);
		return 4;
	}
	memcpy(at, &value, 8);
	return 8;
}

size_t context_put(const struct slot_extra *x, uint8_t *at, size_t room, const void *ip)
{
	uint32_t count = __atomic_load_n(&x->context_count, __ATOMIC_RELAXED);
	const struct placed_context *list = (const struct placed_context *)x->data;
	size_t used = 0, n;

	if (count > TRAIL_CONTEXT_MAX || count * sizeof(*list) > x->capacity)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		/* A copy: the list may change under us, see struct slot_extra. */
		struct placed_context c = *(const volatile struct placed_context *)&list[i];

		n = c.kind < TRAIL_CONTEXT_KINDS ? sizes[c.kind] : 0;
		if (likely(n && n <= room - used && put_common(c.kind, at + used, ip))) {
			used += n;
			continue;
		}
		n = context_size(c.kind);
		if (!n || (n != UINT32_MAX && room - used < n))
			return 0;
		n = put_other(&c, at + used, room - used, ip);
		if (!n)
			return 0;
		used += n;
	}
	return used;
}

bool context_is_steady(uint32_t kind)
{
	return kind && kind < TRAIL_CONTEXT_KINDS && kind != TRAIL_CONTEXT_IP &&
	       kind != TRAIL_CONTEXT_CPU_ID && kind != TRAIL_CONTEXT_PERF &&
	       kind != TRAIL_CONTEXT_APP;
}

bool context_refill(const struct slot_extra *x, const void *ip)
{
	struct context_block *b = &context_block;
	uint32_t size = __atomic_load_n(&x->context_size, __ATOMIC_RELAXED);
	/*
	 * Read before the values: if they change while they are fetched, the block has an old
	 * generation.
	 */
	uint32_t generation = __atomic_load_n(&context_page.generation, __ATOMIC_ACQUIRE);
	uint64_t id = __atomic_load_n(&x->steady, __ATOMIC_RELAXED);

	if (size > sizeof(b->bytes))
		return false;
	__atomic_store_n(&b->id, 0, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (context_put(x, b->bytes + sizeof(b->bytes) - size, size, ip) != size)
		return false;
	b->generation = generation;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&b->id, id, __ATOMIC_RELAXED);
	return true;
}

/* ---- for filters ---- */

bool context_value(void *ip, uint32_t kind, const char *name, struct filter_value *out)
{
	uint64_t value, config;
	uint32_t type, unused;

	if (!context_size(kind))
		return false;
	switch (kind) {
	case TRAIL_CONTEXT_PROCNAME:
		*out = (struct filter_value){ .type = FILTER_STRING,
					      .s = get_procname(),
					      .len = strlen(get_procname()) };
		return true;
	case TRAIL_CONTEXT_APP:
		return name && app_context_filter_value(name, out);
	case TRAIL_CONTEXT_PERF:
		if (!name || !counter_numbers(name, &type, &config))
			return false;
		*out = (struct filter_value){ .type = FILTER_UNSIGNED,
					      .u = get_counter(type, config) };
		return true;
	default:
		value = number(kind, 0, 0, ip);
		unused = 64 - 8 * context_size(kind);
		if (is_signed[kind])
			*out = (struct filter_value){ .type = FILTER_SIGNED,
						      .i = (int64_t)(value << unused) >> unused };
		else
			*out = (struct filter_value){ .type = FILTER_UNSIGNED, .u = value };
		return true;
	}
}

void context_fetch(void)
{
	struct more *m = more();

	get_vpid();
	get_vtid();
	get_procname();
	for (uint32_t k = TRAIL_CONTEXT_VUID; m && k <= TRAIL_CONTEXT_VSGID; k++)
		get_id(k);
	for (uint32_t k = TRAIL_CONTEXT_CGROUP_NS; m && k <= TRAIL_CONTEXT_UTS_NS; k++)
		get_namespace(k);
	otel_process_fetch();
}
