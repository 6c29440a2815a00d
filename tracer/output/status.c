/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What users see of an output: its lines in the session's `status`, and its errors in `troubles`.
 */
#include <inttypes.h>
#include <string.h>

#include "tracer/base/timefmt.h"
#include "tracer/output/output.h"
#include "tracer/output/outputs.h"

/* Requests that are not done yet. Caller holds output.lock. */
static void show_pending(const struct output *o, struct md_buf *out)
{
	uint64_t percent = o->steps ? 100 * o->step / o->steps : 0;

	if (o->rotating)
		md_buf_printf(out, "pending rotation %" PRIu64 "%%\n", percent);
	if (o->asked[OUTPUT_METADATA] > o->done[OUTPUT_METADATA])
		md_buf_printf(out, "pending metadata %" PRIu64 "%%\n", percent);
	if (o->asked[OUTPUT_CLEAR] > o->done[OUTPUT_CLEAR])
		md_buf_printf(out, "pending clear %" PRIu64 "%%\n", percent);
}

void output_show_status(struct session *s, struct md_buf *out)
{
	struct output *o = output_runs(s) ? s->output : NULL;
	uint64_t syncing, pending;
	char when[TIME_TEXT_MAX];

	if (!o)
		return;
	pending = output_pending(s);
	pthread_mutex_lock(&o->lock);
	/*
	 * Whether an earlier daemon's files are synced is unknown until its directory is open
	 * again: count one more.
	 */
	syncing = syncgroup_pending(o->sync) + o->inherited;
	time_print(o->error_since, TIME_FORMAT_STATUS, when);
	md_buf_printf(out,
		      "output_bytes %" PRIu64 "\noutput_packets %" PRIu64 "\npending_bytes %" PRIu64
		      "\nwritten_percent %" PRIu64 "\nsyncing_files %" PRIu64 "\n",
		      o->bytes, o->packets, pending,
		      pending ? 100 * o->bytes / (o->bytes + pending) : 100, syncing);
	if (s->compression && o->sink == &file_sink)
		md_buf_printf(out, "output_compression %s\noutput_plain_bytes %" PRIu64 "\n",
			      s->compression == MD_COMPRESSION_XZ ? "xz" : "gzip", o->plain_bytes);
	md_buf_printf(out, "chunk %" PRIu64 "\nrotation %s\narchives %" PRIu64 "\n", o->chunk,
		      o->rotating ? "busy" : "idle", o->archives);
	if (o->archive[0])
		md_buf_printf(out, "last_archive %s\n", o->archive);
	if (o->lost_files)
		md_buf_printf(out, "output_files_lost %" PRIu64 "\n", o->lost_files);
	if (o->error)
		md_buf_printf(out, "output_error %s, since %s\n", output_explain(o, o->error),
			      when);
	if (o->rotate_error)
		md_buf_printf(out, "rotation_error %s\n", output_explain(o, o->rotate_error));
	if (syncgroup_error(o->sync))
		md_buf_printf(out, "sync_error %s\n", strerror(syncgroup_error(o->sync)));
	if (o->sink->show)
		o->sink->show(o, out);
	show_pending(o, out);
	pthread_mutex_unlock(&o->lock);
}

void session_troubles(struct session *s, struct md_buf *out)
{
	struct output *o = output_if_running(s);
	const char *trouble;

	session_save_trouble(s, out);
	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	trouble = o->error ? output_explain(o, o->error)
		  : o->sink->trouble ? o->sink->trouble(o)
				     : NULL;
	if (trouble)
		md_buf_printf(out,
			      "output: %s: events are discarded (and counted) when the buffers are "
			      "full, until it can be written again\n  %s\n",
			      trouble, o->path);
	if (o->lost_files)
		md_buf_printf(out,
			      "output: other programs have removed or cut %" PRIu64
			      " files while they were being written; "
			      "recording continued in new files\n  %s\n",
			      o->lost_files, o->path);
	if (o->rotate_error)
		md_buf_printf(out, "rotate: the chunk cannot be moved to the archives: %s\n",
			      output_explain(o, o->rotate_error));
	if (syncgroup_error(o->sync))
		md_buf_printf(out, "output: what was written may not be on the disk: %s\n",
			      strerror(syncgroup_error(o->sync)));
	pthread_mutex_unlock(&o->lock);
}
