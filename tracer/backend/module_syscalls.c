// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls for trail.ko: see backend/module_syscalls.h. */
#include "tracer/backend/module_syscalls.h"
#include "tracer/backend/event_probe.h"
#include "tracer/kevent/syscall_string.h"
#include "tracer/kevent/lttng_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define FIXED_AT 16             /* where arguments, or the result, begin in a record */
#define ARGUMENTS 6
#define WORD_MAX 64
#define STRING_MAX 4096         /* bytes of one, with the NUL */
#define UNKNOWN "unknown"
/* Ids of events that the kernel has none for. Its own are given from below. */
#define ID_BASE 0xf000u
#define ID_OTHERS (ID_BASE + 4 * MODABI_CALLS)

struct named {
	char *name;
	uint32_t nr;
};

struct modcalls {
	struct named *native;
	size_t native_count;
	char *names;                    /* that compat points into */
	/* by number; NULL: none, or nobody knows its arguments */
	const char *compat[MODABI_CALLS];
	uint64_t known[2][MODABI_CALLS / 64];   /* [compat]: which numbers have a name */
};

static const struct {
	const char *name, *arguments;
} prototypes[] = {
#define PROTOTYPE(name, arguments) { name, arguments },
#include "tracer/backend/compat_syscalls.def"
#undef PROTOTYPE
};

/* ---- what is captured behind pointers, besides strings ---- */

struct captured {
	const char *call;
	bool exit;
	/*
	 * kind, name, …: of format lines; `*`: the argument's own name, which they take the place
	 * of
	 */
	const char *fields;
	struct modabi_capture how;
};

#ifdef __x86_64__
#define EPOLL_EVENT 12          /* bytes; packed */
#else
#define EPOLL_EVENT 16
#endif

#define ONCE(pointer, bytes, when) { MODABI_BYTES, pointer, MODABI_ONE, when, bytes, bytes }
#define TIMES(pointer, number, how, bytes, most) { MODABI_BYTES, pointer, number, how, bytes, most }
#define SOURCE "family family,port sport,v4addr v4addr,v6addr v6addr"
#define DESTINATION "family family,port dport,v4addr v4addr,v6addr v6addr"
#define ADDRESS(pointer, length) TIMES(pointer, length, 0, 1, 128)
#define ADDRESS_OUT(pointer, length)                                                               \
	TIMES(pointer, length, MODABI_COUNT_BEHIND | MODABI_IF_SUCCESS, 1, 128)
#define FDS(pointer, when) TIMES(pointer, 0, MODABI_COUNT_BITS | (when), 1, 128)
#define POLLFDS(when) TIMES(0, 1, when, 8, 4096)
#define EPOLLED                                                                                    \
	TIMES(1, 2, MODABI_COUNT_RETURNED | MODABI_IF_POSITIVE, EPOLL_EVENT, 340 * EPOLL_EVENT)

static const struct captured captures[] = {
	{ "sethostname", false, "string *", TIMES(0, 1, 0, 1, 256) },
	{ "setdomainname", false, "string *", TIMES(0, 1, 0, 1, 256) },
	{ "connect", false, DESTINATION, ADDRESS(1, 2) },
	{ "bind", false, SOURCE, ADDRESS(1, 2) },
	{ "sendto", false, DESTINATION, ADDRESS(4, 5) },
	{ "accept", false, "int *", ONCE(2, 4, 0) },
	{ "accept", true, "int upeer_addrlen", ONCE(2, 4, MODABI_IF_SUCCESS) },
	{ "accept", true, SOURCE, ADDRESS_OUT(1, 2) },
	{ "accept4", false, "int *", ONCE(2, 4, 0) },
	{ "accept4", true, "int upeer_addrlen", ONCE(2, 4, MODABI_IF_SUCCESS) },
	{ "accept4", true, SOURCE, ADDRESS_OUT(1, 2) },
	{ "recvfrom", true, SOURCE, ADDRESS_OUT(4, 5) },
	{ "getsockname", true, SOURCE, ADDRESS_OUT(1, 2) },
	{ "getpeername", true, DESTINATION, ADDRESS_OUT(1, 2) },
	{ "pipe", true, "ints fildes", ONCE(0, 8, MODABI_IF_SUCCESS) },
	{ "pipe2", true, "ints fildes", ONCE(0, 8, MODABI_IF_SUCCESS) },
	{ "socketpair", true, "ints socket", ONCE(3, 8, MODABI_IF_SUCCESS) },
	{ "select", false, "fd_set readfds", FDS(1, 0) },
	{ "select", false, "fd_set writefds", FDS(2, 0) },
	{ "select", false, "fd_set exceptfds", FDS(3, 0) },
	{ "select", true, "fd_set readfds", FDS(1, MODABI_IF_POSITIVE) },
	{ "select", true, "fd_set writefds", FDS(2, MODABI_IF_POSITIVE) },
	{ "select", true, "fd_set exceptfds", FDS(3, MODABI_IF_POSITIVE) },
	{ "pselect6", false, "fd_set readfds", FDS(1, 0) },
	{ "pselect6", false, "fd_set writefds", FDS(2, 0) },
	{ "pselect6", false, "fd_set exceptfds", FDS(3, 0) },
	{ "pselect6", true, "fd_set readfds", FDS(1, MODABI_IF_POSITIVE) },
	{ "pselect6", true, "fd_set writefds", FDS(2, MODABI_IF_POSITIVE) },
	{ "pselect6", true, "fd_set exceptfds", FDS(3, MODABI_IF_POSITIVE) },
	{ "poll", false, "pollfds fds", POLLFDS(0) },
	{ "poll", true, "polled fds", POLLFDS(MODABI_IF_POSITIVE) },
	{ "ppoll", false, "pollfds fds", POLLFDS(0) },
	{ "ppoll", true, "polled fds", POLLFDS(MODABI_IF_POSITIVE) },
	{ "epoll_ctl", false, "epoll_event event", ONCE(3, EPOLL_EVENT, 0) },
	{ "epoll_wait", true, "epoll_events fds", EPOLLED },
	{ "epoll_pwait", true, "epoll_events fds", EPOLLED },
	{ "epoll_pwait2", true, "epoll_events fds", EPOLLED },
};

/* Addresses have their pointer beside them in the trace, as LTTng's do. */
static bool replaces(const struct captured *c)
{
	return strncmp(c->fields, "family ", 7) != 0;
}

/* ---- arguments ---- */

struct argument {
	char type[WORD_MAX], name[WORD_MAX];
};

struct call {
	const char *name;               /* behind sys_enter_ */
	uint32_t nr, id;
	bool compat, exit;
	struct argument arguments[ARGUMENTS];
	uint32_t count;
};

/* `	field:TYPE NAME;	offset:N;	size:8;…` */
static void take_line(struct call *c, const char *p)
{
	const char *semicolon = strchr(p, ';'), *space;
	unsigned long offset, size;
	struct argument *a;
	size_t n;

	if (strncmp(p, "\tfield:", 7) || !semicolon ||
	    sscanf(semicolon, ";\toffset:%lu;\tsize:%lu;", &offset, &size) != 2)
		return;
	p += 7;
	for (space = semicolon; space > p && space[-1] != ' '; )
		space--;
	n = (size_t)(semicolon - space);
	if (space <= p || n >= WORD_MAX || space - p > WORD_MAX || c->count >= ARGUMENTS ||
	    offset != FIXED_AT + 8 * c->count || size != 8)
		return;
	a = &c->arguments[c->count++];
	memcpy(a->name, space, n);
	a->name[n] = '\0';
	n = (size_t)(space - p) - 1;
	memcpy(a->type, p, n);
	a->type[n] = '\0';
	/* The upper half of a 32-bit program's register is zeros, also of a negative number. */
	if (c->compat && kname_integer(a->type) && kname_integer(a->type)->is_signed &&
	    kname_integer(a->type)->size == 8)
		strcpy(a->type, "int");
}

static int take_native(const struct backend *b, struct call *c, const char *name, size_t len)
{
	struct md_buf text = MD_BUF_INIT;
	char event[160];
	const char *p;
	int ret;

	if ((size_t)snprintf(event, sizeof(event), "sys_enter_%.*s", (int)len, name) >=
	    sizeof(event))
		return -ENAMETOOLONG;
	ret = tracefs_read_format(b, MODCALL_SYSTEM, event, &text);
	for (p = md_buf_str(&text); !ret && *p; p += strcspn(p, "\n"), p += *p == '\n')
		take_line(c, p);
	md_buf_deinit(&text);
	return ret;
}

static bool take_prototype(struct call *c)
{
	const char *p = NULL;
	size_t n;

	for (size_t i = 0; i < sizeof(prototypes) / sizeof(prototypes[0]) && !p; i++)
		if (!strcmp(prototypes[i].name, c->name))
			p = prototypes[i].arguments;
	if (!p)
		return false;
	for (; *p && c->count < ARGUMENTS; p += n, p += *p == ',') {
		struct argument *a = &c->arguments[c->count++];
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
 * Of which call of 64 bits the arguments are like those of one of 32: of the same name, but for the
 * size of what pointers lead to.
 */
static size_t like(const struct modcalls *all, const char *compat)
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

static int take_arguments(const struct backend *b, struct call *c)
{
	size_t len = strlen(c->name);

	if (c->exit || c->nr == MODABI_OTHERS || (c->compat && take_prototype(c)))
		return 0;
	if (c->compat)
		len = like(b->calls, c->name);
	return take_native(b, c, c->name, len);
}

/* ---- formats ---- */

static void put_field(struct md_buf *out, const char *type, const char *name, size_t offset,
		      size_t size)
{
	md_buf_printf(out, "\tfield:%s %s;\toffset:%zu;\tsize:%zu;\tsigned:0;\n", type, name,
		      offset, size);
}

static void put_captured(struct md_buf *out, const char *fields, const char *argument,
			 size_t offset)
{
	char type[WORD_MAX], name[WORD_MAX];
	size_t n, kind;

	for (; *fields; fields += n, fields += *fields == ',') {
		n = strcspn(fields, ",");
		kind = strcspn(fields, " ");
		snprintf(type, sizeof(type), "__captured %.*s", (int)kind, fields);
		snprintf(name, sizeof(name), "%.*s", (int)(n - kind) - 1, fields + kind + 1);
		put_field(out, strcmp(type, "__captured string") ? type : "__data_loc char[]",
			  strcmp(name, "*") ? name : argument, offset, 4);
	}
}

static void put_head(struct md_buf *out, const struct call *c, const char *event)
{
	md_buf_printf(out, "name: %s\nID: %" PRIu32 "\nformat:\n", event, c->id);
	put_field(out, "unsigned short", "common_type", 0, 2);
	put_field(out, "unsigned char", "common_flags", 2, 1);
	put_field(out, "unsigned char", "common_preempt_count", 3, 1);
	put_field(out, "int", "common_pid", 4, 4);
	md_buf_puts(out, c->nr == MODABI_OTHERS
				 ? "\tfield:int id;\toffset:8;\tsize:4;\tsigned:1;\n"
				 : "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n");
	if (c->exit)
		md_buf_printf(out, "\tfield:long ret;\toffset:%d;\tsize:8;\tsigned:1;\n", FIXED_AT);
	else if (c->nr == MODABI_OTHERS)
		put_field(out, "unsigned long", "args[6]", FIXED_AT, 48);
}

static bool is_of(const struct captured *row, const struct call *c)
{
	size_t n = strlen(row->call);

	/* …_time64 differ in what the time points to. */
	return row->exit == c->exit && !strncmp(row->call, c->name, n) &&
	       (!c->name[n] || (c->compat && !strcmp(c->name + n, "_time64")));
}

static const struct modabi_capture string = { MODABI_STRING, 0, MODABI_ONE, 0, 1, STRING_MAX };

/* Fields and captures of what is behind the pointer; false: nothing takes its place. */
static bool put_pointer(const struct call *c, uint32_t i, struct modabi_call *m, struct md_buf *out,
			struct md_buf *after)
{
	size_t offset = FIXED_AT + 8 * (c->exit ? 1 : ARGUMENTS);
	const char *name = c->exit ? "" : c->arguments[i].name;
	bool replaced = false;

	for (size_t k = 0; k < sizeof(captures) / sizeof(captures[0]); k++) {
		const struct captured *row = &captures[k];

		if (row->how.pointer != i || !is_of(row, c) || m->captures >= MODABI_CAPTURES_MAX)
			continue;
		put_captured(replaces(row) ? out : after, row->fields, name,
			     offset + 4u * m->captures);
		m->capture[m->captures++] = row->how;
		replaced = replaced || replaces(row);
	}
	if (!replaced && !c->exit && m->captures < MODABI_CAPTURES_MAX &&
	    syscall_takes_string(c->name, c->arguments[i].type, name)) {
		put_field(out, "__data_loc char[]", name, offset + 4u * m->captures, 4);
		m->capture[m->captures] = string;
		m->capture[m->captures++].pointer = (uint8_t)i;
		return true;
	}
	return replaced;
}

static void put_format(const struct call *c, const char *event, struct modabi_call *m,
		       struct md_buf *out)
{
	uint32_t count = c->nr == MODABI_OTHERS ? 0 : c->exit ? ARGUMENTS : c->count;
	struct md_buf after = MD_BUF_INIT;

	put_head(out, c, event);
	for (uint32_t i = 0; i < count; i++)
		if (!put_pointer(c, i, m, out, &after) && !c->exit)
			put_field(out, c->arguments[i].type, c->arguments[i].name, FIXED_AT + 8 * i,
				  8);
	md_buf_put(out, md_buf_str(&after), after.len);
	md_buf_puts(out, "\nprint fmt: \"\"\n");
	out->failed = out->failed || after.failed;
	md_buf_deinit(&after);
}

/* ---- which there are ---- */

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
	struct named *more;

	if (len >= sizeof(m.name))
		return;
	memcpy(m.name, line, len);
	if (ioctl(device, MODABI_NUMBER, &m) || m.nr >= MODABI_CALLS || is_known(c->known[0], m.nr))
		return;
	more = realloc(c->native, (c->native_count + 1) * sizeof(*more));
	if (!more)
		return;
	c->native = more;
	more[c->native_count] = (struct named){ strdup(m.name + strlen("sys_enter_")), m.nr };
	if (more[c->native_count].name) {
		set_known(c->known[0], m.nr);
		c->native_count++;
	}
}

#ifdef __x86_64__
static void add_compat(struct modcalls *c)
{
	static const char names[] =
#define COMPAT_NAMES(...) __VA_ARGS__
#include "tracer/backend/compat_syscalls.def"
#undef COMPAT_NAMES
		;
	char *save = NULL, *name = c->names = strdup(names);
	struct call call;

	if (!name)
		return;
	name = strtok_r(name, " ", &save);
	for (uint32_t nr = 0; name && nr < MODABI_CALLS; nr++, name = strtok_r(NULL, " ", &save)) {
		call = (struct call){ .name = name };
		if (*name == '-' || (!take_prototype(&call) && !like(c, name)))
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

static bool eat(const char **p, const char *word)
{
	if (strncmp(*p, word, strlen(word)))
		return false;
	*p += strlen(word);
	return true;
}

static int find_number(const struct modcalls *all, struct call *c)
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

/* The kernel's, if it has one. */
static int find_id(const struct backend *b, const char *event, struct call *c)
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
	struct modabi_call told = { .nr = 0 };
	struct call c = { .name = event };
	int ret;

	c.compat = eat(&c.name, "compat_");
	c.exit = !eat(&c.name, "sys_enter_");
	if (c.exit && !eat(&c.name, "sys_exit_"))
		return -ENOENT;
	ret = find_number(b->calls, &c);
	if (!ret)
		ret = find_id(b, event, &c);
	if (!ret)
		ret = take_arguments(b, &c);
	if (ret)
		return ret;
	told.nr = c.nr;
	told.compat = c.compat;
	told.exit = c.exit;
	if (c.nr == MODABI_OTHERS)
		memcpy(told.known, b->calls->known[c.compat], sizeof(told.known));
	put_format(&c, event, &told, out ? out : &unwanted);
	ret = unwanted.failed || (out && out->failed) ? -ENOMEM : 0;
	md_buf_deinit(&unwanted);
	if (m) {
		m->id = c.id;
		m->call = told;
	}
	return ret;
}
