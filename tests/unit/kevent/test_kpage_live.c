/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of the running kernel's ring buffer beside its own text */
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/lib/kformats.h"
#include "tests/lib/test.h"
#include "tracer/kernel/kevent/ring_page.h"
#include "tracer/kernel/kevent/transcode.h"

#define LINES_MAX 60000

static char instance[128];

static bool put(const char *name, const char *value)
{
	char path[256];
	int fd, n;

	snprintf(path, sizeof(path), "%s/%s", instance, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : (int)write(fd, value, strlen(value));
	if (fd >= 0)
		close(fd);
	return n == (int)strlen(value);
}

struct real {
	struct kformat *formats[4];
	struct kcode *codes[4];
	struct kpage_layout layout;
	char **lines, **theirs;
	size_t count, their_count;
};

/* As the kernel prints these events, from the payload alone. */
static void say(const struct kformat *f, const uint8_t *payload, char *to, size_t room)
{
	int32_t n[4];
	const char *name;
	const uint8_t *rest;
	uint64_t address = 0;
	uint16_t mode;

	if (!strcmp(f->event, "sched_waking")) {
		memcpy(n, payload + 16, 12);
		snprintf(to, room, "sched_waking: comm=%.16s pid=%d prio=%d target_cpu=%03d",
			 payload, n[0], n[1], n[2]);
	} else if (!strcmp(f->event, "sched_process_fork")) {
		memcpy(n, payload + 16, 4);
		memcpy(n + 1, payload + 36, 4);
		snprintf(to, room,
			 "sched_process_fork: comm=%.16s pid=%d child_comm=%.16s child_pid=%d",
			 payload, n[0], payload + 20, n[1]);
	} else if (!strcmp(f->event, "sched_process_exec")) {
		memcpy(n, payload + strlen((const char *)payload) + 1, 8);
		snprintf(to, room, "sched_process_exec: filename=%.1000s pid=%d old_pid=%d",
			 payload, n[0], n[1]);
	} else if (f->fields[1].kind == KFORMAT_INT) {  /* a kernel that does not read the text */
		rest = payload + 4 + f->fields[1].to;
		memcpy(n, payload, 4);
		memcpy((uint8_t *)&address + (MD_HOST_IS_BIG ? 8 - f->fields[1].to : 0),
		       payload + 4, f->fields[1].to);
		memcpy(n + 1, rest, 4);
		memcpy(&mode, rest + 4, 2);
		snprintf(to, room, "sys_openat(dfd: %#x, filename: %#llx, flags: %#x, mode: %#x)",
			 n[0], (unsigned long long)address, n[1], mode);
	} else {
		name = (const char *)payload + 4;
		memcpy(n, payload, 4);
		memcpy(n + 1, name + strlen(name) + 1, 4);
		memcpy(&mode, name + strlen(name) + 5, 2);
		snprintf(to, room, "sys_openat(dfd: %#x, filename: %.1000s, flags: %#x, mode: %#x)",
			 n[0], name, n[1], mode);
	}
}

static void take_page(struct real *r, unsigned int cpu, const uint8_t *bytes, size_t size)
{
	const uint8_t *record;
	uint8_t payload[4096];
	char text[4096], line[4300];
	struct kpage p;
	uint64_t ts, us;
	size_t len, i;

	CHECK(kpage_begin(&p, bytes, size, &r->layout) == 0);
	CHECK(p.missed == 0);
	while (kpage_next(&p, &ts, &record, &len)) {
		for (i = 0; i < 4 && r->formats[i]->id != krecord_id(record); i++)
			;
		CHECK(i < 4);
		if (i == 4 || r->count == LINES_MAX)
			continue;
		CHECK(kcode_run(r->codes[i], record, len, payload, sizeof(payload)) >= 0);
		say(r->formats[i], payload, text, sizeof(text));
		us = (ts + 500) / 1000;
		snprintf(line, sizeof(line), "%d [%03u] %llu.%06llu: %s", krecord_pid(record), cpu,
			 (unsigned long long)(us / 1000000), (unsigned long long)(us % 1000000),
			 text);
		r->lines[r->count++] = strdup(line);
	}
	CHECK(p.error == 0 && p.odd == 0);
}

static void take_cpu(struct real *r, unsigned int cpu)
{
	size_t size = r->layout.data_at + r->layout.data_size;
	uint8_t *page = malloc(size);
	char path[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/trace_pipe_raw", instance, cpu);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, page, size)) > 0)
		take_page(r, cpu, page, (size_t)n);
	if (fd >= 0)
		close(fd);
	free(page);
}

/*
 * ` bash-14525 [001] d..3. 17118.145457: sched_process_fork: …`, to the form of take_page.
 */
static void take_text(struct real *r)
{
	char path[256], line[4200], text[4300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/trace", instance);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		char *cpu = strstr(line, " ["), *pid = cpu, *flags = cpu ? strchr(cpu, ']') : NULL,
		     *time;

		if (line[0] == '#' || !flags || r->their_count == LINES_MAX)
			continue;
		line[strcspn(line, "\n")] = '\0';
		while (pid > line && pid[-1] == ' ')
			pid--;
		while (pid > line && pid[-1] >= '0' && pid[-1] <= '9')
			pid--;
		time = flags + 2;
		time += strcspn(time, " ");
		time += strspn(time, " ");
		snprintf(text, sizeof(text), "%d [%.3s] %.4100s", atoi(pid), cpu + 2, time);
		r->theirs[r->their_count++] = strdup(text);
	}
	if (f)
		fclose(f);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Kernels differ in whether they write 0x; the register of an int may have its sign above it. */
static void drop_0x(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '0' && s[1] == 'x')
			s++;
		else if (!strncmp(s, "ffffffff", 8) && strspn(s, "0123456789abcdef") == 16)
			s += 7;
		else
			*to++ = *s;
	}
	*to = '\0';
}

static void compare(struct real *r)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		drop_0x(r->lines[i]);
	for (i = 0; i < r->their_count; i++)
		drop_0x(r->theirs[i]);
	qsort(r->lines, r->count, sizeof(*r->lines), by_text);
	qsort(r->theirs, r->their_count, sizeof(*r->theirs), by_text);
	printf("# %zu records\n", r->count);
	CHECK(r->count > 100);
	CHECK(r->count == r->their_count);
	for (i = 0; i < r->count && i < r->their_count; i++) {
		if (strcmp(r->lines[i], r->theirs[i])) {
			CHECK_STR(r->lines[i], r->theirs[i]);
			break;
		}
	}
	for (i = 0; i < r->count; i++)
		free(r->lines[i]);
	for (i = 0; i < r->their_count; i++)
		free(r->theirs[i]);
}

static void work(void)
{
	int i;

	for (i = 0; i < 50; i++) {
		pid_t child = fork();

		if (!child) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		waitpid(child, NULL, 0);
	}
}

/*
 * Of this process and its children: a thread of others may have a name of two lines, and a path of
 * theirs may fill a page to its last byte. Not in a PID namespace, whose number the kernel does not
 * know here: PROC_PID_INIT_INO is the first one's.
 */
static bool trace_this_process(void)
{
	char text[64] = { 0 };

	if (readlink("/proc/self/ns/pid", text, sizeof(text) - 1) < 0 ||
	    strcmp(text, "pid:[4026531836]"))
		return true;
	snprintf(text, sizeof(text), "%d", (int)getpid());
	return put("set_event_pid", text) && put("options/event-fork", "1");
}

static bool set_up(struct real *r)
{
	static const char *const events[4][2] = { { "sched", "sched_waking" },
						  { "sched", "sched_process_fork" },
						  { "sched", "sched_process_exec" },
						  { "syscalls", "sys_enter_openat" } };
	char text[4096], path[256];
	bool good = true;
	size_t i, n;

	n = read_whole(TRACEFS "/events/header_page", text, sizeof(text));
	good = kpage_layout_parse(text, n, &r->layout) == 0;
	n = read_whole(TRACEFS "/events/header_event", text, sizeof(text));
	CHECK(good && kpage_check_header_event(text, n) == 0);
	good &= put("tracing_on", "0") && put("trace_clock", "mono") &&
		put("buffer_size_kb", "4096");
	good &= trace_this_process();
	for (i = 0; i < 4; i++) {
		r->formats[i] = load_format(events[i][0], events[i][1]);
		if (!r->formats[i])
			return false;
		r->codes[i] = kcode_make(r->formats[i]);
		snprintf(path, sizeof(path), "events/%s/%s/enable", events[i][0], events[i][1]);
		good &= put(path, "1");
	}
	r->lines = calloc(LINES_MAX, sizeof(*r->lines));
	r->theirs = calloc(LINES_MAX, sizeof(*r->theirs));
	return good;
}

static void this_kernel(void)
{
	struct real r = { 0 };
	unsigned int cpu;
	size_t i;

	snprintf(instance, sizeof(instance), TRACEFS "/instances/kfmt-test-%d", (int)getpid());
	if (mkdir(instance, 0700))
		SKIP("no tracefs that may be used");
	if (set_up(&r)) {
		put("tracing_on", "1");
		work();
		put("tracing_on", "0");
		take_text(&r);
		for (cpu = 0; cpu < (unsigned int)sysconf(_SC_NPROCESSORS_CONF); cpu++)
			take_cpu(&r, cpu);
		compare(&r);
	} else {
		test_skip_reason = "this kernel does not have the events";
	}
	for (i = 0; i < 4; i++) {
		kcode_free(r.codes[i]);
		kformat_free(r.formats[i]);
	}
	free(r.lines);
	free(r.theirs);
	CHECK(rmdir(instance) == 0);
}

static uint64_t stat_of(unsigned int cpu, const char *word)
{
	char path[256], text[1024] = { 0 }, *at;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/stats", instance, cpu);
	read_whole(path, text, sizeof(text) - 1);
	at = strstr(text, word);
	return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

static void drain(const struct kpage_layout *l, unsigned int cpu, uint64_t *records, uint64_t *lost)
{
	size_t size = l->data_at + l->data_size, len;
	uint8_t *page = malloc(size);
	const uint8_t *record;
	char path[256];
	struct kpage p;
	uint64_t ts;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/trace_pipe_raw", instance, cpu);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, page, size)) > 0) {
		CHECK(kpage_begin(&p, page, (size_t)n, l) == 0);
		CHECK(p.missed_known);
		*lost += p.missed;
		while (kpage_next(&p, &ts, &record, &len))
			++*records;
		CHECK(!p.error);
	}
	if (fd >= 0)
		close(fd);
	free(page);
}

/*
 * A buffer much too small: the events read and the events missed are those that the kernel counted.
 * (Of records that fill a page to its last byte the kernel cannot tell how many were lost; these do
 * not.)
 */
static void losses(void)
{
	struct kpage_layout l;
	char text[4096];
	uint64_t entries = 0, overrun = 0;
	unsigned int cpu;
	size_t n;
	int i;

	snprintf(instance, sizeof(instance), TRACEFS "/instances/kfmt-test-%d", (int)getpid());
	if (mkdir(instance, 0700))
		SKIP("no tracefs that may be used");
	n = read_whole(TRACEFS "/events/header_page", text, sizeof(text));
	if (!kpage_layout_parse(text, n, &l) && put("buffer_size_kb", "16") &&
	    trace_this_process() && put("events/syscalls/sys_enter_openat/enable", "1")) {
		for (i = 0; i < 20000; i++)
			CHECK(open("/no such file", O_RDONLY) < 0);
		put("tracing_on", "0");
		for (cpu = 0; cpu < (unsigned int)sysconf(_SC_NPROCESSORS_CONF); cpu++) {
			uint64_t records = 0, lost = 0, counted = stat_of(cpu, "entries: "),
				 gone = stat_of(cpu, "overrun: ");

			drain(&l, cpu, &records, &lost);
			CHECK(records == counted && lost == gone);
			entries += records;
			overrun += lost;
		}
		printf("# %llu records, %llu missed\n", (unsigned long long)entries,
		       (unsigned long long)overrun);
		CHECK(overrun > 0 && entries + overrun >= 20000);
	} else {
		test_skip_reason = "this kernel does not have the event";
	}
	CHECK(rmdir(instance) == 0);
}

int main(void)
{
	CASE(this_kernel);
	CASE(losses);
	return test_summary();
}
