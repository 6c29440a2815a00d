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
static void show_pending(const struct output *o, struct facts *out)
{
	uint64_t percent = o->steps ? 100 * o->step / o->steps : 0;

	if (o->rotating)
		fact_item(out, "pending", "rotation %" PRIu64 "%%", percent);
	if (o->asked[OUTPUT_METADATA] > o->done[OUTPUT_METADATA])
		fact_item(out, "pending", "metadata %" PRIu64 "%%", percent);
	if (o->asked[OUTPUT_CLEAR] > o->done[OUTPUT_CLEAR])
		fact_item(out, "pending", "clear %" PRIu64 "%%", percent);
}

void output_show_status(struct session *s, struct facts *out)
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
	fact_number(out, "output_bytes", o->bytes);
	fact_number(out, "output_packets", o->packets);
	fact_number(out, "pending_bytes", pending);
	fact_number(out, "written_percent",
		    pending ? 100 * o->bytes / (o->bytes + pending) : 100);
	fact_number(out, "syncing_files", syncing);
	if (s->compression && o->sink == &file_sink) {
		fact_text(out, "output_compression", "%s",
			  s->compression == MD_COMPRESSION_XZ ? "xz" : "gzip");
		fact_number(out, "output_plain_bytes", o->plain_bytes);
	}
	fact_number(out, "chunk", o->chunk);
	fact_text(out, "rotation", "%s", o->rotating ? "busy" : "idle");
	fact_number(out, "archives", o->archives);
	if (o->archive[0])
		fact_text(out, "last_archive", "%s", o->archive);
	if (o->lost_files)
		fact_number(out, "output_files_lost", o->lost_files);
	if (o->error)
		fact_text(out, "output_error", "%s, since %s", output_explain(o, o->error), when);
	if (o->rotate_error)
		fact_text(out, "rotation_error", "%s", output_explain(o, o->rotate_error));
	if (syncgroup_error(o->sync))
		fact_text(out, "sync_error", "%s", strerror(syncgroup_error(o->sync)));
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
