/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * otel_process HOW: in place of an OpenTelemetry SDK that publishes the context of the process, as
 * OTEP 4719 says, and an event process:note { how, n } for each step. HOW: memfd, anon (where
 * memfd_create is forbidden), late, update, fork, drop, or a mistake in what is published.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <trail/trail.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

struct context {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published, payload;
};

static const char *how;
static struct context *context;
static uint8_t payload[40000];

/* ---- ProcessContext { resource { attributes { key value { string_value } } … } } ---- */

static size_t put(uint8_t *to, uint8_t key, const void *bytes, size_t n)
{
	size_t at = 0;

	to[at++] = key;
	to[at++] = (uint8_t)(n | 128);
	to[at++] = (uint8_t)(n >> 7);
	memcpy(to + at, bytes, n);
	return at + n;
}

static size_t attribute(uint8_t *to, const char *key, const uint8_t *value, size_t n)
{
	uint8_t both[1000];
	size_t at = put(both, 1 << 3 | 2, key, strlen(key));

	at += put(both + at, 2 << 3 | 2, value, n);
	return put(to, 1 << 3 | 2, both, at);
}

static size_t text(uint8_t *to, const char *key, const char *s)
{
	uint8_t value[1000];

	return attribute(to, key, value, put(value, 1 << 3 | 2, s, strlen(s)));
}

static size_t encode(const char *version)
{
	static const uint8_t yes[] = { 2 << 3, 1 },
			     minus[] = "\030\373\377\377\377\377\377\377\377\377\1";
	static uint8_t resource[4000];
	char secret[300];
	size_t n = text(resource, "host.name", "first");

	memset(secret, 's', sizeof(secret) - 1);
	secret[sizeof(secret) - 1] = 0;
	n += text(resource + n, "too.long", secret);
	n += attribute(resource + n, "is.test", yes, sizeof(yes));
	n += attribute(resource + n, "number", minus, sizeof(minus) - 1);
	n += text(resource + n, "text", "a=b, \"c\" \303\251%");
	n += text(resource + n, "service.version", version);
	n += text(resource + n, "service.name", "shop");
	n = put(payload, 1 << 3 | 2, resource, n);
	return n + put(payload + n, 2 << 3 | 2, "\n\003not\022\003\n\001x", 10);
}

/* ---- the mapping ---- */

static struct context *map_context(void)
{
	int fd = strcmp(how, "anon") ? memfd_create("OTEL_CTX", MFD_CLOEXEC) : -1;
	void *p;

	if (fd >= 0 && ftruncate(fd, sizeof(struct context)))
		exit(2);
	p = mmap(NULL, sizeof(struct context), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	if (p == MAP_FAILED || madvise(p, sizeof(struct context), MADV_DONTFORK))
		exit(2);
	if (fd >= 0)
		close(fd);
	return p;
}

static void publish(const char *version)
{
	struct timespec now;

	if (!context)
		context = map_context();
	__atomic_store_n(&context->published, 0, __ATOMIC_SEQ_CST);
	context->payload_size = (uint32_t)encode(version);
	context->payload = (uintptr_t)payload;
	memcpy(context->signature, "OTEL_CTX", 8);
	context->version = 2;
	if (!strcmp(how, "signature"))
		context->signature[7] = 'Y';
	else if (!strcmp(how, "version"))
		context->version = 3;
	else if (!strcmp(how, "address"))
		context->payload = 16;
	else if (!strcmp(how, "wild"))
		context->payload = UINT64_MAX - 8;
	else if (!strcmp(how, "size"))
		context->payload_size = UINT32_MAX;
	else if (!strcmp(how, "large"))
		context->payload_size = sizeof(payload);
	else if (!strcmp(how, "cut"))
		context->payload_size -= 40;
	else if (!strcmp(how, "noise"))
		memset(payload, 0xff, context->payload_size);
	else if (!strcmp(how, "empty"))
		context->payload_size = 0;
	clock_gettime(CLOCK_BOOTTIME, &now);
	if (strcmp(how, "changing"))
		__atomic_store_n(&context->published,
				 (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
				 __ATOMIC_SEQ_CST);
	if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, context, sizeof(*context), "OTEL_CTX") &&
	    !strcmp(how, "anon"))
		exit(77);
}

static void note(int n)
{
	TRAIL(process, note, how, n);
}

int main(int argc, char **argv)
{
	pid_t child;

	how = argc > 1 ? argv[1] : "memfd";
	if (!strcmp(how, "late")) {
		note(1);
		publish("1.2");
		sleep(3);
	} else {
		publish("1.2");
	}
	note(2);
	if (!strcmp(how, "update")) {
		publish("1.3");
		sleep(2);
		note(3);
	} else if (!strcmp(how, "drop")) {
		munmap(context, sizeof(*context));
		note(3);
		sleep(2);
		note(4);
	} else if (!strcmp(how, "fork")) {
		child = fork();
		if (!child) {
			note(3);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		note(4);
	}
	return 0;
}
