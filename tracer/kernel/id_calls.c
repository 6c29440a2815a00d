// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/id_calls.h"

#include <stdio.h>
#include <string.h>

#include "tracer/kernel/kevent/ring_page.h"

static const struct {
	const char *name, *arguments[3];
	enum kstatus_call_kind kind;
} id_calls[ID_CALLS] = {
	{ "setuid", { "uid" }, KSTATUS_USERS },
	{ "setreuid", { "ruid", "euid" }, KSTATUS_USERS },
	{ "setresuid", { "ruid", "euid", "suid" }, KSTATUS_USERS },
	{ "setgid", { "gid" }, KSTATUS_GROUPS },
	{ "setregid", { "rgid", "egid" }, KSTATUS_GROUPS },
	{ "setresgid", { "rgid", "egid", "sgid" }, KSTATUS_GROUPS },
	{ "unshare", { "unshare_flags" }, KSTATUS_UNSHARE },
	{ "setns", { "flags" }, KSTATUS_SETNS },
	{ "execve", { NULL }, KSTATUS_EXEC },
	{ "execveat", { NULL }, KSTATUS_EXEC },
};

/* A field of 8 bytes; NULL: there is none of this name. */
static const struct kformat_field *find_field(const struct kformat *f, const char *name)
{
	for (uint32_t i = 0; i < f->field_count; i++)
		if (!strcmp(f->fields[i].kernel_name, name) &&
		    f->fields[i].place == KFORMAT_FIXED && f->fields[i].size == 8)
			return &f->fields[i];
	return NULL;
}

/* Sets l->entry and l->exit if the kernel has both events. */
static void read_layout(struct kernel *k, size_t call, struct id_call *l)
{
	char entry[32], exit[32];
	struct kformat *f, *g;
	const struct kformat_field *field;
	bool good;

	*l = (struct id_call){ 0 };
	snprintf(entry, sizeof(entry), "sys_enter_%s", id_calls[call].name);
	snprintf(exit, sizeof(exit), "sys_exit_%s", id_calls[call].name);
	f = k->format_of(k, "syscalls", entry);
	g = f ? k->format_of(k, "syscalls", exit) : NULL;
	field = g ? find_field(g, "ret") : NULL;
	good = field;
	if (good)
		l->ret = field->offset;
	for (int i = 0; good && i < 3 && id_calls[call].arguments[i]; i++) {
		field = find_field(f, id_calls[call].arguments[i]);
		/* Its name before Linux 5.8 */
		if (!field && id_calls[call].kind == KSTATUS_SETNS)
			field = find_field(f, "nstype");
		good = field;
		if (good)
			l->arguments[i] = field->offset;
	}
	if (good) {
		l->entry = f->id;
		l->exit = g->id;
		l->need = g->size;
		l->need_entry = f->size;
	}
	kformat_free(f);
	kformat_free(g);
}

void id_calls_enable(struct id_calls *c, struct kernel *k, struct backend_channel *bc)
{
	static const char *const begins[] = { "sys_enter_", "sys_exit_" };
	char name[32];

	for (size_t i = 0; i < ID_CALLS; i++) {
		read_layout(k, i, &c->list[i]);
		for (int n = 0; n < 2 && c->list[i].entry; n++) {
			snprintf(name, sizeof(name), "%s%s", begins[n], id_calls[i].name);
			if (k->ops->enable(bc, "syscalls", name, true))
				c->list[i].entry = 0;
		}
	}
}

enum id_call_record id_calls_read(const struct id_calls *c, const uint8_t *bytes, size_t len,
				  struct kstatus_call *out)
{
	uint32_t id = krecord_id(bytes);
	int64_t ret = 0;

	*out = (struct kstatus_call){ 0 };
	for (size_t i = 0; i < ID_CALLS; i++) {
		const struct id_call *l = &c->list[i];

		if (!l->entry || (l->entry != id && l->exit != id))
			continue;
		if (l->exit == id) {
			out->kind = id_calls[i].kind;
			if (len < l->need)
				return ID_CALL_NONE;
			memcpy(&ret, bytes + l->ret, sizeof(ret));
			return ret ? ID_CALL_FAILED : ID_CALL_DONE;
		}
		if (len < l->need_entry)
			return ID_CALL_NONE;
		out->kind = id_calls[i].kind;
		for (int n = 0; n < 3 && id_calls[i].arguments[n]; n++) {
			memcpy(&out->values[n], bytes + l->arguments[n], sizeof(out->values[n]));
			out->count++;
		}
		return ID_CALL_BEGUN;
	}
	return ID_CALL_NONE;
}
