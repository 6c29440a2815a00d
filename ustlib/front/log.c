// SPDX-License-Identifier: MIT
/*
 * Trace points with a format (trail/log.h): lttng_ust_tracef:event and lttng_ust_tracelog:LEVEL, as
 * LTTng-UST has them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "ustlib/lib.h"
#include "trail/log.h"
#include "trail/site.h"

#define SHORT 512               /* messages below that are put together on the stack */

#define TEXT_CODE \
	TRAIL__CODE_OF(TRAIL__SEQUENCE_OF, TRAIL__TEXT | ((char)-1 < 0 ? TRAIL__SIGNED : 0), 1)
#define STRING_CODE TRAIL__CODE_OF(TRAIL__STRING, 0, 0)
#define LINE_CODE TRAIL__CODE_OF(TRAIL__INT, TRAIL__SIGNED, sizeof(int))

static const struct trail__field tracef_fields[] = { { "msg", TEXT_CODE, 0, NULL } };
static const struct trail__field tracelog_fields[] = {
	{ "line", LINE_CODE, 0, NULL },
	{ "file", STRING_CODE, 0, NULL },
	{ "func", STRING_CODE, 0, NULL },
	{ "msg", TEXT_CODE, 0, NULL },
};

#define LEVELS 15
#define EVENT(name) [TRAIL__LOG_##name] = \
	{ "lttng_ust_tracelog", #name, tracelog_fields, 4, TRAIL__LOG_##name % LEVELS, 1, NULL },
static const struct trail__event events[TRAIL__LOG_COUNT] = {
	TRAIL__LOG_LEVELS(EVENT, LTTNG_UST_TRACEPOINT_LOGLEVEL_) TRAIL__LOG_LEVELS(
		EVENT, TRACE_)[TRAIL__LOG_TRACEF] = { "lttng_ust_tracef", "event", tracef_fields, 1,
						      TRAIL__LEVEL_DEBUG, 1, NULL },
};

/* What follows is filled in at the first use. */
static struct trail__tp tps[TRAIL__LOG_COUNT];
static struct trail__tp *list[TRAIL__LOG_COUNT + TRAIL__LOG_BESIDE];
static unsigned int listed;     /* of the list */
static const unsigned int *words[TRAIL__LOG_COUNT];
/* objects that use them; as these are loaded and unloaded, so under the dynamic linker's lock */
static unsigned int users;

TRAIL_EXPORT const unsigned int *const *trail__log_use_beside(struct trail__tp *const *begin,
							     struct trail__tp *const *end)
{
	if (users++) {
		trail__register(begin, end);
		return words;
	}
	for (int i = 0; i < TRAIL__LOG_COUNT; i++) {
		tps[i].event = &events[i];
		tps[i].state = &tps[i].off;
		list[i] = &tps[i];
	}
	listed = TRAIL__LOG_COUNT;
	for (; begin < end && listed < sizeof(list) / sizeof(list[0]); begin++)
		list[listed++] = *begin;
	trail__register(list, list + listed);
	for (int i = 0; i < TRAIL__LOG_COUNT; i++)
		words[i] = tps[i].state;
	return words;
}

TRAIL_EXPORT const unsigned int *const *trail__log_use(void)
{
	return trail__log_use_beside(NULL, NULL);
}

TRAIL_EXPORT void trail__log_unuse(void)
{
	if (--users)
		return;
	for (int i = 0; i < TRAIL__LOG_COUNT; i++)
		words[i] = &tps[i].off;
	trail__unregister(list, list + listed);
}

struct place {
	const char *file;
	int line;
	const char *function;
};

static void record_message(struct trail__tp *tp, const struct place *at, const char *text,
			   size_t len, const void *ip)
{
	const struct trail__piece pieces[] = {
		{ LINE_CODE, 1, &at->line },
		{ STRING_CODE, 1, &at->file },
		{ STRING_CODE, 1, &at->function },
		{ TEXT_CODE, (unsigned int)len, text },
	};
	unsigned char buffer[TRAIL__HEADROOM + 2 * SHORT + TRAIL__SPARE],
		*data = buffer + TRAIL__HEADROOM;
	unsigned char *put = data, *end = data + SHORT;
	unsigned int skip = tp->event->field_count == 1 ? 3 : 0;
	uint32_t count = (uint32_t)len;

	if (!skip) {
		memcpy(put, &at->line, sizeof(at->line));
		put = trail__put_string(put + sizeof(at->line), end, at->file);
		put = put ? trail__put_string(put, end, at->function) : NULL;
	}
	if (!put || len + sizeof(count) > (size_t)(data + 2 * SHORT - put)) {
		trail__record_values(tp, pieces + skip, 4 - skip, 0, ip);
		return;
	}
	memcpy(put, &count, sizeof(count));
	memcpy(put + sizeof(count), text, len);
	trail__record_at(tp, data, (size_t)(put - data) + sizeof(count) + len, 0, ip);
}

/* errno is as the caller left it while the message is put together: it may be in there (%m). */
static void message(enum trail__log event, const struct place *at, const char *format, va_list args,
		    const void *ip) __attribute__((format(printf, 3, 0)));
static void message(enum trail__log event, const struct place *at, const char *format, va_list args,
		    const void *ip)
{
	struct trail__tp *tp = (unsigned int)event < TRAIL__LOG_COUNT ? &tps[event] : NULL;
	char on_stack[SHORT], *text = on_stack;
	int saved = errno, len;
	size_t size = 0;
	va_list again;

	if (!tp || !TRAIL__IS_ON(*tp))
		return;
	va_copy(again, args);
	errno = saved;
	len = vsnprintf(on_stack, sizeof(on_stack), format, args);
	if (len >= SHORT) {
		size = (size_t)len + 1;
		text = library_sealed ? MAP_FAILED
				     : mmap(NULL, size, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		errno = saved;
		if (text != MAP_FAILED && vsnprintf(text, size, format, again) != len)
			len = (int)strnlen(text, size - 1);
	}
	va_end(again);
	if (text == MAP_FAILED)
		record_lost(tp);
	else if (len >= 0)
		record_message(tp, at, text, (size_t)len, ip);
	if (size && text != MAP_FAILED)
		munmap(text, size);
	errno = saved;
}

TRAIL_EXPORT void trail__vtracef(const char *format, va_list args)
{
	static const struct place nowhere;

	message(TRAIL__LOG_TRACEF, &nowhere, format, args, __builtin_return_address(0));
}

TRAIL_EXPORT void trail__tracef(const char *format, ...)
{
	static const struct place nowhere;
	va_list args;

	va_start(args, format);
	message(TRAIL__LOG_TRACEF, &nowhere, format, args, __builtin_return_address(0));
	va_end(args);
}

TRAIL_EXPORT void trail__vtracelog(enum trail__log event, const char *file, int line,
				   const char *function, const char *format, va_list args)
{
	const struct place at = { file, line, function };

	message(event, &at, format, args, __builtin_return_address(0));
}

TRAIL_EXPORT void trail__tracelog(enum trail__log event, const char *file, int line,
				  const char *function, const char *format, ...)
{
	const struct place at = { file, line, function };
	va_list args;

	va_start(args, format);
	message(event, &at, format, args, __builtin_return_address(0));
	va_end(args);
}
