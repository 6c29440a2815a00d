// SPDX-License-Identifier: GPL-2.0-or-later
/* What trail.ko captures through the pointers of system calls, and the formats of its records. */
#include "tracer/kernel/backend/module_syscalls.h"
#include "tracer/kernel/kevent/kevent.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STRING_MAX 4096         /* of a string, with the NUL, bytes */

struct captured {
	const char *call;
	bool exit;
	/*
	 * KIND NAME of each `__captured` field, separated by commas. `*`: the argument's own name;
	 * the field replaces the argument.
	 */
	const char *fields;
	struct modabi_capture how;
};

#ifdef __x86_64__
#define EPOLL_EVENT 12          /* bytes; the structure is packed */
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

/* A socket address does not replace its pointer in the record; LTTng records both, too. */
static bool replaces_pointer(const struct captured *c)
{
	return strncmp(c->fields, "family ", 7) != 0;
}

static void put_field(struct md_buf *out, const char *type, const char *name, size_t offset,
		      size_t size)
{
	md_buf_printf(out, "\tfield:%s %s;\toffset:%zu;\tsize:%zu;\tsigned:0;\n", type, name,
		      offset, size);
}

static void put_captured(struct md_buf *out, const char *fields, const char *argument,
			 size_t offset)
{
	char type[MODCALL_WORD_MAX], name[MODCALL_WORD_MAX];
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

static void put_head(struct md_buf *out, const struct modcall *c, const char *event)
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
		md_buf_printf(out, "\tfield:long ret;\toffset:%d;\tsize:8;\tsigned:1;\n",
			      MODCALL_FIXED_AT);
	else if (c->nr == MODABI_OTHERS)
		put_field(out, "unsigned long", "args[6]", MODCALL_FIXED_AT, 48);
}

static const struct modabi_capture string = { MODABI_STRING, 0, MODABI_ONE, 0, 1, STRING_MAX };

static bool matches_call(const struct captured *row, const struct modcall *c)
{
	size_t n = strlen(row->call);

	/* NAME_time64 differs from NAME only in the time that a pointer leads to. */
	return row->exit == c->exit && !strncmp(row->call, c->name, n) &&
	       (!c->name[n] || (c->compat && !strcmp(c->name + n, "_time64")));
}

/* Prints the fields captured through argument i. False: the argument itself is to be printed. */
static bool put_pointer(const struct modcall *c, uint32_t i, struct modabi_call *m,
			struct md_buf *out, struct md_buf *after)
{
	size_t offset = MODCALL_FIXED_AT + 8 * (c->exit ? 1 : MODCALL_ARGUMENTS);
	const char *name = c->exit ? "" : c->arguments[i].name;
	bool replaced = false;

	for (size_t k = 0; k < sizeof(captures) / sizeof(captures[0]); k++) {
		const struct captured *row = &captures[k];

		if (row->how.pointer != i || !matches_call(row, c) ||
		    m->captures >= MODABI_CAPTURES_MAX)
			continue;
		put_captured(replaces_pointer(row) ? out : after, row->fields, name,
			     offset + 4u * m->captures);
		m->capture[m->captures++] = row->how;
		replaced = replaced || replaces_pointer(row);
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

void modcall_put_format(const struct modcall *c, const char *event, struct modabi_call *m,
		       struct md_buf *out)
{
	uint32_t count = c->nr == MODABI_OTHERS ? 0 : c->exit ? MODCALL_ARGUMENTS : c->count;
	struct md_buf after = MD_BUF_INIT;

	put_head(out, c, event);
	for (uint32_t i = 0; i < count; i++)
		if (!put_pointer(c, i, m, out, &after) && !c->exit)
			put_field(out, c->arguments[i].type, c->arguments[i].name,
				  MODCALL_FIXED_AT + 8 * i, 8);
	md_buf_put(out, md_buf_str(&after), after.len);
	md_buf_puts(out, "\nprint fmt: \"\"\n");
	out->failed = out->failed || after.failed;
	md_buf_deinit(&after);
}
