/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core pthread */
/*
 * fuzz_snapshot [SECONDS [SEED]]: a buffer that its program has filled with rubbish, a snapshot of
 * it that no process reads, a daemon that is killed: what the next one shows of the snapshot
 * decodes to the last byte, and packets and index agree.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/fuzz.h"
#include "metadata/ctf.h"
#include "metadata/decode.h"
#include "tracer/face/tracer.h"
#include "tracer/session/session.h"

static char dir[256];
static struct tracer *t;
static struct session *s;

static void open_tracer(void)
{
	struct tracer_config config = { .state_dir = dir, .max_frozen = 1 << 26 };
	struct tr_err err = TR_ERR_INIT;

	expect(tracer_open(&config, &t, &err) == 0, err.sentence);
	s = session_get(t, "a");
}

/* As a kill: the keeper has what there is. */
static void close_tracer(void)
{
	session_put(s);
	tracer_close(t, true);
}

static void begin(void)
{
	const struct owner me = { getuid(), getgid(), { 0 } };
	struct tr_err err = TR_ERR_INIT;

	open_tracer();
	expect(session_create(t, "a", &me, &err) == 0, err.sentence);
	s = session_get(t, "a");
	expect(channel_create(s, DOMAIN_USER, "c", &err) == 0 &&
		       channel_store(s, DOMAIN_USER, "c", "subbuf_size", "4096", &err) == 0 &&
		       channel_store(s, DOMAIN_USER, "c", "subbuf_count", "8", &err) == 0 &&
		       contexts_store(s, DOMAIN_USER, "c", "vpid procname\n", true, &err) == 0 &&
		       events_store(s, DOMAIN_USER, "c", "trail:*\n", true, &err) == 0 &&
		       session_control(s, "start\n", 0, &err) == 0,
	       err.sentence);
}

static void record(unsigned int n)
{
	struct log_writer who = { .pid = (uint32_t)getpid(), .uid = getuid(), .gid = getgid() };
	struct tr_err err = TR_ERR_INIT;

	while (n--)
		expect(tracer_log(t, &who, "a message of the log", 20, &err) == 0, err.sentence);
}

/* Bytes of the data: the snapshot's own reader says which of them decide where events begin. */
static void spoil(void)
{
	struct channel *c = channel_find(s, DOMAIN_USER, "c");
	struct stream_group *group = cds_list_first_entry(&c->groups, struct stream_group, node);
	struct buffer *b = cds_list_first_entry(&group->buffers, struct buffer, node);
	uint8_t *data = (uint8_t *)region_data(b->region, 0);

	for (uint64_t n = rnd(60); n; n--)
		data[rnd(8 * 4096)] ^= (uint8_t)(1 << rnd(8));
}

static const struct md_stream *class_of(const char *path, uint32_t id)
{
	for (struct trace *tr = s->traces; tr; tr = tr->next)
		for (uint32_t i = 0;
		     !strncmp(path, tr->path, strlen(tr->path)) && i < tr->md->stream_count; i++)
			if (tr->md->streams[i]->id == id)
				return tr->md->streams[i];
	return NULL;
}

/* Returns the number of events. */
static uint64_t look_at(const char *path, const uint8_t *file, uint64_t size, const uint8_t *index,
			uint64_t index_size)
{
	struct md_index_entry want, got;
	uint64_t entry = sizeof(struct md_index_header), events = 0;
	struct md_occurrence o;
	struct md_packet h;

	for (uint64_t at = 0; at < size; at += h.packet_size / 8, entry += sizeof(got)) {
		expect(size - at >= sizeof(h) && index_size - entry >= sizeof(got),
		       "half a packet");
		memcpy(&h, file + at, sizeof(h));
		expect(h.magic == MD_CTF_MAGIC && h.content_size <= h.packet_size &&
			       h.packet_size / 8 <= size - at && h.content_size / 8 >= sizeof(h),
		       "a packet's header");
		struct md_decoder d = { .stream = class_of(path, h.stream_id),
					.p = file + at + sizeof(h),
					.end = file + at + h.content_size / 8,
					.ts = h.timestamp_begin };

		expect(d.stream, "a class");
		while (d.p < d.end) {
			expect(md_decoder_next(&d, &o) == 1 && o.ts >= h.timestamp_begin &&
				       o.ts <= h.timestamp_end,
			       "what is no event");
			events++;
		}
		md_index_entry_set(&want, &h, at);
		memcpy(&got, index + entry, sizeof(got));
		expect(!memcmp(&want, &got, sizeof(got)), "an index entry");
	}
	return events;
}

static uint8_t *bytes_of(struct trace_image *image, const struct image_file *files, size_t count,
			 const char *path, uint64_t *size)
{
	uint8_t *bytes;

	for (size_t i = 0; i < count; i++)
		if (!strcmp(files[i].path, path)) {
			*size = files[i].size;
			bytes = malloc(*size + 1);
			expect(image_read(image, i, 0, bytes, *size) == (ssize_t)*size,
			       "image_read");
			return bytes;
		}
	expect(false, path);
	return NULL;
}

static uint64_t look(struct trace_image *image, bool index_first)
{
	const struct image_file *files;
	size_t count = image_files(image, &files);
	uint64_t size, index_size, events = 0;

	for (size_t i = 0; i < count; i++) {
		const char *name = strrchr(files[i].path, '/');
		uint8_t *file, *index;
		char path[600];

		if (strstr(files[i].path, "/index/") || !strcmp(name, "/metadata"))
			continue;
		snprintf(path, sizeof(path), "%.*s/index%s.idx", (int)(name - files[i].path),
			 files[i].path, name);
		index = index_first ? bytes_of(image, files, count, path, &index_size) : NULL;
		file = bytes_of(image, files, count, files[i].path, &size);
		if (!index_first)
			index = bytes_of(image, files, count, path, &index_size);
		events += look_at(files[i].path, file, size, index, index_size);
		free(file);
		free(index);
	}
	return events;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 && argv[1][0] != '-' ? atoi(argv[1]) : 5);
	uint64_t rounds = 0, events = 0, before;
	struct tr_err err = TR_ERR_INIT;
	const char *tmp = getenv("TMPDIR");
	char command[300];
	struct trace_image *image;
	int64_t created;
	int helped;

	if (tracer_helper(argc, argv, &helped))
		return helped;
	fuzz_seed(argc > 2 ? argv[2] : NULL);
	snprintf(dir, sizeof(dir), "%s/fuzz_snapshot.XXXXXX", tmp ? tmp : "/tmp");
	expect(mkdtemp(dir), "mkdtemp");
	begin();
	do {
		record(10 + (unsigned int)rnd(300));
		if (rounds % 4)
			spoil();
		expect(snapshot_create(s, "x", &err) == 0, err.sentence);
		/* Partly looked at, or not at all */
		expect(snapshot_get(s, "x", &image, &created) == 0, "snapshot_get");
		before = rounds % 3 ? 0 : look(image, false);
		image_put(image);
		close_tracer();
		open_tracer();
		expect(s && snapshot_get(s, "x", &image, &created) == 0, "the snapshot is lost");
		events += look(image, rounds % 2);
		if (before)
			expect(look(image, false) == before, "not what it was");
		image_put(image);
		expect(snapshot_destroy(s, "x", &err) == 0 &&
			       session_control(s, "clear\n", 0, &err) == 0,
		       err.sentence);
		rounds++;
	} while (time(NULL) < end);
	session_put(s);
	tracer_close(t, false);
	printf("fuzz_snapshot: %llu rounds, %llu events\n", (unsigned long long)rounds,
	       (unsigned long long)events);
	expect(events > 10 * rounds, "hardly an event was found");
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command) != 0;
}
