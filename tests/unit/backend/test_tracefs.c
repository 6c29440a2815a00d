/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The backend of tracefs on a directory with files as tracefs has them, which keep what is written:
 * so the test sees each write, and needs neither root nor a kernel that traces.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/kpage_word.h"
#include "tests/lib/test.h"
#include "tracer/base/probe/probe.h"
#include "tracer/kernel/backend/event_probe.h"
#include "tracer/kernel/backend/module_syscalls.h"
#include "tracer/kernel/backend/tracefs_channel.h"

#define CHANNEL "instances/ch/"
#define MODEL "event_1"

static struct backend b;
static struct backend_channel *c;

/* ---- files ---- */

static void put(const char *path, const char *text)
{
	char dir[300];
	int fd;

	for (const char *p = path; (p = strchr(p, '/')); p++) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(p - path), path);
		mkdirat(b.dir, dir, 0700);
	}
	fd = openat(b.dir, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static const char *get(const char *path)
{
	static struct md_buf text;

	md_buf_deinit(&text);
	text = (struct md_buf)MD_BUF_INIT;
	CHECK(tracefs_read(b.dir, path, 1u << 16, &text) >= 0);
	return md_buf_str(&text);
}

static void make_files(void)
{
	put("available_events", "sched:sched_switch\nsyscalls:sys_enter_openat\n");
	put("kprobe_events", "");
	put("uprobe_events", "");
	put("dynamic_events", "p:trailfs_me/old do_exit\n"
			      "e:trailfs_me/" MODEL " sched.sched_switch a=+0($prev):ustring\n");
	put("events/sched/sched_switch/id", "300\n");
	put("events/sched/sched_switch/format", "name: sched_switch\nID: 300\n");
	put("events/trailfs_me/" MODEL "/id", "401\n");
	put("events/trailfs_me/old/id", "402\n");
	put(CHANNEL "tracing_on", "0");
	put(CHANNEL "trace_clock", "local [mono] x86-tsc\n");
	put(CHANNEL "options/overwrite", "1");
	put(CHANNEL "set_event", "sched:sched_switch\n");
	put(CHANNEL "set_event_pid", "");
	put(CHANNEL "set_ftrace_pid", "");
	put(CHANNEL "set_ftrace_filter", "");
	put(CHANNEL "current_tracer", "nop\n");
	put(CHANNEL "events/sched/sched_switch/enable", "0");
	put(CHANNEL "events/sched/sched_switch/filter", "none\n");
	put(CHANNEL "events/syscalls/enable", "0");
	put(CHANNEL "per_cpu/cpu0/stats",
	    "entries: 3\noverrun: 7\ncommit overrun: 2\nbytes: 9\ndropped events: 1\n");
	CHECK(mkfifoat(b.dir, CHANNEL "per_cpu/cpu0/trace_pipe_raw", 0600) == 0);
}

/* ---- the cases ---- */

static void files(void)
{
	struct md_buf out = MD_BUF_INIT;

	CHECK(tracefs_write(b.dir, CHANNEL "tracing_on", "1", false) == 0);
	CHECK_STR(get(CHANNEL "tracing_on"), "1");
	CHECK(tracefs_write(b.dir, "no/such", "1", false) == -ENOENT);
	CHECK(tracefs_read(b.dir, "no/such", 10, &out) == -ENOENT);
	CHECK(tracefs_event_id(&b, "sched", "sched_switch") == 300);
	CHECK(tracefs_event_id(&b, "sched", "none") == -ENOENT);
	CHECK(tracefs_read_format(&b, "sched", "sched_switch", &out) == 0);
	CHECK_STR(md_buf_str(&out), "name: sched_switch\nID: 300\n");
	md_buf_deinit(&out);
	CHECK(tracefs_has_kprobes(&b) && tracefs_has_uprobes(&b));
}

static void channel_is_opened(void)
{
	const struct backend_geometry g = { .bytes = 65536, .cpus = 1, .overwrite = true };
	struct tr_err err = TR_ERR_INIT;
	struct backend_channel *no = NULL;

	/* A new instance lacks its files here: it is removed again. */
	CHECK(tracefs_channel_open(&b, "new", &g, false, &no, &err) == -ENOENT);
	CHECK(faccessat(b.dir, "instances/new", F_OK, 0) < 0 && err.sentence[0]);
	CHECK(tracefs_channel_open(&b, "none", &g, true, &no, &err) == -ENOENT);
	CHECK(tracefs_channel_open(&b, "ch", &g, true, &c, &err) == 0);
	CHECK(tracefs_record(c, true) == 0 && tracefs_recording(c) == 1);
	CHECK(tracefs_record(c, false) == 0 && tracefs_recording(c) == 0);
}

static void events(void)
{
	struct md_buf out = MD_BUF_INIT;

	CHECK(tracefs_enable(c, "sched", "sched_switch", true) == 0);
	CHECK_STR(get(CHANNEL "events/sched/sched_switch/enable"), "1");
	CHECK(tracefs_enable(c, "sched", "none", true) == -ENOENT);
	CHECK(tracefs_enable(c, "syscalls", NULL, false) == 0);
	CHECK_STR(get(CHANNEL "events/syscalls/enable"), "0");
	CHECK(tracefs_enabled(c, &out) == 0);
	CHECK_STR(md_buf_str(&out), "sched:sched_switch\n");
	md_buf_reset(&out);
	CHECK(tracefs_filter_text(c, "sched", "sched_switch", &out) == 0 && !out.len);
	CHECK(tracefs_filter(c, "sched", "sched_switch", "prev_pid > 5", 12) == 0);
	CHECK(tracefs_filter_text(c, "sched", "sched_switch", &out) == 0);
	CHECK_STR(md_buf_str(&out), "prev_pid > 5");
	CHECK(tracefs_filter(c, "sched", "sched_switch", "", 0) == 0);
	md_buf_deinit(&out);
}

/* Other programs may change the files of an instance. */
static void changes(void)
{
	struct md_buf out = MD_BUF_INIT;
	bool threads;

	CHECK(!tracefs_changed(c, false, &out, &threads) && !threads);
	put(CHANNEL "trace_clock", "[local] mono x86-tsc\n");
	put(CHANNEL "options/overwrite", "0");
	put(CHANNEL "set_event_pid", "17\n");
	CHECK(tracefs_changed(c, false, &out, &threads) && threads);
	CHECK_STR(md_buf_str(&out), "trace_clock, options/overwrite, set_event_pid");
	CHECK(tracefs_record(c, true) == 0);
	CHECK_STR(get(CHANNEL "options/overwrite"), "1");
	md_buf_deinit(&out);
}

static void threads_and_functions(void)
{
	const uint32_t tids[] = { 4711 };

	b.functions = true;
	CHECK(tracefs_track(c, tids, 1) == 0);
	CHECK_STR(get(CHANNEL "set_event_pid"), "4711");
	CHECK_STR(get(CHANNEL "set_ftrace_pid"), "4711");
	CHECK(tracefs_functions(c, "") == 0);
	CHECK_STR(get(CHANNEL "current_tracer"), "nop\n");
	CHECK(tracefs_functions(c, "do_exit vfs_read") == 0);
	CHECK_STR(get(CHANNEL "set_ftrace_filter"), "kernel_halt\ndo_exit\nvfs_read\n");
	CHECK(!strncmp(get(CHANNEL "current_tracer"), "function", 8));
}

/* ---- buffers ---- */

static struct { unsigned records, missed; uint16_t id; uint64_t time; } drained;

static void take(void *arg, uint64_t time, const uint8_t *record, size_t len)
{
	(void)arg, (void)len;
	drained.records++;
	drained.time = time;
	memcpy(&drained.id, record, sizeof(drained.id));
}

static void miss(void *arg, uint64_t events)
{
	(void)arg, (void)events;
	drained.missed++;
}

/* A page with one record of 8 bytes, 5 ns after the page's time. */
static void buffers(void)
{
	const struct backend_sink sink = { .record = take, .missed = miss };
	struct source_counts lost;
	uint8_t page[4096] = { 0 };
	uint64_t ts = 1000, used = 12;
	uint32_t word = kpage_word(2, 5);
	uint16_t id = 401;
	int fd = openat(b.dir, CHANNEL "per_cpu/cpu0/trace_pipe_raw", O_WRONLY | O_NONBLOCK);
	int epoll = epoll_create1(0);

	memcpy(page, &ts, 8);
	memcpy(page + 8, &used, 8);
	memcpy(page + 16, &word, 4);
	memcpy(page + 20, &id, 2);
	CHECK(tracefs_watch(c, epoll) == 1);
	CHECK(tracefs_drain(c, 0, &sink) == 0 && !drained.records);
	CHECK(write(fd, page, sizeof(page)) == sizeof(page));
	CHECK(epoll_wait(epoll, &(struct epoll_event){ 0 }, 1, 0) == 1);
	CHECK(tracefs_drain(c, 0, &sink) == 0);
	CHECK(drained.records == 1 && drained.time == 1005 && !drained.missed);
	/* the tracepoint in place of the model that the probe is a copy of */
	c->ids[401] = 300;
	CHECK(write(fd, page, sizeof(page)) == sizeof(page));
	CHECK(tracefs_drain(c, 0, &sink) == 0 && drained.id == 300);
	close(epoll);
	close(fd);
	/* what the kernel counts, and what it counted before its counters were reset */
	CHECK(tracefs_lost(c, 0, &lost) == 0);
	CHECK(lost.overwritten >= 7 && lost.discarded >= 3);
	tracefs_before_reset(&b);
	put(CHANNEL "per_cpu/cpu0/stats", "entries: 0\noverrun: 1\n");
	tracefs_after_reset(&b);
	drained.records = (unsigned)lost.overwritten;
	CHECK(tracefs_lost(c, 0, &lost) == 0 && lost.overwritten == drained.records + 1);
}

/* ---- probes ---- */

static void probes(void)
{
	struct md_buf out = MD_BUF_INIT;
	char group[TRACEFS_GROUP_MAX], tracepoint[TRACEFS_TRACEPOINT_MAX];
	uint16_t *ids = calloc(UINT16_MAX + 1, sizeof(*ids));
	struct tr_err err = TR_ERR_INIT;
	struct dynamic_event probe;

	CHECK(tracefs_probes(&b, "trailfs_me", &out) == 0);
	CHECK(memmem(out.data, out.len, "old", 4) != NULL);
	md_buf_reset(&out);
	CHECK(tracefs_ids(&b, &out) == 0);
	md_buf_reset(&out);
	CHECK(tracefs_is_model("trailfs_me", MODEL) && !tracefs_is_model("sched", "sched_switch"));
	CHECK(tracefs_has_text(&b, "trailfs_me", MODEL));
	CHECK(!tracefs_has_text(&b, "sched", "sched_switch"));
	CHECK(tracefs_is_text("trailtext_me:sys_enter_open") && !tracefs_is_text("sched:a"));
	CHECK_STR(tracefs_text_model(&b), "trailtext_me");
	tracefs_text_of(&b, MODEL, &out);
	CHECK_STR(md_buf_str(&out), "trailfs_me");
	CHECK(tracefs_model_of(&b, "trailfs_me", MODEL, tracepoint) == 0);
	CHECK_STR(tracepoint, "sched");
	CHECK_STR(tracepoint + 6, "sched_switch");
	CHECK(tracefs_model_of(&b, "trailfs_me", "event_2", tracepoint) == -ENOENT);
	/* the channel's copy: its definition, and the model's id for its own */
	tracefs_text_group(&b, "ch", group);
	CHECK(tracefs_text_make(&b, group, "trailfs_me", MODEL, ids) == -ENOENT);
	CHECK(strstr(get("dynamic_events"), group) && !ids[500]);
	md_buf_reset(&out);
	md_buf_printf(&out, "events/%s/" MODEL "/id", group);
	put(md_buf_str(&out), "500\n");
	tracefs_text_adopt(&b, group, ids);
	CHECK(ids[500] == 401);
	tracefs_text_remove(&b, group);
	CHECK(dynamic_event_parse("kprobe:do_exit", &probe, &err) == 0);
	md_buf_reset(&out);
	CHECK(tracefs_probe_create(&b, "trailfs_me", &probe, &out, &err) == 0);
	CHECK(strstr(get("kprobe_events"), "p:trailfs_me/") &&
	      strstr(get("kprobe_events"), "do_exit"));
	dynamic_event_deinit(&probe);
	CHECK(tracefs_texts_supported(&b) == (event_probe_supported(b.dir) == 1));
	CHECK(tracefs_probe_remove(&b, "trailfs_me", "old") == 0);
	CHECK(strstr(get("dynamic_events"), "-:trailfs_me/old"));
	free(ids);
	md_buf_deinit(&out);
}

static void formats(void)
{
	static const char tracepoint[] = "name: t\nID: 300\nformat:\n"
					 "\tfield:char * f;\toffset:8;\tsize:8;\tsigned:0;\n";
	static const char probe[] = "name: p\nID: 500\nformat:\n"
				    "\tfield:__data_loc char[] f;\toffset:8;\tsize:4;\tsigned:1;\n";
	static const char entry[] =
		"name: sys_enter_openat\nID: 5\nformat:\n"
		"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n";
	const struct modcall call = { .name = "openat", .nr = 257, .id = 9, .count = 1,
				      .arguments = { { "int", "dfd" } } };
	struct modabi_call captured = { 0 };
	struct md_buf out = MD_BUF_INIT;

	tracefs_text_format(tracepoint, probe, false, &out);
	CHECK(strstr(md_buf_str(&out), "ID: 300") && strstr(md_buf_str(&out), "__data_loc"));
	md_buf_reset(&out);
	CHECK(event_probe_define(entry, "sys_enter_openat", "g", &out) == 1);
	CHECK(strstr(md_buf_str(&out), "e:g/sys_enter_openat syscalls.sys_enter_openat"));
	CHECK(strstr(md_buf_str(&out), "filename=+0($filename):ustring"));
	CHECK(event_probe_define("nothing", "sys_enter_openat", "g", &out) == -EINVAL);
	CHECK(event_probe_create(b.dir, "g", "sys_enter_none", NULL) == -ENOENT);
	md_buf_reset(&out);
	modcall_put_format(&call, "sys_enter_openat", &captured, &out);
	CHECK(strstr(md_buf_str(&out), "dfd"));
	md_buf_deinit(&out);
}

/* Of a system call whose tracepoint records bytes, beside the probe that records its text. */
static void data(void)
{
	static const char format[] =
		"name: sys_enter_write\nID: 310\nformat:\n"
		"\tfield:const char * buf;\toffset:24;\tsize:8;\tsigned:0;\n"
		"\tfield:__data_loc char[] __buf_val;\toffset:40;\tsize:4;\tsigned:0;\n"
		"\nprint fmt: \"buf: %s\", __print_dynamic_array(__buf_val, 1)\n";
	uint16_t *ids = calloc(UINT16_MAX + 1, sizeof(*ids));
	struct md_buf out = MD_BUF_INIT;

	b.data = tracefs_data_create();
	put("events/syscalls/sys_enter_write/id", "310\n");
	put("events/syscalls/sys_enter_write/format", format);
	CHECK(tracefs_data_make(&b, "sys_enter_write", ids) == -ENOENT && !ids[310]);
	CHECK(tracefs_data_format(&b, "sys_enter_write", &out) == -ENOENT && !out.len);
	put("events/trailtext_me/sys_enter_write/id", "503\n");
	CHECK(tracefs_data_make(&b, "sys_enter_write", ids) == 0 && ids[310] == 503);
	CHECK(tracefs_data_format(&b, "sys_enter_write", &out) == 0);
	CHECK(strstr(md_buf_str(&out), "ID: 503\n"));
	CHECK(strstr(out.data, "\tfield:__data_loc bytes[] data;\toffset:40;\tsize:4;") &&
	      strstr(out.data, "\tfield:const char * buf;\toffset:24;") &&
	      !strstr(out.data, "char[] __buf_val"));
	tracefs_data_destroy(b.data);
	b.data = NULL;
	free(ids);
	md_buf_deinit(&out);
}

static void stacks_and_functions(void)
{
	struct tr_err err = TR_ERR_INIT;

	put(CHANNEL "options/stacktrace", "0");
	put(CHANNEL "options/userstacktrace", "0");
	b.stacks[RECORD_STACK_KERNEL].id = 4;
	b.stacks[RECORD_STACK_USER].id = 12;
	CHECK(tracefs_stacks(c, true, false) == 0);
	CHECK_STR(get(CHANNEL "options/stacktrace"), "1");
	CHECK_STR(get(CHANNEL "options/userstacktrace"), "0");
	CHECK(tracefs_stacks(c, false, true) == 0);
	CHECK_STR(get(CHANNEL "options/stacktrace"), "0");
	CHECK_STR(get(CHANNEL "options/userstacktrace"), "1");
	CHECK(tracefs_stacks(c, false, false) == 0);
	/* a kernel without stacks of processes */
	b.stacks[RECORD_STACK_USER].id = 0;
	CHECK(unlinkat(b.dir, CHANNEL "options/userstacktrace", 0) == 0);
	CHECK(tracefs_stacks(c, true, true) == 0);
	CHECK_STR(get(CHANNEL "options/stacktrace"), "1");
	CHECK(tracefs_stacks(c, false, false) == 0);
	put("available_filter_functions", "vfs_read\nnf_hook [nf_tables]\n");
	CHECK(tracefs_function_check(&b, "vfs_*", &err) == 0);
	CHECK(tracefs_function_check(&b, "nf_hook", &err) == 0);
	CHECK(tracefs_function_check(&b, "none", &err) == -ENOENT);
	CHECK(strstr(err.sentence, "no function 'none'"));
	b.functions = false;
	CHECK(tracefs_function_check(&b, "vfs_read", &err) == -EOPNOTSUPP);
	/* An instance of the kernel's command line records again after its events were kept. */
	put("instances/boot/trace_clock", "");
	put("instances/boot/tracing_on", "0");
	CHECK(tracefs_boot_record(&b, "boot") == 0);
	CHECK_STR(get("instances/boot/trace_clock"), "mono");
	CHECK_STR(get("instances/boot/tracing_on"), "1");
	CHECK(tracefs_boot_record(&b, "none") == -ENOENT);
}

/* The calls of the module's backend, where no module says which ones the kernel has. */
static void calls_without_module(void)
{
	struct md_buf out = MD_BUF_INIT;

	b.calls = modcalls_create(&b);
	CHECK(b.calls != NULL);
	modcalls_list(b.calls, &out);
	CHECK(strstr(md_buf_str(&out), "syscalls:compat_sys_enter_"));
	CHECK(modcall_find(&b, "sys_enter_none", NULL, NULL) == -ENOENT);
	modcalls_destroy(b.calls);
	md_buf_deinit(&out);
}

int main(void)
{
	static const char header_page[] =
		"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
	char dir[128];

	snprintf(dir, sizeof(dir), "%s/tracefs.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(dir))
		return 2;
	pthread_mutex_init(&b.lock, NULL);
	CDS_INIT_LIST_HEAD(&b.channels);
	b.dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	b.device = -1;
	b.texts = tracefs_texts_create("me");
	CHECK(kpage_layout_parse(header_page, strlen(header_page), &b.layout) == 0);
	make_files();
	CASE(files);
	CASE(channel_is_opened);
	CASE(events);
	CASE(changes);
	CASE(threads_and_functions);
	CASE(buffers);
	CASE(probes);
	CASE(formats);
	CASE(data);
	CASE(stacks_and_functions);
	CASE(calls_without_module);
	tracefs_channel_close(c, false);
	tracefs_texts_destroy(&b);
	close(b.dir);
	return test_summary();
}
