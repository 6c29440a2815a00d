// SPDX-License-Identifier: MIT
/*
 * Registration: one file per loaded object (tracer/abi/app.h), written from the object's
 * constructor, gone with its destructor or with the process. No thread, no connection, no wait; if
 * there is no file, the object is not traced.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ustlib/lib.h"
#include "ustlib/plugin.h"
#include "ustlib/statedump.h"
#include "trail/site.h"

#define MEMBARRIER_REGISTER_RSEQ (1 << 8)

#define DIR_SIZE 100
static char apps_dir[LANES][DIR_SIZE];  /* where a file may go, in order; "" for none */

static void before_fork(void) { objects_lock(); }
static void after_fork(void) { objects_unlock(); }
static uid_t first_euid;

static void set_apps_dirs(void)
{
	size_t n = 0;

	snprintf(apps_dir[n++], DIR_SIZE, "%s/apps", runtime_dir[TRAIL_LANE_ROOT]);
	if (strcmp(runtime_dir[TRAIL_LANE_ROOT], runtime_dir[TRAIL_LANE_USER]) != 0)
		snprintf(apps_dir[n++], DIR_SIZE, "%s/apps", runtime_dir[TRAIL_LANE_USER]);
}

static void init_once(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	environment_set_dirs();
	set_apps_dirs();
	environment_read();
	thread_init();
#ifdef SYS_membarrier
	/*
	 * For reclaiming mappings (slots.c). Cheap now, while there is one thread. Failure:
	 * nothing is reclaimed.
	 */
	syscall(SYS_membarrier, MEMBARRIER_REGISTER_RSEQ, 0, 0);
#endif
	first_euid = geteuid();
	pthread_atfork(before_fork, after_fork, register_forked);
	context_init();
	if (interpose_init)
		interpose_init();
	if (plugin_load)
		plugin_load();
}

static void random_name(uint8_t name[16])
{
	struct timespec ts;
	uint64_t mix[2];
	static uint64_t count;

	if (getrandom(name, 16, GRND_NONBLOCK) == 16)
		return;
	thread_now(&ts);
	mix[0] = (uint64_t)ts.tv_nsec * 0x9e3779b97f4a7c15u + (uint64_t)getpid();
	mix[1] = (uint64_t)ts.tv_sec * 0xbf58476d1ce4e5b9u + ++count + (uintptr_t)&ts;
	memcpy(name, mix, 16);
}

static void hex(const uint8_t name[16], char out[33])
{
	for (int i = 0; i < 16; i++) {
		out[2 * i] = "0123456789abcdef"[name[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[name[i] & 15];
	}
	out[32] = 0;
}

/* A user's own directories, when there is no system-wide one: the daemon may come later. */
static void make_apps_dir(const char *dir)
{
	char parent[DIR_SIZE];

	strcpy(parent, dir);
	*strrchr(parent, '/') = 0;
	mkdir(parent, 0700);
	mkdir(dir, 0700);
}

/*
 * As write(2), but a limit on the size of files (RLIMIT_FSIZE) is an error alone. The signal that
 * comes with it would end the program; signals are blocked here, so it is pending and can be taken,
 * unless it was before.
 */
static ssize_t write_file(int fd, const void *data, size_t size)
{
	const struct timespec now = { 0 };
	sigset_t pending, limit;
	ssize_t n;

	sigpending(&pending);
	n = write(fd, data, size);
	if (n < 0 && errno == EFBIG && !sigismember(&pending, SIGXFSZ)) {
		sigemptyset(&limit);
		sigaddset(&limit, SIGXFSZ);
		sigtimedwait(&limit, NULL, &now);
		errno = EFBIG;
	}
	return n;
}

/* Creates, locks and fills the file under a hidden name, maps it (at `at`), and renames it. */
static uint8_t *publish(const char *dir, struct object *o, const void *data, size_t size, void *at)
{
	char hidden[DIR_SIZE + 40], path[DIR_SIZE + 40], name[33];
	uint8_t *map;
	int fd;

	random_name(o->name);
	hex(o->name, name);
	snprintf(hidden, sizeof(hidden), "%s/.%s", dir, name);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(hidden, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return NULL;
	map = MAP_FAILED;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && write_file(fd, data, size) == (ssize_t)size)
		map = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd,
			   0);
	if (map == MAP_FAILED || rename(hidden, path) < 0) {
		unlink(hidden);
		if (map != MAP_FAILED && !at)
			munmap(map, size);
		map = map != MAP_FAILED && at ? map : NULL;
	}
	if (map)
		file_lock_keep(&o->lock, fd);
	else
		close(fd);
	return map;
}

static void unlink_file(const struct object *o)
{
	char path[DIR_SIZE + 40], name[33];

	hex(o->name, name);
	for (unsigned int i = 0; i < LANES && apps_dir[i][0]; i++) {
		snprintf(path, sizeof(path), "%.99s/%s", apps_dir[i], name);
		if (unlink(path) == 0)
			break;
	}
}

/*
 * The lanes whose daemon has an active session, a bit for each: they are asked at once. apart: only
 * those with a session that knows processes apart.
 */
static unsigned int active_lanes(bool apart)
{
	char path[DIR_SIZE];
	unsigned int lanes = 0;
	struct stat st;

	/* The lane is that of the file's owner: a private directory serves either daemon. */
	for (unsigned int i = 0; i < LANES; i++) {
		snprintf(path, sizeof(path), "%.91s/active", runtime_dir[i]);
		if (stat(path, &st) || (apart && !st.st_size))
			continue;
		if (is_of_root(st.st_uid))
			lanes |= 1u << TRAIL_LANE_ROOT;
		else if (st.st_uid == geteuid())
			lanes |= 1u << TRAIL_LANE_USER;
	}
	return lanes;
}

static struct object *unused;           /* for a library that comes and goes all the time */

static struct object *object_alloc(size_t entries)
{
	struct object **p = &unused, *o;

	while (*p && (*p)->capacity < entries)
		p = &(*p)->next;
	o = *p;
	if (!o)
		return arena_alloc(sizeof(*o));
	*p = o->next;
	*o = (struct object){ .tps = o->tps,
			      .capacity = o->capacity,
			      .asked = o->asked,
			      .placed = { o->placed[0], o->placed[1] } };
	for (unsigned int lane = 0; lane < LANES; lane++)
		if (o->placed[lane])
			memset(o->placed[lane], 0, (o->capacity + 63) / 64 * sizeof(uint64_t));
	return o;
}

/* The trace points of the object, each once: an inlined call site has several entries. */
static bool collect(struct object *o)
{
	size_t n = (size_t)(o->end - o->begin);

	if (n > TRAIL_EVENT_MAX)
		n = TRAIL_EVENT_MAX;
	if (o->capacity < n) {
		o->tps = arena_alloc(n * sizeof(*o->tps));
		o->capacity = o->tps ? (uint32_t)n : 0;
		memset(o->placed, 0, sizeof(o->placed));
		o->asked = NULL;
	}
	if (!o->tps)
		return false;
	for (size_t i = 0; i < n; i++) {
		struct trail__tp *tp = o->begin[i];

		if (!tp || tp->object || !event_is_known(tp->event))
			continue;
		tp->object = o;
		o->tps[o->event_count++] = tp;
	}
	return o->event_count > 0;
}

static void publish_object(struct object *o, const void *within, unsigned int lanes)
{
	Dl_info info;
	const char *path = dladdr(within, &info) && info.dli_fname ? info.dli_fname : "";
	size_t mapped;
	struct trail_reg *reg = describe_object(o, path, &mapped);

	if (!reg)
		return;
	words_fill((uint32_t *)((uint8_t *)reg + reg->state_offset), o->event_count, lanes);
	o->unknown = (uint8_t)lanes;
	o->size = reg->size;
	for (unsigned int i = 0; i < LANES && apps_dir[i][0] && !o->map; i++) {
		o->map = publish(apps_dir[i], o, reg, o->size, NULL);
		if (!o->map && errno == ENOENT && i == TRAIL_LANE_USER) {
			make_apps_dir(apps_dir[i]);
			o->map = publish(apps_dir[i], o, reg, o->size, NULL);
		}
	}
	for (uint32_t i = 0; o->map && i < o->event_count; i++) {
		struct trail__tp *tp = o->tps[i];

		tp->missed = (unsigned long long *)(o->map + reg->missed_offset) + i;
		__atomic_store_n(&tp->state, (const unsigned int *)(o->map + reg->state_offset) + i,
				 __ATOMIC_RELEASE);
	}
	debug_print("%s: %u tracepoints, %s%s", *path ? path : "defined at run time",
		    o->event_count, o->map ? "registered" : "not registered: ",
		    o->map ? "" : strerror(errno));
	munmap(reg, mapped);
}

TRAIL_EXPORT void trail__register_within(struct trail__tp *const *begin,
					 struct trail__tp *const *end, const void *within)
{
	struct object *o;
	unsigned int lanes;
	int saved = errno;
	bool dump = false;

	if (begin == end || library_sealed)
		return;
	init_once();
	objects_lock();
	for (o = objects; o && o->begin != begin; o = o->next)
		;
	if (!o && (o = object_alloc((size_t)(end - begin)))) {
		o->begin = begin;
		o->end = end;
		lanes = active_lanes(false);
		if (collect(o))
			publish_object(o, within, lanes);
		o->next = objects;
		objects = o;
		/* A session that starts meanwhile may have seen no file of the object. */
		dump = attach_object(o, lanes | active_lanes(false));
	}
	objects_unlock();
	if (dump)
		statedump_early();
	errno = saved;
}

TRAIL_EXPORT void trail__register(struct trail__tp *const *begin, struct trail__tp *const *end)
{
	trail__register_within(begin, end, begin);
}

/* The daemon writes state words with pwrite(2). */
TRAIL_EXPORT int trail__watch_words(int inotify)
{
	char path[DIR_SIZE + 40], name[33];
	bool all = true;
	int wd;

	objects_lock();
	for (struct object *o = objects; o; o = o->next) {
		hex(o->name, name);
		wd = -1;
		for (unsigned int i = 0; o->map && wd < 0 && i < LANES && apps_dir[i][0]; i++) {
			snprintf(path, sizeof(path), "%.99s/%s", apps_dir[i], name);
			wd = inotify_add_watch(inotify, path, IN_MODIFY | IN_ATTRIB);
		}
		all = all && (!o->map || wd >= 0);
	}
	objects_unlock();
	return all;
}

/*
 * The object's memory goes, and a later fork(2) must not look at its tracepoints. No system call,
 * so no lock: the list of a sealed process does not change.
 */
static void forget_sealed(struct trail__tp *const *begin)
{
	for (struct object *o = objects; o; o = o->next)
		if (o->begin == begin)
			o->event_count = 0;
}

TRAIL_EXPORT void trail__unregister(struct trail__tp *const *begin, struct trail__tp *const *end)
{
	struct object **p, *o;
	int saved = errno;
	bool settled;

	if (begin == end)
		return;
	if (library_sealed) {
		forget_sealed(begin);
		return;
	}
	objects_lock();
	for (p = &objects; *p && (*p)->begin != begin; p = &(*p)->next)
		;
	o = *p;
	if (o) {
		settled = attach_last(o);
		for (uint32_t i = 0; i < o->event_count; i++) {
			struct trail__tp *tp = o->tps[i];

			__atomic_store_n(&tp->state, &tp->off, __ATOMIC_RELEASE);
			__atomic_store_n(&tp->missed, NULL, __ATOMIC_RELAXED);
			tp->object = NULL;
		}
		if (o->map) {
			if (settled)
				unlink_file(o);
			if (o->keep_map)        /* address space, no memory */
				mmap(o->map, o->size, PROT_READ,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
			else
				munmap(o->map, o->size);
			file_lock_drop(&o->lock);
		}
		*p = o->next;
		o->next = unused;
		unused = o;
	}
	objects_unlock();
	errno = saved;
}

/*
 * Fresh files at the same addresses, so that no trace point notices, but for those that will ask
 * the lanes of this mask. inherit: where there can be none, as after chroot(2), the file of the
 * parent process, which both then keep locked.
 */
static void renew(bool inherit, unsigned int lanes)
{
	for (struct object *o = objects; o; o = o->next) {
		uint8_t *copy, *map = NULL, name[sizeof(o->name)];
		uint32_t state;

		if (!o->map)
			continue;
		memcpy(name, o->name, sizeof(name));
		copy = mmap(NULL, o->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
		if (copy != MAP_FAILED) {
			memcpy(copy, o->map, o->size);
			state = ((struct trail_reg *)copy)->state_offset;
			((struct trail_reg *)copy)->pid = (uint32_t)getpid();
			/* What was missed before is for the old file to account for. */
			memset(copy + ((struct trail_reg *)copy)->missed_offset, 0,
			       o->event_count * 8);
			words_fill((uint32_t *)(void *)(copy + state), o->event_count, lanes);
			for (unsigned int i = 0; i < LANES && apps_dir[i][0] && !map; i++)
				map = publish(apps_dir[i], o, copy, o->size, o->map);
			munmap(copy, o->size);
		}
		if (map) {
			o->unknown |= (uint8_t)lanes;
			continue;
		}
		if (inherit) {
			memcpy(o->name, name, sizeof(name));
			continue;
		}
		/* Private words, because others' must not be shared: untraced from now on. */
		mmap(o->map, o->size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		file_lock_drop(&o->lock);
	}
}

/* A forked child is an application of its own. */
void register_forked(void)
{
	/* The parent's places, and its values of contexts, are not the child's. */
	unsigned int lanes = library_sealed ? 0 : active_lanes(true);
	bool dump;

	/*
	 * In a sandbox the calls of renew() may kill. A sealed process could not follow the words
	 * of a new file either, so its child keeps the words and the places of its parent.
	 */
	if (!library_sealed)
		renew(true, lanes);
	objects_forked();
	thread_forked();
	thread_rings_forked();
	context_forked();
	dump = attach_forked(lanes);
	sites_forked();
	objects_unlock();
	if (dump)
		trail__statedump_run();
}

static uid_t registered = (uid_t)-1;    /* as whom; -1: first_euid */

/*
 * After setuid(2) and its like: the file would still be the old user's, who would be told what
 * another user's process does. The old file goes with its mapping. Where to record is asked again.
 */
void register_identity_now(void)
{
	uid_t euid = geteuid();
	bool changed = euid != (registered == (uid_t)-1 ? first_euid : registered);

	registered = euid;
	if (!changed || library_sealed)
		return;
	for (struct object *o = objects; o; o = o->next)
		if (o->map)
			unlink_file(o);
	environment_set_dirs();
	set_apps_dirs();
	renew(false, 0);
	attach_anew();
}

TRAIL_EXPORT void trail__identity_changed(void)
{
	int saved = errno;

	context_changed();
	objects_lock();
	register_identity_now();
	objects_unlock();
	errno = saved;
}
