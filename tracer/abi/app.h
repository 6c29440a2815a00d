/* SPDX-License-Identifier: MIT */
/*
 * tracer/abi/: what applications, the kernel module and the daemon share. Headers without
 * dependencies; both sides of each interface compile the same one. No state, no lock.
 *
 *   app.h              (this file) an application and the daemon: registration file, attach, plan
 *   ring.h             the rings in shared memory, and what readers and writers guarantee
 *   ring_write.h       the portable writer of a ring
 *   table_digest.h     the digest of a registration file's tables
 *   pick.h             parts of a payload that one place records
 *   context_kind.h     the numbers of context fields
 *   filter_bytecode.h  filter programs: their format, and the verifier
 *   filter_ops.h       operations on values in a filter program
 *   filter_load.h      the state of a running filter program; loading of values
 *   filter_interp.h    the interpreter of filter programs
 *   module.h           the daemon and trail.ko: the ioctls of /dev/trail
 *   module_ring.h      the rings of trail.ko
 *
 * This file: fixed-width structures in the host's byte order, the same for 32-bit and 64-bit
 * programs.
 *
 * Registration. Every loaded object with tracepoints has one file in the directory `apps`. The
 * library writes it under a name that begins with '.', maps it, closes the descriptor and renames
 * it to 32 hex digits; only a complete file has such a name. The mapping keeps the file locked with
 * flock (LOCK_EX), so a daemon that gets the lock knows that the process has ended. The daemon
 * reads the file with pread and switches tracepoints with pwrite; it never maps it.
 *
 * Digest. A daemon that has parsed equal tables of the same user takes these, and does not read the
 * file's. It trusts the digest for the file that says it, and computes that of tables it keeps: so
 * a file with a wrong digest makes its own events unreadable, and no other file's.
 *
 * State words. Each tracepoint has a 32-bit word; the call site tests it for non-zero. Byte 0 is
 * the slot of root's daemon, byte 1 the slot of the daemon of the application's own user. A slot is
 * 0 if that daemon does not record the tracepoint, else a generation: the library attaches when the
 * word differs from the one that it attached with. While a session is active, the state directory
 * has a file `active`; an object that registers then attaches at once, so that a short program is
 * traced from its first event. It registers with TRAIL_WORD_ASKING in its slot of all its words,
 * and replaces each of these when it has the answer: by the word of the answer, or by 0. So the
 * daemon need not write them. If it gets no answer, it sets them to TRAIL_WORD_UNKNOWN; the next
 * hit then asks. A forked child registers with its parent's words, unless `active` has bytes: then
 * a session knows processes apart, and the child begins like a new program.
 *
 * Missed hits. Until the daemon has answered, the library counts the hits in the registration file.
 * When it has rings, it adds these numbers to their `lost`; if the process ends first, the daemon
 * does.
 *
 * Attach. The application connects to a SOCK_SEQPACKET socket in the state directory, and sends
 * trail_hello: to `sockets/UID`, which root's daemon makes for a user who has registered an
 * application, or if there is none to `socket`; after chroot(2) to the abstract address that is the
 * path of `socket` after a NUL. The daemon answers with trail_answer, whose
 * SCM_RIGHTS are the plan (a sealed memfd) and the regions that it names, in that order. With
 * TRAIL_HELLO_INLINE, a small plan follows trail_answer in the same message, and the descriptors
 * are the regions alone. A daemon that needs some time first sends a trail_answer with
 * TRAIL_ALIVE_MAGIC every few milliseconds.
 * When the application has taken over the plan, however late, it sends one byte, or trail_taken if
 * it could not map all regions, and closes the connection. A daemon that receives neither counts
 * the attempt as failed and changes the generations, so that the application tries again.
 */
#ifndef TRACER_ABI_APP_H
#define TRACER_ABI_APP_H

#include <stdint.h>

#include "tracer/abi/context_kind.h"

#define TRAIL_ABI_VERSION 4u

/* Limits that both sides keep and the daemon enforces. */
#define TRAIL_EVENT_MAX 65536u          /* tracepoints of an object; ids of a stream group */
#define TRAIL_FIELD_MAX 65536u          /* fields of one object */
#define TRAIL_EVENT_FIELDS_MAX 64u      /* fields of one event */
#define TRAIL_ENUM_MAX 4096u            /* enumerations of one object */
#define TRAIL_LABEL_MAX 65536u          /* labels of all enumerations of one object */
#define TRAIL_NAME_MAX 255u             /* bytes of a name (provider, event, field) or label */
#define TRAIL_URI_MAX 4095u             /* bytes of a model's URI */
#define TRAIL_REG_SIZE_MAX (16u << 20)  /* bytes of a registration file */
#define TRAIL_OBJECT_MAX 256u           /* objects in one hello */
#define TRAIL_REGION_MAX 200u           /* regions in one plan (SCM_RIGHTS: 253 descriptors) */
#define TRAIL_CONTEXT_MAX 64u           /* contexts of one channel */
#define TRAIL_PROGRAM_MAX 65536u        /* bytes of one event's filter program */

#define TRAIL_REG_MAGIC 0x4c525454u     /* "TTRL" */

/* Header of a registration file. All offsets are from the start of the file, 8-byte aligned. */
struct trail_reg {
	uint32_t magic;
	uint16_t version;
	uint16_t word_bits;             /* 32 or 64, and TRAIL_REG_CLOCK */
	uint32_t size;                  /* of the whole file */
	uint32_t event_count;
	uint32_t state_offset;          /* uint32_t[event_count] */
	uint32_t event_offset;          /* struct trail_reg_event[event_count] */
	uint32_t field_offset, field_count;     /* struct trail_reg_field[field_count] */
	uint32_t string_offset, string_size;    /* NUL-terminated strings; the last byte is NUL */
	uint32_t object;                /* string offset: path of the object file, for display */
	uint32_t pid;                   /* in the application's own PID namespace, for display */
	uint32_t missed_offset;         /* uint64_t[event_count]: hits before the attach; 0: none */
	uint32_t enum_offset, enum_count;       /* struct trail_reg_enum[enum_count]; or 0, 0 */
	uint32_t label_offset, label_count;     /* struct trail_reg_label[label_count]; or 0, 0 */
	/*
	 * sizeof(struct trail_reg): a uint64_t follows, trail_table_digest() of all bytes from the
	 * end of `missed` to the end of the file. 0: none.
	 */
	uint32_t digest_offset;
};

/*
 * In trail_reg.word_bits: the process has a clock plug-in. struct trail_reg_clock, which describes
 * the clock, ends where the events begin, after the tables that change.
 */
#define TRAIL_REG_CLOCK 0x8000u

struct trail_reg_clock {
	uint64_t freq;                  /* Hz, not 0 */
	uint8_t uuid[16];               /* zeros: the plug-in has none */
	uint32_t name, description;     /* string offsets */
};

struct trail_reg_event {
	uint32_t provider, name;        /* string offsets */
	uint32_t first_field;
	uint16_t field_count;
	uint8_t level;                  /* 0 (emerg) … 14 (debug) */
	uint8_t refused;                /* TRAIL_REFUSED_*: never recorded; 0: it is not */
	uint32_t uri;                   /* string offset: the model's URI, or TRAIL_NO_STRING */
};

#define TRAIL_NO_STRING UINT32_MAX
/* of another type than the arguments of its class: a hit would read something else */
#define TRAIL_REFUSED_ARGUMENTS 1u
#define TRAIL_REFUSED_TYPE 2u           /* a field has a type that the library does not know */
#define TRAIL_REFUSED_VERSION 3u        /* its provider has an unknown version */

enum trail_kind {
	TRAIL_KIND_INT = 1,             /* size bytes */
	TRAIL_KIND_FLOAT,               /* size 4 or 8 */
	TRAIL_KIND_STRING,              /* NUL terminated */
	TRAIL_KIND_ARRAY,               /* count integers of size bytes */
	TRAIL_KIND_SEQUENCE,            /* an unsigned length, `length` bytes, then integers */
	TRAIL_KIND_STRUCT,              /* no bytes; the next `count` fields are its members */
	TRAIL_KIND_BITS,                /* size bits, 1 to 64; see trail_bits_begin */
	/*
	 * A byte, the index of the option that follows it, or `count` if none does; the next
	 * `count` fields are the options, numbers or strings.
	 */
	TRAIL_KIND_VARIANT,
};

/*
 * Whether the name of an event may have this byte: it can be printed as it is, and the name is a
 * word in a rule. Of the two parts of a name the provider has no colon. (Names are UTF-8, too.)
 */
static inline int trail_name_has(unsigned char byte, int colon)
{
	return byte > 0x20 && byte != 0x7f && byte != '"' && byte != '\'' && byte != '\\' &&
	       (byte != ':' || colon);
}

/*
 * Bit fields share bytes with their neighbours: where a bit field begins in the byte in which the
 * fields before it end, whose first `used` bits are taken. 0: in a new byte, since used is 0 or the
 * field would lie in more than 8 bytes. Bits count from the least significant one on, on a
 * big-endian host from the most significant one. Another field begins a new byte, and an event ends
 * with a byte.
 */
static inline uint32_t trail_bits_begin(uint32_t used, uint32_t size)
{
	return used + size > 64 ? 0 : used;
}

/* The bytes that a bit field begins: it may end in the byte of the one before. */
static inline uint32_t trail_bits_bytes(uint32_t begin, uint32_t size)
{
	return (begin + size + 7) / 8 - (begin != 0);
}

#define TRAIL_STRUCT_DEPTH 8u           /* levels of nesting */

#define TRAIL_FIELD_SIGNED 1u
#define TRAIL_FIELD_HEX 2u
#define TRAIL_FIELD_BIG_ENDIAN 4u
#define TRAIL_FIELD_TEXT 8u             /* ARRAY, SEQUENCE of bytes: UTF-8 text */
#define TRAIL_FIELD_NOWRITE 16u         /* for filters only: after the payload, not recorded */
#define TRAIL_FIELD_ENUM 32u            /* INT: count is the index of its enumeration */
#define TRAIL_FIELD_FLOAT 64u           /* ARRAY, SEQUENCE: of floating point numbers */
/* ARRAY, SEQUENCE of bytes: a BLOB; after its name comes its media type, "": none */
#define TRAIL_FIELD_BLOB 128u

/* Fields with TRAIL_FIELD_NOWRITE come after all others of their event. */
struct trail_reg_field {
	uint32_t name;                  /* string offset */
	uint8_t kind, size, flags;
	uint8_t length;                 /* TRAIL_KIND_SEQUENCE: bytes of the length, 1, 2, 4 or 8 */
	/* ARRAY: elements; STRUCT: members; VARIANT: options; TRAIL_FIELD_ENUM: index */
	uint32_t count;
};

struct trail_reg_enum {
	uint32_t name;                  /* string offset */
	uint32_t first_label, label_count;      /* no two enumerations share a label */
	uint32_t reserved;
};

/* begin <= value <= end, signed if the field is. A label with begin > end covers no value. */
struct trail_reg_label {
	uint32_t name;                  /* string offset; may be empty */
	uint32_t reserved;
	uint64_t begin, end;
};

/* Values of a slot that only the library writes: */
#define TRAIL_WORD_UNKNOWN 255u         /* the daemon did not answer */
/* The library will ask, and store the words of the answer */
#define TRAIL_WORD_ASKING 254u

/* The byte of a state word that is a daemon's slot. */
#define TRAIL_LANE_ROOT 0
#define TRAIL_LANE_USER 1

/* The lowest bit of that byte in the word: byte 0 is the first in memory. */
static inline unsigned int trail_lane_shift(unsigned int lane)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return 24 - 8 * lane;
#else
	return 8 * lane;
#endif
}

#define TRAIL_HELLO_MAGIC 0x4f4c4854u   /* "THLO" */
#define TRAIL_HELLO_NO_RSEQ 1u          /* asks for rings per thread instead of per CPU */
#define TRAIL_HELLO_INLINE 2u           /* takes a plan within the message */
#define TRAIL_HELLO_PICKS 4u            /* knows TRAIL_SLOT_PICK */
#define TRAIL_PLAN_INLINE_MAX 4096u     /* bytes of it */
#define TRAIL_PLAN_MAX (128u << 20)     /* bytes of any plan; an application takes no larger one */

struct trail_hello {
	uint32_t magic;
	uint16_t version, word_bits;
	uint32_t flags;
	uint32_t lane;        /* the daemon's slot: TRAIL_LANE_ROOT, TRAIL_LANE_USER */
	uint32_t object_count;
	uint32_t reserved;
	uint8_t objects[][16];          /* names of the registration files, as bytes */
};

#define TRAIL_ANSWER_MAGIC 0x534e4154u  /* "TANS" */
#define TRAIL_ALIVE_MAGIC 0x564c4154u   /* a sign of life: no descriptors, the rest 0 */

struct trail_answer {
	uint32_t magic;
	int32_t error;                  /* 0, or -errno: nothing follows */
	uint32_t plan_size;             /* bytes */
	uint32_t region_count;          /* their descriptors, after the plan's if it has one */
};

#define TRAIL_TAKEN_MAGIC 0x4b415454u   /* "TTAK" */

/*
 * The plan was taken over, but no event can be recorded in these regions. TRAIL_TAKEN_UNCOUNTED:
 * nor can the application count what is lost there; the daemon makes it try again.
 */
struct trail_taken {
	uint32_t magic;
	uint16_t flags, count;
	struct trail_taken_region {
		uint64_t key;
		int32_t error;          /* errno */
		uint32_t reserved;
	} regions[];
};

#define TRAIL_TAKEN_UNCOUNTED 1u

#define TRAIL_PLAN_MAGIC 0x4e4c5054u    /* "TPLN" */

/*
 * The attach reply: header, then regions[region_count], contexts[context_count], slots[slot_count]
 * sorted by (object, event), and blob_size bytes of programs and strings.
 */
struct trail_plan {
	uint32_t magic, version;
	uint32_t region_count, context_count, slot_count, blob_size;
	uint64_t statedump;             /* changes when a session asks for a dump; 0: none */
};

struct trail_plan_region {
	/* the same key is the same memory while the state directory exists */
	uint64_t key;
	uint64_t size;                  /* bytes to map */
	uint64_t blocking;              /* us that a hit may wait for space; UINT64_MAX: no limit */
	uint32_t flags;                 /* TRAIL_REGION_* */
	uint32_t first_context, context_count;  /* what precedes the payload of each event */
	uint32_t reserved;
};

/* of this process only: a forked child must not write to it */
#define TRAIL_REGION_PROCESS 1u
/* of a trigger: a thread that has recorded an event in it looks at the bell (ring.h) */
#define TRAIL_REGION_WAKE 2u

/* Values of application contexts: LTTng's tags and types. */
enum trail_dynamic {
	TRAIL_DYNAMIC_NONE, TRAIL_DYNAMIC_S8, TRAIL_DYNAMIC_S16, TRAIL_DYNAMIC_S32,
	TRAIL_DYNAMIC_S64, TRAIL_DYNAMIC_U8, TRAIL_DYNAMIC_U16, TRAIL_DYNAMIC_U32,
	TRAIL_DYNAMIC_U64, TRAIL_DYNAMIC_FLOAT, TRAIL_DYNAMIC_DOUBLE,
	TRAIL_DYNAMIC_STRING,           /* NUL terminated, at most TRAIL_NAME_MAX bytes */
	TRAIL_DYNAMIC_TAGS
};

struct trail_plan_context {
	uint32_t kind;                  /* enum trail_context */
	uint32_t name;                  /* APP: offset in the blob of "provider:name" */
	uint32_t perf_type;             /* PERF: perf_event_attr.type and .config */
	/* APP: 1 + offset in the blob of the value, a text; 0: the application has it */
	uint32_t value;
	uint64_t perf_config;
};

struct trail_plan_slot {
	uint16_t object;                /* index into the hello's objects */
	uint16_t region;
	uint32_t event;                 /* index in the object */
	uint32_t id;                    /* CTF event id in the region's stream class */
	uint32_t word;                  /* the value of the slot that this reply is for */
	uint32_t program, program_size; /* filter in the blob, 8-byte aligned; size 0: none */
	uint8_t on;                     /* the event's switch byte while this slot is valid */
	uint8_t flags;                  /* TRAIL_SLOT_* */
	uint16_t pick_count;            /* TRAIL_SLOT_PICK: steps in the blob, 8-byte aligned */
	uint32_t pick;
};

/* The event has only what the steps take of the payload (pick.h); after TRAIL_HELLO_PICKS only. */
#define TRAIL_SLOT_PICK 1u

#endif
