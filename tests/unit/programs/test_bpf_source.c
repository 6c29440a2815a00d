/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which system calls BPF programs record, the formats of their records, and records of tracefs in
 * this form; on a directory with files as tracefs has them, also of kernels that there are not.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/kernel/programs/bpf.h"
#include "tracer/kernel/kevent/transcode.h"

#define NUMBER "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
#define COMMON \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" \
	NUMBER
#define ARGUMENT(type, name, at) "\tfield:" type " " name ";\toffset:" at ";\tsize:8;\tsigned:0;\n"
#define END "\nprint fmt: \"\"\n"

static struct backend b;

static void put_in(const char *system, const char *event, const char *file, const char *text)
{
	char path[300];
	int fd;

	mkdirat(b.dir, "events", 0700);
	snprintf(path, sizeof(path), "events/%s", system);
	mkdirat(b.dir, path, 0700);
	snprintf(path, sizeof(path), "events/%s/%s", system, event);
	mkdirat(b.dir, path, 0700);
	snprintf(path, sizeof(path), "events/%s/%s/%s", system, event, file);
	fd = openat(b.dir, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void put(const char *event, const char *file, const char *text)
{
	put_in("syscalls", event, file, text);
}

static int find(const char *event, struct bpf_source *call, struct md_buf *format)
{
	md_buf_reset(format);
	return bpf_source_find(&b, "syscalls", event, false, call, format);
}

static void calls(void)
{
	struct md_buf text = MD_BUF_INIT;
	struct kformat *f = NULL;
	struct bpf_source call;

	put("sys_enter_mount", "format",
	    "name: sys_enter_mount\nID: 700\nformat:\n" COMMON
	    ARGUMENT("char *", "dev_name", "16") ARGUMENT("char *", "dir_name", "24")
	    ARGUMENT("char *", "type", "32") ARGUMENT("unsigned long", "flags", "40")
	    ARGUMENT("void *", "data", "48") END);
	put("sys_enter_mount", "id", "700\n");
	put("sys_exit_mount", "format",
	    "name: sys_exit_mount\nID: 699\nformat:\n" COMMON
	    "\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n" END);
	put("sys_exit_mount", "id", "699\n");
	CHECK(!find("sys_enter_mount", &call, &text));
	CHECK(call.id == 700 && !call.exit && call.count == 5 && call.texts == 3);
	CHECK(call.text[0] == 0 && call.text[1] == 1 && call.text[2] == 2);
	CHECK(bpf_source_places(&call) == 56);
	CHECK(strstr(md_buf_str(&text), "__data_loc char[] dir_name;\toffset:60;\tsize:4;") &&
	      strstr(text.data, "unsigned long flags;\toffset:40;\tsize:8;") &&
	      !strstr(text.data, "char * "));
	CHECK(!kformat_parse("syscalls", text.data, text.len, &f) && f->size == 68);
	kformat_free(f);
	CHECK(!find("sys_exit_mount", &call, &text) && call.exit && call.id == 699 &&
	      !call.texts && strstr(md_buf_str(&text), "long ret"));
	CHECK(find("sys_enter_none", &call, &text) == -ENOENT);
	CHECK(bpf_source_find(&b, "sched", "sys_enter_mount", false, &call, NULL) == -ENOENT);
	CHECK(find("mount", &call, &text) == -ENOENT);
	md_buf_deinit(&text);
}

/* Without text; with text elsewhere; with arguments elsewhere. */
static void others(void)
{
	static const char *const formats[] = {
		COMMON ARGUMENT("unsigned int", "fd", "16"),
		COMMON ARGUMENT("const char *", "filename", "16")
			"\tfield:__data_loc char[] filename_val;\toffset:24;\tsize:4;\t"
			"signed:0;\n",
		COMMON ARGUMENT("const char *", "filename", "32"),
		COMMON "\tfield:const char * filename;\toffset:16;\tsize:4;\tsigned:0;\n",
		COMMON ARGUMENT("const char *", "filename", "16") ARGUMENT("int", "a", "24")
			ARGUMENT("int", "b", "32") ARGUMENT("int", "c", "40")
			ARGUMENT("int", "d", "48") ARGUMENT("int", "e", "56")
			ARGUMENT("int", "f", "64"),
		"", "\tfield:", "\tfield:const char * filename;\toffset:-1;\tsize:8;\tsigned:0;\n",
	};
	struct md_buf text = MD_BUF_INIT;
	struct bpf_source call;

	put("sys_enter_open", "id", "5\n");
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		put("sys_enter_open", "format", formats[i]);
		CHECK(find("sys_enter_open", &call, &text) == -ENOENT);
	}
	put("sys_enter_open", "format", COMMON ARGUMENT("const char *", "filename", "16") END);
	CHECK(!find("sys_enter_open", &call, &text));
	put("sys_enter_open", "id", "junk\n");
	CHECK(find("sys_enter_open", &call, &text) == -ENOENT);
	md_buf_deinit(&text);
}

static void plain(void)
{
	uint64_t raw[7] = { 0 }, address = 0x7ffe12345678;
	uint16_t id = 700;
	struct bpf_channel c = { .b = &b };
	uint8_t payload[300], *record = (uint8_t *)raw;
	struct md_buf text = MD_BUF_INIT;
	const uint8_t *got;
	struct bpf_source call;
	struct kformat *f = NULL;
	struct kcode *code;
	size_t len = sizeof(raw);
	ssize_t n;

	CHECK(!find("sys_enter_mount", &call, &text));
	CHECK(!c.plain_count);
	bpf_plain_adopt(&c, "sched:sched_switch\nsyscalls:sys_enter_mount\n"
			    "syscalls:sys_enter_no\n");
	CHECK(c.plain_count == 1 && !strcmp(c.plain[0]->name, "sys_enter_mount"));
	CHECK(!bpf_plain_add(&c, "sys_enter_mount", &call) && c.plain_count == 1);
	memcpy(record, &id, sizeof(id));
	memcpy(record + 24, &address, sizeof(address));
	got = bpf_plain_record(&c, record, &len);
	CHECK(got != record && len == 56 + 12 + 4 + 15 + 4);
	CHECK(!kformat_parse("syscalls", md_buf_str(&text), text.len, &f));
	code = kcode_make(f);
	n = kcode_run(code, got, len, payload, sizeof(payload));
	CHECK(n > 22 && !memcmp(payload, "0x0\0" "0x7ffe12345678\0" "0x0\0", 23));
	kcode_free(code);
	kformat_free(f);
	/* Cut off; too short; of another event */
	len = 28;
	got = bpf_plain_record(&c, record, &len);
	CHECK(got != record && len == 56 + 12 + 4 + 4 + 4);
	len = 7;
	CHECK(bpf_plain_record(&c, record, &len) == record && len == 7);
	len = sizeof(raw);
	record[0]++;
	CHECK(bpf_plain_record(&c, record, &len) == record && len == sizeof(raw));
	bpf_plain_free(&c);
	md_buf_deinit(&text);
}

/* The payload of a record of sys_enter_open by the instance, in the programs' format. */
static void check_open(uint8_t *record, size_t len, const char *name, int32_t flags)
{
	size_t named = strlen(name) + 1, bytes = named + 4 + 2;
	const uint16_t mode = 0600;

	struct bpf_channel c = { .b = &b };
	struct md_buf text = MD_BUF_INIT;
	struct kformat *f = NULL;
	uint16_t id = 800;
	struct kcode *code;
	uint8_t out[300];
	const uint8_t *got;

	bpf_plain_adopt(&c, "syscalls:sys_enter_open\n");
	CHECK(c.plain_count == 1);
	memcpy(record, &id, sizeof(id));
	got = bpf_plain_record(&c, record, &len);
	CHECK(got != record);
	CHECK(!bpf_source_find(&b, "syscalls", "sys_enter_open", false,
			       &(struct bpf_source){ 0 }, &text));
	CHECK(!strstr(md_buf_str(&text), "filename_val"));
	CHECK(!kformat_parse("syscalls", text.data, text.len, &f));
	code = kcode_make(f);
	CHECK(kcode_run(code, got, len, out, sizeof(out)) == (ssize_t)bytes);
	CHECK(!memcmp(out, name, named) && !memcmp(out + named, &flags, 4) &&
	      !memcmp(out + named + 4, &mode, 2));
	kcode_free(code);
	kformat_free(f);
	bpf_plain_free(&c);
	md_buf_deinit(&text);
}

/* Text that Linux 6.19 reads itself */
static void read_by_kernel(void)
{
	uint64_t words[7] = { 0 };
	uint8_t *record = (uint8_t *)words;
	uint32_t place = 6 << 16 | 44;

	put("sys_enter_open", "id", "800\n");
	put("sys_enter_open", "format",
	    "name: sys_enter_open\nID: 800\nformat:\n" COMMON
	    ARGUMENT("const char *", "filename", "16") ARGUMENT("int", "flags", "24")
	    ARGUMENT("umode_t", "mode", "32")
	    "\tfield:__data_loc char[] __filename_val;\toffset:40;\tsize:4;\tsigned:0;\n" END);
	words[2] = 0x1234;
	words[3] = 7;
	words[4] = 0600;
	memcpy(record + 40, &place, sizeof(place));
	memcpy(record + 44, "/a b\0\0", 6);
	check_open(record, 50, "/a b", 7);
	/* Outside of the record */
	place++;
	memcpy(record + 40, &place, sizeof(place));
	check_open(record, 50, "", 7);
}

/* Text that an event probe reads, whose other arguments are as wide as their types */
static void read_by_probe(void)
{
	uint32_t words[9] = { 0 };
	uint8_t *record = (uint8_t *)words;
	uint16_t mode = 0600;
	int fd = openat(b.dir, "dynamic_events", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	tracefs_texts_destroy(&b);
	b.texts = tracefs_texts_create("me");
	close(fd);
	put("sys_enter_open", "format",
	    "name: sys_enter_open\nID: 800\nformat:\n" COMMON
	    ARGUMENT("const char *", "filename", "16") ARGUMENT("int", "flags", "24")
	    ARGUMENT("umode_t", "mode", "32") END);
	put_in("trailtext_me", "sys_enter_open", "format",
	       "name: sys_enter_open\nID: 900\nformat:\n"
	       "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:1;\n"
	       "\tfield:s32 flags;\toffset:12;\tsize:4;\tsigned:1;\n"
	       "\tfield:u16 mode;\toffset:16;\tsize:2;\tsigned:0;\n" END);
	words[2] = 5 << 16 | 18;
	words[3] = (uint32_t)-7;
	memcpy(record + 16, &mode, sizeof(mode));
	memcpy(record + 18, "/etc", 5);
	check_open(record, 23, "/etc", -7);
}

int main(void)
{
	char dir[] = "/tmp/test_bpf_source.XXXXXX", remove[64];

	CHECK(mkdtemp(dir) != NULL);
	b.dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	b.texts = tracefs_texts_create("me");
	CASE(calls);
	CASE(others);
	CASE(plain);
	CASE(read_by_kernel);
	CASE(read_by_probe);
	tracefs_texts_destroy(&b);
	close(b.dir);
	snprintf(remove, sizeof(remove), "rm -rf %s", dir);
	return system(remove) || test_summary();
}
