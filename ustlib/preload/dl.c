// SPDX-License-Identifier: MIT
/*
 * libtrail-dl.so: lttng_ust_dl:{dlopen, dlmopen, dlclose, build_id, debug_link}, what these calls
 * loaded and unloaded, and state dumps: dump.h.
 */
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ustlib/preload/dump.h"
#include "ustlib/preload/runpath.h"

static bool ready;              /* the constructor has run */

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
	dump_take(&held);
	map = map_of(handle);
	if (map) {
		opened_add(handle, map->l_addr);
		opened_library(map, ns, flags, ip);
	}
	dump_renew(ip);
	dump_give_back(&held);
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
	dump_take(&held);
	o = opened_find(handle);
	if (o)
		POINT(ip, DEBUG_LINE, lttng_ust_dl, dlclose, TRAIL_FIELD(baddr, (void *)o->base));
	dump_give_back(&held);
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

/* The drop-in (ustlib/drop-in/) leaves all of this to the helper, if it finds this function. */
EXPORT void trail__dl_update(void *ip);
EXPORT void trail__dl_update(void *ip)
{
	after_open(NULL, NULL, 0, ip);
}

static __attribute__((constructor)) void start(void)
{
	struct held held;

	look_up();
	if (!dump_init(NULL))
		return;
	dump_take(&held);
	dump_renew(NULL);
	dump_give_back(&held);
	__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	dump_start();
}
