/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table that a daemon leaves to the next one: what was written is read back, and whatever
 * bytes are in it, what is read back is within its limits.
 */
#include "fs/base/handover.c"
#include "fs/base/handover_text.c"
#include "tests/lib/test.h"

struct fs fs;

static int kept;        /* the descriptor that a keeper would have */
static const char long_name[] = "a-name-that-is-longer-than-its-node-has-room-for-44-bytes";

static void put_node(uint64_t id, uint64_t parent, const char *name)
{
	uint32_t index = handover_node_new();
	struct handover_node *n = handover_node(index);

	*n = (struct handover_node){ .parent = parent, .known = 1 };
	CHECK(handover_node_set_name(n, name));
	n->id = id;
	handover_head()->next_node = id + 1;
}

/* A table with three nodes and two files, of a daemon that has ended. */
static void leave_table(void)
{
	struct handover_file *f;

	CHECK(!handover_begin("/trace"));
	handover_head()->init_len = handover_head()->init_reply_len = 80;
	put_node(2, 1, "sessions");
	put_node(3, 2, long_name);
	put_node(4, 3, "text");
	for (int i = 0; i < 2; i++) {
		f = handover_file_new();
		f->node = 4;
	}
	handover_give(f, &(struct handover_read){ .unique = 7, .end = 6 }, "first ", 6);
	handover_give(f, &(struct handover_read){ .unique = 8, .end = 12, .rest = " third\n",
						  .rest_len = 7 }, "second", 6);
	CHECK(handover_keep_text(f, 9, (struct iovec[2]){ { "events = a", 10 }, { "", 0 } }));
	kept = dup(handover_fd());
	handover_end();
}

static struct table *map_kept(void)
{
	return map(kept, MAP_SHARED);
}

static void is_read_back(void)
{
	char path[PATH_MAX], device[24];
	struct handover_file *f;

	leave_table();
	CHECK(handover_look(kept, path, device));
	CHECK_STR(path, "/trace");
	CHECK(!handover_take(kept));
	CHECK(handover_head()->taken == 1);
	CHECK_STR(handover_node_name(handover_node(0)), "sessions");
	CHECK_STR(handover_node_name(handover_node(1)), long_name);
	f = handover_file_used(1);
	CHECK(f && f->handle && handover_file(f->handle) == f);
	CHECK(f->given[f->which].len == 12);
	CHECK(!memcmp(f->given[f->which].bytes, "first second", 12));
	CHECK(f->given[f->which].rest == 7);
	CHECK(!memcmp(f->given[f->which].bytes + 12, " third\n", 7));
	/* The second read was not delivered. */
	handover_take_back(f);
	CHECK(f->given[f->which].len == 6 && f->given[f->which].end == 6);
	CHECK(f->given[f->which].rest == HANDOVER_NONE);
	/* A handle that was freed means nothing, and is not given again. */
	uint64_t old = f->handle;
	handover_file_free(f);
	CHECK(!handover_file(old));
	f = handover_file_new();
	CHECK(f && f->handle != old && !handover_file(old));
	handover_end();
}

static bool has_text(const struct handover_file *f, uint64_t unique, const char *a, const char *b)
{
	struct iovec texts[2];
	uint64_t last;

	return handover_text(f, &last, texts) && last == unique && texts[0].iov_len == strlen(a) &&
	       texts[1].iov_len == strlen(b) && !memcmp(texts[0].iov_base, a, strlen(a)) &&
	       !memcmp(texts[1].iov_base, b, strlen(b));
}

static void texts_wait(void)
{
	static char big[HANDOVER_TEXT + 1];
	struct handover_file *f, *other[HANDOVER_TEXTS];

	leave_table();
	CHECK(!handover_take(kept));
	f = handover_file_used(1);
	CHECK(has_text(f, 9, "events = a", ""));
	CHECK(handover_keep_text(f, 10, (struct iovec[2]){ { "events = ab", 11 }, { "", 0 } }));
	CHECK(has_text(f, 10, "events = ab", ""));
	CHECK(handover_keep_text(f, 11, (struct iovec[2]){ { "x", 1 }, { "tcp://a\n", 8 } }));
	CHECK(has_text(f, 11, "x", "tcp://a\n"));
	/* One that is too long is not there in part. */
	CHECK(!handover_keep_text(f, 12, (struct iovec[2]){ { big, sizeof(big) }, { "", 0 } }));
	CHECK(!has_text(f, 11, "x", "tcp://a\n"));
	for (uint32_t i = 0; i < HANDOVER_TEXTS; i++) {
		other[i] = handover_file_new();
		CHECK(handover_keep_text(other[i], i, (struct iovec[2]){ { big, 5 }, { "", 0 } }));
	}
	CHECK(!handover_keep_text(f, 13, (struct iovec[2]){ { "x", 1 }, { "", 0 } }));
	handover_drop_text(other[3]);
	handover_file_free(other[3]);
	CHECK(handover_keep_text(f, 14, (struct iovec[2]){ { "y", 1 }, { "", 0 } }));
	CHECK(has_text(f, 14, "y", ""));
	handover_end();
}

static void texts_are_compared(void)
{
	static char big[HANDOVER_BYTES + 100];
	struct handover_file *f;

	CHECK(!handover_begin("/trace"));
	f = handover_file_new();
	CHECK(!handover_shows(f, "x", 1));
	handover_show(f, "a text", 6);
	CHECK(handover_shows(f, "a text", 6) && !handover_shows(f, "a tent", 6));
	memset(big, 'b', sizeof(big));
	handover_show(f, big, sizeof(big));
	CHECK(f->given[0].more && handover_shows(f, big, sizeof(big)));
	big[5] = 'c';
	CHECK(!handover_shows(f, big, sizeof(big)));
	handover_end();
}

/* What is not a table, or of another version, is refused as a whole. */
static void other_tables(void)
{
	struct table *t;

	for (int i = 0; i < 6; i++) {
		leave_table();
		t = map_kept();
		switch (i) {
		case 0: t->head.version++; break;
		case 1: t->head.size--; break;
		case 2: t->head.init_len = HANDOVER_REPLY + 1; break;
		case 3: t->head.node_count = HANDOVER_NODES + 1; break;
		case 4: memset(t->head.path, 'p', sizeof(t->head.path)); break;
		case 5: t->head.name_count = UINT32_MAX; break;
		}
		munmap(t, sizeof(*t));
		CHECK(handover_take(kept) == -EPROTO);
		CHECK(!handover_head());
		close(kept);
	}
	kept = memfd_create("small", MFD_CLOEXEC);
	CHECK(handover_take(kept) == -EPROTO);
	close(kept);
}

/* A wrong entry is free, the others are not. */
static void wrong_entries(void)
{
	struct table *t;

	for (int i = 0; i < 6; i++) {
		leave_table();
		t = map_kept();
		switch (i) {
		case 0: t->nodes[1].parent = 3; break;
		case 1: t->nodes[1].longer = 2; break;
		case 2: t->nodes[1].id = 1000; break;
		case 3: t->names[0][0] = 0; break;
		case 4: memset(t->nodes[1].name, 'n', HANDOVER_SHORT); break;
		case 5: memset(t->names[0], 'n', NAME_MAX + 1); break;
		}
		t->files[1].which = 2;
		t->files[0].handle = 5;
		munmap(t, sizeof(*t));
		CHECK(!handover_take(kept));
		CHECK(handover_node(0)->id == 2 && !handover_node(1)->id);
		CHECK(!handover_file_used(0)->handle && !handover_file_used(1)->handle);
		handover_end();
	}
}

static uint32_t seed = 1;
static uint32_t random_number(void)
{
	return seed = seed * 1664525 + 1013904223;
}

static void any_bytes(void)
{
	for (int round = 0; round < 300; round++) {
		struct handover_node *n;
		struct handover_file *f;
		struct table *t;

		leave_table();
		t = map_kept();
		for (int i = 0; i < 20; i++) {
			((uint8_t *)t->nodes)[random_number() % (4 * sizeof(*t->nodes))] =
				(uint8_t)(random_number() >> 24);
			((uint8_t *)t->files)[random_number() % (2 * sizeof(*t->files))] =
				(uint8_t)(random_number() >> 24);
		}
		munmap(t, sizeof(*t));
		CHECK(!handover_take(kept));
		for (uint32_t i = 0; (n = handover_node_used(i)); i++)
			CHECK(!n->id || (n->parent < n->id && *handover_node_name(n) &&
					 strlen(handover_node_name(n)) <= NAME_MAX));
		for (uint32_t i = 0; (f = handover_file_used(i)); i++)
			if (f->handle)
				handover_give(f, &(struct handover_read){
						      .end = f->given[f->which].end + 5 },
					      "bytes", 5);
		handover_end();
	}
}

int main(void)
{
	CASE(is_read_back);
	CASE(texts_wait);
	CASE(texts_are_compared);
	CASE(other_tables);
	CASE(wrong_entries);
	CASE(any_bytes);
	return test_summary();
}
