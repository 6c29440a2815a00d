/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * .eh_frame sections that are spoilt: no crash, no endless loop, rows in order, rules and
 * expressions inside the table. fuzz_frame_info SECONDS [SEED]. The section is this program's own.
 */
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/fuzz.h"
#include "tracer/base/probe/elf_file.h"
#include "tracer/kernel/unwind/expression.h"
#include "tracer/kernel/unwind/frame_info.h"

#define PART 4096u              /* bytes of the section that are spoilt at a time */

static uint8_t *read_section(size_t *size, uint64_t *address)
{
	struct elf_view *v = malloc(sizeof(*v));
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct elf_section *s;
	uint8_t *bytes;

	expect(v && fd >= 0 && !elf_view_open(v, fd, NULL), "this program is no ELF file");
	s = elf_view_section(v, ".eh_frame");
	expect(s && s->size, "this program has no .eh_frame");
	*size = s->size;
	*address = s->address;
	bytes = malloc(s->size);
	expect(bytes && elf_view_read(v, s, 0, bytes, s->size), "it cannot be read");
	elf_view_close(v);
	close(fd);
	free(v);
	return bytes;
}

static void check_place(const struct unwind_table *t, struct unwind_place p)
{
	static const uint64_t stack[64] = { 1, 2, 3 };
	struct unwind_input in = { rnd(UINT64_MAX), 4096 + rnd(100), rnd(8192), rnd(8192),
				   (const uint8_t *)stack, sizeof(stack) };
	uint64_t out;
	bool cut;
	const uint8_t *bytes;

	expect(p.from <= FROM_EXPRESSION, "a place of no kind");
	if (p.from != FROM_EXPRESSION)
		return;
	expect(p.value >= 0 && (size_t)p.value < t->expressions.len, "an expression is outside");
	bytes = (const uint8_t *)t->expressions.data + p.value;
	expect((size_t)p.value + 1 + bytes[0] <= t->expressions.len, "an expression is too long");
	expression_run(bytes + 1, bytes[0], &in, rnd(2) ? &out : NULL, &out, &cut);
}

static void check_table(const struct unwind_table *t)
{
	for (size_t i = 0; i < t->row_count; i++) {
		expect(!i || t->rows[i].at > t->rows[i - 1].at, "rows are not in order");
		expect(t->rows[i].rule < t->rule_count, "a row has no rule");
	}
	for (size_t i = 0; i < t->rule_count; i++) {
		check_place(t, t->rules[i].cfa);
		check_place(t, t->rules[i].ip);
		check_place(t, t->rules[i].bp);
		check_place(t, t->rules[i].bx);
	}
	for (int i = 0; i < 100; i++)
		unwind_table_find(t, rnd(2) ? rnd(UINT64_MAX) : t->base + rnd(UINT32_MAX));
}

static void spoil(uint8_t *bytes, size_t size)
{
	static const uint8_t likely[] = { 0, 1, 0xff, 0x7f, 0x80, 0x0f, 0x10, 0x0a, 0x0b, 0x16 };

	for (uint64_t n = rnd(8); n; n--)
		bytes[rnd(size)] = rnd(2) ? (uint8_t)rnd(256) : likely[rnd(sizeof(likely))];
}

int main(int count, char **words)
{
	time_t end = time(NULL) + (count > 1 ? atoi(words[1]) : 2);
	size_t size, part;
	uint64_t address, rounds = 0;
	uint8_t *section = read_section(&size, &address), *copy;
	struct unwind_table t;

	fuzz_seed(count > 2 ? words[2] : NULL);
	memset(&t, 0, sizeof(t));
	expect(frame_info_read(&t, section, size, address) && t.row_count > 100,
	       "this program has no rules");
	check_table(&t);
	unwind_table_deinit(&t);
	do {
		/* Its own allocation, so that a read beyond its end is seen. */
		part = rnd(size < PART ? size : PART) + 1;
		copy = malloc(part);
		expect(copy != NULL, "no memory");
		memcpy(copy, section, part);
		spoil(copy, part);
		if (frame_info_read(&t, copy, part, address))
			check_table(&t);
		unwind_table_deinit(&t);
		free(copy);
		rounds++;
	} while (time(NULL) < end);
	free(section);
	printf("%llu sections\n", (unsigned long long)rounds);
	return 0;
}
