/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * For LD_PRELOAD, in place of an OpenTelemetry SDK that publishes the context of threads (OTEP
 * 4947): otel_sdk_attach() makes the ids active in this thread; NULL: none are.
 */
#include <stdint.h>
#include <string.h>

struct record {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t size;
};

extern __thread struct record *otel_thread_ctx_v1;
__thread struct record *otel_thread_ctx_v1;

void otel_sdk_attach(const uint8_t *trace, const uint8_t *span, int valid);
void otel_sdk_attach(const uint8_t *trace, const uint8_t *span, int valid)
{
	static __thread struct record record;

	otel_thread_ctx_v1 = NULL;
	if (!trace)
		return;
	memcpy(record.trace, trace, 16);
	memcpy(record.span, span, 8);
	record.valid = (uint8_t)valid;
	otel_thread_ctx_v1 = &record;
}
