// SPDX-License-Identifier: MIT
/*
 * `$app.otel:trace_id` and `$app.otel:span_id` of a program that registers no contexts of these
 * names, but whose OpenTelemetry SDK publishes the thread's context: the exported thread-local
 * variable otel_thread_ctx_v1 (OTEP 4947) points to a record with the ids of the active span.
 *
 * A hit may be in a signal handler, where nothing of the dynamic linker can be called. So its
 * tables are read when the daemon asks for the context, and a hit finds the variable by the
 * thread's vector of TLS blocks, as readers outside the process do.
 */
#include "ustlib/context/context.h"
#include "trail/site.h"

#include <string.h>

#if defined(__x86_64__) && defined(__LP64__) && defined(__GLIBC__)
#include <elf.h>
#include <link.h>

#define VARIABLE "otel_thread_ctx_v1"

enum { TRACE_ID = 0, SPAN_ID = 16, VALID = 24 };        /* bytes of the record */

/* Number of the TLS module << 32 | offset in its block; 0: not known. Atomic. */
static uint64_t place;

struct tables {
	const uint32_t *hash;           /* DT_GNU_HASH */
	const ElfW(Sym) *symbols;
	const char *strings;
};

static struct tables tables_of(const struct dl_phdr_info *o)
{
	struct tables t = { NULL, NULL, NULL };
	const ElfW(Dyn) *d = NULL;

	for (int i = 0; i < o->dlpi_phnum; i++)
		if (o->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const ElfW(Dyn) *)(o->dlpi_addr + o->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_GNU_HASH)
			t.hash = (const uint32_t *)d->d_un.d_ptr;
		else if (d->d_tag == DT_SYMTAB)
			t.symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			t.strings = (const char *)d->d_un.d_ptr;
	}
	return t;
}

/* The variable in the tables, or NULL. */
static const ElfW(Sym) *find_variable(const struct tables *t)
{
	const uint32_t *h = t->hash, *buckets, *chain;
	uint32_t hash = 5381, n;

	if (!h || !t->symbols || !t->strings || !h[0])
		return NULL;
	for (const char *c = VARIABLE; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	/* A head of 4 words, a filter of h[2] longs, h[0] buckets, chains from symbol h[1] on. */
	buckets = h + 4 + h[2] * (sizeof(ElfW(Addr)) / sizeof(*h));
	chain = buckets + h[0];
	for (n = buckets[hash % h[0]]; n >= h[1]; n++) {
		const ElfW(Sym) *s = &t->symbols[n];

		if ((chain[n - h[1]] | 1) == (hash | 1) &&
		    ELF64_ST_TYPE(s->st_info) == STT_TLS && s->st_shndx != SHN_UNDEF &&
		    !strcmp(t->strings + s->st_name, VARIABLE))
			return s;
		if (chain[n - h[1]] & 1)
			break;
	}
	return NULL;
}

static int look_at_object(struct dl_phdr_info *o, size_t size, void *arg)
{
	struct tables t;
	const ElfW(Sym) *s;

	(void)arg;
	if (size < sizeof(*o) || !o->dlpi_tls_modid)
		return 0;
	t = tables_of(o);
	s = find_variable(&t);
	if (!s || s->st_value > UINT32_MAX)
		return 0;
	/*
	 * If objects were unloaded, the number may have been another one's, and a thread may have
	 * the block of that one in its place. (The program itself always has number 1.)
	 */
	if (o->dlpi_tls_modid == 1 || !o->dlpi_subs)
		__atomic_store_n(&place, (uint64_t)o->dlpi_tls_modid << 32 | s->st_value,
				 __ATOMIC_RELEASE);
	return 1;
}

void otel_context_find(const char *name)
{
	if (!strncmp(name, "otel:", 5) && !__atomic_load_n(&place, __ATOMIC_ACQUIRE))
		dl_iterate_phdr(look_at_object, NULL);
}

/* glibc's vector: element -1 has its length, each other the address of a block, or none. */
union dtv {
	size_t length;
	struct {
		uint8_t *block;
		void *to_free;
	} pointer;
};

/* The record of this thread; NULL: it has none. */
static const volatile uint8_t *find_record(void)
{
	uint64_t at = __atomic_load_n(&place, __ATOMIC_ACQUIRE), module = at >> 32;
	const volatile uint8_t *record;
	const union dtv *v;
	uint8_t *block;

	if (!at)
		return NULL;
	__asm__ volatile("movq %%fs:8, %0" : "=r"(v));
	if (!v || module > v[-1].length)
		return NULL;
	block = v[module].pointer.block;
	/* No thread-local variable of the module was used in this thread. */
	if (!block || block == (uint8_t *)-1)
		return NULL;
	record = *(const volatile uint8_t *volatile *)(block + (uint32_t)at);
	return record && record[VALID] == 1 ? record : NULL;
}

static const char *put_digits(const volatile uint8_t *id, size_t n, char *text)
{
	uint8_t any = 0;

	for (size_t i = 0; i < n; i++) {
		uint8_t byte = id[i];

		text[2 * i] = "0123456789abcdef"[byte >> 4];
		text[2 * i + 1] = "0123456789abcdef"[byte & 15];
		any |= byte;
	}
	text[2 * n] = 0;
	return any ? text : NULL;
}

void otel_context_value(const char *name, struct trail_value *v)
{
	static __thread char trace[33] __attribute__((tls_model("initial-exec")));
	static __thread char span[17] __attribute__((tls_model("initial-exec")));
	const volatile uint8_t *record = strncmp(name, "otel:", 5) ? NULL : find_record();

	if (!record)
		return;
	if (!strcmp(name, "otel:trace_id"))
		v->s = put_digits(record + TRACE_ID, 16, trace);
	else if (!strcmp(name, "otel:span_id"))
		v->s = put_digits(record + SPAN_ID, 8, span);
	else
		return;
	v->type = v->s ? TRAIL_VALUE_STRING : TRAIL_VALUE_NONE;
}
#else
void otel_context_find(const char *name)
{
	(void)name;
}

void otel_context_value(const char *name, struct trail_value *v)
{
	(void)name, (void)v;
}
#endif
