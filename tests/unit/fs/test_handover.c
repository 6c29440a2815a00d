/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table that a daemon leaves to the next one: what was written is read back, and whatever
 * bytes are in it, what is read back is within its limits.
 */
#include "fs/base/handover.c"
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
	handover_give(f, 7, "first ", 6, 6, 1);
	handover_give(f, 8, "second", 6, 12, 2);
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
	/* The second read was not delivered. */
	handover_take_back(f);
	CHECK(f->given[f->which].len == 6 && f->given[f->which].end == 6);
	/* A handle that was freed means nothing, and is not given again. */
	uint64_t old = f->handle;
	handover_file_free(f);
	CHECK(!handover_file(old));
	f = handover_file_new();
	CHECK(f && f->handle != old && !handover_file(old));
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
				handover_give(f, 9, "bytes", 5, f->given[f->which].end + 5, 0);
		handover_end();
	}
}

int main(void)
{
	CASE(is_read_back);
	CASE(texts_are_compared);
	CASE(other_tables);
	CASE(wrong_entries);
	CASE(any_bytes);
	return test_summary();
}
