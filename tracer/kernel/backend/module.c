// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernel events by trail.ko: the events and records of tracefs at a fraction of the cost, and
 * system calls with the contents of their strings and structures.
 */
#include "tracer/kernel/backend/module.h"
#include "tracer/kernel/backend/module_syscalls.h"
#include "tracer/base/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEVICE "/dev/trail"

static int print_format(const struct backend *b, const char *system, const char *event,
		  struct md_buf *out)
{
	return strcmp(system, MODCALL_SYSTEM) ? tracefs_read_format(b, system, event, out)
					      : modcall_find(b, event, NULL, out);
}

/* ---- events ---- */

static int probe_module(const char *owner, struct backend **out, struct tr_err *err)
{
	struct modabi_version v = { 0 };
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC), ret;

	if (fd < 0)
		return tr_fail(err, errno == EACCES || errno == EPERM ? -EACCES : -EOPNOTSUPP,
			       DEVICE ": %s", strerror(errno));
	if (ioctl(fd, MODABI_GET_VERSION, &v) || v.abi != MODABI_VERSION) {
		close(fd);
		return tr_fail(err, -EOPNOTSUPP,
			       DEVICE " is of another version (%" PRIu32
				      ", not %u): tracefs is used",
			       v.abi, MODABI_VERSION);
	}
	/* tracefs has the names and formats of events. */
	ret = tracefs_backend.probe(owner, out, err);
	if (ret) {
		close(fd);
		return ret;
	}
	(*out)->device = fd;
	(*out)->functions = false;
	tracefs_data_destroy((*out)->data);     /* the module does not record such events */
	(*out)->data = NULL;
	(*out)->calls = modcalls_create(*out);
	if ((*out)->calls)
		return 0;
	close(fd);
	tracefs_backend.destroy(*out);
	*out = NULL;
	return tr_fail(err, -ENOMEM, "out of memory");
}

static int refuse_function(const struct backend *b, const char *name, struct tr_err *err)
{
	(void)b, (void)name;
	return tr_fail(err, -EOPNOTSUPP,
		       "trail.ko does not trace calls of functions; without it, tracefs does");
}

static void destroy_backend(struct backend *b)
{
	if (b) {
		close(b->device);
		modcalls_destroy(b->calls);
	}
	tracefs_backend.destroy(b);
}

static int list_events(const struct backend *b, struct md_buf *out)
{
	int ret = tracefs_backend.list(b, out);

	if (!ret)
		modcalls_list(b->calls, out);
	return ret;
}

/*
 * This includes events that this kernel does not have, because their module is not loaded or they
 * are not configured.
 */
static int list_compiled(const struct backend *b, struct md_buf *out)
{
	char text[4096];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(b->device, text, sizeof(text), at)) > 0) {
		md_buf_put(out, text, (size_t)n);
		at += n;
	}
	return n < 0 ? -errno : out->failed ? -ENOMEM : 0;
}

static void describe_backend(const struct backend *b, struct md_buf *out)
{
	struct modabi_version v = { 0 };

	ioctl(b->device, MODABI_GET_VERSION, &v);
	md_buf_printf(out,
		      "trail.ko; %" PRIu32
		      " events with compiled probes, the others by performance counters",
		      v.compiled);
	if (!v.compiled)
		md_buf_puts(out, "; trail_events.ko is not loaded");
}

/* Appends tracefs' channels, too: a daemon may have made them before the module was loaded. */
static int list_channels(const struct backend *b, struct md_buf *names)
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

/* Event probes have no performance counters, by which the module records probes. */
static int create_probe(struct backend *b, const char *group, const struct dynamic_event *d,
			struct md_buf *names, struct tr_err *err)
{
	if (dynamic_event_has_record(d))
		return tr_fail(err, -EOPNOTSUPP,
			       "trail.ko records no extra data of tracepoints; kprobe: rules have "
			       "extra data");
	return tracefs_probe_create(b, group, d, names, err);
}

/* trail.ko closes a probe's counters in a work, after it was disabled: they use it until then. */
static int remove_probe(struct backend *b, const char *group, const char *name)
{
	enum { TRIES = 100, PAUSE_US = 10000 };
	int ret = tracefs_probe_remove(b, group, name);

	for (int i = 0; i < TRIES && ret == -EBUSY; i++) {
		usleep(PAUSE_US);
		ret = tracefs_probe_remove(b, group, name);
	}
	return ret;
}

const struct backend_ops module_backend = {
	.name = "module",
	.probe = probe_module,
	.destroy = destroy_backend,
	.describe = describe_backend,
	.list = list_events,
	.compiled_as = { "fallback", "module" },
	.compiled = list_compiled,
	.format = print_format,
	.probe_create = create_probe,
	.has_kprobes = tracefs_has_kprobes,
	.has_uprobes = tracefs_has_uprobes,
	.probe_remove = remove_probe,
	.probes = tracefs_probes,
	.ids = tracefs_ids,
	.function_check = refuse_function,
	.channels = list_channels,
	.channel_open = module_channel_open,
	.channel_remove = module_channel_remove,
	.channel_close = module_channel_close,
	.contexts = module_contexts,
	.record = module_record,
	.enable = module_enable,
	.filter = module_filter,
	.programs = true,
	.enabled = module_enabled,
	.track = module_track,
	.track_more = module_track_more,
	.track_by = module_track_by,
	.drain = module_drain,
	.lost = module_lost,
};
