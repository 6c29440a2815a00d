/* SPDX-License-Identifier: MIT */
/*
 * abi.h - the structures that compiled programs share with LTTng-UST 2.13 to 2.16 (soname 1,
 * provider versions 3 and 4: 4 has blobs), with names of our own. `size` is the sizeof() that the
 * program was compiled with: members may be added after those that are here.
 */
#ifndef USTLIB_DROP_IN_ABI_H
#define USTLIB_DROP_IN_ABI_H

#include <stddef.h>
#include <stdint.h>

struct ust_tracepoint_probe {           /* the array ends with func == NULL */
	void (*func)(void);             /* really (void *data, arguments) */
	void *data;
};

struct ust_tracepoint {                 /* a call site */
	uint32_t size;
	const char *provider, *event;
	int state;                      /* the site is on */
	struct ust_tracepoint_probe *probes;
	int *provider_ref;
	const char *signature;          /* types and names of the arguments, as spelled */
};

enum ust_type {
	UST_INTEGER, UST_STRING, UST_FLOAT, UST_DYNAMIC, UST_ENUM, UST_ARRAY, UST_SEQUENCE,
	UST_STRUCT, UST_FIXED_BLOB, UST_VARIABLE_BLOB
};

struct ust_type_common {
	int type;                       /* enum ust_type; what follows depends on it */
	uint32_t size;
};

struct ust_integer {
	struct ust_type_common common;
	unsigned int bits;
	unsigned short alignment;
	unsigned int is_signed : 1, swapped : 1;
	unsigned int base;
};

struct ust_float {
	struct ust_type_common common;
	unsigned int exponent_bits, mantissa_bits;
};

struct ust_enum_value {
	unsigned long long value;
	unsigned int is_signed : 1;
};

struct ust_enum_entry {
	uint32_t size;
	struct ust_enum_value begin, end;
	const char *label;
	unsigned int options;           /* 1: begins after the entry before */
};

struct ust_enum_desc {
	uint32_t size;
	const char *name;
	const struct ust_enum_entry *const *entries;
	unsigned int count;
};

struct ust_enum {
	struct ust_type_common common;
	const struct ust_enum_desc *desc;
	const struct ust_type_common *container;
};

struct ust_array {
	struct ust_type_common common;
	const struct ust_type_common *element;
	unsigned int count, alignment;
	int encoding;                   /* not 0: text */
};

struct ust_sequence {                   /* its length is the field before */
	struct ust_type_common common;
	const char *length_name;
	const struct ust_type_common *element;
	unsigned int alignment;
	int encoding;
};

struct ust_fixed_blob {
	struct ust_type_common common;
	unsigned long length;           /* bytes */
	const char *media_type;         /* or NULL */
};

struct ust_variable_blob {              /* its length is the field before */
	struct ust_type_common common;
	const char *length_name;
	const char *media_type;         /* or NULL */
};

struct ust_field {
	uint32_t size;
	const char *name;
	const struct ust_type_common *type;
	unsigned int nowrite : 1, nofilter : 1;
};

struct ust_class {
	uint32_t size;
	const struct ust_field *const *fields;
	size_t count;
	void (*probe)(void);
	const char *signature;
};

struct ust_event_desc {
	uint32_t size;
	const char *name;
	const void *provider;
	const struct ust_class *class;
	const int **level;
	const char **uri;
};

struct ust_provider_desc {
	uint32_t size;
	const char *name;
	const struct ust_event_desc *const *events;
	unsigned int count;
	uint32_t major, minor;
};

struct ust_probe_context {
	uint32_t size;
	void *ip;
};

#define UST_NOTIFIER 1

/* What a compiled probe gets as its `data`. */
struct ust_event {
	uint32_t size;
	void *priv;
	int type;                       /* UST_NOTIFIER */
	void *child;
	int enabled;
	int eval_filter;
	void *run_filter;
};

/*
 * The kind of event that LTTng sends notifications for. The probe puts all fields on a stack of
 * its own, also those that are not written, and calls `send` once: 8 bytes for an integer, extended
 * and in the byte order of the machine; a double; a pointer to a string; a length and a pointer for
 * arrays and sequences. What is `nofilter` is not there.
 */
struct ust_notifier {
	uint32_t size;
	struct ust_event *parent;
	void *priv;
	int eval_capture;               /* puts the fields on the stack */
	void (*send)(const struct ust_notifier *notifier, const char *stack,
		     struct ust_probe_context *context, void *capture);
};

/* ---- contexts of the application ---- */

struct ust_context_value {
	int type;                       /* enum trail_dynamic */
	union {
		int64_t i;              /* of any signed type */
		uint64_t u;
		const char *s;
		double d;
	};
};

/* What writes the value into an event: it calls event_write for the type's tag and the value. */
struct ust_write_context;

struct ust_channel_ops {
	uint32_t size;
	void *priv, *event_reserve, *event_commit;
	void (*event_write)(struct ust_write_context *context, const void *from, size_t len,
			    size_t alignment);
};

struct ust_channel {
	uint32_t size;
	void *parent, *priv;
	const struct ust_channel_ops *ops;
};

struct ust_app_context {                /* the callbacks' `priv` */
	uint32_t size;
	const struct ust_field *field;
	const char *name;               /* "$app.PROVIDER:NAME" */
};

struct ust_context_provider {
	uint32_t size;
	const char *name;               /* "$app.PROVIDER" */
	void *get_size;
	void (*record)(void *priv, struct ust_probe_context *probe,
		       struct ust_write_context *context, struct ust_channel *channel);
	void (*get_value)(void *priv, struct ust_probe_context *probe,
			  struct ust_context_value *value);
	void *priv;                     /* the program's own, not what callbacks get */
};

#if UINTPTR_MAX > UINT32_MAX
_Static_assert(sizeof(struct ust_tracepoint) == 56 && sizeof(struct ust_enum_entry) == 56 &&
		       sizeof(struct ust_class) == 40 && sizeof(struct ust_event_desc) == 48 &&
		       sizeof(struct ust_event) == 48 && sizeof(struct ust_notifier) == 40 &&
		       offsetof(struct ust_provider_desc, major) == 28 &&
		       offsetof(struct ust_channel_ops, event_write) == 32 &&
		       offsetof(struct ust_channel, ops) == 24,
	       "known to compiled programs");
#endif

#endif
