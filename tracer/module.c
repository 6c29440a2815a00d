// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernel events by trail.ko: the same events and records as tracefs has, at a fraction of the cost, and system calls with their strings.
 */
#include "tracer/module.h"
#include "tracer/eprobe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEVICE "/dev/trail"
#define ARGS_AT 16              /* where arguments begin in a system call's record */
#define WORD_MAX 64

/* ---- formats ---- */

struct line {                   /* `	field:TYPE NAME;	offset:N;	size:8;…` */
	char type[WORD_MAX], name[WORD_MAX];
	unsigned long offset;
};

static bool take_line(const char *p, struct line *l)
{
	const char *semicolon = strchr(p, ';'), *space;
	size_t n;

	if (strncmp(p, "\tfield:", 7) || !semicolon || sscanf(semicolon, ";\toffset:%lu;", &l->offset) != 1)
		return false;
	p += 7;
	for (space = semicolon; space > p && space[-1] != ' '; )
		space--;
	n = (size_t)(semicolon - space);
	if (space <= p || n >= WORD_MAX || space - p > WORD_MAX)
		return false;
	memcpy(l->name, space, n);
	l->name[n] = '\0';
	n = (size_t)(space - p) - 1;
	memcpy(l->type, p, n);
	l->type[n] = '\0';
	return true;
}

/* System calls with strings: the pointer's place has a __data_loc in it. */
static void put_format(const char *text, const char *event, struct md_buf *out, uint32_t *strings)
{
	const char *end;
	struct line l;

	*strings = 0;
	for (; *text; text = end) {
		end = strchr(text, '\n');
		end = end ? end + 1 : text + strlen(text);
		if (!strncmp(event, "sys_enter_", 10) && take_line(text, &l) && l.offset >= ARGS_AT && (l.offset - ARGS_AT) / 8 < 6 &&
		    eprobe_is_string(event + 10, l.type, l.name)) {
			*strings |= 1u << (l.offset - ARGS_AT) / 8;
			md_buf_printf(out, "\tfield:__data_loc char[] %s;\toffset:%lu;\tsize:4;\tsigned:0;\n", l.name, l.offset);
		} else {
			md_buf_put(out, text, (size_t)(end - text));
		}
	}
}

int module_format(const struct backend *b, const char *system, const char *event, struct md_buf *out, uint32_t *id, uint32_t *strings)
{
	struct md_buf text = MD_BUF_INIT, unwanted = MD_BUF_INIT;
	uint32_t mask = 0;
	const char *at;
	int ret = tracefs_read_format(b, system, event, &text);

	if (!ret) {
		at = strstr(md_buf_str(&text), "ID: ");
		if (id)
			*id = at ? (uint32_t)strtoul(at + 4, NULL, 10) : 0;
		if (strcmp(system, "syscalls"))
			md_buf_put(out ? out : &unwanted, text.data, text.len);
		else
			put_format(md_buf_str(&text), event, out ? out : &unwanted, &mask);
		if (strings)
			*strings = mask;
		ret = text.failed || unwanted.failed ? -ENOMEM : 0;
	}
	md_buf_deinit(&text);
	md_buf_deinit(&unwanted);
	return ret;
}

static int format(const struct backend *b, const char *system, const char *event, struct md_buf *out)
{
	return module_format(b, system, event, out, NULL, NULL);
}

/* ---- what there is ---- */

static int probe(const char *owner, struct backend **out, struct tr_err *err)
{
	struct modabi_version v = { 0 };
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC), ret;

	if (fd < 0)
		return tr_fail(err, errno == EACCES || errno == EPERM ? -EACCES : -EOPNOTSUPP, DEVICE ": %s", strerror(errno));
	if (ioctl(fd, MODABI_GET_VERSION, &v) || v.abi != MODABI_VERSION) {
		close(fd);
		return tr_fail(err, -EOPNOTSUPP, DEVICE " is of another version (%" PRIu32 ", not %u): tracefs is used", v.abi, MODABI_VERSION);
	}
	/* Names and formats of events come from there. */
	ret = tracefs_backend.probe(owner, out, err);
	if (ret) {
		close(fd);
		return ret;
	}
	(*out)->device = fd;
	(*out)->functions = false;
	return ret;
}

static int function_check(const struct backend *b, const char *name, struct tr_err *err)
{
	(void)b, (void)name;
	return tr_fail(err, -EOPNOTSUPP, "trail.ko does not trace calls of functions; without it, tracefs does");
}

static void destroy(struct backend *b)
{
	if (b)
		close(b->device);
	tracefs_backend.destroy(b);
}

static void describe(const struct backend *b, struct md_buf *out)
{
	struct modabi_version v = { 0 };

	ioctl(b->device, MODABI_GET_VERSION, &v);
	md_buf_printf(out, "trail.ko; %" PRIu32 " events with compiled probes, the others by performance counters", v.compiled);
}

static int list(const struct backend *b, struct md_buf *out)
{
	return tracefs_backend.list(b, out);
}

/* Those of tracefs, too: of a daemon from before the module was loaded. */
static int channels(const struct backend *b, struct md_buf *names)
{
	struct modabi_list m = { 0 };
	char *buffer = NULL;
	int ret = 0;

	for (;;) {
		uint64_t room = m.size;

		m.buffer = (uintptr_t)buffer;
		if (ioctl(b->device, MODABI_LIST, &m)) {
			ret = -errno;
			break;
		}
		if (m.size <= room) {
			md_buf_put(names, buffer, m.size);
			break;
		}
		m.size += 4096;
		free(buffer);
		buffer = malloc(m.size);
		if (!buffer) {
			ret = -ENOMEM;
			break;
		}
	}
	free(buffer);
	return ret ? ret : tracefs_backend.channels(b, names);
}

const struct backend_ops module_backend = {
	.name = "module", .probe = probe, .destroy = destroy, .describe = describe, .list = list, .format = format,
	.probe_create = tracefs_probe_create, .probe_remove = tracefs_probe_remove, .probes = tracefs_probes,
	.function_check = function_check, .channels = channels, .channel_open = module_channel_open, .channel_remove = module_channel_remove,
	.channel_close = module_channel_close, .contexts = module_contexts, .record = module_record, .enable = module_enable,
	.enabled = module_enabled, .track = module_track, .drain = module_drain, .lost = module_lost,
};
