/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * Rules of dynamic events, their definitions, and, where tracefs may be written, the events
 * themselves.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/base/probe/probe.h"
#include "tracer/kernel/backend/event_probe.h"
#include "tracer/kernel/kevent/kevent.h"

__attribute__((noinline)) int dynevent_target(int x);
__attribute__((noinline)) int dynevent_target(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

#ifdef __x86_64__
/* A probe with two places and a semaphore, as <sys/sdt.h> writes it. */
static volatile unsigned short semaphore __attribute__((section(".probes"), used));
#define PLACE(n, args) \
	__asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte " \
			 "8,994f-993f,3\n" \
			 ".asciz \"stapsdt\"\n993: .8byte 990b, _.stapsdt.base, %c1\n.asciz " \
			 "\"prov\"\n.asciz \"hit\"\n.asciz \"" args "\"\n" \
			 "994: .balign 4\n.popsection\n.pushsection " \
			 ".stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
			 ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n.ifndef " \
			 "_.stapsdt.base\n_.stapsdt.base: .space 1\n" \
			 ".size _.stapsdt.base,1\n.endif\n.popsection" \
			 : \
			 : "D"(n), "i"(&semaphore), "S"(0x1122334455667788))
__attribute__((noinline)) static void hit(int n)
{
	PLACE(n, "-4@%%edi 8@%%rsi 1@$65");
	PLACE(n + 1, "-4@%%edi 4@(%%rax,%%rbx,4) 1@$66");
}
#endif

static void refuse(const char *text, int column)
{
	struct dynamic_event d;
	struct tr_err err = TR_ERR_INIT;

	CHECK(dynamic_event_parse(text, &d, &err) == -EINVAL && err.sentence[0] &&
	      err.column == column);
	if (err.column != column)
		printf("# %s: column %d, not %d: %s\n", text, err.column, column, err.sentence);
}

static void rules(void)
{
	struct dynamic_event d;
	struct md_buf b = MD_BUF_INIT;

	CHECK(!dynamic_event_parse("kprobe:vfs_read+0x10", &d, NULL) && d.kind == DYN_KPROBE &&
	      d.fd == -1 && !dynamic_event_has_file(&d));
	CHECK_STR(d.symbol, "vfs_read+0x10");
	CHECK(!dynamic_event_resolve(&d, NULL, NULL) &&
	      !dynamic_event_define(&d, 0, "trailfs_test", "x", &b, NULL));
	CHECK_STR(md_buf_str(&b), "p:trailfs_test/x vfs_read+0x10\n");
	CHECK(dynamic_event_define(&d, 0, "trailfs test", "x", &b, NULL) == -EINVAL &&
	      dynamic_event_define(&d, 0, "g", "9", &b, NULL) == -EINVAL);
	dynamic_event_deinit(&d);
	md_buf_reset(&b);
	CHECK(!dynamic_event_parse("uprobe:/a b/c:d\\:e@@V_1.2+8", &d, NULL));
	CHECK_STR(d.path, "/a b/c:d\\");
	CHECK_STR(d.symbol, "e@@V_1.2+8");
	CHECK(dynamic_event_resolve(&d, NULL, NULL) == -EBADF &&
	      dynamic_event_define(&d, 0, "g", "x", &b, NULL) == -EINVAL);
	dynamic_event_deinit(&d);
	md_buf_reset(&b);
	CHECK(!dynamic_event_parse("usdt:/a:b:c", &d, NULL));
	CHECK_STR(d.path, "/a");
	CHECK_STR(d.provider, "b");
	CHECK_STR(d.name, "c");
	CHECK(dynamic_event_made(&d, "usdt_c_e9ec7ab6a8b9cd05_") == false &&
	      !dynamic_event_made(&d, "") && !dynamic_event_made(&d, "usdt_c_"));
	dynamic_event_deinit(&d);
	dynamic_event_deinit(&d);
	md_buf_deinit(&b);
	CHECK(dynamic_event_is_rule("uretprobe:/x:y") && !dynamic_event_is_rule("sched:x") &&
	      !dynamic_event_is_rule(""));
	refuse("kprobe:", 7);
	refuse("kprobe:+8", 7);
	refuse("kprobe:a+", 8);
	refuse("kprobe:a+0xg", 11);
	refuse("kprobe:a+1z", 10);
	refuse("kprobe:a;b", 8);
	refuse("kretprobe:a+4", 11);
	refuse("uprobe:a", 8);
	refuse("uprobe:x:a", 7);
	refuse("uprobe:/x:", 10);
	refuse("usdt:/x:y", 9);
	refuse("usdt:/x::y", 8);
	refuse("usdt:/x:y:", 10);
	refuse("uprobe:/a/../b:c", 10);
	refuse("uprobe:/a/..:c", 10);
	refuse("uprobe:/a\tb:c", 9);
	refuse("usdt:/a\xff:b:c", 7);
	refuse("kprobe:a b", 8);
	refuse("other", 0);
}

static void operand(const char *text, const char *want)
{
	struct md_buf b = MD_BUF_INIT;

	CHECK(dynamic_event_operand(text, strlen(text), &b) == (want != NULL));
	CHECK_STR(md_buf_str(&b), want ? want : "");
	md_buf_deinit(&b);
}

static void operands(void)
{
#ifndef __x86_64__
	SKIP("the operands are those of x86-64");
#endif
	operand("-4@%edi", "%di:s32");
	operand("8@%r10", "%r10:u64");
	operand("1@%r15b", "%r15:u8");
	operand("%rax", "%ax:s64");
	operand("-4@-20(%rbp)", "-20(%bp):s32");
	operand("2@(%rsp)", "+0(%sp):u16");
	operand("8@0x10(%rdx)", "+16(%dx):u64");
	operand("-4@$-5", "\\-5:s32");
	operand("1@$65", "\\65:u8");
	operand("8@$0xffffffffffffffff", "\\-1:u64");
	operand("4@(%rax,%rbx,4)", NULL);
	operand("4@name(%rip)", NULL);
	operand("8f@%xmm0", NULL);
	operand("1@%ah", NULL);
	operand("3@%al", NULL);
	operand("4@", NULL);
	operand("4@$", NULL);
	operand("4@-(%rbp)", NULL);
	operand("4@8(%rbp", NULL);
	operand("4@()", NULL);
}

/* Only in a guest (tests/vm/kernel.sh): a probe that goes wrong may take the machine with it. */
static int tracefs(void)
{
	int fd = !getenv("VM") ? -1
			       : open("/sys/kernel/tracing", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && faccessat(fd, "uprobe_events", W_OK, 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static char *read_at(int dir, const char *path)
{
	static char text[65536];
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0, got;

	while (fd >= 0 && (got = read(fd, text + n, sizeof(text) - 1 - (size_t)n)) > 0)
		n += got;
	text[n] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

static bool switch_it(int fs, const char *event, const char *to)
{
	char path[200];
	int fd;
	bool ok;

	snprintf(path, sizeof(path), "instances/trailfs_test_dyn/events/%s/enable", event);
	fd = openat(fs, path, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, to, 1) == 1;
	if (fd >= 0)
		close(fd);
	return ok;
}

/* A group of this process: other tests run at the same time. */
static char group[32];

/*
 * Makes the events of a rule about this program, has them recorded while this runs, and gives back
 * what tracefs shows.
 */
static char *recorded(int fs, const char *rule, void (*run)(void), struct md_buf *names,
		      const char *field)
{
	struct dynamic_event d;
	struct tr_err err = TR_ERR_INIT;
	struct md_buf again = MD_BUF_INIT;
	char path[200], event[100], *text;
	int ret;

	CHECK(!dynamic_event_parse(rule, &d, &err));
	d.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ret = dynamic_event_resolve(&d, NULL, &err);
	ret = ret ? ret : dynamic_event_create(fs, group, &d, names, &err);
	if (ret)
		printf("# %s: %d %s\n", rule, ret, err.sentence);
	CHECK(ret == 0);
	CHECK(dynamic_event_create(fs, group, &d, &again, &err) == 0 && again.len == names->len &&
	      !memcmp(again.data, names->data, again.len));
	CHECK(dynamic_event_made(&d, names->data));
	md_buf_reset(&again);
	CHECK(dynamic_event_list(fs, group, &again) == 0 && again.len == names->len);
	md_buf_deinit(&again);
	close(d.fd);
	dynamic_event_deinit(&d);
	CHECK(mkdirat(fs, "instances/trailfs_test_dyn", 0700) == 0);
	for (size_t at = 0; at < names->len; at += strlen(names->data + at) + 1) {
		snprintf(path, sizeof(path), "events/%s/%s/format", group, names->data + at);
		CHECK(strstr(read_at(fs, path), field));
		snprintf(event, sizeof(event), "%s/%s", group, names->data + at);
		CHECK(switch_it(fs, event, "1"));
	}
	run();
	text = strdup(read_at(fs, "instances/trailfs_test_dyn/trace"));
	CHECK(unlinkat(fs, "instances/trailfs_test_dyn", AT_REMOVEDIR) == 0);
	return text;
}

static volatile int sink;

static void run_target(void)
{
	sink = dynevent_target(sink);
}

static void uprobes(void)
{
	struct md_buf names = MD_BUF_INIT;
	int fs = tracefs();
	char *text;

	if (fs < 0)
		SKIP("this is no guest, or it has no uprobes");
	text = recorded(fs, "uprobe:/proc/self/exe:dynevent_target", run_target, &names,
			" __probe_ip;");
	CHECK(strstr(text, names.data));
	free(text);
	CHECK(dynamic_event_remove(fs, group, names.data) == 0 &&
	      dynamic_event_remove(fs, group, names.data) == -ENOENT);
	md_buf_reset(&names);
	text = recorded(fs, "uretprobe:/proc/self/exe:dynevent_target", run_target, &names,
			" __probe_ret_ip;");
	CHECK(strstr(text, names.data));
	free(text);
	md_buf_deinit(&names);
	CHECK(dynamic_event_remove_group(fs, group) == 1 &&
	      dynamic_event_remove_group(fs, group) == 0 &&
	      dynamic_event_remove_group(fs, "") == -EINVAL);
	close(fs);
}

#ifdef __x86_64__
static bool was_on;

static void run_hit(void)
{
	was_on = semaphore > 0;
	hit(-7);
}

static void usdt(void)
{
	struct md_buf names = MD_BUF_INIT;
	int fs = tracefs();
	char *text;

	if (fs < 0)
		SKIP("this is no guest, or it has no uprobes");
	CHECK(!semaphore);
	text = recorded(fs, "usdt:/proc/self/exe:prov:hit", run_hit, &names, "field:s32 arg0;");
	/* Two places; the second argument is not to be had in one of them, so it has none. */
	CHECK(strstr(text, "arg0=-7 arg2=65") && strstr(text, "arg0=-6 arg2=66") &&
	      !strstr(text, "arg1"));
	CHECK(was_on && !semaphore && names.len > strlen(names.data) + 1);
	free(text);
	md_buf_deinit(&names);
	CHECK(dynamic_event_remove_group(fs, group) == 2 &&
	      !strstr(read_at(fs, "dynamic_events"), group));
	close(fs);
}

/* What becomes of this program's own probe, without a kernel. */
static void definitions(void)
{
	struct dynamic_event d;
	struct md_buf b = MD_BUF_INIT;

	hit(1);
	CHECK(!dynamic_event_parse("usdt:/proc/self/exe:prov:hit", &d, NULL));
	d.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK(!dynamic_event_resolve(&d, NULL, NULL) && d.place_count == 2 &&
	      d.places[0].offset != d.places[1].offset && d.places[0].semaphore);
	for (size_t i = 0; i < 2; i++)
		CHECK(!dynamic_event_define(&d, i, "g", "e", &b, NULL));
	CHECK(strstr(md_buf_str(&b), ") arg0=%di:s32 arg2=\\65:u8\n") &&
	      strstr(md_buf_str(&b), ") arg0=%di:s32 arg2=\\66:u8\n"));
	CHECK(dynamic_event_define(&d, 2, "g", "e", &b, NULL) == -EINVAL);
	close(d.fd);
	dynamic_event_deinit(&d);
	md_buf_deinit(&b);
}
#endif

static void put_at(int dir, const char *path, const char *text)
{
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/*
 * What is enabled anywhere is not removed: nothing is written at all, for the kernel would free an
 * event in several places. On directories that look like tracefs, not on the real one.
 */
static void busy(void)
{
	static const char *const dirs[] = { "events",
					    "events/g",
					    "events/g/n",
					    "instances",
					    "instances/i",
					    "instances/i/events",
					    "instances/i/events/g",
					    "instances/i/events/g/n" };
	static const char *const files[] = { "events/g/n/enable", "instances/i/events/g/n/enable",
					     "dynamic_events" };
	static const char list[] = "p:g/n /x:0x1\np:g/n /x:0x2\n";
	char path[256];
	int fs;

	snprintf(path, sizeof(path), "%s/dynevent.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	CHECK(mkdtemp(path));
	fs = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		CHECK(mkdirat(fs, dirs[i], 0700) == 0);
	put_at(fs, files[2], list);
	for (int i = 0; i < 4; i++) {
		put_at(fs, files[0], i & 1 ? "1\n" : "0\n");
		put_at(fs, files[1], i & 2 ? "1*\n" : "0*\n");
		if (i) {
			CHECK(dynamic_event_remove(fs, "g", "n") == -EBUSY);
			CHECK_STR(read_at(fs, files[2]), list);
		} else {
			CHECK(dynamic_event_remove(fs, "g", "n") == 0 &&
			      strstr(read_at(fs, files[2]), "-:g/n\n"));
			put_at(fs, files[2], list);
		}
	}
	/* Enabled in an instance: left alone; files that cannot be read: not taken for off. */
	CHECK(dynamic_event_remove_group(fs, "g") == -EBUSY);
	CHECK_STR(read_at(fs, files[2]), list);
	put_at(fs, files[1], "");
	CHECK(dynamic_event_remove(fs, "g", "n") == -EBUSY);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlinkat(fs, files[i], 0);
	for (size_t i = sizeof(dirs) / sizeof(dirs[0]); i--;)
		unlinkat(fs, dirs[i], AT_REMOVEDIR);
	close(fs);
	CHECK(rmdir(path) == 0);
}

static void errors(void)
{
	struct dynamic_event d;
	struct tr_err err = TR_ERR_INIT;
	struct md_buf names = MD_BUF_INIT;
	int fs = tracefs(), none, ret;

	CHECK(!dynamic_event_parse("uprobe:/proc/self/exe:dynevent_targit", &d, &err));
	d.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK(dynamic_event_resolve(&d, NULL, &err) == -ENOENT &&
	      strstr(err.sentence, "did you mean 'dynevent_target'?"));
	CHECK(dynamic_event_create(-1, group, &d, &names, &err) < 0);
	close(d.fd);
	dynamic_event_deinit(&d);
	CHECK(!dynamic_event_parse("usdt:/x:prov:hot", &d, &err));
	d.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK(dynamic_event_resolve(&d, NULL, &err) == -ENOENT && err.sentence[0]);
	close(d.fd);
	dynamic_event_deinit(&d);
	/* Not tracefs, or one without */
	none = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(!dynamic_event_parse("kprobe:vfs_read", &d, &err));
	CHECK(dynamic_event_create(none, group, &d, &names, &err) == -EOPNOTSUPP &&
	      strstr(err.sentence, "kprobes"));
	dynamic_event_deinit(&d);
	CHECK(dynamic_event_remove_group(none, group) == 0 &&
	      dynamic_event_list(none, group, &names) == 0 && !names.len);
	close(none);
	if (fs < 0)
		SKIP("this is no guest, or it has no uprobes");
	CHECK(!dynamic_event_parse("kprobe:vfs_raed", &d, &err));
	ret = dynamic_event_create(fs, group, &d, &names, &err);
	CHECK(ret == -EOPNOTSUPP || (dynamic_event_explain(&d, ret, &err) == -ENOENT &&
				     strstr(err.sentence, "did you mean")));
	CHECK(dynamic_event_explain(&d, -EOPNOTSUPP, &err) == -EOPNOTSUPP);
	dynamic_event_deinit(&d);
	md_buf_deinit(&names);
	close(fs);
}

static const char format[] =
	"name: sys_enter_openat\nID: 1\nformat:\n\tfield:unsigned short "
	"common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
	"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:int "
	"dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n\tfield:int "
	"flags;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:umode_t mode;\toffset:40;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n";

/* As Linux 7.3 has them */
static const char format_chdir[] =
	"name: sys_enter_chdir\nID: 2\nformat:\n"
	"\tfield:const char * filename;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] __filename_val;\toffset:24;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"filename: 0x%08lx \\\"%s\\\"\", ((unsigned long)(REC->filename)), "
	"__get_str(__filename_val)\n";
static const char format_write[] =
	"name: sys_enter_write\nID: 3\nformat:\n"
	"\tfield:unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:const char * buf;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:size_t count;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] __buf_val;\toffset:40;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"buf: 0x%08lx (%s)\", ((unsigned long)(REC->buf)), "
	"__print_dynamic_array(__buf_val, 1)\n";

static void eprobes(void)
{
	struct md_buf b = MD_BUF_INIT;
	struct tr_err err = TR_ERR_INIT;
	int fs = tracefs(), ret;

	CHECK(event_probe_define(format, "sys_enter_openat", "g", &b) == 1);
	CHECK_STR(md_buf_str(&b), "e:g/sys_enter_openat syscalls.sys_enter_openat dfd=$dfd:s32 "
				  "filename=+0($filename):ustring flags=$flags:s32 "
				  "mode=$mode:u16\n");
	CHECK(event_probe_define("", "sys_enter_openat", "g", &b) == -EINVAL &&
	      event_probe_define(format, "sched_switch", "g", &b) == -EINVAL);
	/* Text that the kernel reads needs no probe. Bytes that it reads are left out by one. */
	md_buf_reset(&b);
	CHECK(event_probe_define(format_chdir, "sys_enter_chdir", "g", &b) == 0 && !b.len);
	CHECK(event_probe_define(format_write, "sys_enter_write", "g", &b) == 1);
	CHECK_STR(md_buf_str(&b), "e:g/sys_enter_write syscalls.sys_enter_write fd=$fd:u32 "
				  "buf=$buf:x64 count=$count:u64\n");
	md_buf_deinit(&b);
	CHECK(syscall_takes_string("mount", "char *", "type") &&
	      !syscall_takes_string("x", "char *", "type"));
	CHECK(!syscall_takes_string("read", "char *", "buf") &&
	      !syscall_takes_string("execve", "const char *const *", "argv"));
	CHECK(!syscall_takes_string("x", "unsigned long", "name") &&
	      !syscall_takes_string("gethostname", "char *", "name"));
	if (fs < 0)
		SKIP("this is no guest");
	ret = event_probe_create(fs, group, "sys_enter_openat", &err);
	/* 0: this kernel reads the text itself. */
	CHECK(ret == 1 || !ret || ret == -EOPNOTSUPP || ret == -ENOENT);
	CHECK((ret == 1) == (dynamic_event_remove_group(fs, group) == 1));
	CHECK(!ret || ret == -ENOENT || event_probe_supported(fs) == (ret == 1));
	CHECK(event_probe_create(fs, group, "sys_enter_getpid", &err) <= 0);
	CHECK(event_probe_create(fs, group, "../x", &err) == -EINVAL &&
	      event_probe_create(fs, group, "sys_enter_nothing", &err) == -ENOENT);
	close(fs);
}

int main(void)
{
	snprintf(group, sizeof(group), "trailfs_test_%d", (int)getpid());
	CASE(rules);
	CASE(operands);
	CASE(uprobes);
#ifdef __x86_64__
	CASE(usdt);
	CASE(definitions);
#endif
	CASE(busy);
	CASE(errors);
	CASE(eprobes);
	return test_summary();
}
