// SPDX-License-Identifier: MIT
/*
 * libtrail-libc.so: lttng_ust_libc:{malloc, free, calloc, realloc, memalign, posix_memalign}.
 *
 * The loader and libc call these functions before any constructor has run, and dlsym(3) itself may
 * allocate: what the thread that looks the functions up allocates meanwhile comes from a small
 * static arena, and is never freed. Nothing here waits or takes a lock. What is allocated inside of
 * one that is traced, by another allocator or by the tracer, is not an event. While no session
 * wants the event, a function costs a test more, and a jump.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "ustlib/preload/point.h"

EXPORT void *memalign(size_t alignment, size_t size);

static void *(*real_malloc)(size_t);
static void (*real_free)(void *);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void *(*real_memalign)(size_t, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);

/* of these functions in this thread: only the outermost is an event */
static THREAD_LOCAL unsigned int nesting;
static THREAD_LOCAL bool looking;               /* this thread is within look_up() */

/* ---- the arena ---- */

static _Alignas(16) unsigned char arena[16384];
static size_t arena_used;       /* only grows; by compare and exchange */

static bool in_arena(const void *p)
{
	return (uintptr_t)p - (uintptr_t)arena < sizeof(arena);
}

/* A block has its size before it, and is zero: none is used twice. */
static void *arena_get(size_t size, size_t alignment)
{
	size_t used = __atomic_load_n(&arena_used, __ATOMIC_RELAXED), at;

	if (alignment < 16)
		alignment = 16;
	if (alignment > sizeof(arena) || alignment & (alignment - 1))
		goto none;
	do {
		at = ((uintptr_t)arena + used + sizeof(size_t) + alignment - 1) / alignment *
			     alignment -
		     (uintptr_t)arena;
		if (at > sizeof(arena) || size > sizeof(arena) - at)
			goto none;
	} while (!__atomic_compare_exchange_n(&arena_used, &used, at + size, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	memcpy(arena + at - sizeof(size), &size, sizeof(size));
	return arena + at;
none:
	errno = ENOMEM;
	return NULL;
}

static size_t arena_size(const void *p)
{
	size_t size;

	memcpy(&size, (const unsigned char *)p - sizeof(size), sizeof(size));
	return size;
}

/* ---- the functions themselves ---- */

/*
 * False: we come from here, use the arena. All are found before one is used: what this thread
 * allocates meanwhile is given back to the arena too.
 */
static __attribute__((noinline, cold)) bool look_up(void)
{
	static const char *const names[] = { "free",   "realloc",  "malloc",
					     "calloc", "memalign", "posix_memalign" };
	void *found[sizeof(names) / sizeof(names[0])];

	if (looking)
		return false;
	looking = true;
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		found[i] = dlsym(RTLD_NEXT, names[i]);
	SET(free, found[0]);
	SET(realloc, found[1]);
	SET(malloc, found[2]);
	SET(calloc, found[3]);
	SET(memalign, found[4]);
	SET(posix_memalign, found[5]);
	looking = false;
	return true;
}

static __attribute__((constructor(101))) void early(void)
{
	look_up();
}

static void *do_malloc(size_t size)
{
	if (unlikely(!REAL(malloc)) && (!look_up() || !REAL(malloc)))
		return arena_get(size, 16);
	return REAL(malloc)(size);
}

static void do_free(void *p)
{
	if (unlikely(in_arena(p)))
		return;
	if (unlikely(!REAL(free)) && (!look_up() || !REAL(free)))
		return;
	REAL(free)(p);
}

static void *do_calloc(size_t n, size_t size)
{
	size_t total;

	if (likely(REAL(calloc) != NULL) || (look_up() && REAL(calloc)))
		return REAL(calloc)(n, size);
	return arena_get(__builtin_mul_overflow(n, size, &total) ? SIZE_MAX : total, 16);
}

static void *do_realloc(void *p, size_t size)
{
	size_t old;
	void *new;

	if (unlikely(!REAL(realloc)))
		look_up();
	if (likely(!in_arena(p)) && likely(REAL(realloc) != NULL))
		return REAL(realloc)(p, size);
	if (p && !in_arena(p)) {
		errno = ENOMEM;
		return NULL;
	}
	new = do_malloc(size);
	old = p ? arena_size(p) : 0;
	if (new && old)
		memcpy(new, p, old < size ? old : size);
	return new;
}

static void *do_memalign(size_t alignment, size_t size)
{
	if (unlikely(!REAL(memalign)) && (!look_up() || !REAL(memalign)))
		return arena_get(size, alignment);
	return REAL(memalign)(alignment, size);
}

static int do_posix_memalign(void **out, size_t alignment, size_t size)
{
	int saved = errno;
	void *p;

	if (likely(REAL(posix_memalign) != NULL) || (look_up() && REAL(posix_memalign)))
		return REAL(posix_memalign)(out, alignment, size);
	if (alignment < sizeof(void *) || alignment & (alignment - 1))
		return EINVAL;
	p = arena_get(size, alignment);
	errno = saved;
	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

/* ---- interposed ---- */

#define EVENT(function, ...) \
	static const struct trail__field function##_fields[] = { __VA_ARGS__, { 0, 0, 0, 0 } }; \
	POINT_DECLARE(function##_tp, TRAIL__LEVEL_DEBUG_LINE, "lttng_ust_libc", #function, \
		function##_fields)

EVENT(malloc, POINT_FIELD(size, size_t), POINT_FIELD(ptr, void *));
EVENT(free, POINT_FIELD(ptr, void *));
EVENT(calloc, POINT_FIELD(nmemb, size_t), POINT_FIELD(size, size_t), POINT_FIELD(ptr, void *));
EVENT(realloc, POINT_FIELD(in_ptr, void *), POINT_FIELD(size, size_t), POINT_FIELD(ptr, void *));
EVENT(memalign, POINT_FIELD(alignment, size_t), POINT_FIELD(size, size_t),
      POINT_FIELD(ptr, void *));
EVENT(posix_memalign, POINT_FIELD(out_ptr, void *), POINT_FIELD(alignment, size_t),
      POINT_FIELD(size, size_t), POINT_FIELD(result, int));

/* Of the outermost call, as the fields say. errno is the function's. */
#define HIT(ip, function, ...) \
	do { \
		if (likely(nesting == 1) && TRAIL__IS_ON(function##_tp)) { \
			int saved = errno; \
			POINT_HIT(&function##_tp, ip, function, __VA_ARGS__) \
			errno = saved; \
		} \
	} while (0)

#define PLAIN(function) (POINT_OFF(function##_tp) && likely(REAL(function) != NULL))
#define TRACED static __attribute__((noinline))

TRACED void *traced_malloc(size_t size, void *ip)
{
	void *ptr;

	nesting++;
	ptr = do_malloc(size);
	HIT(ip, malloc, size, ptr);
	nesting--;
	return ptr;
}

EXPORT void *malloc(size_t size)
{
	return PLAIN(malloc) ? REAL(malloc)(size) : traced_malloc(size, CALLER);
}

TRACED void traced_free(void *ptr, void *ip)
{
	nesting++;
	HIT(ip, free, ptr);
	do_free(ptr);
	nesting--;
}

EXPORT void free(void *ptr)
{
	if (PLAIN(free) && likely(!in_arena(ptr)))
		REAL(free)(ptr);
	else
		traced_free(ptr, CALLER);
}

TRACED void *traced_calloc(size_t nmemb, size_t size, void *ip)
{
	void *ptr;

	nesting++;
	ptr = do_calloc(nmemb, size);
	HIT(ip, calloc, nmemb, size, ptr);
	nesting--;
	return ptr;
}

EXPORT void *calloc(size_t nmemb, size_t size)
{
	return PLAIN(calloc) ? REAL(calloc)(nmemb, size) : traced_calloc(nmemb, size, CALLER);
}

TRACED void *traced_realloc(void *in, size_t size, void *ip)
{
	uintptr_t was = (uintptr_t)in;  /* by then no longer a pointer */
	void *ptr;

	nesting++;
	ptr = do_realloc(in, size);
	HIT(ip, realloc, was, size, ptr);
	nesting--;
	return ptr;
}

EXPORT void *realloc(void *in, size_t size)
{
	return PLAIN(realloc) && likely(!in_arena(in)) ? REAL(realloc)(in, size)
						       : traced_realloc(in, size, CALLER);
}

TRACED void *traced_memalign(size_t alignment, size_t size, void *ip)
{
	void *ptr;

	nesting++;
	ptr = do_memalign(alignment, size);
	HIT(ip, memalign, alignment, size, ptr);
	nesting--;
	return ptr;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	return PLAIN(memalign) ? REAL(memalign)(alignment, size)
			       : traced_memalign(alignment, size, CALLER);
}

TRACED int traced_posix_memalign(void **memptr, size_t alignment, size_t size, void *ip)
{
	int result;

	nesting++;
	result = do_posix_memalign(memptr, alignment, size);
	HIT(ip, posix_memalign, *memptr, alignment, size, result);
	nesting--;
	return result;
}

EXPORT int posix_memalign(void **memptr, size_t alignment, size_t size)
{
	return PLAIN(posix_memalign) ? REAL(posix_memalign)(memptr, alignment, size) :
	       traced_posix_memalign(memptr, alignment, size, CALLER);
}
