/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core trail pthread */
/*
 * Each file of export/, of the same events: that it has all of them, by what marks an event in its
 * format. What a form writes is checked by the readers of others in tests/mount/views/.
 */
#include <errno.h>

#include "tests/lib/live_tracer.h"
#include "tracer/format/export/exports.h"
#include "tracer/output/snapshot/images.h"
#include "tracer/view/views.h"

#define ROUNDS 40u

static struct session *s;

/* ---- reading ---- */

/* In pieces, as readers do. */
static void read_view(struct export_view *v, struct md_buf *out)
{
	char piece[1000];
	ssize_t n;

	while ((n = export_read(v, out->len, piece, sizeof(piece))) > 0)
		md_buf_put(out, piece, (size_t)n);
	CHECK(n == 0);
	CHECK(out->len == export_view_size(v));
}

static bool make(enum export_form form, struct md_buf *out)
{
	struct export_view *v;
	int ret = export_open(s, form, &v);

	*out = (struct md_buf)MD_BUF_INIT;
	CHECK(ret == 0);
	if (ret)
		return false;
	read_view(v, out);
	export_close(v);
	CHECK(export_size(s, form) == out->len);
	return true;
}

static size_t occurrences(struct md_buf *text, const char *what)
{
	size_t n = 0, len = strlen(what);
	const char *p = md_buf_str(text), *end = p + text->len;

	while ((p = memmem(p, (size_t)(end - p), what, len))) {
		n++;
		p += len;
	}
	return n;
}

/* The form has `mark` once for each round. */
static void has_rounds(enum export_form form, const char *mark)
{
	struct md_buf text;

	if (!make(form, &text))
		return;
	CHECK(occurrences(&text, mark) == ROUNDS);
	if (occurrences(&text, mark) != ROUNDS)
		printf("# form %d has %zu times %s\n", (int)form, occurrences(&text, mark), mark);
	md_buf_deinit(&text);
}

/* ---- the cases ---- */

static void tables(void)
{
	struct md_buf text;

	if (make(EXPORT_CSV, &text))
		CHECK(occurrences(&text, "\n") == 3 * ROUNDS + 1);
	CHECK(occurrences(&text, "\"a \"\"note\"\", <b> & 'c'\"") == ROUNDS);
	md_buf_deinit(&text);
	if (make(EXPORT_SQL, &text))
		CHECK(occurrences(&text, "'a \"note\", <b> & ''c'''") == ROUNDS);
	md_buf_deinit(&text);
#ifdef EXPORT_HAS_SQLITE
	if (make(EXPORT_SQLITE, &text))
		CHECK(text.len > 100 && !memcmp(text.data, "SQLite format 3", 16));
	md_buf_deinit(&text);
#endif
	if (make(EXPORT_PARQUET, &text))
		CHECK(text.len > 8 && !memcmp(text.data, "PAR1", 4) &&
		      !memcmp((char *)text.data + text.len - 4, "PAR1", 4));
	md_buf_deinit(&text);
}

static void telemetry(void)
{
	has_rounds(EXPORT_OTLP, "a \\\"note\\\", <b> & 'c'");
	has_rounds(EXPORT_OTLP, "\"endTimeUnixNano\"");
}

static void pictures(void)
{
	struct md_buf text;

	has_rounds(EXPORT_CHROME, "\"ph\":\"B\"");
	if (make(EXPORT_FOLDED, &text))
		CHECK(occurrences(&text, "work") == 1);
	md_buf_deinit(&text);
}

static void lines_of_lket(void)
{
	has_rounds(EXPORT_LKET, "text:a \\\"note\\\", <b> & 'c',");
}

/* Forms without a head or a frame are empty if there is no event. */
static void make_all(bool events)
{
	struct md_buf text;

	for (int form = 0; form < EXPORT_FORMS; form++)
		if (make((enum export_form)form, &text)) {
			CHECK(text.len || (!events && (form == EXPORT_OTLP || form == EXPORT_LKET ||
						       form == EXPORT_FOLDED)));
			md_buf_deinit(&text);
		}
	CHECK(export_is_quick(s));
}

static void all_forms(void)
{
	make_all(true);
}

static void no_event(void)
{
	live_control(s, "clear\n");
	make_all(false);
}

/* The files of a directory below export/. Returns how many bytes they have. */
static uint64_t count_directory(int (*take)(struct session *s, struct trace_image **out),
				const char *path, size_t at_least)
{
	const struct image_file *files;
	struct trace_image *image;
	uint64_t bytes = 0;
	bool found = false;
	char piece[4096];
	size_t n;

	CHECK(take(s, &image) == 0);
	n = image_files(image, &files);
	CHECK(n >= at_least);
	for (size_t i = 0; i < n; i++) {
		uint64_t at = 0;
		ssize_t got;

		while ((got = image_read(image, i, at, piece, sizeof(piece))) > 0)
			at += (uint64_t)got;
		CHECK(got == 0 && at == files[i].size);
		found = found || strstr(files[i].path, path);
		bytes += at;
	}
	CHECK(found);
	image_put(image);
	return bytes;
}

static void directories(void)
{
	CHECK(count_directory(image_take_ltt, "eventdefs/", 3) > 40 * 3 * 8);
	CHECK(count_directory(image_take_lket, "stpd_cpu", 1) > 40 * 3 * 8);
}

/* pipe.otlp gives its spans as they come, and ends with the session. */
static void pipe_of_spans(void)
{
	struct md_buf all = MD_BUF_INIT;
	struct pipe_view *p;
	char piece[500];
	ssize_t n;

	live_control(s, "start\n");
	CHECK(otlp_pipe_open(s, &p) == 0);
	CHECK(live_comes_on(LIVE_ALL));
	live_control(s, "stop\n");
	while ((n = pipe_read(p, piece, sizeof(piece))) > 0 || n == -EAGAIN)
		if (n > 0)
			md_buf_put(&all, piece, (size_t)n);
	CHECK(n == 0);
	CHECK(occurrences(&all, "\"endTimeUnixNano\"") >= 1);
	pipe_close(p);
	md_buf_deinit(&all);
}

/* A full buffer: what was lost is said where spans are, too. */
static void losses(void)
{
	struct session *full = live_session("full"), *before = s;
	struct tr_err err = TR_ERR_INIT;
	struct md_buf text;

	CHECK(events_store(full, DOMAIN_USER, NULL, "unit:*\n", true, &err) == 0);
	CHECK(channel_store(full, DOMAIN_USER, "channel0", "loss_mode", "discard", &err) == 0);
	CHECK(channel_store(full, DOMAIN_USER, "channel0", "subbuf_size", "4K", &err) == 0);
	CHECK(channel_store(full, DOMAIN_USER, "channel0", "subbuf_count", "2", &err) == 0);
	live_control(full, "start\n");
	CHECK(live_comes_on(LIVE_ALL));
	for (unsigned i = 0; i < 400; i++)
		live_round();
	live_control(full, "stop\n");
	s = full;
	if (make(EXPORT_OTLP, &text))
		CHECK(occurrences(&text, "lost") > 0);
	md_buf_deinit(&text);
	s = before;
	session_put(full);
}

int main(int argc, char **argv)
{
	struct tr_err err = TR_ERR_INIT;
	int ret;

	if (!live_open(argc, argv, &ret))
		return ret;
	alarm(300);
	s = live_session("a");
	CHECK(contexts_store(s, DOMAIN_USER, NULL, "procname\nvpid\nvtid\n", true, &err) == 0);
	CHECK(events_store(s, DOMAIN_USER, NULL, "unit:*\n", true, &err) == 0);
	live_control(s, "start\n");
	CHECK(live_comes_on(LIVE_ALL));
	live_control(s, "clear\n");
	for (unsigned i = 0; i < ROUNDS; i++)
		CHECK(live_round() == LIVE_ALL);
	live_control(s, "stop\n");
	CASE(tables);
	CASE(telemetry);
	CASE(pictures);
	CASE(lines_of_lket);
	CASE(directories);
	CASE(all_forms);
	CASE(pipe_of_spans);
	CASE(no_event);
	CASE(losses);
	session_put(s);
	return live_close();
}
