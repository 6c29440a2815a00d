/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * A channel of BPF programs: what it records of a system call with text that other processes hardly
 * use, with filters and of some threads; and what the keeper gives to the next daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/base/os/state_file.h"
#include "tracer/kernel/programs/bpf.h"
#include "tracer/kernel/programs/bpf_refused.h"

#define EVENT "sys_enter_mq_unlink"     /* of a queue that there is not */
#define KEY "syscalls:" EVENT           /* the name in the channel */

static char missing[300];               /* what this system lacks */
static struct backend b = { .dir = -1 };
static struct bpf_source call;
static char own[40];                    /* begins the names that this process uses */

static void prepare(void)
{
	struct tr_err err = TR_ERR_INIT;
	struct timespec now;

	pthread_mutex_init(&b.lock, NULL);
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(own, sizeof(own), "trailfs-test-%d-%ld-", getpid(), now.tv_nsec);
	if (bpf_supported(&err)) {
		snprintf(missing, sizeof(missing), "%s", err.sentence);
		return;
	}
	b.dir = open("/sys/kernel/tracing", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	b.texts = tracefs_texts_create("test_bpf");
	if (b.dir < 0)
		strcpy(missing, "there is no tracefs");
	else if (bpf_source_find(&b, "syscalls", EVENT, false, &call, NULL))
		strcpy(missing, "programs do not record " EVENT " here");
}

static struct bpf_channel *create(void)
{
	const struct backend_geometry g = {
		.bytes = 1 << 18, .cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.by = BACKEND_BPF
	};
	struct bpf_channel *c = NULL;

	CHECK(!bpf_channel_create(&b, own, &g, &c));
	return c;
}

static void use(char letter)
{
	char name[80];

	snprintf(name, sizeof(name), "%s%c", own, letter);
	CHECK(syscall(SYS_mq_unlink, name) == -1);
}

/* The letters of all that was recorded since the last call; each record once, in order of time. */
static const char *collect(struct bpf_channel *c)
{
	static char letters[100];
	size_t count = 0, n = strlen(own);
	uint64_t before = 0;
	struct bpf_entry e;

	for (uint32_t cpu = 0; cpu < c->ring.cpus; cpu++) {
		struct md_buf *r = &c->ring.records;

		md_buf_reset(r);
		CHECK(!bpf_ring_collect(&c->ring, cpu));
		before = 0;
		for (size_t at = 0; at < r->len; at += bpf_entry_size(&e)) {
			const char *record = r->data + at + sizeof(e);
			const char *text;

			memcpy(&e, r->data + at, sizeof(e));
			CHECK(e.time >= before && e.time <= c->ring.until);
			before = e.time;
			text = memmem(record, e.len, own, n);
			if (text && count + 1 < sizeof(letters))
				letters[count++] = text[n];
		}
	}
	letters[count] = '\0';
	return letters;
}

static void records_text(void)
{
	char filter[120];
	struct bpf_channel *c;
	uint64_t missed = 1;

	if (*missing)
		SKIP(missing);
	c = create();
	pthread_mutex_lock(&c->lock);
	CHECK(!bpf_channel_find(c, KEY) && c->ring.map < 0);
	CHECK(!bpf_channel_enable(c, KEY, &call, NULL));
	CHECK(bpf_channel_find(c, KEY) && c->ring.map >= 0);
	CHECK(c->ring.cpus && bpf_ring_control(&c->ring, 0)->tokens[0] == 1);
	use('a');
	CHECK_STR(collect(c), "");
	c->on = true;
	bpf_channel_set(c);
	use('b');
	use('c');
	CHECK(strlen(collect(c)) == 2);
	/* A body with a filter takes the place of the other one; then one without it. */
	snprintf(filter, sizeof(filter), "u_name == \"%sd\"", own);
	CHECK(!bpf_channel_filter(c, KEY, filter));
	CHECK(bpf_channel_find(c, KEY)->filter);
	use('d');
	use('e');
	CHECK_STR(collect(c), "d");
	CHECK(bpf_channel_filter(c, KEY, "u_name ==") < 0);
	CHECK(!bpf_channel_find(c, KEY)->filter);
	use('f');
	CHECK_STR(collect(c), "f");
	CHECK(bpf_channel_filter(c, "sys_enter_none", "") == -ENOENT);
	CHECK(!bpf_missed(bpf_channel_find(c, KEY)->program, &missed) && !missed);
	bpf_channel_drop(c, bpf_channel_find(c, KEY));
	CHECK(!c->count && !bpf_channel_find(c, KEY));
	use('g');
	CHECK_STR(collect(c), "");
	CHECK(!bpf_channel_enable(c, KEY, &call, NULL));
	use('h');
	CHECK_STR(collect(c), "h");
	pthread_mutex_unlock(&c->lock);
	bpf_channel_free(c, true);
	bpf_channel_free(NULL, true);
}

/* More than the ring holds: the rest is counted. */
static void counts_what_is_lost(void)
{
	struct source_counts lost = { 0 };
	uint64_t discarded = 0, got;
	struct bpf_channel *c;

	if (*missing)
		SKIP(missing);
	c = create();
	pthread_mutex_lock(&c->lock);
	c->on = true;
	CHECK(!bpf_channel_enable(c, KEY, &call, NULL));
	for (int i = 0; i < 9999; i++)
		use('x');
	got = 0;
	for (uint32_t cpu = 0; cpu < c->ring.cpus; cpu++) {
		md_buf_reset(&c->ring.records);
		CHECK(!bpf_ring_collect(&c->ring, cpu));
		for (int level = 0; level < BPF_LEVELS; level++)
			got += c->ring.readers[cpu * BPF_LEVELS + level].events;
		bpf_ring_lost(&c->ring, cpu, &lost);
		CHECK(!lost.overwritten);
		discarded += lost.discarded;
	}
	/* Another test may use the call as well. */
	CHECK(got && discarded && got + discarded >= 9999);
	pthread_mutex_unlock(&c->lock);
	bpf_channel_free(c, true);
}

/* Whether the kernel's numbers of threads are those that this process sees. */
static bool has_own_numbers(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == 0xeffffffc;
}

static void in_child(char letter)
{
	pid_t pid = fork();

	if (!pid) {
		use(letter);
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid);
}

static void follows_threads(void)
{
	const uint32_t self = (uint32_t)gettid(), none = 1;
	struct bpf_channel *c;

	if (*missing)
		SKIP(missing);
	if (!has_own_numbers())
		SKIP("in a PID namespace, whose numbers the kernel's events do not have");
	c = create();
	pthread_mutex_lock(&c->lock);
	c->on = true;
	CHECK(!bpf_channel_enable(c, KEY, &call, NULL));
	CHECK(!bpf_track(c, &none, 1));
	CHECK(c->tracked && c->threads >= 0);
	use('a');
	in_child('b');
	CHECK_STR(collect(c), "");
	CHECK(!bpf_track_more(c, &self, 1));
	use('c');
	CHECK_STR(collect(c), "c");
	in_child('d');
	CHECK_STR(collect(c), "d");
	CHECK(!bpf_track(c, &none, 1));
	use('e');
	CHECK_STR(collect(c), "");
	CHECK(!bpf_track(c, NULL, 0) && !c->tracked);
	use('f');
	CHECK_STR(collect(c), "f");
	pthread_mutex_unlock(&c->lock);
	bpf_channel_free(c, true);
}

struct count {
	int all, refused;       /* refused: files that say what this kernel refused, if it did */
};

static void count_kept(void *arg, const char *name, int fd)
{
	const char *last = strrchr(name, '.');
	struct count *n = arg;

	n->all++;
	n->refused += last && !strcmp(last + 1, BPF_KEPT_REFUSED);
	close(fd);
}

static struct count count_all(void)
{
	struct count n = { 0 };

	CHECK(!keeper_each(b.keeper, count_kept, &n));
	return n;
}

static int kept(void)
{
	struct count n = count_all();

	return n.all - n.refused;
}

/* A keeper of a directory of its own */
static void begin_keeping(char dir[300])
{
	const char *tmp = getenv("TMPDIR");
	int found = -1;

	snprintf(dir, 300, "%s/bpf.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(dir) && !keeper_open(dir, "/proc/self/exe", &b.keeper, &found));
}

static void end_keeping(const char *dir)
{
	keeper_close(b.keeper, 1);
	b.keeper = NULL;
	state_file_remove(AT_FDCWD, dir);
}

/* Programs record without a daemon; the next one takes over rings and programs. */
static void outlives_the_daemon(void)
{
	struct bpf_channel *c;
	char dir[300];
	int number;

	if (*missing)
		SKIP(missing);
	begin_keeping(dir);
	c = create();
	pthread_mutex_lock(&c->lock);
	c->on = true;
	CHECK(!bpf_channel_enable(c, KEY, &call, NULL));
	/*
	 * The ring, bodies, a program and its link; of a call its body as well; for texts that are
	 * read at its end two maps, a body, the map of exits, a program and its link
	 */
	number = 4 + (bpf_channel_find(c, KEY)->kind == BPF_KIND_CALL);
	number += bpf_bodies_find_late(c, KEY) ? 6 : 0;
	CHECK(kept() == number);
	pthread_mutex_unlock(&c->lock);
	bpf_channel_keep(c);
	CHECK(kept() == number);
	use('a');
	bpf_channel_free(c, false);
	use('b');
	c = create();
	bpf_channel_adopt(c);
	CHECK(c->on && bpf_channel_find(c, KEY));
	use('c');
	CHECK(strlen(collect(c)) == 3);
	bpf_channel_free(c, false);
	bpf_channel_forget(&b, "another");
	CHECK(kept() == number);
	bpf_channel_forget(&b, own);
	CHECK(count_all().all == 0);
	c = create();
	bpf_channel_adopt(c);
	CHECK(!c->count && c->ring.map < 0);
	bpf_channel_free(c, true);
	end_keeping(dir);
}

/* A map that an earlier version of the daemon may have made in the place of the rings. */
static int make_other_ring(const struct bpf_channel *c)
{
	return bpf_map_create(&(struct bpf_map_spec){
		.type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .entries = c->ring.cpus,
		.value_size = (uint32_t)c->ring.stride, .flags = BPF_F_MMAPABLE,
		.name = "trailfs_ring" });
}

/* Rings of another layout are not read: they are dropped with their programs, and counted. */
static void drops_other_layouts(void)
{
	struct bpf_channel *c;
	char dir[300];
	int other;

	if (*missing)
		SKIP(missing);
	begin_keeping(dir);
	c = create();
	pthread_mutex_lock(&c->lock);
	c->on = true;
	CHECK(!bpf_channel_enable(c, KEY, &call, NULL));
	other = make_other_ring(c);
	CHECK(other >= 0);
	bpf_channel_keep_one(c, BPF_KEPT_RING, other);
	close(other);
	pthread_mutex_unlock(&c->lock);
	use('a');
	bpf_channel_free(c, false);
	c = create();
	bpf_channel_adopt(c);
	CHECK(c->dropped == (uint32_t)sysconf(_SC_NPROCESSORS_CONF) && !c->count && !c->on);
	CHECK(c->ring.map < 0 && c->bodies < 0 && c->calls[0] < 0 && c->calls[1] < 0);
	CHECK(kept() == 0);
	c->on = true;
	pthread_mutex_lock(&c->lock);
	CHECK(!bpf_channel_enable(c, KEY, &call, NULL));
	use('b');
	CHECK_STR(collect(c), "b");
	pthread_mutex_unlock(&c->lock);
	bpf_channel_free(c, true);
	end_keeping(dir);
}

#define ALARM "alarmtimer:alarmtimer_fired"      /* by its record */
#define SIGNAL "signal:signal_generate"         /* by its arguments */

struct order {                          /* what the keeper has, in the order that it got it */
	char names[40][NAME_MAX];
	int fds[40], count;
};

static void note_kept(void *arg, const char *name, int fd)
{
	struct order *o = arg;

	CHECK(o->count < 40 && strlen(name) < NAME_MAX);
	strcpy(o->names[o->count], name);
	o->fds[o->count++] = fd;
}

/* The first slots have bodies with these tokens, as far as they have any. */
static void set_tokens(const struct bpf_channel *c, uint32_t first, uint32_t second)
{
	for (uint32_t cpu = 0; cpu < c->ring.cpus; cpu++) {
		bpf_ring_control(&c->ring, cpu)->tokens[0] = first;
		bpf_ring_control(&c->ring, cpu)->tokens[1] = second;
	}
}

/* The next daemon finds only the first `count` of them. */
static void hold_first(const struct order *o, int count)
{
	for (int i = 0; i < o->count; i++)
		keeper_drop(b.keeper, o->names[i]);
	for (int i = 0; i < count; i++)
		CHECK(!keeper_put(b.keeper, o->names[i], o->fds[i]));
}

/* A daemon was killed between two requests to the keeper: no event is taken for another kind. */
static void takes_over_what_is_whole(void)
{
	struct bpf_source plain, typed;
	static struct order o;
	struct bpf_channel *first, *c;
	bool is_typed;
	char dir[300];

	if (*missing)
		SKIP(missing);
	if (bpf_source_find(&b, "alarmtimer", "alarmtimer_fired", true, &plain, NULL))
		SKIP("programs do not record the events of alarm timers here");
	if (bpf_source_find(&b, "signal", "signal_generate", true, &typed, NULL))
		SKIP("programs do not record signals here");
	begin_keeping(dir);
	first = create();
	first->whole = true;
	pthread_mutex_lock(&first->lock);
	CHECK(!bpf_channel_enable(first, ALARM, &plain, NULL));
	CHECK(!bpf_channel_enable(first, SIGNAL, &typed, NULL));
	is_typed = bpf_channel_find(first, SIGNAL)->kind == BPF_KIND_TYPED;
	pthread_mutex_unlock(&first->lock);
	CHECK(!keeper_each(b.keeper, note_kept, &o));
	for (int count = 0; is_typed && count <= o.count; count++) {
		const struct bpf_event *e;

		set_tokens(first, 1, 2);
		hold_first(&o, count);
		c = create();
		bpf_channel_adopt(c);
		e = bpf_channel_find(c, SIGNAL);
		CHECK(e ? e->kind == BPF_KIND_TYPED && e->own >= 0 : count < o.count);
		bpf_channel_free(c, false);
	}
	/* Without its token an event is not whole, so another one may have its slot. */
	set_tokens(first, 0, 2);
	hold_first(&o, o.count);
	c = create();
	bpf_channel_adopt(c);
	CHECK(!bpf_channel_find(c, ALARM) && bpf_channel_find(c, SIGNAL));
	bpf_channel_free(c, true);
	bpf_channel_free(first, true);
	for (int i = 0; i < o.count; i++)
		close(o.fds[i]);
	end_keeping(dir);
}

/*
 * To take a body out of its map lasts a grace period of the kernel: all bodies go with the map when
 * the last event is dropped, and the next events have another map.
 */
static void drops_bodies_at_once(void)
{
	struct bpf_source plain;
	struct bpf_channel *c;

	if (*missing)
		SKIP(missing);
	if (bpf_source_find(&b, "alarmtimer", "alarmtimer_fired", true, &plain, NULL))
		SKIP("programs do not record the events of alarm timers here");
	c = create();
	c->whole = true;
	pthread_mutex_lock(&c->lock);
	for (int round = 0; round < 2; round++) {
		CHECK(!bpf_channel_enable(c, ALARM, &plain, NULL));
		CHECK(!bpf_channel_enable(c, "alarmtimer:again", &plain, NULL));
		bpf_channel_drop(c, bpf_channel_find(c, ALARM));
		CHECK(c->bodies >= 0 && c->count == 1);
		bpf_channel_drop(c, bpf_channel_find(c, "alarmtimer:again"));
		CHECK(c->bodies < 0 && !c->count);
	}
	pthread_mutex_unlock(&c->lock);
	bpf_channel_free(c, true);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--keeper"))
		return keeper_main(argv[2]);
	prepare();
	CASE(records_text);
	CASE(counts_what_is_lost);
	CASE(follows_threads);
	CASE(outlives_the_daemon);
	CASE(drops_other_layouts);
	CASE(takes_over_what_is_whole);
	CASE(drops_bodies_at_once);
	tracefs_texts_destroy(&b);
	if (b.dir >= 0)
		close(b.dir);
	return test_summary();
}
