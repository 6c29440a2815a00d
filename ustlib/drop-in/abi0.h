/* SPDX-License-Identifier: MIT */
/*
 * abi0.h - the structures that compiled programs share with LTTng-UST 2.1 to 2.12 (soname 0,
 * provider version 1), with names of our own. Their members are those of 2.1 and, at the end, those
 * that came later; here are no more than what this library uses, and what stands before it.
 */
#ifndef USTLIB_DROP_IN_ABI0_H
#define USTLIB_DROP_IN_ABI0_H

#include "ustlib/drop-in/abi.h"

struct ust0_tracepoint {                /* a call site */
	const char *name;               /* PROVIDER:EVENT */
	int state;
	struct ust_tracepoint_probe *probes;
	int *provider_ref;
	const char *signature;
	char padding[16];
};

enum ust0_type_kind {
	UST0_INTEGER, UST0_ENUM, UST0_ARRAY, UST0_SEQUENCE, UST0_STRING, UST0_FLOAT
};

struct ust0_integer {
	unsigned int bits;
	unsigned short alignment;
	unsigned int is_signed : 1, swapped : 1;
	unsigned int base;
	int encoding;                   /* not 0: text */
	char padding[24];
};

struct ust0_float {
	unsigned int exponent_bits, mantissa_bits;
	unsigned short alignment;
	unsigned int swapped : 1;
	char padding[24];
};

struct ust0_enum_entry {
	struct ust_enum_value begin, end;
	const char *label;
	union {
		unsigned char options[4];       /* an unsigned int that is not aligned */
		char padding[16];
	} u;
};

struct ust0_enum_desc {
	const char *name;
	const struct ust0_enum_entry *entries;
	unsigned int count;
	char padding[24];
};

union ust0_basic {
	struct ust0_integer integer;
	struct ust0_float real;
	struct {
		const struct ust0_enum_desc *desc;
		struct ust0_integer container;
	} enumeration;
	char padding[128];
};

struct ust0_basic_type {
	int kind;                       /* enum ust0_type_kind */
	union ust0_basic basic;
};

struct ust0_type {
	int kind;
	union {
		union ust0_basic basic;
		struct {
			struct ust0_basic_type element;
			unsigned int count;
		} array;
		struct {
			struct ust0_basic_type length, element;
		} sequence;
	} u;
};

struct ust0_field {
	const char *name;
	struct ust0_type type;
	unsigned int nowrite;
	char padding[28];
};

struct ust0_event_desc {
	const char *name;               /* PROVIDER:EVENT */
	void (*probe)(void);
	const void *context;
	const struct ust0_field *fields;
	unsigned int count;
	const int **level;
	const char *signature;
	const char **uri;
};

struct ust0_provider_desc {
	const char *name;
	const struct ust0_event_desc *const *events;
	unsigned int count;
	void *heads[4];
	int lazy;
	uint32_t major, minor;
};

/* ---- what a compiled probe gets as its `data`, and reads ---- */

struct ust0_list {
	struct ust0_list *next, *prev;
};

/*
 * What decides whether a hit is recorded: the probe calls it with all fields, put on a stack as for
 * an event of the kind UST_NOTIFIER. It returns 0 for "no".
 */
struct ust0_filter {
	void *code;
	uint64_t (*decide)(void *filter, const char *stack);
	int link_failed;
	struct ust0_list node;
};

struct ust0_session {
	int active;
};

struct ust0_channel_ops {
	void *create, *destroy, *flags, *deprecated;
	int (*event_reserve)(void *context, uint32_t id);
};

struct ust0_channel {
	void *buffers;
	int enabled;
	void *contexts;
	const struct ust0_session *session;
	int object;
	unsigned int deprecated[2];
	struct ust0_list node;
	const struct ust0_channel_ops *ops;
	int header_type;
	void *handle;
};

struct ust0_event {
	unsigned int id;
	const struct ust0_channel *channel;
	int enabled;
	const void *desc;
	void *deprecated1, *contexts;
	int instrumentation;
	struct ust0_list node, deprecated2;
	void *deprecated3;
	unsigned int deprecated4 : 1;
	struct ust0_list filters;       /* struct ust0_filter.node */
	int without_filter;             /* it is recorded whatever they say */
};

#if UINTPTR_MAX > UINT32_MAX
_Static_assert(sizeof(struct ust0_tracepoint) == 56 && sizeof(struct ust0_integer) == 40 &&
		       sizeof(struct ust0_enum_entry) == 56 && sizeof(union ust0_basic) == 128 &&
		       sizeof(struct ust0_basic_type) == 136 && sizeof(struct ust0_type) == 280 &&
		       sizeof(struct ust0_field) == 320 &&
		       offsetof(struct ust0_provider_desc, major) == 60 &&
		       offsetof(struct ust0_channel, ops) == 64 &&
		       offsetof(struct ust0_event, filters) == 104,
	       "known to compiled programs");
#endif

#endif
