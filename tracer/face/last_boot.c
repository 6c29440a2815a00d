// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The session `last-boot`: what the kernel recorded before the machine crashed or was reset, if its
 * command line gave an instance of tracefs memory that outlives a boot. The first daemon of root
 * after the boot moves the events into a trace in the state directory, which the session has as its
 * `input`, and then has the kernel record this boot.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "tracer/base/os/state_file.h"
#include "tracer/face/face.h"
#include "tracer/kernel/kernel.h"
#include "tracer/session/trace_form.h"

#define NAME "last-boot"                /* of the session, and of its directory */
#define BOOT "boot"                     /* file: the id of the boot in which the trace was made */
#define SUBBUF_SIZE (UINT64_C(1) << 20)

/* The trace is of the boot before this one. */
static bool is_taken(struct tracer *t)
{
	struct md_buf id = MD_BUF_INIT;
	bool yes = !state_file_read(t->state_fd, NAME "/" BOOT, sizeof(t->clock.uuid), &id) &&
		   id.len == sizeof(t->clock.uuid) && !memcmp(id.data, t->clock.uuid, id.len);

	md_buf_deinit(&id);
	return yes;
}

static void remove_trace(struct tracer *t)
{
	int dir = openat(t->state_fd, NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		return;
	state_file_remove(dir, "kernel");
	close(dir);
	state_file_remove(t->state_fd, NAME);
}

/*
 * The buffer holds as many bytes as the kernel's, and again as many, because an event may be larger
 * in the trace. Pages that no event fills take no memory.
 */
static int set_up(struct session *draft, const struct backend_boot *boot, struct tr_err *err)
{
	struct md_clock clock = { .freq = 1000000000, .name = "last_boot" };
	char text[32];
	uint32_t count = 4;
	int ret;

	while (count * SUBBUF_SIZE < 2 * boot->bytes && count < TRAIL_SUBBUF_COUNT_MAX)
		count *= 2;
	ret = events_store(draft, DOMAIN_KERNEL, NULL, "*\nsyscall:*\n", true, err);
	if (!ret)
		ret = contexts_store(draft, DOMAIN_KERNEL, NULL, "tid\n", true, err);
	snprintf(text, sizeof(text), "%" PRIu64, SUBBUF_SIZE);
	if (!ret)
		ret = channel_store(draft, DOMAIN_KERNEL, "channel0", "subbuf_size", text, err);
	snprintf(text, sizeof(text), "%" PRIu32, count);
	if (!ret)
		ret = channel_store(draft, DOMAIN_KERNEL, "channel0", "subbuf_count", text, err);
	if (ret)
		return ret;
	/* Times count from the beginning of that boot, whose date is not known. */
	uuid_generate(clock.uuid);
	snprintf(clock.description, sizeof(clock.description), "time since the last boot began");
	session_lock(draft);
	draft->times = TIMES_PLUGIN;
	session_take_clock(draft, &clock);
	session_unlock(draft);
	return 0;
}

static int save_trace(struct session *draft, int dir, struct tr_err *err)
{
	struct image_sink to = { .dir = dir, .mode = 0700 };
	struct trace_image *image;
	int ret = image_take(draft, &image);

	if (!ret) {
		ret = image_save(image, &to);
		image_put(image);
	}
	return ret ? tr_fail(err, ret, "its trace cannot be written: %s", strerror(-ret)) : 0;
}

/* Moves the events into a trace in the state directory. */
static int take(struct tracer *t, struct session *s, const struct backend_boot *boot,
		struct tr_err *err)
{
	struct session *draft = session_draft(s);
	int dir = -1, ret;

	if (!draft)
		return tr_fail(err, -ENOMEM, "out of memory");
	if (mkdirat(t->state_fd, NAME, 0700))
		ret = tr_fail(err, -errno, "the state directory cannot be written: %s",
			      strerror(errno));
	else
		ret = set_up(draft, boot, err);
	if (!ret)
		ret = kernel_boot_take(draft, boot, err);
	if (!ret)
		dir = openat(t->state_fd, NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir >= 0) {
		ret = save_trace(draft, dir, err);
		close(dir);
	}
	session_draft_drop(draft);
	return ret;
}

/* boot NULL: the trace is there already. */
static int show(struct tracer *t, const struct backend_boot *boot, struct tr_err *err)
{
	struct owner owner = { .uid = geteuid(), .gid = getegid() };
	char path[sizeof(t->state_dir) + sizeof(NAME) + 2];
	struct session *s;
	int ret = session_create(t, NAME, &owner, err);

	if (ret)        /* an earlier daemon's, or one of a user */
		return ret;
	s = session_get(t, NAME);
	if (!s)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%s/" NAME, t->state_dir);
	ret = boot ? take(t, s, boot, err) : 0;
	if (!ret)
		ret = session_store(s, "input", path, true, err);
	session_put(s);
	if (ret)
		session_destroy(t, NAME, NULL);
	return ret;
}

/* Later daemons of this boot leave the kernel's memory alone. */
static void note_boot(struct tracer *t)
{
	mkdirat(t->state_fd, NAME, 0700);
	state_file_write(t->state_fd, NAME "/" BOOT, t->clock.uuid, sizeof(t->clock.uuid));
}

static int take_first(struct tracer *t, struct tr_err *err)
{
	struct backend_boot boot;
	int ret = 0;

	remove_trace(t);
	if (kernel_boot_find(t, &boot))
		return 0;
	if (boot.recording)
		return tr_fail(err, -EBUSY,
			       "instance %s of tracefs records already; add ^traceoff to its "
			       "trace_instance= on the kernel's command line",
			       boot.name);
	if (boot.events)
		ret = show(t, &boot, err);
	/* Linux 7.2 and 7.3 empty its memory before the first program runs. */
	if (!ret && boot.lacks_first)
		tracer_report(t, "the events of the last boot: there are none of CPU 0");
	if (!ret && kernel_boot_record(t, &boot))
		ret = tr_fail(err, -EIO, "instance %s of tracefs cannot be set to record",
			      boot.name);
	if (!ret)
		note_boot(t);
	return ret;
}

void last_boot_open(struct tracer *t)
{
	struct tr_err err = TR_ERR_INIT;
	int ret = 0;

	if (t->lane != TRAIL_LANE_ROOT)
		return;
	if (!is_taken(t))
		ret = take_first(t, &err);
	else if (!faccessat(t->state_fd, NAME "/kernel", F_OK, 0))
		ret = show(t, NULL, &err);
	if (ret && ret != -EEXIST)
		tracer_report(t, "the events of the last boot: %s",
			      err.sentence[0] ? err.sentence : strerror(-ret));
}
