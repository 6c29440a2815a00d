/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cache of layouts: files with equal tables share one, files that differ in any byte that
 * never changes do not, and the cache stays within its limits for any files.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/file.h>

#include "tests/lib/regs.h"
#include "tests/lib/test.h"
#include "tracer/abi/table_digest.h"
#include "tracer/app/layout.h"
#include "tracer/base/os/state_file.h"

static char path[300];
static int dir;
static struct layouts *cache;

static void begin(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(path, sizeof(path), "%s/layout.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(path) != NULL);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cache = layouts_create();
	CHECK(cache != NULL);
}

static void end(void)
{
	layouts_destroy(cache);
	close(dir);
	state_file_remove(AT_FDCWD, path);
}

/* A registration with one tracepoint of this name and log level. */
static void build(struct md_buf *file, const char *name, int level)
{
	struct regs regs = { .strings = MD_BUF_INIT };

	regs.object = regs_string(&regs, "/usr/bin/app");
	regs_event(&regs, "my_app", name, level);
	regs_field(&regs, "id", TRAIL_KIND_INT, 4, TRAIL_FIELD_SIGNED, 0);
	*file = (struct md_buf)MD_BUF_INIT;
	regs_file(&regs, file);
	md_buf_deinit(&regs.strings);
}

static struct trail_reg *head_of(const struct md_buf *file)
{
	return (struct trail_reg *)(void *)file->data;
}

/* Writes the bytes under a name and opens them; NULL: refused. */
static struct registration *load(const struct md_buf *file)
{
	struct registration *r = NULL;
	const char *reason;

	unlinkat(dir, "f", 0);
	close(regs_save(dir, "f", file->data, file->len));
	return registration_open(cache, dir, "f", &r, &reason) ? NULL : r;
}

static struct registration *load_event(const char *name, int level)
{
	struct md_buf file;
	struct registration *r;

	build(&file, name, level);
	r = load(&file);
	md_buf_deinit(&file);
	CHECK(r && !strcmp(strchr(r->events[0].name, ':') + 1, name));
	return r;
}

static void equal_files_share_a_layout(void)
{
	struct registration *a, *b, *c;
	struct md_buf file;

	begin();
	build(&file, "one", 4);
	a = load(&file);
	/* What differs between processes, and what changes: pid and state words. */
	head_of(&file)->pid = 4321;
	file.data[head_of(&file)->state_offset] = 77;
	b = load(&file);
	CHECK(a && b && a->events == b->events && a->strings == b->strings &&
	      a->layout == b->layout);
	CHECK(a->pid == 1234 && b->pid == 4321 && a->fd != b->fd && layouts_count(cache) == 1);
	registration_close(a);
	CHECK(!strcmp(b->events[0].name, "my_app:one"));
	registration_close(b);
	/* It stays for the next start of the program. */
	CHECK(layouts_count(cache) == 1);
	c = load(&file);
	CHECK(c && layouts_count(cache) == 1 && c->event_count == 1 &&
	      !strcmp(c->object, "/usr/bin/app"));
	registration_close(c);
	md_buf_deinit(&file);
	end();
}

static void one_other_byte_is_another_layout(void)
{
	struct registration *first, *r;
	struct md_buf file;
	size_t tables;

	begin();
	build(&file, "one", 4);
	first = load(&file);
	tables = head_of(&file)->event_offset;
	for (size_t i = 0; i < file.len; i++) {
		bool is_state =
			i >= head_of(&file)->state_offset && i < head_of(&file)->state_offset + 4;
		bool is_pid = i >= offsetof(struct trail_reg, pid) &&
			      i < offsetof(struct trail_reg, pid) + 4;

		file.data[i] ^= 1;
		r = load(&file);
		if (r)
			CHECK((r->layout == first->layout) == (is_state || is_pid));
		/*
		 * Bytes that a reader would see: the equal header must not bring the tables of the
		 * other file.
		 */
		if (r && !is_state && !is_pid && i >= tables)
			CHECK(r->events != first->events && r->fields != first->fields);
		registration_close(r);
		file.data[i] ^= 1;
	}
	r = load(&file);
	CHECK(r && r->layout == first->layout && !strcmp(r->events[0].name, "my_app:one"));
	registration_close(r);
	registration_close(first);
	md_buf_deinit(&file);
	end();
}

/* The header of the cached file, and an event that no parser would accept. */
static void an_equal_header_does_not_make_a_bad_file_good(void)
{
	struct registration *r, *bad;
	struct md_buf file;

	begin();
	build(&file, "one", 4);
	r = load(&file);
	CHECK(r != NULL);
	memset(file.data + head_of(&file)->event_offset, 0xff, sizeof(struct trail_reg_event));
	bad = load(&file);
	CHECK(bad && bad->events[0].refused && !r->events[0].refused);
	registration_close(bad);
	registration_close(r);
	md_buf_deinit(&file);
	end();
}

/* The same file as the library writes it. claim: its digest; 0: the true one. */
static void build_with_digest(struct md_buf *file, const char *name, uint64_t claim)
{
	struct md_buf plain, f = MD_BUF_INIT;
	struct trail_reg *h;
	size_t begin;

	build(&plain, name, 4);
	h = head_of(&plain);
	begin = h->missed_offset ? h->missed_offset + 8u * h->event_count
				 : h->state_offset + 4u * h->event_count;
	if (!claim)
		claim = trail_table_digest(plain.data + begin, plain.len - begin);
	h->digest_offset = sizeof(*h);
	h->size += 8;
	h->state_offset += 8;
	h->missed_offset += h->missed_offset ? 8 : 0;
	h->event_offset += 8;
	h->field_offset += 8;
	h->string_offset += 8;
	md_buf_put(&f, h, sizeof(*h));
	md_buf_put(&f, &claim, 8);
	md_buf_put(&f, plain.data + sizeof(*h), plain.len - sizeof(*h));
	md_buf_deinit(&plain);
	*file = f;
}

/* The cost of a known layout does not grow with it: the tables are not read. */
static void a_digest_stands_for_the_tables(void)
{
	struct registration *a, *b, *liar;
	struct md_buf one, two;

	begin();
	build_with_digest(&one, "one", 0);
	build_with_digest(&two, "two", 0);
	a = load(&one);
	b = load(&two);
	CHECK(a && b && a->layout != b->layout && layouts_count(cache) == 2 && !a->layout->tables);
	CHECK(!strcmp(a->events[0].name, "my_app:one") && !strcmp(b->events[0].name, "my_app:two"));
	registration_close(b);
	b = load(&one);
	CHECK(b && b->layout == a->layout && layouts_count(cache) == 2);
	registration_close(b);
	/* Tables that no parser would accept are not looked at: it means what it claims. */
	memset(one.data + head_of(&one)->event_offset, 0xff, sizeof(struct trail_reg_event));
	liar = load(&one);
	CHECK(liar && liar->layout == a->layout);
	registration_close(liar);
	registration_close(a);
	md_buf_deinit(&one);
	md_buf_deinit(&two);
	end();
}

static void a_wrong_digest_changes_no_other_file(void)
{
	struct md_buf one, two, liar;
	struct registration *r;
	uint64_t digest;

	begin();
	build_with_digest(&one, "one", 0);
	memcpy(&digest, one.data + sizeof(struct trail_reg), 8);
	build_with_digest(&liar, "two", digest);
	build_with_digest(&two, "two", 0);
	registration_close(load(&liar));
	r = load(&one);
	CHECK(r && !strcmp(r->events[0].name, "my_app:one"));
	registration_close(r);
	/* Known by the digest that its tables have. */
	r = load(&two);
	CHECK(r && !strcmp(r->events[0].name, "my_app:two") && layouts_count(cache) == 2);
	registration_close(r);
	md_buf_deinit(&one);
	md_buf_deinit(&two);
	md_buf_deinit(&liar);
	end();
}

static void owners_do_not_share(void)
{
	struct registration *r, mine = { 0 }, other = { 0 };
	struct md_buf file;
	int fd;

	begin();
	build(&file, "one", 4);
	r = load(&file);
	fd = openat(dir, "f", O_RDONLY | O_CLOEXEC);
	other.uid = r->uid + 1;
	CHECK(layout_find(cache, &other, fd, file.len) == -ENOENT && !other.layout);
	mine.uid = r->uid;
	CHECK(!layout_find(cache, &mine, fd, file.len) && mine.layout == r->layout);
	/* A size that the header does not have */
	CHECK(layout_find(cache, &other, fd, file.len + 1) == -ENOENT);
	layout_put(mine.layout);
	registration_close(r);
	close(fd);
	md_buf_deinit(&file);
	end();
}

/*
 * Tables that change may lie anywhere in a valid file, but only in their usual place are they left
 * out of a comparison.
 */
static void other_orders_of_tables_are_not_cached(void)
{
	struct registration *r;
	struct md_buf file;

	begin();
	build(&file, "one", 4);
	while (file.len % 8)
		md_buf_putc(&file, 0);
	head_of(&file)->state_offset = (uint32_t)file.len;
	md_buf_put(&file, "\0\0\0\0\0\0\0", 8);
	head_of(&file)->size = (uint32_t)file.len;
	r = load(&file);
	CHECK(r && !layouts_count(cache) && r->event_count == 1);
	registration_close(r);
	/* The words of one file are the fields of another reader. */
	head_of(&file)->state_offset = head_of(&file)->field_offset;
	r = load(&file);
	CHECK(!layouts_count(cache));
	registration_close(r);
	md_buf_deinit(&file);
	end();
}

static void few_layouts_with_one_header_are_cached(void)
{
	struct registration *all[26];
	char name[] = "x";

	begin();
	for (int i = 0; i < 26; i++) {
		name[0] = (char)('a' + i);
		all[i] = load_event(name, 4);
	}
	CHECK(layouts_count(cache) == LAYOUTS_ALIKE);
	for (int i = 0; i < 26; i++) {
		CHECK(all[i]->events[0].name[7] == 'a' + i);
		registration_close(all[i]);
	}
	end();
}

static void idle_layouts_are_evicted(void)
{
	struct registration *used;
	char name[200];

	begin();
	used = load_event("used", 4);
	for (uint32_t i = 1; i < 3 * LAYOUTS_IDLE_PER_OWNER; i++) {
		snprintf(name, sizeof(name), "%0*d", 8 + (int)i, 0);
		registration_close(load_event(name, 4));
		CHECK(layouts_count(cache) <= 1 + LAYOUTS_IDLE_PER_OWNER);
	}
	CHECK(layouts_count(cache) == 1 + LAYOUTS_IDLE_PER_OWNER);
	/* What is used stays, and so does the latest. */
	CHECK(!strcmp(used->events[0].name, "my_app:used"));
	registration_close(load_event(name, 4));
	CHECK(layouts_count(cache) == 1 + LAYOUTS_IDLE_PER_OWNER);
	registration_close(used);
	end();
}

static void an_owner_has_a_share(void)
{
	static struct registration *all[LAYOUTS_PER_OWNER + 100];
	char name[250];

	begin();
	for (uint32_t i = 0; i < LAYOUTS_PER_OWNER + 100; i++) {
		/* Few have the same length, so few headers are equal. */
		snprintf(name, sizeof(name), "%0*u", 4 + (int)(i / LAYOUTS_ALIKE), i);
		all[i] = load_event(name, 4);
		CHECK(all[i] && layouts_count(cache) <= LAYOUTS_PER_OWNER);
	}
	CHECK(layouts_count(cache) == LAYOUTS_PER_OWNER);
	for (uint32_t i = 0; i < LAYOUTS_PER_OWNER + 100; i++)
		registration_close(all[i]);
	CHECK(layouts_count(cache) == LAYOUTS_IDLE_PER_OWNER);
	end();
}

static void memory_for_applications_is_bounded(void)
{
	struct registration *r;

	begin();
	r = load_event("one", 4);
	CHECK(layout_charge(r->layout, LAYOUTS_CHARGE_PER_OWNER));
	CHECK(!layout_charge(r->layout, 1));
	layout_refund(r->layout, LAYOUTS_CHARGE_PER_OWNER);
	CHECK(layout_charge(r->layout, 1));
	layout_refund(r->layout, 1);
	registration_close(r);
	end();
}

int main(void)
{
	CASE(equal_files_share_a_layout);
	CASE(one_other_byte_is_another_layout);
	CASE(an_equal_header_does_not_make_a_bad_file_good);
	CASE(a_digest_stands_for_the_tables);
	CASE(a_wrong_digest_changes_no_other_file);
	CASE(owners_do_not_share);
	CASE(other_orders_of_tables_are_not_cached);
	CASE(few_layouts_with_one_header_are_cached);
	CASE(idle_layouts_are_evicted);
	CASE(an_owner_has_a_share);
	CASE(memory_for_applications_is_bounded);
	return test_summary();
}
