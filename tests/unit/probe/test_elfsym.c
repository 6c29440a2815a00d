/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * Symbols and USDT probes of files that the compiler makes, of the system's C library, and of files
 * that were spoilt.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/base/probe/elf_symbol.h"

static char dir[256];

/* A probe by hand, as <sys/sdt.h> writes it. */
#define NOTE(word, semaphore) \
	"__asm__(\".pushsection .note.stapsdt,\\\"\\\",\\\"note\\\"\\n.balign 4\\n.4byte " \
	"8,994f-993f,3\\n.asciz \\\"stapsdt\\\"\\n\"\n" \
	"\"993: ." word " here, _.stapsdt.base, " semaphore \
	"\\n.asciz \\\"prov\\\"\\n.asciz \\\"one\\\"\\n.asciz \\\"-4@%edi 8@-8(%rbp)\\\"\\n\"\n" \
	"\"994: .balign 4\\n.popsection\\n.pushsection " \
	".stapsdt.base,\\\"aG\\\",\\\"progbits\\\",.stapsdt.base,comdat\\n\"\n" \
	"\".weak _.stapsdt.base\\n.hidden _.stapsdt.base\\n_.stapsdt.base: .space 1\\n.size " \
	"_.stapsdt.base,1\\n.popsection\\n\");\n"

static const char source[] =
	"unsigned short sema __attribute__((section(\".probes\"), used)) = 0x1234;\n"
	"__attribute__((noinline)) int request_begin(int x) { return x * 3 + 1; }\n"
	"__attribute__((noinline)) static int twice(int x) { return x * 2; }\n"
	"__attribute__((noinline)) int with_probe(int x) { __asm__ volatile(\".globl here\\nhere: "
	"nop\" : \"+r\"(x)); return x; }\n"
	"__asm__(\".text\\n.type chosen, @gnu_indirect_function\\n.globl chosen\\nchosen: "
	"ret\\n\");\n" NOTE("8byte",
			    "sema") "int main(int c, char **v) { (void)v; return request_begin(c) "
				    "+ twice(c) + with_probe(c) == 12345; }\n";

static int build(const char *name, const char *options)
{
	char path[512], command[2048];
	const char *cc = getenv("CC");
	FILE *f;

	snprintf(path, sizeof(path), "%s/a.c", dir);
	f = fopen(path, "w");
	if (!f || fputs(source, f) < 0 || fclose(f))
		return -1;
	snprintf(command, sizeof(command), "cd %s && %s -O1 %s -o %s a.c 2>/dev/null", dir,
		 cc && *cc ? cc : "gcc", options, name);
	if (system(command))
		return -1;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* The code at the offset is the loaded one's. */
static void check_file(int fd, bool stripped)
{
	struct elfsym_probes p;
	struct tr_err err = TR_ERR_INIT;
	uint64_t at = 0, plus = 0;
	unsigned char byte = 0;
	uint16_t value = 0;

	CHECK(elfsym_resolve(fd, "request_begin", &at, &err) == 0 && at > 0);
	CHECK(elfsym_resolve(fd, "request_begin+0x1", &plus, &err) == 0 && plus == at + 1);
	CHECK(elfsym_resolve(fd, "request_begin+9999", &plus, &err) == -EINVAL &&
	      strstr(err.sentence, "bytes"));
	CHECK(elfsym_resolve(fd, "request_begin+x", &plus, &err) == -EINVAL);
	CHECK(elfsym_resolve(fd, "request_begim", &plus, &err) == -ENOENT &&
	      strstr(err.sentence, "did you mean 'request_begin'?"));
	CHECK(elfsym_resolve(fd, "twice", &plus, &err) == (stripped ? -ENOENT : 0));
	CHECK(elfsym_resolve(fd, "qqqqqqqqqqqq", &plus, &err) == -ENOENT &&
	      !strstr(err.sentence, "stripped") == !stripped);
	CHECK(elfsym_resolve(fd, "chosen", &plus, &err) == -EOPNOTSUPP);
	CHECK(elfsym_resolve(fd, "0xffffffffffffff", &plus, &err) == -EINVAL);
	CHECK(elfsym_probes(fd, &p, &err) == 0 && p.count == 1 && !p.bad);
	if (p.count == 1) {
		CHECK_STR(p.probes[0].provider, "prov");
		CHECK_STR(p.probes[0].name, "one");
		CHECK_STR(p.probes[0].args, "-4@%edi 8@-8(%rbp)");
		CHECK(pread(fd, &byte, 1, (off_t)p.probes[0].offset) == 1 && byte == 0x90);
		CHECK(pread(fd, &value, 2, (off_t)p.probes[0].semaphore) == 2 && value == 0x1234);
	}
	elfsym_probes_deinit(&p);
}

static void kinds(void)
{
	static const struct {
		const char *name, *options;
		bool stripped;
	} k[] = {
		{ "pie", "-fPIE -pie", false },
		{ "exec", "-fno-pie -no-pie", false },
		{ "so", "-fPIC -shared", false },
		{ "stripped.so", "-fPIC -shared -s", true },
	};

#ifndef __x86_64__
	SKIP("the operands are those of x86-64");
#endif
	for (size_t i = 0; i < sizeof(k) / sizeof(k[0]); i++) {
		int fd = build(k[i].name, k[i].options);

		if (fd < 0)
			SKIP("no compiler");
		check_file(fd, k[i].stripped);
		close(fd);
	}
}

/* Debian's C library for x86-64; -1: there is none, or it is not in the byte order of this test. */
static int open_libc(void)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		       ? -1
		       : open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY | O_CLOEXEC);
}

/* The C library: names with versions, of which one is the default. */
static void versions(void)
{
	int fd = open_libc();
	struct tr_err err = TR_ERR_INIT;
	uint64_t plain = 0, new = 0, old = 0;

	if (fd < 0)
		SKIP("no C library of Debian's");
	CHECK(elfsym_resolve(fd, "pthread_cond_wait", &plain, &err) == 0);
	CHECK(elfsym_resolve(fd, "pthread_cond_wait@@GLIBC_2.3.2", &new, &err) == 0 &&
	      new == plain);
	CHECK(elfsym_resolve(fd, "pthread_cond_wait@GLIBC_2.2.5", &old, &err) == 0 && old != plain);
	CHECK(elfsym_resolve(fd, "pthread_cond_wait@GLIBC_9.9", &old, &err) == -ENOENT);
	CHECK(elfsym_resolve(fd, "memcpy", &old, &err) == -EOPNOTSUPP);
	close(fd);
}

/* ---- functions of a pattern ---- */

static const char *const functions_source =
	"__asm__(\".text\\n.type chosen, @gnu_indirect_function\\n.globl chosen\\nchosen: ret\\n"
	".size chosen, 1\\n.type unsized, @function\\n.globl unsized\\nunsized: ret\\n\");\n"
	"#define F __attribute__((noinline)) int\n"
	"F twin_a(int x) { return x + 1; }\n"
	"int __twin_a(int x) __attribute__((alias(\"twin_a\")));\n"
	"F twin_b(int x) { return x + 2; }\n"
	"F my_setjmp(int x) { return x + 3; }\n"
	"static F hidden(int x) { __asm__ volatile(\"\" : \"+r\"(x)); return x + 4; }\n"
	"int use(int x) { return hidden(x); }\n"
	"int twin_data = 3;\n";

/* The names that match, each with a blank; a star after those that others have as well. */
static const char *list(int fd, const char *pattern, bool returns, int want)
{
	static char text[4096];
	struct elfsym_functions f;
	struct tr_err err = TR_ERR_INIT;
	int ret = elfsym_functions(fd, pattern, returns, 64, &f, &err);
	size_t n = 0;

	text[0] = '\0';
	CHECK(ret == want && !ret == !err.sentence[0]);
	for (size_t i = 0; i < f.count; i++) {
		uint64_t at = 0;

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s ", f.list[i].name,
				      f.list[i].shared ? "*" : "");
		/* A rule on it alone means the same place. */
		CHECK(f.list[i].shared ||
		      (!elfsym_resolve(fd, f.list[i].name, &at, NULL) && at == f.list[i].offset));
	}
	CHECK(ret ? !f.list : f.count > 0);
	elfsym_functions_deinit(&f);
	return text;
}

static int build_two(const char *options, const char *name)
{
	char path[512], command[1024];
	const char *cc = getenv("CC");
	FILE *f;

	snprintf(path, sizeof(path), "%s/f.c", dir);
	f = fopen(path, "w");
	if (!f || fputs(functions_source, f) < 0 || fclose(f))
		return -1;
	snprintf(path, sizeof(path), "%s/g.c", dir);
	f = fopen(path, "w");
	if (!f ||
	    fputs("static __attribute__((noinline)) int hidden(int x) { __asm__ volatile(\"\" : "
		  "\"+r\"(x)); return x * 4; }\nint used(int x) { return hidden(x); }\n", f) < 0 ||
	    fclose(f))
		return -1;
	snprintf(command, sizeof(command), "cd %s && %s -O1 -fPIC -shared %s -o %s f.c g.c "
		 "2>/dev/null", dir, cc && *cc ? cc : "gcc", options, name);
	if (system(command))
		return -1;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void functions(void)
{
	struct elfsym_functions f;
	struct tr_err err = TR_ERR_INIT;
	int fd = build_two("", "functions.so"), stripped = build_two("-s", "functions.stripped.so"),
	    throws = build_two("-Wl,-u,__gxx_personality_v0 -Wl,--defsym=__gxx_personality_v0=use",
			       "throws.so");

#ifndef __x86_64__
	SKIP("the functions are those of x86-64");
#endif
	if (fd < 0 || stripped < 0 || throws < 0)
		SKIP("no compiler");
	CHECK_STR(list(fd, "*twin*", false, 0), "twin_a twin_b ");
	CHECK_STR(list(fd, "__twin*", false, 0), "__twin_a ");
	CHECK_STR(list(fd, "hid*n", false, 0), "hidden* hidden* ");
	CHECK_STR(list(fd, "us*", false, 0), "use used ");
	CHECK_STR(list(fd, "us*", true, 0), "use used ");
	/* Where exceptions may be thrown, returns are no matter of patterns. */
	CHECK_STR(list(throws, "us*", false, 0), "use used ");
	CHECK_STR(list(throws, "us*", true, -EINVAL), "");
	CHECK_STR(list(fd, "my_*", false, 0), "my_setjmp ");
	CHECK_STR(list(fd, "my_*", true, -ENOENT), "");
	CHECK_STR(list(fd, "chos*", false, -ENOENT), "");
	CHECK_STR(list(fd, "unsiz*", false, -ENOENT), "");
	CHECK_STR(list(stripped, "*twin*", false, 0), "twin_a twin_b ");
	CHECK_STR(list(stripped, "hid*", false, -ENOENT), "");
	CHECK(elfsym_functions(stripped, "x*", false, 9, &f, &err) == -ENOENT &&
	      strstr(err.sentence, "stripped"));
	CHECK(elfsym_functions(fd, "*twin*", false, 2, &f, &err) == 0 && f.count == 2 &&
	      f.list[0].offset != f.list[1].offset);
	elfsym_functions_deinit(&f);
	CHECK(elfsym_functions(fd, "*twin*", false, 1, &f, &err) == -E2BIG &&
	      strstr(err.sentence, "2 functions") && strstr(err.sentence, "at most 1") && !f.list);
	CHECK(elfsym_functions(-1, "*", false, 1, &f, &err) == -EBADF);
	close(fd);
	close(stripped);
	close(throws);
}

/* The C library: versions and aliases. */
static void functions_of_libc(void)
{
	int fd = open_libc();

	if (fd < 0)
		SKIP("no C library of Debian's");
	CHECK_STR(list(fd, "*pthread_cond_wai*", false, 0),
		  "pthread_cond_wait* pthread_cond_wait* ");
	CHECK_STR(list(fd, "strle*", false, -ENOENT), "");      /* strlen is an IFUNC */
	close(fd);
}

static void no_elf(void)
{
	struct elfsym_probes p;
	struct tr_err err = TR_ERR_INIT;
	uint64_t at;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CHECK(elfsym_resolve(fd, "x", &at, &err) == -ENOEXEC && err.sentence[0]);
	CHECK(elfsym_probes(fd, &p, &err) == -ENOEXEC && !p.probes);
	close(fd);
	fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	CHECK(elfsym_resolve(fd, "x", &at, &err) == -ENOEXEC);
	CHECK(elfsym_resolve(fd, "", &at, &err) == -EINVAL);
	close(fd);
	CHECK(elfsym_resolve(-1, "x", &at, &err) == -EBADF);
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK(elfsym_probes(fd, &p, &err) == 0);
	CHECK(elfsym_resolve(fd, "main", &at, &err) == 0);
	elfsym_probes_deinit(&p);
	close(fd);
}

int main(void)
{
	char command[300];

	snprintf(dir, sizeof(dir), "%s/elfsym.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(dir))
		return 1;
	CASE(kinds);
	CASE(versions);
	CASE(functions);
	CASE(functions_of_libc);
	CASE(no_elf);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command))
		return 1;
	return test_summary();
}
