// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The letters that block events have for the flags of a request: a flush before it, the operation,
 * and more flags. Which letters a kernel knows follows from the room that it has for them.
 */
#include <string.h>

#include "tracer/kernel/bpf/expression.h"

enum { OPERATION = 255, WITHOUT_MORE = 8, WITH_ATOMIC = 9, WITH_ZONES = 10 };

/* A flag of an enumerator has the bit of this number. */
struct letter {
	const char *enumerator;
	uint8_t number;
	char letters[4];
};

static const struct letter flags[] = {
	{ "__REQ_FUA", 17, "F" }, { "__REQ_RAHEAD", 19, "A" }, { "__REQ_SYNC", 11, "S" },
	{ "__REQ_META", 12, "M" },
};

static const struct letter before = { "__REQ_PREFLUSH", 18, "F" };

static const struct letter operations[] = {
	{ "REQ_OP_READ", 0, "R" }, { "REQ_OP_WRITE", 1, "W" }, { "REQ_OP_FLUSH", 2, "F" },
	{ "REQ_OP_DISCARD", 3, "D" }, { "REQ_OP_SECURE_ERASE", 5, "DE" },
};

static const struct letter zones[] = {
	{ "REQ_OP_ZONE_APPEND", 7, "ZA" }, { "REQ_OP_ZONE_OPEN", 11, "ZO" },
	{ "REQ_OP_ZONE_CLOSE", 13, "ZC" }, { "REQ_OP_ZONE_FINISH", 15, "ZF" },
	{ "REQ_OP_ZONE_RESET", 17, "ZR" }, { "REQ_OP_ZONE_RESET_ALL", 19, "ZRA" },
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- what the kernel has ---- */

static bool agree(const struct btf *b, const struct letter *l, size_t count)
{
	int32_t value;

	for (size_t i = 0; i < count; i++)
		if (!btf_enumerator(b, l[i].enumerator, strlen(l[i].enumerator), &value) ||
		    value != l[i].number)
			return false;
	return true;
}

/* Bytes of the text in a record; 0: not known. */
static uint32_t find_room(const struct btf *b)
{
	static const char record[] = "trace_event_raw_block_rq", field[] = "rwbs";
	uint32_t structure = btf_structure(b, record, strlen(record));
	struct btf_member m;

	if (!structure || !btf_find_member(b, structure, field, strlen(field), &m))
		return 0;
	return btf_classify(b, m.type).size;
}

bool bpf_rwbs_find(const struct btf *b, struct bpf_node *n)
{
	static const char atomic[] = "__REQ_ATOMIC", same[] = "REQ_OP_WRITE_SAME";
	uint32_t room = find_room(b);
	int32_t bit = 0, value;

	/* (Its older function is another one.) */
	if (room < WITHOUT_MORE || room > WITH_ZONES ||
	    btf_enumerator(b, same, strlen(same), &value) ||
	    !agree(b, flags, COUNT(flags)) || !agree(b, &before, 1) ||
	    !agree(b, operations, COUNT(operations)))
		return false;
	if (room >= WITH_ATOMIC &&
	    (!btf_enumerator(b, atomic, strlen(atomic), &bit) || bit < 20 || bit > 30))
		return false;
	if (room == WITH_ZONES && !agree(b, zones, COUNT(zones)))
		return false;
	n->size = (uint8_t)room;
	n->value = bit;
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

/* ---- instructions: register 0 has the text after these letters, 1 the flags, 2 is free ---- */

static void put_letters(struct bpf_code *c, const char *letters)
{
	int32_t value = 0;

	for (size_t i = strlen(letters); i-- > 0;)
		value = value << 8 | letters[i];
	bpf_alu(c, BPF_LSH, BPF_REG_0, 8 * (int32_t)strlen(letters));
	bpf_alu(c, BPF_OR, BPF_REG_0, value);
}

static void put_flag(struct bpf_code *c, int32_t bit, const char *letters)
{
	int unset = bpf_label(c);

	bpf_move(c, BPF_REG_2, BPF_REG_1);
	bpf_alu(c, BPF_AND, BPF_REG_2, 1 << bit);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_2, 0, unset);
	put_letters(c, letters);
	bpf_here(c, unset);
}

static void put_operations(struct bpf_code *c, const struct letter *l, size_t count, int end)
{
	for (size_t i = 0; i < count; i++) {
		int other = bpf_label(c);

		bpf_jump_if(c, BPF_JNE, BPF_REG_2, l[i].number, other);
		put_letters(c, l[i].letters);
		bpf_jump(c, end);
		bpf_here(c, other);
	}
}

void bpf_rwbs_put(struct bpf_code *c, const struct bpf_node *n)
{
	int end = bpf_label(c);

	bpf_move(c, BPF_REG_1, BPF_REG_0);
	bpf_set(c, BPF_REG_0, 0);
	if (n->value)
		put_flag(c, n->value, "U");
	for (size_t i = COUNT(flags); i-- > 0;)
		put_flag(c, flags[i].number, flags[i].letters);
	bpf_move(c, BPF_REG_2, BPF_REG_1);
	bpf_alu(c, BPF_AND, BPF_REG_2, OPERATION);
	put_operations(c, operations, COUNT(operations), end);
	if (n->size == WITH_ZONES)
		put_operations(c, zones, COUNT(zones), end);
	put_letters(c, "N");
	bpf_here(c, end);
	put_flag(c, before.number, before.letters);
}
