/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operands of usdt probes, in assembler syntax, as fetch arguments of tracefs: see probe/probe.h.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/probe/probe.h"

/* The x86-64 registers in assembler syntax; tracefs has one name for all sizes. */
static const struct {
	const char *kernel, *names[4];
} registers[] = {
	{ "ax", { "rax", "eax", "ax", "al" } }, { "bx", { "rbx", "ebx", "bx", "bl" } },
	{ "cx", { "rcx", "ecx", "cx", "cl" } }, { "dx", { "rdx", "edx", "dx", "dl" } },
	{ "si", { "rsi", "esi", "si", "sil" } }, { "di", { "rdi", "edi", "di", "dil" } },
	{ "bp", { "rbp", "ebp", "bp", "bpl" } }, { "sp", { "rsp", "esp", "sp", "spl" } },
	{ "r8", { "r8", "r8d", "r8w", "r8b" } }, { "r9", { "r9", "r9d", "r9w", "r9b" } },
	{ "r10", { "r10", "r10d", "r10w", "r10b" } }, { "r11", { "r11", "r11d", "r11w", "r11b" } },
	{ "r12", { "r12", "r12d", "r12w", "r12b" } }, { "r13", { "r13", "r13d", "r13w", "r13b" } },
	{ "r14", { "r14", "r14d", "r14w", "r14b" } }, { "r15", { "r15", "r15d", "r15w", "r15b" } },
};

/* The kernel's name of a register such as %rdi that ends at `end`; NULL. */
static const char *find_register(const char *p, const char *end)
{
	size_t n = (size_t)(end - p);

	if (n < 3 || *p != '%')
		return NULL;
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		for (int j = 0; j < 4; j++)
			if (strlen(registers[i].names[j]) == n - 1 &&
			    !memcmp(registers[i].names[j], p + 1, n - 1))
				return registers[i].kernel;
	return NULL;
}

/*
 * Parses `-4@` or `8@`; an operand without a size is a signed word. Returns its end; NULL: a float
 * or not valid.
 */
static const char *parse_size(const char *p, const char *end, const char **type)
{
	static const struct {
		const char *text, *type;
	} sizes[] = {
		{ "1@", "u8" }, { "-1@", "s8" }, { "2@", "u16" }, { "-2@", "s16" },
		{ "4@", "u32" }, { "-4@", "s32" }, { "8@", "u64" }, { "-8@", "s64" },
	};

	*type = "s64";
	if (!memchr(p, '@', (size_t)(end - p)))
		return p;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = strlen(sizes[i].text);

		if ((size_t)(end - p) > n && !memcmp(p, sizes[i].text, n)) {
			*type = sizes[i].type;
			return p + n;
		}
	}
	return NULL;
}

/*
 * Parses a signed number, decimal or hexadecimal. Returns its end; NULL: no number, or too large.
 */
static const char *parse_number(const char *p, const char *end, long long *value)
{
	char text[32], *stop;
	size_t n = (size_t)(end - p) < sizeof(text) - 1 ? (size_t)(end - p) : sizeof(text) - 1;
	bool minus = n && *p == '-';

	memcpy(text, p, n);
	text[n] = '\0';
	if (!isdigit((unsigned char)text[n && (*p == '-' || *p == '+')]))
		return NULL;
	/* As unsigned, because assemblers print -1 as $0xffffffffffffffff. */
	*value = minus ? -(long long)(strtoull(text + 1, &stop, 0) & INT64_MAX)
		       : (long long)strtoull(text, &stop, 0);
	return p + (stop - text);
}

bool dynamic_event_operand(const char *operand, size_t len, struct md_buf *out)
{
#ifdef __x86_64__
	const char *end = operand + len, *type, *p = parse_size(operand, end, &type), *reg;
	long long number = 0;

	if (!p || p == end)
		return false;
	if (*p == '$') {                        /* a constant */
		if (parse_number(p + 1, end, &number) != end)
			return false;
		md_buf_printf(out, "\\%lld:%s", number, type);
		return true;
	}
	if (*p == '%') {
		reg = find_register(p, end);
		if (reg)
			md_buf_printf(out, "%%%s:%s", reg, type);
		return reg != NULL;
	}
	if (*p != '(')                          /* memory: -4(%rbp), (%rax) */
		p = parse_number(p, end, &number);
	if (!p || end - p < 3 || *p != '(' || end[-1] != ')')
		return false;
	reg = find_register(p + 1, end - 1);
	if (reg)
		md_buf_printf(out, "%+lld(%%%s):%s", number, reg, type);
	return reg != NULL;
#else
	(void)operand, (void)len, (void)out, (void)registers, (void)find_register, (void)parse_size,
		(void)parse_number;
	return false;
#endif
}

const char *dynamic_event_register(int n)
{
#ifdef __x86_64__
	static const char *const order[] = { "%di", "%si", "%dx", "%cx", "%r8", "%r9" };

	if (n > 0 && n <= (int)(sizeof(order) / sizeof(order[0])))
		return order[n - 1];
#else
	(void)n;
#endif
	return NULL;
}
