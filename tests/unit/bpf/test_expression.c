/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/* Expressions of a tracepoint's arguments: what they are, what they compute, and hostile types. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "tests/lib/bpf_interp.h"
#include "tests/lib/btf_types.h"
#include "tests/lib/test.h"
#include "tracer/kernel/bpf/expression.h"
#include "tracer/kernel/bpf/tracepoint.h"

static uint8_t image[8192];
static size_t image_len;
static struct btf *btf;
static uint32_t proto;

static struct btf *parse_types(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct btf *b = NULL;

	memcpy(copy, bytes, len);
	return btf_parse(copy, len, NULL, &b) ? NULL : b;
}

static const char traced[] = "__traceiter_xmit";

static void add_types(void)
{
	type("few", ENUM | FLAG, 2, 4), word(name("FEW")), word(~0u);   /* 20 */
	word(name("MANY")), word(70000);
	type("", ARRAY, 0, 0), word(1), word(1), word(3);               /* 21: u32[3] */
	type("row", STRUCT, 1, 16), member("cells", 21, 32, 0);         /* 22 */
	type("page", STRUCT, 0, 64);                                    /* 23 */
}

static void prepare(void)
{
	image_len = make_types_and(image, add_types);
	btf = parse_types(image, image_len);
	proto = btf_function(btf, traced, strlen(traced));
}

/* ---- the arguments: struct skb *, u32, struct dev * ---- */

static struct { char name[16]; uint32_t index, pad; void *parent; } dev = { "eth0", 7, 0, &dev };
static struct {
	void *next, *dev;
	uint16_t mac, pad;
	int32_t err;
	uint32_t bits[2];
	void *self[2];
} skb = { .dev = &dev, .mac = 0x1234, .err = -5, .bits = { 0xffffff1f | 5 << 5 } };

static uint64_t compute(const char *text, int *error)
{
	uint64_t arguments[3] = { (uintptr_t)&skb, 0xffffffff80000005, (uintptr_t)&dev };
	uint64_t stack[64];
	struct bpf_interp m = { .pid_tgid = 0 };
	struct bpf_expression e;
	static struct bpf_code c;

	*error = bpf_expression_parse(text, btf, proto, &e);
	if (*error)
		return 0;
	e.pages = (uintptr_t)&skb - 3 * 64;
	bpf_code_begin(&c);
	bpf_expression_put(&c, &e);
	bpf_exit(&c);
	*error = bpf_code_end(&c);
	m.r[6] = (uintptr_t)arguments;
	m.r[10] = (uintptr_t)(stack + 64);
	return *error ? 0 : bpf_interp_run(&c, &m);
}

static void computes(void)
{
	const struct { const char *text; uint64_t value; } cases[] = {
		{ "$1->dev->index", 7 }, { "$1->mac", 0x1234 }, { "+$1->err", (uint64_t)-5 },
		{ "$1->dev->parent", (uintptr_t)&dev }, { "$1", (uintptr_t)&skb },
		{ "$1->dev->name", (uintptr_t)&dev }, { "12", 12 }, { "0x10 ; more", 16 },
		{ "$3->index + 1 << 4", 128 }, { "$3->index & 3 | 8", 11 },
		{ "($3->index - 2) == 5", 1 }, { "$3->index != 7", 0 },
		{ "$3->index == 7 ? 1 : 2", 1 }, { "$1 == 1 ? 128 : +$1->err", (uint64_t)-5 },
		{ "$3->index == $1->dev->index ? 3 : 4", 3 }, { "0 ? 1 : 0 ? 2 : 3", 3 },
		{ "$1->none or $3->index", 7 }, { "($1->none or $1->gone) or 5", 5 },
		{ "$3->index or $1->none", 7 }, { "1 ? $1->none + 1 or 9 : 2", 9 },
		{ "$1->none ? 1 : 2 or 0 ? 3 : 4", 4 }, { "top(0x55)", 64 }, { "top(0)", 0 },
		{ "swap($1->mac)", htobe16(0x1234) }, { "1+1+1+1", 4 },
		{ "MANY", 70000 }, { "FEW + 1", 0 }, { "NONE or 3", 3 },
		{ "list(2, 7, 8, 9)", 9 }, { "list(5, 7, 8)", 8 },
		{ "list(0, 7) - list(1, 1, 2)", 5 },
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__   /* (no program reads other bit fields) */
		{ "$1->pkt", 5 }, { "$1->pkt == 5 ? 2 : 3", 2 },
#endif
		{ "pfn($1)", 3 },
		{ "$3 in dev.index", (uintptr_t)&dev - 16 },
		{ "$3->index == 7 ? $1 : $1->next", (uintptr_t)&skb },
	};
	uint64_t value;
	int error;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		value = compute(cases[i].text, &error);
		if (error || value != cases[i].value)
			printf("# %s: %d, %llx\n", cases[i].text, error, (unsigned long long)value);
		CHECK(!error && value == cases[i].value);
	}
}

static void knows_types(void)
{
	struct bpf_expression e;

	CHECK(!bpf_expression_parse("$1->dev->name", btf, proto, &e));
	CHECK(e.type.class == BTF_TEXT && e.type.size == 16 && !e.plain);
	CHECK(!bpf_expression_parse("$1->mac", btf, proto, &e));
	CHECK(e.type.class == BTF_NUMBER && e.type.size == 2 && !e.type.is_signed && e.plain);
	CHECK(!bpf_expression_parse("$1->err", btf, proto, &e));
	CHECK(e.type.size == 4 && e.type.is_signed && e.plain);
	CHECK(!bpf_expression_parse("+$1->err", btf, proto, &e) && !e.plain);
	CHECK(!bpf_expression_parse("$2", btf, proto, &e) && e.plain && e.type.size == 4);
	CHECK(!bpf_expression_parse("$1->dev", btf, proto, &e) && e.type.class == BTF_POINTER);
	CHECK(!bpf_expression_parse("$1~>dev~>index", btf, proto, &e) && e.type.size == 4);
	CHECK(!bpf_expression_parse("($1 in row.cells)~>cells[2]", btf, proto, &e));
	CHECK(e.type.class == BTF_NUMBER && e.nodes[e.root].value == 12);
	CHECK(!bpf_expression_parse("($1 in row.cells)~>cells", btf, proto, &e));
	CHECK(e.nodes[e.root].value == 4);
	/* A text of no fixed size: it is chosen, or what it is in may be no address. */
	CHECK(!bpf_expression_parse("$1 ? $1->dev->name : 'none'", btf, proto, &e));
	CHECK(e.type.class == BTF_TEXT && !e.type.size);
	CHECK(!bpf_expression_parse("$1~>dev~>name", btf, proto, &e) && !e.type.size);
	CHECK(!bpf_expression_parse("''", btf, proto, &e) && e.type.class == BTF_TEXT);
}

static void refuses(void)
{
	static const char *const unknown[] = {
		"$0", "$4", "$13", "$1->none", "$2->mac", "$1.mac", "current->pid",
		"$1 & 1", "*$3", "$1->self", "top($1->none)", "$1->none or $2->none",
		"$1~>dev->index", "$3 in dev.none", "$3 in none.index", "$2 in dev.index", "NONE",
		"($1 in row.cells)->cells", "($1 in row.cells)~>cells[3]", "pfn($2)",
		"rwbs($2)", "$1 ? 1 : $1", "$1 ? 1 : 'a'", "$1 ? $1 : $3", "($1 ? $1 : $1)->mac",
	};
	static const char *const wrong[] = {
		"", "$", "$1->", "(", "()", "1 +", "1 2", "x", "$1 ? 2", "0x", "4294967296",
		"top 1", "((((((((((((((1))))))))))))))", ")", "$-1", "$1->none or (",
		"'", "'open", "list(1)", "list()", "list(1, $2)", "($1 in row.cells)~>cells[",
		"$3 in",
		"1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1",
	};
	struct bpf_expression e;

	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		if (bpf_expression_parse(unknown[i], btf, proto, &e) != -ENOENT)
			printf("# %s: %d\n", unknown[i],
			       bpf_expression_parse(unknown[i], btf, proto, &e));
		CHECK(bpf_expression_parse(unknown[i], btf, proto, &e) == -ENOENT);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		if (!bpf_expression_parse(wrong[i], btf, proto, &e))
			printf("# %s\n", wrong[i]);
		CHECK(bpf_expression_parse(wrong[i], btf, proto, &e));
	}
}

/* ---- hostile input ---- */

/* Whatever the types are, no byte outside is read, and the code has no jump to nowhere. */
static void try_all(const struct btf *b, uint32_t p)
{
	static const char *const texts[] = {
		"$1->dev->name", "$1->dev->parent->parent->index", "+$1->err & 3", "$3->index",
		"$1->pkt or $1~>mac", "$1->mac ? $2 : $1->self", "*$3 or *$2 or $3", "current->pid",
		"$2 == 1 ? 128 : $1~>err", "$1->next->next->next->dev.name",
		"($1 in row.cells)~>cells[2] + MANY", "$1->pkt + FEW", "list($2, 1, 2)", "pfn($1)",
	};
	static struct bpf_code c;
	struct bpf_expression e;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (bpf_expression_parse(texts[i], b, p, &e))
			continue;
		bpf_code_begin(&c);
		bpf_expression_put(&c, &e);
		if (e.type.class == BTF_TEXT && e.type.size < 256)
			bpf_expression_copy(&c, &e, 0);
		CHECK(!bpf_code_end(&c));
	}
}

static void hostile_types(void)
{
	uint8_t copy[sizeof(image)];
	uint32_t seed = 1;
	struct btf *b;

	for (int round = 0; round < 20000; round++) {
		size_t len = image_len;

		memcpy(copy, image, image_len);
		for (int i = 0; i < 1 + round % 4; i++) {
			seed = seed * 1664525 + 1013904223;
			copy[24 + (seed >> 8) % (image_len - 24)] = (uint8_t)(seed >> 24);
		}
		if (round % 16 == 0)
			len = 24 + (seed >> 4) % (image_len - 24);
		b = parse_types(copy, len);
		if (!b)
			continue;
		for (uint32_t p = 0; p < 24; p++)
			try_all(b, p);
		btf_free(b);
	}
}

static void hostile_texts(void)
{
	static const char bytes[] = "$1234->~.()+-*&|<>=!?: or;swaptopcurrentnamedevindex',[]list"
				    "\xff\t";
	struct bpf_expression e;
	uint32_t seed = 7;
	char text[40];

	for (int round = 0; round < 200000; round++) {
		size_t len = (seed >> 9) % (sizeof(text) - 1);

		for (size_t i = 0; i < len; i++) {
			seed = seed * 1664525 + 1013904223;
			text[i] = bytes[(seed >> 10) % (sizeof(bytes) - 1)];
		}
		text[len] = '\0';
		bpf_expression_parse(text, btf, proto, &e);
	}
	CHECK(e.count <= BPF_EXPRESSION_NODES);
}

/* ---- the table ---- */

static const char *const rows[][2] = {
#define EVENT(name, fields) { name, fields },
#include "tracer/kernel/bpf/tracepoints.def"
#undef EVENT
};

/* Expressions of the table can be read; names that these few types lack are another matter. */
static void table_is_read(void)
{
	struct bpf_expression e;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (const char *p = rows[i][1]; *p; p += *p == ';', p += strspn(p, " ")) {
			const char *value = strstr(p, " = ");
			int ret = value ? bpf_expression_parse(value + 3, btf, proto, &e) : -EINVAL;

			if (ret == -EINVAL)
				printf("# %s: %s\n", rows[i][0], p);
			CHECK(ret != -EINVAL);
			p += strcspn(p, ";");
		}
	CHECK(sizeof(rows) / sizeof(*rows) > 80);
}

int main(void)
{
	if (sizeof(void *) != 8) {
		puts("1..0 # SKIP the kernel's addresses of 64 bits are this program's own");
		return 77;
	}
	prepare();
	CHECK(btf && proto);
	CASE(computes);
	CASE(knows_types);
	CASE(refuses);
	CASE(hostile_types);
	CASE(hostile_texts);
	CASE(table_is_read);
	btf_free(btf);
	return test_summary();
}
