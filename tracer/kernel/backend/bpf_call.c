// SPDX-License-Identifier: GPL-2.0-or-later
/* Which system calls BPF programs record, and the formats of these records. */
#include "tracer/kernel/backend/bpf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tracer/base/probe/event_field.h"
#include "tracer/kernel/kevent/kevent.h"

#define SYSTEM "syscalls"
#define ENTRY "sys_enter_"
#define EXIT "sys_exit_"

/*
 * Reads the arguments of a call from the format of its entry. -ENOENT: it has no text, or the
 * kernel records the text itself; -EOPNOTSUPP: not in the places of the kernels that are known.
 */
static int read_arguments(const char *name, const char *format, struct bpf_call *c)
{
	struct event_field f;

	for (const char *p = format; (p = event_field_next(p, &f));) {
		if (f.offset < BPF_CALL_FIXED)
			continue;
		if (!strncmp(f.type, "__data_loc", 10))
			return -ENOENT;
		if (c->count == BPF_ARGUMENTS || f.size != 8 ||
		    f.offset != BPF_CALL_FIXED + 8 * c->count)
			return -EOPNOTSUPP;
		if (c->texts < BPF_TEXTS_MAX && syscall_takes_string(name, f.type, f.name))
			c->text[c->texts++] = (uint8_t)c->count;
		c->count++;
	}
	return c->texts ? 0 : -ENOENT;
}

/* Copies the format; arguments that are text become the place of the text. */
static void put_format(const struct bpf_call *c, const char *text, struct md_buf *out)
{
	uint32_t n = 0, offset;
	struct event_field f;
	size_t len;

	for (; *text; text += len) {
		len = strcspn(text, "\n");
		len += text[len] == '\n';
		offset = n < c->texts ? BPF_CALL_FIXED + 8u * c->text[n] : 0;
		if (offset && !strncmp(text, "\tfield:", 7) && event_field_next(text, &f) &&
		    f.offset == offset) {
			md_buf_printf(out,
				      "\tfield:__data_loc char[] %s;\toffset:%u;\tsize:4;\t"
				      "signed:0;\n", f.name, bpf_call_places(c) + 4 * n);
			n++;
		} else {
			md_buf_put(out, text, len);
		}
	}
}

int bpf_call_find(const struct backend *b, const char *system, const char *event,
		  struct bpf_call *call, struct md_buf *format)
{
	bool entry = !strncmp(event, ENTRY, strlen(ENTRY));
	struct md_buf text = MD_BUF_INIT;
	char name[BPF_EVENT_NAME];
	const char *own = event + strlen(entry ? ENTRY : EXIT);
	int ret;

	*call = (struct bpf_call){ .exit = !entry };
	if (strcmp(system, SYSTEM) || (!entry && strncmp(event, EXIT, strlen(EXIT))) ||
	    (size_t)snprintf(name, sizeof(name), ENTRY "%s", own) >= sizeof(name))
		return -ENOENT;
	ret = tracefs_read_format(b, SYSTEM, name, &text);
	if (!ret)
		ret = read_arguments(own, md_buf_str(&text), call);
	if (!ret && entry && format)
		put_format(call, md_buf_str(&text), format);
	md_buf_deinit(&text);
	if (ret)
		return ret == -ENOMEM ? ret : -ENOENT;
	if (!entry)
		call->count = call->texts = 0;
	ret = tracefs_event_id(b, SYSTEM, event);
	call->id = ret < 0 ? 0 : (uint32_t)ret;
	if (ret >= 0 && !entry && format)
		ret = tracefs_read_format(b, SYSTEM, event, format);
	return ret < 0 ? ret : 0;
}
