// SPDX-License-Identifier: GPL-2.0-or-later
/* Which events BPF programs record, and the formats of these records. */
#include "tracer/kernel/programs/bpf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tracer/base/probe/event_field.h"
#include "tracer/kernel/backend/event_probe.h"
#include "tracer/kernel/kevent/kevent.h"
#include "tracer/kernel/kevent/ring_page.h"

#define SYSTEM "syscalls"
#define ENTRY "sys_enter_"
#define EXIT "sys_exit_"

/*
 * Reads the arguments of a call from the format of its entry. -EOPNOTSUPP: they are not in the
 * places of the kernels that are known.
 */
static int read_arguments(const char *name, const char *format, struct bpf_source *c)
{
	struct event_field f;

	for (const char *p = format; (p = event_field_next(p, &f));) {
		if (f.offset < BPF_CALL_FIXED || event_probe_is_read(&f))
			continue;
		if (c->count == BPF_ARGUMENTS || f.size != 8 ||
		    f.offset != BPF_CALL_FIXED + 8 * c->count)
			return -EOPNOTSUPP;
		if (c->texts < BPF_TEXTS_MAX && syscall_takes_string(name, f.type, f.name))
			c->text[c->texts++] = (uint8_t)c->count;
		c->count++;
	}
	return 0;
}

static bool parse_line(const char *line, size_t len, struct event_field *out)
{
	char text[256];

	if ((size_t)snprintf(text, sizeof(text), "%.*s", (int)len, line) >= sizeof(text))
		return false;
	return event_field_next(text, out);
}

/*
 * Copies the format; arguments that are text become the place of the text. Programs record nothing
 * else of what an argument points to.
 */
static void put_format(const struct bpf_source *c, const char *text, struct md_buf *out)
{
	uint32_t n = 0, offset;
	struct event_field f;
	size_t len;

	for (; *text; text += len) {
		len = strcspn(text, "\n");
		len += text[len] == '\n';
		offset = n < c->texts ? BPF_CALL_FIXED + 8u * c->text[n] : 0;
		if (!parse_line(text, len, &f)) {
			md_buf_put(out, text, len);
		} else if (offset && f.offset == offset) {
			md_buf_printf(out,
				      "\tfield:__data_loc char[] %s;\toffset:%u;\tsize:4;\t"
				      "signed:0;\n", f.name, bpf_source_places(c) + 4 * n);
			n++;
		} else if (!event_probe_is_read(&f)) {
			md_buf_put(out, text, len);
		}
	}
}

/* An event is not recorded by tracefs instead because the daemon lacks memory or descriptors. */
static int not_found(int ret)
{
	return ret == -ENOMEM || ret == -EMFILE || ret == -ENFILE ? ret : -ENOENT;
}

/* -ENOENT: it is no event of a system call. */
static int find_call(const struct backend *b, const char *event, bool whole,
		     struct bpf_source *call, struct md_buf *format)
{
	bool entry = !strncmp(event, ENTRY, strlen(ENTRY));
	struct md_buf args = MD_BUF_INIT;
	char name[BPF_EVENT_NAME];
	const char *own = event + strlen(entry ? ENTRY : EXIT);
	int ret;

	call->exit = !entry;
	if ((!entry && strncmp(event, EXIT, strlen(EXIT))) ||
	    (size_t)snprintf(name, sizeof(name), ENTRY "%s", own) >= sizeof(name))
		return -ENOENT;
	ret = tracefs_read_format(b, SYSTEM, name, &args);
	if (!ret)
		ret = read_arguments(own, md_buf_str(&args), call);
	call->changed = !ret && (call->texts || tracefs_has_text(b, SYSTEM, name));
	if (!ret && !call->changed && !whole)
		ret = -ENOENT;
	if (!ret && entry && format)
		put_format(call, md_buf_str(&args), format);
	md_buf_deinit(&args);
	if (ret)
		return not_found(ret);
	if (!entry)
		call->count = call->texts = 0;
	return entry || !format ? 0 : tracefs_read_format(b, SYSTEM, event, format);
}

/*
 * The second thread that an event is about: it is recorded if that one is tracked, as tracefs does.
 */
static uint32_t find_other(const struct kformat *f)
{
	static const struct { const char *event, *field; } known[] = {
		{ "sched_switch", "next_pid" }, { "sched_wakeup", "pid" },
		{ "sched_wakeup_new", "pid" }, { "sched_waking", "pid" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known) && !strcmp(f->system, "sched"); i++)
		for (uint32_t k = 0; !strcmp(f->name, known[i].event) && k < f->field_count; k++)
			if (!strcmp(f->fields[k].kernel_name, known[i].field) &&
			    f->fields[k].from == 4 && f->fields[k].offset % 4 == 0)
				return f->fields[k].offset;
	return 0;
}

/* The layout of a tracepoint's record. -ENOENT: programs do not record it. */
static int read_layout(const char *system, const struct md_buf *text, struct bpf_source *s)
{
	struct kformat *f;
	int ret = kformat_parse(system, text->data, text->len, &f);

	if (ret)
		return not_found(ret);
	s->id = f->id;
	s->fixed = f->size;
	s->other = find_other(f);
	if (f->size <= KRECORD_HEADER || f->size > BPF_FIXED_MAX)
		ret = -ENOENT;
	for (uint32_t i = 0; i < f->field_count && !ret; i++) {
		const struct kformat_field *field = &f->fields[i];

		if (field->place == KFORMAT_REST || field->place == KFORMAT_REL_LOC)
			ret = -ENOENT;
		else if (field->place == KFORMAT_LOC && s->dynamics == BPF_DYNAMIC_MAX)
			ret = -ENOENT;
		else if (field->place == KFORMAT_LOC)
			s->dynamic[s->dynamics++] = (uint16_t)field->offset;
	}
	kformat_free(f);
	return ret;
}

/* Events that other programs define have programs of another type. */
static bool is_tracepoint(const char *format)
{
	static const char *const marks[] = { " __probe_ip;", " __probe_func;", " __probe_ret_ip;" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (strstr(format, marks[i]))
			return false;
	return true;
}

static int find_tracepoint(const struct backend *b, const char *system, const char *event,
			   struct bpf_source *s, struct md_buf *format)
{
	struct md_buf text = MD_BUF_INIT;
	int ret = strlen(system) + strlen(event) + 2 > BPF_EVENT_NAME ||
				  !strcmp(system, BACKEND_FUNCTION_SYSTEM) ||
				  tracefs_is_model(system, event)
			  ? -ENOENT
			  : tracefs_read_format(b, system, event, &text);

	if (!ret && !is_tracepoint(md_buf_str(&text)))
		ret = -ENOENT;
	if (!ret)
		ret = read_layout(system, &text, s);
	if (!ret && format)
		md_buf_put(format, text.data, text.len);
	md_buf_deinit(&text);
	return ret ? not_found(ret) : 0;
}

int bpf_source_find(const struct backend *b, const char *system, const char *event, bool whole,
		    struct bpf_source *out, struct md_buf *format)
{
	int ret = -ENOENT;

	*out = (struct bpf_source){ 0 };
	if (!strcmp(system, SYSTEM))
		ret = find_call(b, event, whole, out, format);
	else if (whole)
		ret = find_tracepoint(b, system, event, out, format);
	if (ret || out->id)
		return ret;
	ret = tracefs_event_id(b, system, event);
	out->id = ret < 0 ? 0 : (uint32_t)ret;
	return ret < 0 ? ret : 0;
}

void bpf_source_try_stacks(struct bpf_channel *c)
{
	struct bpf_source getppid;
	bool wanted = false;

	for (uint32_t i = 0; c->contexts && i < c->contexts->count; i++)
		wanted |= c->contexts->items[i].kind == TRAIL_CONTEXT_CALLSTACK_KERNEL;
	if (wanted && c->call_stacks < 0 &&
	    !bpf_source_find(c->b, SYSTEM, "sys_enter_getppid", true, &getppid, NULL))
		c->call_stacks = bpf_stacks_at_getppid(getppid.id);
}

bool bpf_source_possible(const char *line)
{
	static const char *const without[] = { BACKEND_FUNCTION_SYSTEM ":", BACKEND_DATA_SYSTEM ":",
					       "kprobes:", "uprobes:", "eprobes:", "trailfs_" };

	for (size_t i = 0; i < sizeof(without) / sizeof(*without); i++)
		if (!strncmp(line, without[i], strlen(without[i])))
			return false;
	return true;
}
