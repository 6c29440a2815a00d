/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * frames PERF_MAP: prints the addresses of call chains that it knows, `NAME ADDRESS…`, innermost
 * first, then `maps`, waits for a line and ends. Built with libone and libtwo by symbols.sh.
 *
 *   own   inner, outer, main
 *   libc  in_bsearch, bsearch, main
 *   one   in_one, a function that a stripped library exports
 *   two   in_two, a static function of a stripped library
 *   jit   in_jit, code that was made at run time, of which it writes PERF_MAP
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline))
#define RETURNS __builtin_return_address(0)

void one_call(void (*call)(void));
void two_call(void (*call)(void));

static void *frames[3];

/* An address in the caller. */
static NOINLINE void *here(void)
{
	__asm__ volatile("");
	return RETURNS;
}

static NOINLINE void inner(void)
{
	frames[0] = here();
	frames[1] = RETURNS;
}

static NOINLINE void outer(void)
{
	inner();
	frames[2] = RETURNS;
}

static NOINLINE int in_bsearch(const void *a, const void *b)
{
	(void)a, (void)b;
	frames[0] = here();
	frames[1] = RETURNS;
	return 0;
}

static NOINLINE void in_one(void)
{
	frames[0] = here();
	frames[1] = RETURNS;
}

static NOINLINE void in_two(void)
{
	frames[0] = here();
	frames[1] = RETURNS;
}

static NOINLINE void in_jit(void)
{
	frames[0] = here();
	frames[1] = RETURNS;
}

static void say(const char *name)
{
	printf("%s", name);
	for (int i = 0; i < 3 && frames[i]; i++)
		printf(" %p", frames[i]);
	printf("\n");
	memset(frames, 0, sizeof(frames));
}

static void run_jit(const char *path)
{
#ifdef __x86_64__
	/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
	static const unsigned char bytes[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*made)(void (*)(void));
	FILE *f = fopen(path, "w");

	if (code == MAP_FAILED || !f)
		exit(1);
	fprintf(f, "%lx %zx LazyCompile:~add /tmp/a.js:1\n", (unsigned long)code, sizeof(bytes));
	fclose(f);
	memcpy(code, bytes, sizeof(bytes));
	if (mprotect(code, 4096, PROT_READ | PROT_EXEC))
		exit(1);
	memcpy(&made, &code, sizeof(made));
	made(in_jit);
	say("jit");
#else
	(void)path, (void)in_jit;
#endif
}

int main(int argc, char **argv)
{
	/* Not the inline one of the header */
	void *(*volatile search)(const void *, const void *, size_t, size_t,
				 int (*)(const void *, const void *)) = bsearch;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	int key = 1;

	if (argc < 2 || !maps)
		return 1;
	outer();
	say("own");
	search(&key, &key, 1, sizeof(key), in_bsearch);
	frames[2] = here();
	say("libc");
	one_call(in_one);
	say("one");
	two_call(in_two);
	say("two");
	run_jit(argv[1]);
	printf("maps\n");
	while (fgets(line, sizeof(line), maps))
		fputs(line, stdout);
	printf("end\n");
	fflush(stdout);
	return !fgets(line, sizeof(line), stdin);
}
