/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of system calls with what the kernel has read of their arguments (from Linux 6.19). */
#include "tests/lib/test.h"
#include "tests/unit/kevent/kpayload.h"

#define HEAD(name, id) \
	"name: " name "\nID: " id "\nformat:\n" \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" \
	"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
#define POINTER(name, offset) \
	"\tfield:const char * " name ";\toffset:" offset ";\tsize:8;\tsigned:0;\n"
#define VALUE(name, offset) \
	"\tfield:__data_loc char[] __" name "_val;\toffset:" offset ";\tsize:4;\tsigned:0;\n"

static const char format_rename[] =
	HEAD("sys_enter_rename", "800") POINTER("oldname", "16") POINTER("newname", "24")
	VALUE("oldname", "32") VALUE("newname", "36")
	"\nprint fmt: \"oldname: 0x%016lx \\\"%s\\\", newname: 0x%016lx \\\"%s\\\"\", "
	"((unsigned long)(REC->oldname)), __get_str(__oldname_val), "
	"((unsigned long)(REC->newname)), __get_str(__newname_val)\n";
static const char format_write[] =
	HEAD("sys_enter_write", "801")
	"\tfield:unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;\n"
	POINTER("buf", "24")
	"\tfield:size_t count;\toffset:32;\tsize:8;\tsigned:0;\n"
	VALUE("buf", "40")
	"\nprint fmt: \"fd: 0x%016lx, buf: 0x%016lx (%s), count: 0x%016lx\", "
	"((unsigned long)(REC->fd)), ((unsigned long)(REC->buf)), "
	"__print_dynamic_array(__buf_val, 1), ((unsigned long)(REC->count))\n";

static struct kformat *parse(const char *text)
{
	struct kformat *f = NULL;

	CHECK(kformat_parse("syscalls", text, strlen(text), &f) == 0);
	return f;
}

static void text(void)
{
	struct kformat *f = parse(format_rename);
	uint8_t r[64] = { 0 };

	put64(r + 16, 0x1000);
	put32(r + 32, 5 << 16 | 40);
	put32(r + 36, 4 << 16 | 45);
	memcpy(r + 40, "/a b\0new", 9);
	check_payload(f, r, 49, "{ oldname = \"/a b\", newname = \"new\" }\n");
	/* The kernel could not read the second. */
	put32(r + 36, 45);
	check_payload(f, r, 45, "{ oldname = \"/a b\", newname = \"\" }\n");
	kformat_free(f);
}

/* They may be a password. */
static void bytes_are_left_out(void)
{
	struct kformat *f = parse(format_write);
	uint8_t r[64] = { 0 };

	put64(r + 16, 2);
	put64(r + 24, 0xabc);
	put64(r + 32, 6);
	put32(r + 40, 6 << 16 | 44);
	memcpy(r + 44, "secret", 6);
	check_payload(f, r, 50, "{ fd = 2, buf = 0xABC, count = 6 }\n");
	kformat_free(f);
}

/* As the backend describes the same record for a rule that asks for them */
static void bytes_are_asked_for(void)
{
	static const char format_data[] =
		HEAD("sys_enter_write", "802")
		"\tfield:unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;\n"
		POINTER("buf", "24")
		"\tfield:__data_loc bytes[] data;\toffset:40;\tsize:4;\tsigned:0;\n"
		"\nprint fmt: \"\"\n";
	struct kformat *f = parse(format_data);
	uint8_t r[64] = { 0 };

	put64(r + 16, 2);
	put64(r + 24, 0xabc);
	put32(r + 40, 6 << 16 | 44);
	memcpy(r + 44, "no\nNUL", 6);
	check_payload(f, r, 50, "{ fd = 2, buf = 0xABC, _data_length = 6, data = \"no\\nNUL\" }\n");
	kformat_free(f);
}

int main(void)
{
	CASE(text);
	CASE(bytes_are_asked_for);
	CASE(bytes_are_left_out);
	return test_summary();
}
