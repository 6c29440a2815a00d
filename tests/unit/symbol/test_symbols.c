/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * Names of addresses: which mapping counts at which time, tables of functions, this process as the
 * system shows it, and files that were spoilt.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/fuzz.h"
#include "tests/lib/test.h"
#include "tracer/kernel/symbol/object.h"

static char dir[256];

static void functions(void)
{
	struct functions f = { 0 };
	uint64_t offset;

	CHECK(!functions_find(&f, 5, &offset));
	CHECK(functions_add(&f, 100, 50, "outer", 3) && functions_add(&f, 110, 10, "nested", 3) &&
	      functions_add(&f, 200, 0, "open", 1) && functions_add(&f, 300, 10, "alias", 2) &&
	      functions_add(&f, 300, 10, "name", 3) && functions_add(&f, 300, 10, "other", 3));
	functions_sort(&f);
	CHECK(!functions_find(&f, 99, &offset) && !functions_find(&f, 150, &offset));
	CHECK_STR(functions_find(&f, 100, &offset), "outer");
	CHECK_STR(functions_find(&f, 115, &offset), "nested");
	CHECK(offset == 5);
	CHECK_STR(functions_find(&f, 125, &offset), "outer");
	CHECK(offset == 25);
	/* Without a size up to the next one; of several names the first global one. */
	CHECK_STR(functions_find(&f, 299, &offset), "open");
	CHECK_STR(functions_find(&f, 305, &offset), "name");
	CHECK(!functions_find(&f, 310, &offset));
	functions_deinit(&f);
}

/* A table is limited, and what it has taken is given back. */
static void limits(void)
{
	char name[FUNCTION_NAME_MAX + 10];
	struct functions f = { 0 };
	uint64_t n, again, offset;

	memset(name, 'x', sizeof(name));
	for (n = 0; functions_add(&f, n, 1, name, 1); n++)
		;
	CHECK(n > 100000 && n < 300000);
	functions_sort(&f);
	CHECK(strlen(functions_find(&f, 7, &offset)) == FUNCTION_NAME_MAX);
	functions_deinit(&f);
	for (again = 0; again < 1000 && functions_add(&f, again, 1, name, 1); again++)
		;
	CHECK(again == 1000);
	functions_deinit(&f);
}

static void map(struct symbols *s, uint64_t from, uint64_t start, const char *path)
{
	symbols_add(s, &(struct symbol_mapping){ .pid = 7, .from = from, .start = start,
						 .size = 100, .offset = -1, .path = path,
						 .path_len = strlen(path) });
}

static void check_object(struct symbols *s, uint64_t time, uint64_t address, const char *object)
{
	struct symbol out;

	symbols_find(s, 7, time, address, false, &out);
	CHECK_STR(out.object ? out.object : "", object);
	CHECK(!out.name);
}

/* Which mapping an address has depends on the time, and does not change by later ones. */
static void times(void)
{
	struct symbols *s = symbols_create(&(struct owner){ getuid(), getgid(), { 0 } }, false);

	if (!s) {
		CHECK(s);
		return;
	}
	map(s, 1000, 100, "/none/a.so");
	symbols_settle(s);
	check_object(s, 500, 150, "a.so");
	check_object(s, 500, 250, "");
	map(s, 2000, 100, "/none/b.so");
	map(s, 2000, 200, "/none/c.so");
	check_object(s, 500, 150, "a.so");
	check_object(s, 1999, 150, "a.so");
	check_object(s, 2000, 150, "b.so");
	check_object(s, 2000, 199, "b.so");
	check_object(s, 2000, 200, "c.so");
	check_object(s, 500, 250, "");
	check_object(s, 2000, 99, "");
	map(s, 3000, UINT64_MAX - 50, "/none/end.so");
	check_object(s, 3000, UINT64_MAX, "end.so");
	check_object(s, 3000, 20, "end.so");    /* harmless: it wraps */
	symbols_set_id(s, 7, 200, (const uint8_t *)"id", 2);
	symbols_set_id(s, 8, 200, (const uint8_t *)"id", 2);
	check_object(s, 2000, 200, "c.so");
	symbols_free(s);
}

/* Mappings of hostile traces: many, large, odd. */
static void many(void)
{
	struct symbols *s = symbols_create(&(struct owner){ getuid(), getgid(), { 0 } }, false);
	char path[64];
	struct symbol out;

	for (uint64_t i = 0; s && i < 300000; i++) {
		snprintf(path, sizeof(path), "/none/%" PRIu64, i % 20000);
		symbols_add(s, &(struct symbol_mapping){
				       .pid = (int32_t)(i % 100 * 1000), .from = i,
				       .start = rnd(UINT64_MAX), .size = rnd(UINT64_MAX),
				       .offset = (int64_t)rnd(UINT64_MAX), .path = path,
				       .path_len = strlen(path), .id = (const uint8_t *)path,
				       .id_size = i % 70 });
	}
	for (int i = 0; s && i < 1000; i++)
		symbols_find(s, (int32_t)rnd(UINT32_MAX), rnd(UINT64_MAX), rnd(UINT64_MAX),
			     rnd(2), &out);
	symbols_free(s);
}

__attribute__((noinline)) int symbols_target(int x);
__attribute__((noinline)) int symbols_target(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

/* This process, as the system shows it. */
static void live(void)
{
	struct symbols *s = symbols_create(&(struct owner){ getuid(), getgid(), { 0 } }, true);
	struct timespec now;
	struct symbol out;
	uint64_t time;
	void *vdso;

	clock_gettime(CLOCK_REALTIME, &now);
	time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	CHECK(s && symbols_target(1) == 2);
	if (!s)
		return;
	symbols_find(s, getpid(), time, (uintptr_t)symbols_target + 1, false, &out);
	CHECK_STR(out.name ? out.name : "", "symbols_target");
	CHECK(out.offset == 1);
	/* The address after a call at the end of a function belongs to the function. */
	symbols_find(s, getpid(), time, (uintptr_t)symbols_target + 1, true, &out);
	CHECK_STR(out.name ? out.name : "", "symbols_target");
	CHECK(out.offset == 1);
	symbols_find(s, getpid(), time, (uintptr_t)symbols_target, true, &out);
	CHECK(!out.name || strcmp(out.name, "symbols_target") != 0);
	vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (vdso && dlsym(vdso, "__vdso_clock_gettime")) {
		symbols_find(s, getpid(), time,
			     (uintptr_t)dlsym(vdso, "__vdso_clock_gettime") + 1, false, &out);
		CHECK(out.name && strstr(out.name, "clock_gettime"));
		CHECK_STR(out.object ? out.object : "", VDSO_NAME);
	}
	symbols_free(s);
	/* Before this process, the number was another one's. */
	s = symbols_create(&(struct owner){ getuid(), getgid(), { 0 } }, true);
	if (s)
		symbols_find(s, getpid(), time - 3600000000000u, (uintptr_t)symbols_target,
			     false, &out);
	CHECK(!out.object);
	symbols_free(s);
}

static const char source[] =
	"int first(int x) { return x * 3 + 1; }\nstatic int second(int x) { return first(x) * 2; "
	"}\nint (*volatile third)(int) = second;\nint main(int c, char **v) { (void)v; return "
	"third(c) + first(c); }\n";

/* Reads a file whose bytes were changed in `rounds` places, and looks addresses up. */
static void spoil(const char *path, char *bytes, size_t size, int rounds)
{
	struct code_object o = { .path = (char *)(uintptr_t)path, .shown = strrchr(path, '/') + 1 };
	char saved[16];
	uint64_t offset;
	FILE *f;

	for (int i = 0; i < rounds; i++) {
		/* Headers and the ends of files, where the tables are, are changed more often. */
		size_t at = rnd(3) ? rnd(2) ? rnd(1024) : size - 1 - rnd(4096) : rnd(size - 16);
		size_t n = 1 + rnd(8);

		at = at + sizeof(saved) > size ? size - sizeof(saved) : at;
		memcpy(saved, bytes + at, sizeof(saved));
		for (size_t j = 0; j < n; j++)
			bytes[at + j] = rnd(2) ? (char)rnd(256) : rnd(2) ? '\xff' : '\0';
		f = fopen(path, "w");
		CHECK(f && fwrite(bytes, rnd(10) ? size : rnd(size), 1, f) <= 1);
		if (f)
			fclose(f);
		o.loaded = false;
		object_load(&o, &(struct owner){ .uid = getuid() }, false);
		for (int j = 0; j < 20; j++)
			functions_find(&o.functions,
				       object_address(&o, rnd(size), (int64_t)rnd(3) - 1), &offset);
		free(o.segments);
		o.segments = NULL;
		o.segment_count = 0;
		functions_deinit(&o.functions);
		memcpy(bytes + at, saved, sizeof(saved));
	}
}

static const char *rounds;

static void spoilt(void)
{
	char path[300], command[1024], *bytes;
	const char *cc = getenv("CC");
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "%s/a.c", dir);
	f = fopen(path, "w");
	CHECK(f && fputs(source, f) >= 0 && !fclose(f));
	snprintf(command, sizeof(command),
		 "cd %s && %s -O1 -Wl,--build-id -o whole a.c 2>/dev/null && cp whole file", dir,
		 cc && *cc ? cc : "gcc");
	if (system(command))
		SKIP("no program can be built here");
	snprintf(path, sizeof(path), "%s/file", dir);
	CHECK(!stat(path, &st));
	bytes = malloc((size_t)st.st_size);
	f = fopen(path, "r");
	CHECK(bytes && f && fread(bytes, (size_t)st.st_size, 1, f) == 1);
	if (f)
		fclose(f);
	if (bytes)
		spoil(path, bytes, (size_t)st.st_size, rounds ? atoi(rounds) : 1000);
	free(bytes);
}

int main(int argc, char **argv)
{
	char command[300];

	(void)argc;
	fuzz_seed(argv[1] ? argv[2] : NULL);
	snprintf(dir, sizeof(dir), "%s/trailfs-symbols.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	CHECK(mkdtemp(dir) != NULL);
	rounds = argv[1];
	CASE(functions);
	CASE(limits);
	CASE(times);
	CASE(many);
	CASE(live);
	CASE(spoilt);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(!system(command));
	return test_summary();
}
