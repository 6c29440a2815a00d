/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * asker DIRECTORY: an application without a library. Registers the tracepoints my_app:request {
 * int32 id; string path; nowrite uint32 size } (level 4), my_app:other { double id } (14) and
 * my_app:empty (6) in $TRAIL_RUNTIME_DIR, then obeys lines from standard input (ASKER_WORD: value
 * of this daemon's byte of all state words at first): `words` (its state words) and `plan`
 * (attaches, and tells what it got). Answers are files DIRECTORY/1, 2 …
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/lib/regs.h"
#include "tracer/abi/filter_interp.h"
#include "tracer/abi/ring.h"

static char name[33], state_dir[108];
static uint32_t state_offset, event_count;
static int file = -1;

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void set_up(struct regs *r)
{
	*r = (struct regs){ .strings = MD_BUF_INIT };
	r->object = regs_string(r, "/bin/asker");
	regs_event(r, "my_app", "request", 4);
	regs_field(r, "id", TRAIL_KIND_INT, 4, TRAIL_FIELD_SIGNED, 0);
	regs_field(r, "path", TRAIL_KIND_STRING, 0, 0, 0);
	regs_field(r, "size", TRAIL_KIND_INT, 4, TRAIL_FIELD_NOWRITE, 0);
	regs_event(r, "my_app", "other", 14);
	regs_field(r, "id", TRAIL_KIND_FLOAT, 8, 0, 0);
	regs_event(r, "my_app", "empty", 6);
	for (uint32_t i = 0; i < r->event_count; i++)
		r->events[i].uri = TRAIL_NO_STRING;
}

static void enrol(void)
{
	char path[200], hidden[200];
	struct md_buf b = MD_BUF_INIT;
	const char *first = getenv("ASKER_WORD");
	struct trail_reg *reg;
	struct regs r;

	set_up(&r);
	reg = regs_file(&r, &b);
	reg->pid = (uint32_t)getpid();
	state_offset = reg->state_offset;
	event_count = reg->event_count;
	for (uint32_t e = 0; first && e < event_count; e++)
		b.data[state_offset + 4 * e + (geteuid() ? TRAIL_LANE_USER : TRAIL_LANE_ROOT)] =
			(char)atoi(first);
	snprintf(name, sizeof(name), "%032x", (unsigned int)getpid());
	snprintf(path, sizeof(path), "%s/apps/%s", state_dir, name);
	snprintf(hidden, sizeof(hidden), "%s/apps/.%s", state_dir, name);
	file = open(hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0 || write(file, b.data, b.len) != (ssize_t)b.len || flock(file, LOCK_EX) < 0 ||
	    rename(hidden, path) < 0)
		die(path);
	md_buf_deinit(&b);
	md_buf_deinit(&r.strings);
}

static void put_words(FILE *out)
{
	uint32_t word;

	for (uint32_t e = 0; e < event_count; e++) {
		if (pread(file, &word, sizeof(word), state_offset + 4 * (off_t)e) !=
		    (ssize_t)sizeof(word))
			die("pread");
		fprintf(out, "word %u %u\n", e,
			word >> (geteuid() ? 8 * TRAIL_LANE_USER : 0) & 255);
	}
}

static int dial(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	union {
		struct trail_hello head;
		uint8_t bytes[sizeof(struct trail_hello) + 16];
	} msg = { .head = {
			  .magic = TRAIL_HELLO_MAGIC,
			  .version = TRAIL_ABI_VERSION,
			  .word_bits = 64,
			  .lane = geteuid() ? TRAIL_LANE_USER : TRAIL_LANE_ROOT,
			  .object_count = 1,
		  } };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.90s/socket", state_dir);
	for (unsigned int i = 0; i < 16; i++)
		sscanf(name + 2 * i, "%2hhx", &msg.head.objects[0][i]);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    send(fd, &msg, sizeof(msg), 0) < 0)
		die("attach");
	return fd;
}

/* What a filter says to requests of some numbers. */
static void try_program(FILE *out, const uint8_t *program, uint32_t size)
{
	fprintf(out, " passes ");
	for (int32_t id = 0; id < 10; id++) {
		uint8_t payload[16];
		uint32_t bytes = 100;
		struct filter_input in = { .payload = payload, .len = 10 };

		memcpy(payload, &id, 4);
		memcpy(payload + 4, "x", 2);
		memcpy(payload + 6, &bytes, 4);
		if (filter_verify(program, size) && filter_run(program, size, &in))
			fprintf(out, ",%d", id);
	}
}

static void put_plan(FILE *out, const struct trail_plan *p, size_t size, const int *fds)
{
	const struct trail_plan_region *regions = (const void *)(p + 1);
	const struct trail_plan_context *contexts = (const void *)(regions + p->region_count);
	const struct trail_plan_slot *slots = (const void *)(contexts + p->context_count);
	const uint8_t *blob = (const void *)(slots + p->slot_count);
	uint8_t on;

	if (blob + p->blob_size != (const uint8_t *)p + size)
		die("the plan's size");
	fprintf(out, "statedump %llu\n", (unsigned long long)p->statedump);
	for (uint32_t i = 0; i < p->region_count; i++) {
		fprintf(out, "region %u blocking %llu contexts", i,
			(unsigned long long)regions[i].blocking);
		for (uint32_t k = 0; k < regions[i].context_count; k++) {
			const struct trail_plan_context *c =
				&contexts[regions[i].first_context + k];

			fprintf(out, " %u", c->kind);
			if (c->kind == TRAIL_CONTEXT_APP)
				fprintf(out, ":%s", (const char *)blob + c->name);
			if (c->kind == TRAIL_CONTEXT_PERF)
				fprintf(out, ":%u:%llu", c->perf_type,
					(unsigned long long)c->perf_config);
		}
		fprintf(out, "\n");
	}
	for (uint32_t i = 0; i < p->slot_count; i++) {
		const struct trail_plan_slot *s = &slots[i];

		fprintf(out, "slot event %u region %u id %u word %u on %u", s->event, s->region,
			s->id, s->word, s->on);
		if (pread(fds[s->region], &on, 1, TRAIL_PAGE + (off_t)s->id) != 1 || on != s->on)
			fprintf(out, " but the switch says %u", on);
		if (s->program_size)
			try_program(out, blob + s->program, s->program_size);
		fprintf(out, "\n");
	}
}

static void attach(FILE *out)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * (TRAIL_REGION_MAX + 1))];
		struct cmsghdr align;
	} control;
	struct trail_answer answer;
	struct iovec iov = { &answer, sizeof(answer) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.buf,
			      .msg_controllen = sizeof(control.buf) };
	int fd = dial(), fds[TRAIL_REGION_MAX + 1];
	struct cmsghdr *c = NULL;
	void *plan;
	ssize_t n;

	do {
		msg.msg_controllen = sizeof(control.buf);
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	} while (n == (ssize_t)sizeof(answer) && answer.magic == TRAIL_ALIVE_MAGIC);
	if (n != (ssize_t)sizeof(answer) || !(c = CMSG_FIRSTHDR(&msg)) ||
	    c->cmsg_len != CMSG_LEN(sizeof(int) * (answer.region_count + 1)))
		die("the answer");
	memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	plan = malloc(answer.plan_size);
	if (!plan || pread(fds[0], plan, answer.plan_size, 0) != (ssize_t)answer.plan_size)
		die("the plan");
	put_plan(out, plan, answer.plan_size, fds + 1);
	free(plan);
	for (uint32_t i = 0; i <= answer.region_count; i++)
		close(fds[i]);
	if (send(fd, "", 1, MSG_NOSIGNAL) != 1)
		die("send");
	close(fd);
}

int main(int argc, char **argv)
{
	const char *dir = getenv("TRAIL_RUNTIME_DIR");
	char line[64], path[2][300];

	if (argc < 2 || !dir || strlen(dir) > 90)
		return 2;
	snprintf(state_dir, sizeof(state_dir), "%s", dir);
	enrol();
	for (int n = 1; fgets(line, sizeof(line), stdin); n++) {
		FILE *out;

		snprintf(path[0], sizeof(path[0]), "%s/new", argv[1]);
		snprintf(path[1], sizeof(path[1]), "%s/%d", argv[1], n);
		out = fopen(path[0], "w");
		if (!out)
			die(path[0]);
		if (!strcmp(line, "plan\n"))
			attach(out);
		else
			put_words(out);
		fclose(out);
		rename(path[0], path[1]);
	}
	return 0;
}
