// SPDX-License-Identifier: MIT
/* dl.c, and the drop-in, register the trace points. */
#define TRAIL__LIBRARY

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <threads.h>
#include <unistd.h>

#include "ustlib/preload/dump.h"

#define PROCNAME_SIZE 17

/*
 * Guards the list of what is loaded, and libtrail-dl.so's list of handles. (Not a pthread_mutex_t:
 * a helper beside this one would record it.)
 */
static mtx_t lock;
/*
 * set by a thread that wants a dump, before it tries the lock; tested after the lock was given back
 */
static bool dump_due;
static bool dumped;             /* in this process; guarded by the lock */
static bool ready;              /* there is a lock */
static void (*look_later)(void);        /* dump_init's; set before other threads call */
static bool without_objects, without_procname;  /* LTTng's environment variables; likewise */
static bool frozen, frozen_in_child;    /* the list is not renewed; guarded by the lock */

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

/* ---- events ---- */

void dump_build_id(struct trail__tp *tp, uintptr_t base, const struct elf_id *id, void *ip)
{
	unsigned char buffer[TRAIL__HEADROOM + 16 + ELF_BUILD_ID_MAX + TRAIL__SPARE] = { 0 };
	unsigned char *at = buffer + TRAIL__HEADROOM;
	uint64_t size = id->build_id_size;

	memcpy(at, &base, sizeof(base));
	memcpy(at + sizeof(base), &size, 8);
	memcpy(at + sizeof(base) + 8, id->build_id, size);
	trail__record_at(tp, at, sizeof(base) + 8 + size, 0, ip);
}

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

/*
 * Whether a session wants any trace point of this shared object: those here, and libtrail-dl.so's
 * own. Attaches, and so a dump may become due here.
 */
static bool is_wanted(void)
{
	bool wanted = false;

	for (struct trail__tp **tp = __start_trail_tps; tp < __stop_trail_tps; tp++)
		wanted |= *tp && TRAIL__IS_ON(**tp);
	return wanted;
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
	char name[PROCNAME_SIZE];
	void *ip = CALLER;

	POINT(ip, DEBUG_LINE, lttng_ust_statedump, start);
	if (!without_procname) {
		get_procname(name);
		POINT(ip, DEBUG_LINE, lttng_ust_statedump, procname,
		      TRAIL_TEXT_ARRAY(procname, name, PROCNAME_SIZE));
	}
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

void dump_take(struct held *h)
{
	hold(h);
	mtx_lock(&lock);
}

void dump_give_back(const struct held *h)
{
	mtx_unlock(&lock);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	dump_if_due();
	release(h);
}

void dump_renew(void *ip)
{
	bool first = !loaded;

	if (!without_objects && !frozen)
		loaded_renew(first ? NULL : came, first ? NULL : gone, ip);
}

void dump_look(void *ip)
{
	int saved = errno;
	struct held held;

	if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) && is_wanted()) {
		dump_take(&held);
		dump_renew(ip);
		dump_give_back(&held);
	}
	errno = saved;
}

/* Called by libtrail where a dump becomes due. */
static void dump(void)
{
	int saved = errno;
	struct held held;

	hold(&held);
	__atomic_store_n(&dump_due, true, __ATOMIC_SEQ_CST);
	if (look_later)
		look_later();
	else
		dump_if_due();
	release(&held);
	errno = saved;
}

/* ---- start and fork ---- */

static struct held fork_held;

/* Whether threads beside the caller, and the one that looks later, may be in the loader. */
static bool has_threads(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) || st.st_nlink > 2 + 2;
}

/*
 * A thread that is not in the child may hold the loader's locks there, for ever. So the list of a
 * child is then its parent's.
 */
static void before_fork(void)
{
	int saved = errno;
	struct held h;

	dump_take(&h);
	if (look_later && has_threads()) {
		if (!loaded)
			dump_renew(NULL);
		frozen_in_child = true;
	}
	fork_held = h;
	errno = saved;
}

static void after_fork(void)
{
	struct held h = fork_held;

	frozen_in_child = false;
	mtx_unlock(&lock);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	/* The list may be old. */
	if (!look_later)
		dump_if_due();
	else if (__atomic_load_n(&dump_due, __ATOMIC_SEQ_CST))
		look_later();
	release(&h);
}

static void in_child(void)
{
	struct held h = fork_held;
	int saved = errno;
	bool wanted, late;

	__atomic_store_n(&dump_due, false, __ATOMIC_RELAXED);
	frozen |= frozen_in_child;
	dumped = false;
	mtx_unlock(&lock);
	/* Attaching may dump. */
	wanted = is_wanted();
	mtx_lock(&lock);
	late = look_later && !loaded;
	if (wanted && !dumped)
		__atomic_store_n(&dump_due, true, __ATOMIC_SEQ_CST);
	mtx_unlock(&lock);
	if (late)
		look_later();
	else
		dump_if_due();
	errno = saved;
	release(&h);
}

bool dump_init(void (*later)(void))
{
	look_later = later;
	without_objects = secure_getenv("LTTNG_UST_WITHOUT_BADDR_STATEDUMP") != NULL;
	without_procname = secure_getenv("LTTNG_UST_WITHOUT_PROCNAME_STATEDUMP") != NULL;
	if (mtx_init(&lock, mtx_plain) != thrd_success)
		return false;
	pthread_atfork(before_fork, after_fork, in_child);
	/* Pairs with the acquire in dump_look. */
	__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	return true;
}

/*
 * Each process dumps once what is loaded. Attaching may have made a dump due before: when the
 * trace points were registered, or now, in is_wanted().
 */
void dump_start(void)
{
	int saved = errno;
	struct held held;

	trail__on_statedump(dump);
	if (is_wanted()) {
		dump_take(&held);
		if (look_later)
			dump_renew(NULL);
		if (!dumped)
			__atomic_store_n(&dump_due, true, __ATOMIC_SEQ_CST);
		dump_give_back(&held);
	}
	errno = saved;
}
