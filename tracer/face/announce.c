// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a daemon writes for the next one and for its log: who uses the state directory, and what is
 * lost when it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "tracer/face/face.h"
#include "tracer/session/session.h"
#include "tracer/output/snapshot/snapshot.h"
#include "tracer/trigger/trigger_files.h"

#define ANNOUNCED_MAX 8192      /* of an announcement that are read */

void tracer_announce(struct tracer *t, const char *text)
{
	size_t len = strlen(text);
	int fd = face_data(t)->lock_fd;

	/*
	 * Truncate first: a reader then finds the old text, a beginning of the new one, or the
	 * whole.
	 */
	if (ftruncate(fd, 0) || pwrite(fd, text, len, 0) != (ssize_t)len)
		tracer_report(t, "the lock of the state directory %s cannot be written: %s",
			      t->state_dir, strerror(errno));
}

int tracer_announced(const char *state_dir, struct md_buf *out)
{
	int dir = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC), ret;

	if (dir < 0)
		return -errno;
	ret = state_file_read(dir, "lock", ANNOUNCED_MAX, out);
	close(dir);
	return ret;
}

static uint64_t buffer_bytes(const struct session *s)
{
	const struct channel *c;
	const struct stream_group *group;
	const struct buffer *b;
	uint64_t sum = 0;

	for_each_session_buffer(s, c, group, b)
		sum += b->region->size;
	return sum;
}

void tracer_contents(struct tracer *t, struct md_buf *out)
{
	const struct cds_list_head *p;
	unsigned int snapshots = 0, named = 0;
	const struct session *s;
	uint64_t bytes = 0;
	uint32_t triggers;

	pthread_mutex_lock(&t->lock);
	if (!t->session_count)
		md_buf_puts(out, "no sessions");
	else
		md_buf_printf(out, "%u session%s", t->session_count,
			      t->session_count > 1 ? "s" : "");
	cds_list_for_each_entry(s, &t->sessions, node) {
		if (s->hidden)
			continue;
		md_buf_puts(out, named++ ? ", " : " (");
		md_buf_puts(out, s->name);
		if (s->active)
			md_buf_puts(out, " active");
		cds_list_for_each(p, &snapshots_of(s)->list)
			snapshots++;
		bytes += buffer_bytes(s);
	}
	if (t->session_count)
		md_buf_printf(out, "), %" PRIu64 " bytes of buffers and %u snapshot%s", bytes,
			      snapshots, snapshots == 1 ? "" : "s");
	pthread_mutex_unlock(&t->lock);
	triggers = triggers_count(t);
	if (triggers)
		md_buf_printf(out, " and %u trigger%s", triggers, triggers == 1 ? "" : "s");
}
