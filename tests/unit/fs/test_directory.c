/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of directories over daemons that are killed while names are made and removed: a reader with
 * buffers of any size gets each name that stays once, in order.
 */
#include "fs/base/handover.c"
#include "fs/base/handover_text.c"
#include "fs/fuse/directory.c"
#include "fs/tree/listing.c"
#include "tests/lib/test.h"

#define NAMES 1500

struct fs fs;
static const struct node *the_node = (const struct node *)&fs;  /* nothing looks into it */

/*
 * Which names there are; and of a reader: which it has got, which were there all the time, which
 * were made meanwhile.
 */
static bool there[NAMES], got[NAMES], stayed[NAMES], was_made[NAMES];
static uint64_t requests;

uint64_t node_ino(const struct node *dir, const char *name, uint64_t salt)
{
	(void)dir, (void)name, (void)salt;
	return 1;
}

static uint32_t random_below(uint32_t n)
{
	static uint32_t seed = 7;

	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* In another order each time */
int tree_list(const struct node *dir, const struct who *who, struct listing *out)
{
	static const struct tree_row row = { .mode = S_IFDIR };
	uint32_t begin = random_below(NAMES);
	char name[32];

	(void)who;
	*out = (struct listing){ .dir = dir };
	for (uint32_t i = 0; i < NAMES; i++) {
		uint32_t n = (begin + i) % NAMES;

		if (!there[n])
			continue;
		snprintf(name, sizeof(name), "name-%05u", (unsigned)n);
		listing_add(out, name, &row, 0);
	}
	listing_sort(out);
	return 0;
}

struct reply {
	size_t room, count;
	int names[NAMES];
	size_t numbers[NAMES];
};

static bool add_entry(void *arg, size_t i, const char *name, const struct entry *e)
{
	struct reply *r = arg;

	(void)e;
	if (r->count == r->room)
		return false;
	r->names[r->count] = atoi(name + 5);
	r->numbers[r->count++] = i;
	return true;
}

static void change(uint32_t count)
{
	while (count--) {
		uint32_t n = random_below(NAMES);

		there[n] = !there[n];
		was_made[n] = was_made[n] || there[n];
		stayed[n] = false;
	}
}

/* Another daemon has the open file. */
static void kill_daemon(struct file *f)
{
	struct handover_file *kept = f->kept;

	listing_deinit(&f->listing);
	pthread_mutex_destroy(&f->lock);
	*f = (struct file){ .kept = kept, .node = the_node, .recalled = true };
	pthread_mutex_init(&f->lock, NULL);
}

static void read_all(uint32_t names, uint32_t room, uint32_t changes)
{
	struct file f = { .kept = handover_file_new(), .node = the_node };
	struct reply r = { 0 };
	size_t next = 0;
	int last = -1;

	pthread_mutex_init(&f.lock, NULL);
	memset(got, 0, sizeof(got));
	memset(was_made, 0, sizeof(was_made));
	for (uint32_t i = 0; i < NAMES; i++)
		stayed[i] = there[i] = i < names;
	do {
		r.count = 0;
		r.room = 1 + random_below(room);
		CHECK(!file_list(&f, ++requests, next, add_entry, &r));
		/* The program's buffer has room for some of the reply. */
		for (size_t i = 0, some = r.count ? 1 + random_below((uint32_t)r.count) : 0;
		     i < some; i++) {
			int n = r.names[i];

			/* (What was made again meanwhile may be listed again.) */
			CHECK(!(got[n] && stayed[n]));
			CHECK(stayed[n] || n >= last || was_made[n]);
			last = stayed[n] && n > last ? n : last;
			got[n] = true;
			next = r.numbers[i] + 1;
		}
		if (!random_below(3)) {
			change(changes);
			kill_daemon(&f);
		}
	} while (r.count);
	for (uint32_t i = 0; i < NAMES; i++)
		CHECK(got[i] || !stayed[i]);
	kill_daemon(&f);
	pthread_mutex_destroy(&f.lock);
	handover_file_free(f.kept);
}

static void each_once(void)
{
	CHECK(!handover_begin("/trace"));
	for (int round = 0; round < 30; round++) {
		read_all(1 + random_below(NAMES), 1 + random_below(600), random_below(20));
		read_all(random_below(50), 3, random_below(200));
	}
	handover_end();
}

int main(void)
{
	CASE(each_once);
	return test_summary();
}
