// SPDX-License-Identifier: MIT
/*
 * `$app.otel:service` and `$app.otel:resource` of a program that registers no contexts of these
 * names, but whose OpenTelemetry SDK publishes the context of the process: a mapping named OTEL_CTX
 * with a header, which points to a ProcessContext in the encoding of protobuf (OTEP 4719).
 *
 * The SDK publishes at some time after the program began, changes it, and may take it away. So hits
 * look again, one thread at a time and a second after the last look or later. As long as there is
 * nothing, the time between two looks doubles up to a minute: the list of mappings may be long.
 *
 * All memory is read through /proc/self/mem, where a wrong address is an error and no SIGSEGV.
 */
#include "ustlib/context/context.h"
#include "trail/site.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __LP64__
#define SIGNATURE "OTEL_CTX"
#define VERSION 2
#define PAYLOAD_MAX (16u << 10)
#define MAPS_MAX (1u << 20)             /* bytes of the list of mappings that are read */
#define TEXT_MAX 255u                   /* as long as a context can be */
#define WAIT_MAX 64                     /* s */

struct header {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published;             /* 0: it is being changed */
	uint64_t payload;               /* its address */
};

/* The texts of one payload; "": none. */
struct texts {
	char service[TEXT_MAX + 1], resource[TEXT_MAX + 1];
};

/*
 * A hit copies a text while another thread may publish the next one. Four changes with a second
 * between each two would have to happen during that copy to change the text under it; its last byte
 * is always 0.
 */
static struct texts texts[4];
static uint32_t newest;                 /* of texts; stored with release, loaded with acquire */
static bool asked;                      /* a channel has one of the names; registration lock */
static int64_t look;                    /* CLOCK_MONOTONIC, s: when to look next; atomic */
static bool looking;                    /* atomic; who sets it may use what follows */
static int64_t wait_s = 1;
static uint64_t place;                  /* address of the header; 0: not known */
static uint64_t published;              /* of the texts */
static char buffer[PAYLOAD_MAX];

/* Not the functions of libc: a thread that is cancelled in a hit would keep `looking`. */
static int open_own(const char *path)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
}

static bool read_memory(int mem, uint64_t address, void *out, size_t n)
{
	return syscall(SYS_pread64, mem, out, n, address) == (long)n;
}

static bool read_header(int mem, uint64_t address, struct header *h)
{
	return read_memory(mem, address, h, sizeof(*h)) &&
	       !memcmp(h->signature, SIGNATURE, sizeof(h->signature)) && h->version == VERSION;
}

/* ---- the mapping ---- */

/* START-END PERMISSIONS OFFSET DEVICE INODE NAME. The start; 0: it is another mapping. */
static uint64_t mapping_start(const char *line)
{
	static const char *const names[] = { ("[anon_shmem:" SIGNATURE "]"),
					     ("[anon:" SIGNATURE "]"), ("/memfd:" SIGNATURE) };
	const char *name = line;
	uint64_t start = 0;

	for (int field = 0; field < 5; field++) {
		name += strcspn(name, " ");
		name += strspn(name, " ");
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strncmp(name, names[i], strlen(names[i])))
			continue;
		for (const char *c = line; *c && *c != '-'; c++)
			start = start << 4 | (uint64_t)(*c <= '9' ? *c - '0' : *c - 'a' + 10);
		return start;
	}
	return 0;
}

/* Address of a header that is valid; 0: there is none. */
static uint64_t find_header(int mem)
{
	int maps = open_own("/proc/self/maps");
	uint64_t found = 0, start;
	size_t total = 0, n = 0;
	struct header h;
	char line[160];
	long got;

	if (maps < 0)
		return 0;
	while (!found && total < MAPS_MAX &&
	       (got = syscall(SYS_read, maps, buffer, sizeof(buffer))) > 0) {
		total += (size_t)got;
		for (long i = 0; i < got && !found; i++) {
			if (buffer[i] != '\n') {
				if (n < sizeof(line) - 1)
					line[n++] = buffer[i];
				continue;
			}
			line[n] = 0;
			n = 0;
			start = mapping_start(line);
			if (start && read_header(mem, start, &h))
				found = start;
		}
	}
	syscall(SYS_close, maps);
	return found;
}

/* ---- the payload: opentelemetry/proto/processcontext/v1development/process_context.proto ---- */

struct bytes {
	const uint8_t *p, *end;
};

struct field {
	uint32_t number;
	unsigned int wire;              /* 0 varint, 2 bytes; 1 and 5 are skipped */
	uint64_t varint;
	struct bytes bytes;
};

static bool take_varint(struct bytes *b, uint64_t *out)
{
	*out = 0;
	for (unsigned int shift = 0; shift < 64 && b->p < b->end; shift += 7) {
		uint8_t byte = *b->p++;

		*out |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return true;
	}
	return false;
}

/* The next field. False: the end, or no valid one. */
static bool take_field(struct bytes *b, struct field *f)
{
	uint64_t key, n;

	if (b->p == b->end || !take_varint(b, &key) || key >> 3 > UINT32_MAX)
		return false;
	*f = (struct field){ .number = (uint32_t)(key >> 3), .wire = key & 7 };
	if (f->wire == 0)
		return take_varint(b, &f->varint);
	if (f->wire == 1 || f->wire == 5)
		n = f->wire == 1 ? 8 : 4;
	else if (f->wire != 2 || !take_varint(b, &n))
		return false;
	if (n > (uint64_t)(b->end - b->p))
		return false;
	f->bytes = (struct bytes){ b->p, b->p + n };
	b->p += n;
	return true;
}

static bool is_text(struct bytes b, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(b.end - b.p) == n && !memcmp(b.p, text, n);
}

static bool begins_with_text(struct bytes b, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(b.end - b.p) >= n && !memcmp(b.p, text, n);
}

struct text {
	char *at;
	size_t n;               /* TEXT_MAX + 1: it was too long */
};

static void put_char(struct text *t, char c)
{
	if (t->n < TEXT_MAX)
		t->at[t->n++] = c;
	else
		t->n = TEXT_MAX + 1;
}

/* As OTEL_RESOURCE_ATTRIBUTES has it: what W3C Baggage does not allow is %XX. */
static void put_encoded(struct text *t, struct bytes b)
{
	static const char digits[] = "0123456789ABCDEF";

	for (; b.p < b.end && t->n <= TEXT_MAX; b.p++) {
		if (*b.p > ' ' && *b.p < 127 && !strchr("%,;=\"\\", *b.p)) {
			put_char(t, (char)*b.p);
			continue;
		}
		put_char(t, '%');
		put_char(t, digits[*b.p >> 4]);
		put_char(t, digits[*b.p & 15]);
	}
}

static void put_int(struct text *t, int64_t value)
{
	uint64_t n = value < 0 ? -(uint64_t)value : (uint64_t)value;
	uint8_t all[20], *p = all + sizeof(all);

	do
		*--p = (uint8_t)('0' + n % 10);
	while (n /= 10);
	if (value < 0)
		put_char(t, '-');
	put_encoded(t, (struct bytes){ p, all + sizeof(all) });
}

/* Appends KEY=VALUE if all of it has room, and the value is a text, a boolean or an integer. */
static void put_attribute(struct text *t, struct bytes key, struct bytes value)
{
	static const char *const booleans[] = { "false", "true" };
	struct text more = *t;
	struct field f = { 0 }, last = { 0 };

	while (take_field(&value, &f))
		last = f;
	if (more.n)
		put_char(&more, ',');
	put_encoded(&more, key);
	put_char(&more, '=');
	if (last.number == 1 && last.wire == 2)
		put_encoded(&more, last.bytes);
	else if (last.number == 2 && last.wire == 0)
		for (const char *c = booleans[!!last.varint]; *c; c++)
			put_char(&more, *c);
	else if (last.number == 3 && last.wire == 0)
		put_int(&more, (int64_t)last.varint);
	else
		return;
	if (more.n <= TEXT_MAX)
		*t = more;
}

static void set_service(struct texts *to, struct bytes value)
{
	struct field f;
	size_t n;

	while (take_field(&value, &f)) {
		n = (size_t)(f.bytes.end - f.bytes.p);
		if (f.number != 1 || f.wire != 2 || n > TEXT_MAX || memchr(f.bytes.p, 0, n))
			continue;
		memcpy(to->service, f.bytes.p, n);
		to->service[n] = 0;
	}
}

/*
 * Reads the attributes of a resource. It takes service.* and deployment.* first, because not all
 * others may have room.
 */
static void read_resource(struct bytes resource, struct texts *to)
{
	struct text t = { .at = to->resource };
	struct field f, part;

	for (int pass = 0; pass < 2; pass++) {
		struct bytes all = resource;

		while (take_field(&all, &f)) {
			struct bytes key = { 0 }, value = { 0 };
			bool first;

			if (f.number != 1 || f.wire != 2)
				continue;
			while (take_field(&f.bytes, &part))
				if (part.wire == 2 && part.number == 1)
					key = part.bytes;
				else if (part.wire == 2 && part.number == 2)
					value = part.bytes;
			if (!key.p || key.p == key.end || !value.p)
				continue;
			first = begins_with_text(key, "service.") ||
				begins_with_text(key, "deployment.");
			if (first == !pass)
				put_attribute(&t, key, value);
			if (!pass && is_text(key, "service.name"))
				set_service(to, value);
		}
	}
	to->resource[t.n] = 0;
}

static void publish(struct bytes payload)
{
	uint32_t next = (newest + 1) % 4;
	struct field f;

	texts[next].service[0] = texts[next].resource[0] = 0;
	while (take_field(&payload, &f))
		if (f.number == 1 && f.wire == 2)
			read_resource(f.bytes, &texts[next]);
	__atomic_store_n(&newest, next, __ATOMIC_RELEASE);
}

/* ---- looking ---- */

/* Whether there is a context; one that is being changed is left for the next look. */
static bool read_context(int mem)
{
	const uint8_t *p = (const uint8_t *)buffer;
	struct header h, again;

	if (place && !read_header(mem, place, &h))
		place = 0;
	if (!place)
		place = find_header(mem);
	if (!place || !read_header(mem, place, &h))
		return false;
	if (!h.published || h.published == published)
		return true;
	if (h.payload_size > PAYLOAD_MAX || !read_memory(mem, h.payload, buffer, h.payload_size) ||
	    !read_header(mem, place, &again) || memcmp(&again, &h, sizeof(h)))
		return true;
	published = h.published;
	publish((struct bytes){ p, p + h.payload_size });
	return true;
}

static int64_t now_s(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec + 1;
}

static void look_if_due(void)
{
	int64_t now = now_s();
	int saved = errno, mem;
	bool found;

	/* After trail_seal() the texts stay what they are. */
	if (library_sealed || now < __atomic_load_n(&look, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(&looking, true, __ATOMIC_ACQUIRE))
		return;
	mem = open_own("/proc/self/mem");
	found = mem >= 0 && read_context(mem);
	if (mem >= 0)
		syscall(SYS_close, mem);
	if (!found && published) {
		published = 0;
		publish((struct bytes){ NULL, NULL });
	}
	wait_s = found ? 1 : wait_s < WAIT_MAX ? 2 * wait_s : WAIT_MAX;
	__atomic_store_n(&look, now + wait_s, __ATOMIC_RELAXED);
	/* Pairs with the exchange above: the next look has what this one wrote. */
	__atomic_store_n(&looking, false, __ATOMIC_RELEASE);
	errno = saved;
}

void otel_process_find(const char *name)
{
	if (strncmp(name, "otel:", 5))
		return;
	asked = true;
	__atomic_store_n(&look, 0, __ATOMIC_RELAXED);
}

void otel_process_fetch(void)
{
	if (!asked)
		return;
	__atomic_store_n(&look, 0, __ATOMIC_RELAXED);
	look_if_due();
}

void otel_process_forked(void)
{
	published = place = 0;
	wait_s = 1;
	publish((struct bytes){ NULL, NULL });
	__atomic_store_n(&look, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&looking, false, __ATOMIC_RELEASE);
}

bool otel_process_value(const char *name, struct trail_value *v)
{
	bool service = !strcmp(name, "otel:service");
	const struct texts *t;

	if (!service && strcmp(name, "otel:resource"))
		return false;
	look_if_due();
	t = &texts[__atomic_load_n(&newest, __ATOMIC_ACQUIRE)];
	v->s = service ? t->service : t->resource;
	v->type = *v->s ? TRAIL_VALUE_STRING : TRAIL_VALUE_NONE;
	return true;
}
#else
void otel_process_find(const char *name)
{
	(void)name;
}

void otel_process_fetch(void)
{
}

void otel_process_forked(void)
{
}

bool otel_process_value(const char *name, struct trail_value *v)
{
	(void)name, (void)v;
	return false;
}
#endif
