/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats and records of a kernel whose addresses have 32 bits */
#include <stdlib.h>
#include <unistd.h>

#include "metadata/number.h"
#include "tests/lib/test.h"
#include "tests/unit/kevent/kpayload.h"

/* Of Linux 6.1 for arm */
static const char format_function[] =
	"name: function\nID: 1\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:unsigned long ip;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long parent_ip;\toffset:12;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip\n";

static struct ksyms *load_symbols(const char *text)
{
	char path[] = "/tmp/kformat.XXXXXX";
	int fd = mkstemp(path);
	struct ksyms *s;

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && !close(fd));
	s = ksyms_load(path);
	unlink(path);
	return s;
}

/* The buffer ends where the record's last field ends: a sanitizer reports a read of more bytes. */
static void functions(void)
{
	struct ksyms *s = load_symbols("c06eb820 T vfs_read\nc06eb900 t caller\n");
	struct kformat *f;
	struct kcode *c;
	uint8_t r[16] = { 0 }, out[64];

	CHECK(!kformat_parse("ftrace", format_function, strlen(format_function), &f));
	CHECK(f->size == sizeof(r));
	c = kcode_make(f);
	kcode_symbols(c, s);
	put32(r + 8, 0xc06eb820);
	put32(r + 12, 0xc06eb904);
	CHECK(kcode_run(c, r, sizeof(r), out, sizeof(out)) == 16 + 9 + 7);
	CHECK(md_load64(out) == 0xc06eb820 && md_load64(out + 8) == 0xc06eb904);
	CHECK(!memcmp(out + 16, "vfs_read\0caller", 16) && kcode_process(c, 0) == SIZE_MAX);
	check_payload(f, r, sizeof(r),
		      "{ ip = 0xC06EB820, parent_ip = 0xC06EB904, func = \"\", "
		      "parent_func = \"\" }\n");
	kcode_free(c);
	kformat_free(f);
	ksyms_free(s);
}

int main(void)
{
	CASE(functions);
	return test_summary();
}
