// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls for trail.ko: see module_syscalls.h. */
#include "tracer/kernel/backend/module_syscalls.h"
#include "tracer/kernel/backend/event_probe.h"
#include "tracer/base/array.h"
#include "tracer/base/probe/event_field.h"
#include "tracer/kernel/kevent/kevent.h"
#include "tracer/kernel/kevent/lttng_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define UNKNOWN "unknown"
/* Ids of events for which the kernel has no id. The kernel's own ids are smaller. */
#define ID_BASE 0xf000u
#define ID_OTHERS (ID_BASE + 4 * MODABI_CALLS)

struct named {
	char *name;
	uint32_t nr;
};

struct modcalls {
	struct named *native;
	size_t native_count;
	char *names;                    /* the storage of compat */
	/* names by number; NULL: no such call, or its arguments are unknown */
	const char *compat[MODABI_CALLS];
	uint64_t known[2][MODABI_CALLS / 64];   /* [compat]: which numbers have a name */
};

static const struct {
	const char *name, *arguments;
} prototypes[] = {
#define PROTOTYPE(name, arguments) { name, arguments },
#include "tracer/kernel/backend/compat_syscalls.def"
#undef PROTOTYPE
};

/* ---- arguments of a call ---- */

/* An argument of a system call; other fields of its record are left out. */
static void add_argument(struct modcall *c, const struct event_field *f)
{
	/* The kernel's own record has words of its size, which follow a number of four bytes. */
	size_t size = f->size == 4 ? 4 : 8, first = size == 4 ? 12 : MODCALL_FIXED_AT;
	struct modcall_argument *a;

	if (c->count >= MODCALL_ARGUMENTS || f->offset != first + size * c->count ||
	    f->size != size)
		return;
	a = &c->arguments[c->count++];
	snprintf(a->name, sizeof(a->name), "%s", f->name);
	snprintf(a->type, sizeof(a->type), "%s", f->type);
	/* The upper half of a 32-bit program's register is zero, also for a negative number. */
	if (c->compat && kname_integer(a->type) && kname_integer(a->type)->is_signed &&
	    kname_integer(a->type)->size == 8)
		strcpy(a->type, "int");
}

static int read_native(const struct backend *b, struct modcall *c, const char *name, size_t len)
{
	struct md_buf text = MD_BUF_INIT;
	struct event_field f;
	char event[160];
	const char *p;
	int ret;

	if ((size_t)snprintf(event, sizeof(event), "sys_enter_%.*s", (int)len, name) >=
	    sizeof(event))
		return -ENAMETOOLONG;
	ret = tracefs_read_format(b, MODCALL_SYSTEM, event, &text);
	for (p = md_buf_str(&text); !ret && (p = event_field_next(p, &f));)
		add_argument(c, &f);
	md_buf_deinit(&text);
	return ret;
}

static bool parse_prototype(struct modcall *c)
{
	const char *p = NULL;
	size_t n;

	for (size_t i = 0; i < sizeof(prototypes) / sizeof(prototypes[0]) && !p; i++)
		if (!strcmp(prototypes[i].name, c->name))
			p = prototypes[i].arguments;
	if (!p)
		return false;
	for (; *p && c->count < MODCALL_ARGUMENTS; p += n, p += *p == ',') {
		struct modcall_argument *a = &c->arguments[c->count++];
		const char *type = *p == 's'   ? "const char *"
				   : *p == 'p' ? "void *"
				   : *p == 'u' ? "unsigned int"
				   : *p == 'w' ? "old_uid_t"
					       : "int";

		n = strcspn(p, ",");
		snprintf(a->type, sizeof(a->type), "%s", type);
		snprintf(a->name, sizeof(a->name), "%.*s", (int)n - 2, p + 2);
	}
	return true;
}

/*
 * Finds the 64-bit call whose arguments are like those of a 32-bit call: it has the same name,
 * except for a suffix that tells the size of what pointers lead to. Returns the length of the name.
 */
static size_t find_similar(const struct modcalls *all, const char *compat)
{
	static const char *const ends[] = { "", "_time64", "64" };
	size_t n = strlen(compat), m;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		m = strlen(ends[i]);
		if (m >= n || strcmp(compat + n - m, ends[i]) != 0)
			continue;
		for (size_t k = 0; k < all->native_count; k++)
			if (!strncmp(all->native[k].name, compat, n - m) &&
			    !all->native[k].name[n - m])
				return n - m;
	}
	return 0;
}

static int find_arguments(const struct backend *b, struct modcall *c)
{
	size_t len = strlen(c->name);

	if (c->exit || c->nr == MODABI_OTHERS || (c->compat && parse_prototype(c)))
		return 0;
	if (c->compat)
		len = find_similar(b->calls, c->name);
	return read_native(b, c, c->name, len);
}

/* ---- the list of calls ---- */

static bool is_known(const uint64_t *known, uint32_t nr)
{
	return known[nr / 64] >> nr % 64 & 1;
}

static void set_known(uint64_t *known, uint32_t nr)
{
	known[nr / 64] |= UINT64_C(1) << nr % 64;
}

static void add_native(struct modcalls *c, int device, const char *line, size_t len)
{
	struct modabi_number m = { .reserved = 0 };

	if (len >= sizeof(m.name))
		return;
	memcpy(m.name, line, len);
	if (ioctl(device, MODABI_NUMBER, &m) || m.nr >= MODABI_CALLS || is_known(c->known[0], m.nr))
		return;
	if (!array_room(c->native, c->native_count + 1))
		return;
	c->native[c->native_count] = (struct named){ strdup(m.name + strlen("sys_enter_")), m.nr };
	if (c->native[c->native_count].name) {
		set_known(c->known[0], m.nr);
		c->native_count++;
	}
}

#ifdef __x86_64__
static void add_compat(struct modcalls *c)
{
	static const char names[] =
#define COMPAT_NAMES(...) __VA_ARGS__
#include "tracer/kernel/backend/compat_syscalls.def"
#undef COMPAT_NAMES
		;
	char *save = NULL, *name = c->names = strdup(names);
	struct modcall call;

	if (!name)
		return;
	name = strtok_r(name, " ", &save);
	for (uint32_t nr = 0; name && nr < MODABI_CALLS; nr++, name = strtok_r(NULL, " ", &save)) {
		call = (struct modcall){ .name = name };
		if (*name == '-' || (!parse_prototype(&call) && !find_similar(c, name)))
			continue;
		c->compat[nr] = name;
		set_known(c->known[1], nr);
	}
}
#else
static void add_compat(struct modcalls *c)
{
	(void)c;
}
#endif

struct modcalls *modcalls_create(const struct backend *b)
{
	static const char begins[] = MODCALL_SYSTEM ":sys_enter_";
	struct modcalls *c = calloc(1, sizeof(*c));
	struct md_buf text = MD_BUF_INIT;
	size_t skip = strlen(MODCALL_SYSTEM) + 1;
	const char *line, *end;

	if (!c)
		return NULL;
	if (!tracefs_backend.list(b, &text))
		for (line = md_buf_str(&text); *line; line = end + (*end == '\n')) {
			end = line + strcspn(line, "\n");
			if (!strncmp(line, begins, strlen(begins)))
				add_native(c, b->device, line + skip, (size_t)(end - line) - skip);
		}
	md_buf_deinit(&text);
	add_compat(c);
	return c;
}

void modcalls_destroy(struct modcalls *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->native_count; i++)
		free(c->native[i].name);
	free(c->native);
	free(c->names);
	free(c);
}

void modcalls_list(const struct modcalls *c, struct md_buf *out)
{
	static const char *const kinds[] = { "sys_enter_", "sys_exit_", "compat_sys_enter_",
					     "compat_sys_exit_" };

	for (size_t kind = 0; kind < 4; kind++) {
		md_buf_printf(out, MODCALL_SYSTEM ":%s" UNKNOWN "\n", kinds[kind]);
		for (uint32_t nr = 0; kind >= 2 && nr < MODABI_CALLS; nr++)
			if (c->compat[nr])
				md_buf_printf(out, MODCALL_SYSTEM ":%s%s\n", kinds[kind],
					      c->compat[nr]);
	}
}

/* ---- one event ---- */

static bool skip_prefix(const char **p, const char *word)
{
	if (strncmp(*p, word, strlen(word)))
		return false;
	*p += strlen(word);
	return true;
}

static int find_number(const struct modcalls *all, struct modcall *c)
{
	c->nr = MODABI_OTHERS;
	c->id = ID_OTHERS + 2u * c->compat + c->exit;
	if (!strcmp(c->name, UNKNOWN))
		return 0;
	for (size_t i = 0; !c->compat && i < all->native_count; i++)
		if (!strcmp(all->native[i].name, c->name))
			c->nr = all->native[i].nr;
	for (uint32_t nr = 0; c->compat && nr < MODABI_CALLS; nr++)
		if (all->compat[nr] && !strcmp(all->compat[nr], c->name))
			c->nr = nr;
	c->id = ID_BASE + (2u * c->compat + c->exit) * MODABI_CALLS + c->nr;
	return c->nr == MODABI_OTHERS ? -ENOENT : 0;
}

/* Sets the event's id: the kernel's, if it has one. */
static int find_id(const struct backend *b, const char *event, struct modcall *c)
{
	int id = c->compat || c->nr == MODABI_OTHERS ? (int)c->id
						     : tracefs_event_id(b, MODCALL_SYSTEM, event);

	c->id = (uint32_t)id;
	return id < 0 ? id : 0;
}

int modcall_find(const struct backend *b, const char *event, struct modabi_event *m,
		 struct md_buf *out)
{
	struct md_buf unwanted = MD_BUF_INIT;
	struct modabi_call call = { .nr = 0 };
	struct modcall c = { .name = event };
	int ret;

	c.compat = skip_prefix(&c.name, "compat_");
	c.exit = !skip_prefix(&c.name, "sys_enter_");
	if (c.exit && !skip_prefix(&c.name, "sys_exit_"))
		return -ENOENT;
	ret = find_number(b->calls, &c);
	if (!ret)
		ret = find_id(b, event, &c);
	if (!ret)
		ret = find_arguments(b, &c);
	if (ret)
		return ret;
	call.nr = c.nr;
	call.compat = c.compat;
	call.exit = c.exit;
	if (c.nr == MODABI_OTHERS)
		memcpy(call.known, b->calls->known[c.compat], sizeof(call.known));
	modcall_put_format(&c, event, &call, out ? out : &unwanted);
	ret = unwanted.failed || (out && out->failed) ? -ENOMEM : 0;
	md_buf_deinit(&unwanted);
	if (m) {
		m->id = c.id;
		m->call = call;
	}
	return ret;
}
