/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail dl pthread */
/*
 * otel_thread: events thread:note { n } without a span, in one, in another thread with another span
 * and in one that has used no variable of the SDK (libotelsdk.c), and with a record that is not
 * valid.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <trail/trail.h>

static void (*attach)(const uint8_t *trace, const uint8_t *span, int valid);

static void activate(uint8_t byte, int valid)
{
	uint8_t trace[16], span[8];

	memset(trace, byte, sizeof(trace));
	memset(span, byte + 1, sizeof(span));
	if (attach)
		attach(byte ? trace : NULL, span, valid);
}

static void note(int n)
{
	TRAIL(thread, note, n);
}

static void *other(void *arg)
{
	if (arg)
		activate(0x77, 1);
	note(arg ? 3 : 4);
	return NULL;
}

int main(void)
{
	void *symbol = dlsym(RTLD_DEFAULT, "otel_sdk_attach");
	pthread_t id;

	memcpy(&attach, &symbol, sizeof(attach));
	note(1);
	activate(0xab, 1);
	note(2);
	pthread_create(&id, NULL, other, &attach);
	pthread_join(id, NULL);
	pthread_create(&id, NULL, other, NULL);
	pthread_join(id, NULL);
	activate(0xab, 0);
	note(5);
	activate(0, 0);
	note(6);
	activate(0xcd, 1);
	note(7);
	return 0;
}
