/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's types (BTF): functions with their arguments, and members of structures. The data is
 * not trusted: each offset and each type number is checked, chains of types have bounds.
 *
 * Types are numbers; 0 is void. A module's types are numbered after those of the kernel, its base,
 * which they refer to and which must live longer. A struct btf does not change after it was parsed.
 */
#ifndef TRACER_PROBE_BTF_H
#define TRACER_PROBE_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BTF_FILE "/sys/kernel/btf/vmlinux"

struct btf;

enum btf_class { BTF_NONE, BTF_NUMBER, BTF_POINTER, BTF_STRUCTURE, BTF_TEXT };

/* What a type is, without its typedefs and qualifiers. BTF_TEXT: an array of char. */
struct btf_type {
	enum btf_class class;
	uint32_t id;            /* BTF_STRUCTURE: of the structure; BTF_POINTER: what it leads to */
	uint32_t size;          /* BTF_NUMBER, BTF_TEXT: bytes */
	bool is_signed;
};

struct btf_member {
	uint32_t type;
	uint32_t bits;          /* of a bit field; 0: none */
	uint64_t offset;        /* bits */
};

/* Reads a file. base: NULL, or the kernel's. 0, -errno of it, -EINVAL: not BTF, -EFBIG, -ENOMEM. */
int btf_load(const char *path, const struct btf *base, struct btf **out);
/* Takes over data, which malloc gave, in any case. 0, -EINVAL, -ENOMEM. */
int btf_parse(uint8_t *data, size_t len, const struct btf *base, struct btf **out);
void btf_free(struct btf *b);   /* NULL is allowed */

/*
 * The prototype of the function of this name; 0: there is none, or several that differ. Those of
 * the base do not count.
 */
uint32_t btf_function(const struct btf *b, const char *name, size_t len);
/* The function itself, which BPF programs are attached to; 0: there is none. */
uint32_t btf_function_type(const struct btf *b, const char *name, size_t len);
/* The typedef of this name; 0: there is none. */
uint32_t btf_typedef(const struct btf *b, const char *name, size_t len);
/* The structure or union of this name; 0. */
uint32_t btf_structure(const struct btf *b, const char *name, size_t len);
/* The value of an enumerator that fits into 32 bits. False: there is none of this name. */
bool btf_enumerator(const struct btf *b, const char *name, size_t len, int32_t *value);
uint32_t btf_structure_size(const struct btf *b, uint32_t structure);   /* bytes; 0: no such */
uint32_t btf_param_count(const struct btf *b, uint32_t proto);
/* The name ("" if it has none) and the type of an argument, from 0. */
const char *btf_param(const struct btf *b, uint32_t proto, uint32_t n, uint32_t *type);
/* The type of an array's elements, their number (0: not said) and size in bytes; 0: no array. */
uint32_t btf_element(const struct btf *b, uint32_t type, uint32_t *count, uint32_t *size);
uint32_t btf_returned(const struct btf *b, uint32_t proto);
struct btf_type btf_classify(const struct btf *b, uint32_t type);
/* Also of unnamed structures in the structure. */
bool btf_find_member(const struct btf *b, uint32_t structure, const char *name, size_t len,
		     struct btf_member *out);
/* The names of at most max members; returns their number. */
size_t btf_member_names(const struct btf *b, uint32_t structure, const char **names, size_t max);

#endif
