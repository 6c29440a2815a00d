/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * Counts that BPF programs keep: of system calls of this process with arguments that no other
 * process uses, by a key and with numbers; clears, and what the keeper gives to another daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "metadata/value.h"
#include "tests/lib/test.h"
#include "tracer/base/keeper/keeper.h"
#include "tracer/base/os/state_file.h"
#include "tracer/kernel/bpf/bpf.h"
#include "tracer/kernel/count/count.h"

#define FORMAT "/sys/kernel/tracing/events/syscalls/sys_enter_getpriority/format"
#define SLOTS 66

static char missing[300];               /* what this system lacks */
static struct kformat *format;
static struct filter *filter;
static int base;                        /* arguments of this process: base … base + 9 */

static struct kformat *load_format(void)
{
	static char text[8192];
	struct kformat *f = NULL;
	FILE *in = fopen(FORMAT, "re");
	size_t n = in ? fread(text, 1, sizeof(text), in) : 0;

	if (in)
		fclose(in);
	return n && !kformat_parse("syscalls", text, n, &f) ? f : NULL;
}

static void prepare(void)
{
	struct tr_err err = TR_ERR_INIT;
	struct timespec now;
	char text[80];

	if (bpf_supported(&err)) {
		snprintf(missing, sizeof(missing), "%s", err.sentence);
		return;
	}
	format = load_format();
	if (!format) {
		snprintf(missing, sizeof(missing), "there is no " FORMAT);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	base = 1 << 30 | (getpid() & 0xffff) << 13 | (int)(now.tv_nsec / 1000 & 0x1fff);
	base -= base % 10;
	snprintf(text, sizeof(text), "who >= %d && who < %d", base, base + 10);
	CHECK(!filter_parse(SCAN(text, 0, &err), DOMAIN_KERNEL, &filter));
}

static struct count_spec spec_of(void)
{
	return (struct count_spec){
		.formats = { format }, .format_count = 1, .filter = filter,
		.items = { { .field = "who" } }, .item_count = 1,
		.numbers = { { .kind = COUNT_SUM, .field = "which" },
			     { .kind = COUNT_LEAST, .field = "which" },
			     { .kind = COUNT_MOST, .field = "which" },
			     { .kind = COUNT_POWERS, .field = "which", .slots = SLOTS },
			     { .kind = COUNT_STEPS, .field = "which", .slots = 4, .from = 100,
			       .to = 300, .step = 100 } },
		.number_count = 5, .keys = 64, .cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.bytes_max = 64u << 20, .identity = (uint64_t)base << 20 | (uint64_t)getpid(),
	};
}

static void make_events(int who, int which, int n)
{
	while (n--)
		syscall(SYS_getpriority, which, base + who);
}

/* What counts_read gives of each of the ten arguments. */
struct seen {
	const struct md_stream *class;
	int keys, strange;
	uint64_t events[10], powers[10][SLOTS], steps[10][4];
	long double sum[10], least[10], most[10];
};

static void see(void *arg, const struct md_occurrence *o, const struct count_result *r)
{
	struct md_value v[8];
	struct seen *s = arg;
	uint64_t who = 0;
	uint32_t i = 0;

	s->keys++;
	while (i < o->event->field_count && strcmp(o->event->fields[i].name, "who"))
		i++;
	if (o->event->field_count > 8 || i == o->event->field_count ||
	    md_stream_event(s->class, o->event->id) != o->event ||
	    !md_values_cut(o->event->fields, o->event->field_count, o->payload, o->end, v) ||
	    !md_value_integer(&v[i], &who) || who - (uint64_t)base >= 10) {
		s->strange++;
		return;
	}
	who -= (uint64_t)base;
	s->events[who] += r->events;
	s->sum[who] = r->numbers[0].value;
	s->least[who] = r->numbers[1].value;
	s->most[who] = r->numbers[2].value;
	memcpy(s->powers[who], r->numbers[3].slots, sizeof(s->powers[who]));
	memcpy(s->steps[who], r->numbers[4].slots, sizeof(s->steps[who]));
}

static struct seen read_all(struct counts *c)
{
	struct seen s = { .class = counts_class(c) };
	uint64_t left_out = 1, missed = 1;

	CHECK(!counts_read(c, see, &s, &left_out, &missed));
	CHECK(!left_out && !missed && !s.strange);
	return s;
}

static void counts_by_keys(void)
{
	struct count_spec spec;
	struct counts *c = NULL;
	struct seen s;
	int64_t since;

	if (*missing)
		SKIP(missing);
	spec = spec_of();
	CHECK(!counts_open(&spec, NULL, false, &c));
	if (!c)
		return;
	make_events(1, 5, 2);
	CHECK(read_all(c).keys == 0);
	counts_enable(c, true);
	make_events(1, 5, 3);
	make_events(1, 1000, 1);
	make_events(7, 150, 2);
	/* The filter leaves it out. */
	make_events(10, 5, 4);
	counts_enable(c, false);
	make_events(1, 5, 5);
	s = read_all(c);
	CHECK(s.keys == 2 && s.events[1] == 4 && s.events[7] == 2);
	CHECK(s.sum[1] == 1015 && s.least[1] == 5 && s.most[1] == 1000);
	CHECK(s.sum[7] == 300 && s.least[7] == 150 && s.most[7] == 150);
	/* 4 to 7, 128 to 255, 512 to 1023 */
	CHECK(s.powers[1][4] == 3 && s.powers[1][11] == 1 && s.powers[7][9] == 2);
	CHECK(s.steps[1][0] == 3 && s.steps[1][3] == 1 && s.steps[7][1] == 2);
	CHECK(counts_memory(c) > 2 * 64 * 8);
	since = counts_since(c);
	counts_clear(c);
	CHECK(counts_since(c) > since && read_all(c).keys == 0);
	counts_enable(c, true);
	make_events(7, 1, 1);
	s = read_all(c);
	CHECK(s.keys == 1 && s.events[7] == 1 && s.sum[7] == 1);
	counts_clear(c);
	counts_clear(c);
	CHECK(read_all(c).keys == 0);
	counts_close(c, false);
}

/* Fewer keys than the events have: it says for how many there was no room. */
static void too_many_keys(void)
{
	uint64_t left_out = 0, missed = 0;
	struct count_spec spec;
	struct counts *c = NULL;
	struct seen s;

	if (*missing)
		SKIP(missing);
	spec = spec_of();
	spec.keys = 2;
	CHECK(!counts_open(&spec, NULL, false, &c));
	if (!c)
		return;
	counts_enable(c, true);
	for (int who = 0; who < 10; who++)
		make_events(who, 1, 3);
	s = (struct seen){ .class = counts_class(c) };
	CHECK(!counts_read(c, see, &s, &left_out, &missed));
	for (int who = 0; who < 10; who++)
		left_out += s.events[who];
	CHECK(s.keys >= 2 && s.keys < 10 && left_out == 30);
	counts_close(c, false);
}

static void refused(void)
{
	struct count_spec spec;
	struct counts *c = NULL;

	if (*missing)
		SKIP(missing);
	spec = spec_of();
	spec.bytes_max = 1000;
	CHECK(counts_open(&spec, NULL, false, &c) == -E2BIG);
	spec = spec_of();
	spec.items[0].field = "none";
	CHECK(counts_open(&spec, NULL, false, &c) == -EOPNOTSUPP);
	spec = spec_of();
	spec.numbers[2].field = "none";
	CHECK(counts_open(&spec, NULL, false, &c) == -EOPNOTSUPP);
	spec = spec_of();
	CHECK(counts_open(&spec, NULL, true, &c) == -ENOENT && !c);
	counts_close(NULL, false);
	counts_keep();
}

/* The programs count without a daemon; the next one has their counts. */
static void outlive_the_daemon(void)
{
	const char *tmp = getenv("TMPDIR");
	struct keeper *k = NULL;
	struct count_spec spec;
	struct counts *c = NULL;
	int found = -1;
	char dir[300];
	struct seen s;

	if (*missing)
		SKIP(missing);
	snprintf(dir, sizeof(dir), "%s/counts.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(dir) && !keeper_open(dir, "/proc/self/exe", &k, &found));
	spec = spec_of();
	CHECK(!counts_open(&spec, k, false, &c));
	if (c) {
		counts_enable(c, true);
		counts_keep();
		make_events(3, 1, 2);
		counts_close(c, true);
		c = NULL;
	}
	make_events(3, 1, 2);
	CHECK(!counts_open(&spec, k, true, &c));
	if (c) {
		make_events(3, 1, 2);
		s = read_all(c);
		CHECK(s.keys == 1 && s.events[3] == 6 && s.sum[3] == 6);
		counts_close(c, false);
		c = NULL;
	}
	CHECK(counts_open(&spec, k, true, &c) == -ENOENT);
	keeper_close(k, 1);
	state_file_remove(AT_FDCWD, dir);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--keeper"))
		return keeper_main(argv[2]);
	prepare();
	CASE(counts_by_keys);
	CASE(too_many_keys);
	CASE(refused);
	CASE(outlive_the_daemon);
	filter_put(filter);
	kformat_free(format);
	return test_summary();
}
