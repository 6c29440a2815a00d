// SPDX-License-Identifier: MIT
/*
 * libtrail-dl.so: lttng_ust_dl:{dlopen, dlmopen, dlclose, build_id, debug_link}, what these calls
 * loaded and unloaded as lttng_ust_lib:{load, build_id, debug_link, unload}, and state dumps,
 * lttng_ust_statedump:*.
 *
 * A state dump may be due anywhere, so it never waits for the lock: it leaves a mark for the thread
 * that has it.
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <threads.h>
#include <unistd.h>

#include "ustlib/preload/loaded.h"
#include "ustlib/preload/point.h"
#include "ustlib/preload/runpath.h"

#define PROCNAME_SIZE 17

/*
 * Guards the list of what is loaded, and `opened`; held with signals blocked and cancellation off.
 * What is called within takes of the loader's locks only that of its list, which no thread holds
 * while code like this runs. (Not a pthread_mutex_t: a helper beside this one would tell of it.)
 */
static mtx_t lock;
/*
 * set by a thread that wants a dump, before it tries the lock; tested after the lock was given back
 */
static bool dump_due;
static bool dumped;             /* in this process */
static bool ready;              /* the constructor has run */

struct held {
	sigset_t mask;
	int cancel;
};

static void hold(struct held *h)
{
	sigset_t all;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &h->cancel);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &h->mask);
}

static void release(const struct held *h)
{
	pthread_sigmask(SIG_SETMASK, &h->mask, NULL);
	pthread_setcancelstate(h->cancel, NULL);
}

/* ---- events that several providers have ---- */

#define BUILD_ID_FIELDS { \
	{ "baddr", TRAIL__CODE((void *)0), 0, 0 }, \
	/* with a length of 8 bytes, as LTTng has it */ \
	{ "build_id", TRAIL__CODE_OF(TRAIL__SEQUENCE_OF, TRAIL__HEX, 1) | 8u << 24, 0, 0 }, \
	{ 0, 0, 0, 0 } }

static void record_build_id(struct trail__tp *tp, uintptr_t base, const struct elf_id *id, void *ip)
{
	unsigned char buffer[TRAIL__HEADROOM + 16 + ELF_BUILD_ID_MAX + TRAIL__SPARE] = { 0 };
	unsigned char *at = buffer + TRAIL__HEADROOM;
	uint64_t size = id->build_id_size;

	memcpy(at, &base, sizeof(base));
	memcpy(at + sizeof(base), &size, 8);
	memcpy(at + sizeof(base) + 8, id->build_id, size);
	trail__record_at(tp, at, sizeof(base) + 8 + size, 0, ip);
}

#define BUILD_ID(ip, provider, base, id) \
	do { \
		static const struct trail__field fields[] = BUILD_ID_FIELDS; \
		POINT_TP(TRAIL__LEVEL_DEBUG_LINE, #provider, "build_id", fields); \
		if ((id)->build_id_size && TRAIL__IS_ON(point_tp)) \
			record_build_id(&point_tp, base, id, ip); \
	} while (0)

/* The file of something that is loaded, read when the first event wants to know. */
struct file_of {
	const char *path;       /* null: there is none */
	bool read;
	struct elf_file file;
};

static const struct elf_file *file_of(struct file_of *f)
{
	if (!f->read && (!f->path || !elf_file(&f->file, f->path)))
		memset(&f->file, 0, sizeof(f->file));
	f->read = true;
	return &f->file;
}

#define DEBUG_LINK_FIELDS { \
	{ "baddr", TRAIL__CODE((void *)0), 0, 0 }, \
	{ "crc", TRAIL__CODE((uint32_t)0), 0, 0 }, \
	{ "filename", TRAIL__CODE((const char *)0), 0, 0 }, \
	{ 0, 0, 0, 0 } }

#define DEBUG_LINK(ip, provider, base, f) \
	do { \
		static const struct trail__field fields[] = DEBUG_LINK_FIELDS; \
		POINT_TP(TRAIL__LEVEL_DEBUG_LINE, #provider, "debug_link", fields); \
		if (TRAIL__IS_ON(point_tp) && file_of(f)->debug_link[0]) { \
			POINT_HIT(&point_tp, ip, debug_link, (void *)(base), (f)->file.crc, \
				(const char *)(f)->file.debug_link) \
		} \
	} while (0)

/* As LTTng has it, nothing is known of what has no file. */
static const struct elf_id *id_of(const struct loaded *l)
{
	static const struct elf_id nothing;

	return l->is_vdso ? &nothing : &l->id;
}

static void came(const struct loaded *l, void *ip)
{
	struct file_of f = { .path = l->is_vdso ? NULL : l->path };
	const struct elf_id *id = id_of(l);

	POINT(ip, DEBUG_LINE, lttng_ust_lib, load, TRAIL_FIELD(baddr, (void *)l->base),
	      TRAIL_FIELD(memsz, id->memsz), TRAIL_FIELD(path, (const char *)l->path),
	      TRAIL_FIELD(has_build_id, (uint8_t)(id->build_id_size > 0)),
	      TRAIL_FIELD(has_debug_link, (uint8_t)(file_of(&f)->debug_link[0] != 0)));
	BUILD_ID(ip, lttng_ust_lib, l->base, id);
	DEBUG_LINK(ip, lttng_ust_lib, l->base, &f);
}

static void gone(const struct loaded *l, void *ip)
{
	POINT(ip, DEBUG_LINE, lttng_ust_lib, unload, TRAIL_FIELD(baddr, (void *)l->base));
}

/* ---- state dumps ---- */

static struct trail__tp *start_point(void)
{
	static const struct trail__field fields[] = { { 0, 0, 0, 0 } };
	POINT_TP(TRAIL__LEVEL_DEBUG_LINE, "lttng_ust_statedump", "start", fields);

	return &point_tp;
}

static void get_procname(char name[PROCNAME_SIZE])
{
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, name, PROCNAME_SIZE - 1);

	if (fd >= 0)
		close(fd);
	if (n > 0 && name[n - 1] == '\n')
		n--;
	memset(name + (n > 0 ? n : 0), 0, PROCNAME_SIZE - (n > 0 ? (size_t)n : 0));
	if (n <= 0)
		prctl(PR_GET_NAME, name);       /* the thread's */
}

static void dump_object(const struct loaded *l, void *ip)
{
	struct file_of f = { .path = l->is_vdso ? NULL : l->path };
	const struct elf_id *id = id_of(l);

	POINT(ip, DEBUG_LINE, lttng_ust_statedump, bin_info, TRAIL_FIELD(baddr, (void *)l->base),
	      TRAIL_FIELD(memsz, id->memsz), TRAIL_FIELD(path, (const char *)l->path),
	      TRAIL_FIELD(is_pic, (uint8_t)file_of(&f)->is_pic),
	      TRAIL_FIELD(has_build_id, (uint8_t)(id->build_id_size > 0)),
	      TRAIL_FIELD(has_debug_link, (uint8_t)(file_of(&f)->debug_link[0] != 0)));
	BUILD_ID(ip, lttng_ust_statedump, l->base, id);
	DEBUG_LINK(ip, lttng_ust_statedump, l->base, &f);
}

static void dump_all(void)
{
	struct trail__tp *start = start_point();
	char name[PROCNAME_SIZE];
	void *ip = CALLER;

	if (TRAIL__IS_ON(*start)) {
		POINT_HIT(start, ip, start)
	}
	get_procname(name);
	POINT(ip, DEBUG_LINE, lttng_ust_statedump, procname,
	      TRAIL_TEXT_ARRAY(procname, name, PROCNAME_SIZE));
	for (const struct loaded *l = loaded; l; l = l->next)
		dump_object(l, ip);
	POINT(ip, DEBUG_LINE, lttng_ust_statedump, end);
	dumped = true;
}

/*
 * Each of the two that want the lock and that have it sees the other's mark, or that it is free:
 * all sequentially consistent.
 */
static void dump_if_due(void)
{
	while (__atomic_load_n(&dump_due, __ATOMIC_SEQ_CST) && mtx_trylock(&lock) == thrd_success) {
		if (__atomic_exchange_n(&dump_due, false, __ATOMIC_SEQ_CST))
			dump_all();
		mtx_unlock(&lock);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	}
}

static void take(struct held *h)
{
	hold(h);
	mtx_lock(&lock);
}

static void give_back(const struct held *h)
{
	mtx_unlock(&lock);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	dump_if_due();
	release(h);
}

static void dump(void)
{
	int saved = errno;
	struct held held;

	hold(&held);
	__atomic_store_n(&dump_due, true, __ATOMIC_SEQ_CST);
	dump_if_due();
	release(&held);
	errno = saved;
}

/* ---- dlopen and dlclose ---- */

static void *(*real_dlopen)(const char *, int);
static void *(*real_dlmopen)(Lmid_t, const char *, int);
static int (*real_dlclose)(void *);

/*
 * Where what a handle stands for is: dlinfo(3) of a handle that is none would crash, and dlclose(3)
 * must not.
 */
static struct opened {
	void *handle;
	uintptr_t base;
} *opened;
static size_t opened_count, opened_room;

static struct opened *opened_find(const void *handle)
{
	for (size_t i = 0; i < opened_count; i++)
		if (opened[i].handle == handle)
			return &opened[i];
	return NULL;
}

static void opened_add(void *handle, uintptr_t base)
{
	struct opened *o = opened_find(handle);

	if (!o && opened_count == opened_room) {
		size_t room = opened_room ? 2 * opened_room : 4096 / sizeof(*o);

		o = opened ? mremap(opened, opened_room * sizeof(*o), room * sizeof(*o),
				    MREMAP_MAYMOVE)
			   : mmap(NULL, room * sizeof(*o), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (o == MAP_FAILED)
			return;
		opened = o;
		opened_room = room;
		o = NULL;
	}
	if (!o)
		o = &opened[opened_count++];
	*o = (struct opened){ handle, base };
}

/* As LTTng: nothing of what is loaded at 0, as are programs that are not position independent. */
static struct link_map *map_of(void *handle)
{
	struct link_map *map = NULL;

	if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_addr ||
	    !map->l_name)
		return NULL;
	return map;
}

static void opened_library(const struct link_map *map, const Lmid_t *ns, int flags, void *ip)
{
	void *baddr = (void *)map->l_addr;
	char path[PATH_MAX];
	struct file_of f = { .path = path };
	const struct elf_id *id = &f.file.id;

	/* The program itself has no name: as with LTTng, only its closing is an event. */
	if (!*map->l_name || !realpath(map->l_name, path))
		return;
	if (ns)
		POINT(ip, DEBUG_LINE, lttng_ust_dl, dlmopen, baddr,
		      TRAIL_FIELD(memsz, file_of(&f)->id.memsz), TRAIL_FIELD(nsid, *ns),
		      TRAIL_HEX(flags, flags), TRAIL_FIELD(path, (const char *)path),
		      TRAIL_FIELD(has_build_id, (uint8_t)(id->build_id_size > 0)),
		      TRAIL_FIELD(has_debug_link, (uint8_t)(f.file.debug_link[0] != 0)));
	else
		POINT(ip, DEBUG_LINE, lttng_ust_dl, dlopen, baddr,
		      TRAIL_FIELD(memsz, file_of(&f)->id.memsz), TRAIL_HEX(flags, flags),
		      TRAIL_FIELD(path, (const char *)path),
		      TRAIL_FIELD(has_build_id, (uint8_t)(id->build_id_size > 0)),
		      TRAIL_FIELD(has_debug_link, (uint8_t)(f.file.debug_link[0] != 0)));
	BUILD_ID(ip, lttng_ust_dl, map->l_addr, &file_of(&f)->id);
	DEBUG_LINK(ip, lttng_ust_dl, map->l_addr, &f);
}

static void after_open(void *handle, const Lmid_t *ns, int flags, void *ip)
{
	int saved = errno;
	struct link_map *map;
	struct held held;

	if (!__atomic_load_n(&ready, __ATOMIC_RELAXED))
		return;
	take(&held);
	map = map_of(handle);
	if (map) {
		opened_add(handle, map->l_addr);
		opened_library(map, ns, flags, ip);
	}
	loaded_renew(came, gone, ip);
	give_back(&held);
	errno = saved;
}

static void look_up(void)
{
	FIND(dlopen);
	FIND(dlmopen);
	FIND(dlclose);
}

/* With ns null: dlopen. */
static void *open_in(const Lmid_t *ns, const char *path, int flags)
{
	if (ns)
		return REAL(dlmopen) ? REAL(dlmopen)(*ns, path, flags) : NULL;
	return REAL(dlopen) ? REAL(dlopen)(path, flags) : NULL;
}

/* What is loaded already goes by its name, before any directory is looked into. */
static void *open_library(const Lmid_t *ns, const char *name, int flags, void *ip)
{
	int saved = errno;
	void *handle = NULL;
	char path[PATH_MAX];
	bool found;

	if (!REAL(dlopen))
		look_up();
	found = runpath_find(ip, name, path);
	errno = saved;
	if (found && (!ns || *ns != LM_ID_NEWLM))
		handle = open_in(ns, name, flags | RTLD_NOLOAD);
	return handle ? handle : open_in(ns, found ? path : name, flags);
}

EXPORT void *dlopen(const char *path, int flags)
{
	void *handle = open_library(NULL, path, flags, CALLER);

	after_open(handle, NULL, flags, CALLER);
	return handle;
}

EXPORT void *dlmopen(Lmid_t ns, const char *path, int flags)
{
	void *handle = open_library(&ns, path, flags, CALLER);

	after_open(handle, &ns, flags, CALLER);
	return handle;
}

static void before_close(const void *handle, void *ip)
{
	const struct opened *o;
	struct held held;

	if (!__atomic_load_n(&ready, __ATOMIC_RELAXED))
		return;
	take(&held);
	o = opened_find(handle);
	if (o)
		POINT(ip, DEBUG_LINE, lttng_ust_dl, dlclose, TRAIL_FIELD(baddr, (void *)o->base));
	give_back(&held);
}

EXPORT int dlclose(void *handle)
{
	int saved = errno, result = -1;

	if (!REAL(dlclose))
		look_up();
	before_close(handle, CALLER);
	errno = saved;
	if (REAL(dlclose))
		result = REAL(dlclose)(handle);
	after_open(NULL, NULL, 0, CALLER);
	return result;
}

/* ---- start and fork ---- */

static bool dump_wanted(void)
{
	struct trail__tp *start = start_point();

	return TRAIL__IS_ON(*start);
}

/*
 * Each process dumps once what is loaded. Attaching may have done it before: when the constructor
 * registered dump(), or now, in dump_wanted().
 */
static void dump_at_start(void)
{
	int saved = errno;

	if (dump_wanted() && !dumped)
		dump();
	errno = saved;
}

static struct held fork_held;

static void before_fork(void)
{
	struct held h;

	take(&h);
	fork_held = h;
}

static void after_fork(void)
{
	struct held h = fork_held;

	give_back(&h);
}

static void in_child(void)
{
	struct held h = fork_held;

	__atomic_store_n(&dump_due, false, __ATOMIC_RELAXED);
	mtx_unlock(&lock);
	dumped = false;
	dump_at_start();
	release(&h);
}

static __attribute__((constructor)) void start(void)
{
	struct held held;

	look_up();
	if (mtx_init(&lock, mtx_plain) != thrd_success)
		return;
	take(&held);
	loaded_renew(NULL, NULL, NULL);
	give_back(&held);
	pthread_atfork(before_fork, after_fork, in_child);
	__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	trail__on_statedump(dump);
	dump_at_start();
}
