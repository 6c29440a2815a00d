/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/probe/probe.h"
#include "tracer/base/probe/event_field.h"
#include "tracer/kernel/backend/event_probe.h"
#include "tracer/kernel/kevent/kevent.h"

enum { FIELDS_MAX = 13 };

/* The format in which tracefs shows a number, for a C type. */
static const char *choose_number_type(const char *type)
{
	static const char *const small[][2] = {
		{ "int", "s32" },          { "pid_t", "s32" },
		{ "clockid_t", "s32" },    { "const clockid_t", "s32" },
		{ "timer_t", "s32" },      { "key_t", "s32" },
		{ "key_serial_t", "s32" }, { "mqd_t", "s32" },
		{ "rwf_t", "s32" },        { "s32", "s32" },
		{ "__s32", "s32" },        { "unsigned", "u32" },
		{ "unsigned int", "u32" }, { "u32", "u32" },
		{ "__u32", "u32" },        { "uid_t", "u32" },
		{ "gid_t", "u32" },        { "qid_t", "u32" },
		{ "umode_t", "u16" },      { "old_uid_t", "u16" },
		{ "old_gid_t", "u16" },    { "long", "s64" },
		{ "off_t", "s64" },        { "loff_t", "s64" },
		{ "ssize_t", "s64" },
	};

	if (strchr(type, '*'))
		return "x64";
	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
		if (!strcmp(type, small[i][0]))
			return small[i][1];
	return "u64";
}

/* It records text in the same way; only the print format tells them apart. */
bool event_probe_reads_bytes(const char *format)
{
	const char *print = strstr(format, "\nprint fmt:");

	return print && strstr(print, "__print_dynamic_array(__");
}

bool event_probe_is_read(const struct event_field *f)
{
	return !strncmp(f->type, "__data_loc", 10) && !strncmp(f->name, "__", 2);
}

int event_probe_define(const char *format, const char *event, const char *group, struct md_buf *out)
{
	struct md_buf b = MD_BUF_INIT;
	struct event_field f;
	bool has_text = false, bytes = event_probe_reads_bytes(format);
	int strings = 0, fields = 0, ret;

	if (strncmp(event, "sys_enter_", 10))
		return -EINVAL;
	md_buf_printf(&b, "e:%s/%s syscalls.%s", group, event, event);
	for (; fields < FIELDS_MAX && (format = event_field_next(format, &f)); fields++) {
		bool text;

		/* The event's name has the number of the call already. */
		if (!strcmp(f.name, "__syscall_nr"))
			continue;
		/*
		 * Such bytes may be secrets, and the kernel records them without being asked. A
		 * probe leaves them out.
		 */
		if (bytes && event_probe_is_read(&f)) {
			strings++;
			continue;
		}
		/* This kernel records the string itself. */
		has_text = has_text || !strncmp(f.type, "__data_loc", 10);
		text = syscall_takes_string(event + 10, f.type, f.name);
		strings += text;
		if (text)
			md_buf_printf(&b, " %s=+0($%s):ustring", f.name, f.name);
		else
			md_buf_printf(&b, " %s=$%s:%s", f.name, f.name,
				      choose_number_type(f.type));
	}
	md_buf_putc(&b, '\n');
	ret = b.failed ? -ENOMEM : !fields ? -EINVAL : has_text ? 0 : strings;
	if (ret > 0) {
		md_buf_put(out, b.data, b.len);
		ret = out->failed ? -ENOMEM : ret;
	}
	md_buf_deinit(&b);
	return ret;
}

int event_probe_supported(int tracefs_fd)
{
	static const char line[] =
		"e:trailfs_trial/trial syscalls.sys_enter_openat f=+0($filename):ustring\n";
	int ret;

	/* A kernel without event probes refuses the line, and its error_log does not mention it. */
	ret = dynamic_event_write(tracefs_fd, "dynamic_events", line, sizeof(line) - 1);
	if (!ret || ret == -EEXIST) {
		dynamic_event_remove(tracefs_fd, "trailfs_trial", "trial");
		return 1;
	}
	return ret == -EINVAL || ret == -ENOENT ? 0 : ret;
}

static ssize_t read_format(int tracefs_fd, const char *event, char *text, size_t size)
{
	char path[160];
	int fd, n = snprintf(path, sizeof(path), "events/syscalls/%s/format", event);
	ssize_t got, all = 0;

	if (n < 0 || (size_t)n >= sizeof(path) || strchr(event, '/'))
		return -EINVAL;
	fd = openat(tracefs_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while ((got = read(fd, text + all, size - 1 - (size_t)all)) > 0)
		all += got;
	if (got < 0)
		all = -errno;
	close(fd);
	if (all >= 0)
		text[all] = '\0';
	return all;
}

int event_probe_create(int tracefs_fd, const char *group, const char *event, struct tr_err *err)
{
	struct md_buf b = MD_BUF_INIT;
	char format[8192];
	ssize_t got = read_format(tracefs_fd, event, format, sizeof(format));
	int ret;

	if (got < 0)
		return tr_fail(err, (int)got, "cannot read the format of %s: %s", event,
			       strerror((int)-got));
	ret = event_probe_define(format, event, group, &b);
	if (ret > 0) {
		ret = dynamic_event_write(tracefs_fd, "dynamic_events", b.data, b.len);
		if (ret == -EINVAL && !event_probe_supported(tracefs_fd))
			ret = tr_fail(err, -EOPNOTSUPP,
				      "this kernel was built without event probes: strings of "
				      "system calls stay pointers");
		else if (ret)
			tr_fail(err, ret, "cannot make an event probe on %s: %s", event,
				strerror(-ret));
		else
			ret = 1;
	} else if (ret < 0) {
		tr_fail(err, ret, "the format of %s cannot be parsed", event);
	}
	md_buf_deinit(&b);
	return ret;
}
