/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that reads a foreign trace: what it is sent, its threads, its answers. Its main
 * thread serves the first line, and one more thread each other line. It ends when the daemon closes
 * its sockets.
 */
#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/ring/seal.h"
#include "tracer/format/foreign/confine.h"
#include "tracer/format/foreign/fault.h"
#include "tracer/format/foreign/foreign.h"
#include "tracer/format/foreign/model.h"
#include "tracer/format/foreign/protocol.h"

#define KEEP_BYTES (4u << 20)   /* of a buffer between two answers */
#define AHEAD_STREAMS 8u        /* streams of whose next events a line keeps a copy */
#define AHEAD_BYTES (1u << 20)  /* more events than these are not kept */
#define STACK_BYTES (1u << 20)
#define SORT_WARM 2048          /* bytes: qsort() asks for the size of the memory above 1024 */

static struct import im;
static struct import_file *files;
static unsigned int cpu_max;
static int sockets[FOREIGN_LINES], memories[FOREIGN_LINES];

/* ---- what the daemon sends at first ---- */

/* Receives a message of `size` bytes with `count` descriptors. False: it is another one. */
static bool receive(void *data, size_t size, int *fds, size_t count)
{
	union files_message c;
	struct iovec iov = { data, size };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c,
			    .msg_controllen = sizeof(c) };
	struct cmsghdr *h;
	ssize_t n;

	do
		n = recvmsg(FOREIGN_SOCKET, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	h = n == (ssize_t)size ? CMSG_FIRSTHDR(&m) : NULL;
	if (!h || h->cmsg_type != SCM_RIGHTS || h->cmsg_len != CMSG_LEN(count * sizeof(int)))
		return false;
	memcpy(fds, CMSG_DATA(h), count * sizeof(int));
	return true;
}

static bool receive_files(size_t count)
{
	int fds[FOREIGN_FILES_PIECE];
	uint32_t n;

	for (size_t i = 0; i < count; i += n) {
		size_t want = count - i < FOREIGN_FILES_PIECE ? count - i : FOREIGN_FILES_PIECE;

		if (!receive(&n, sizeof(n), fds, want) || n != want)
			return false;
		for (size_t j = 0; j < n; j++)
			files[i + j].fd = fds[j];
	}
	return true;
}

/* The list of the files, as child.c writes it. */
static bool read_table(const struct greeting *g)
{
	char *bytes = malloc(g->table + 1);
	struct md_unpack in = { .p = (const uint8_t *)bytes, .whole = true, .room = SIZE_MAX };

	files = calloc((size_t)g->files + 1, sizeof(*files));
	if (!bytes || !files || pread(memories[0], bytes, g->table, 0) != (ssize_t)g->table)
		return false;
	in.end = in.p + g->table;
	im.path = md_unpack_string(&in);
	for (uint32_t i = 0; i < g->files; i++) {
		struct import_file *f = &files[i];

		f->path = md_unpack_string(&in);
		f->size = md_unpack_number(&in, 8);
		f->changed.tv_sec = (time_t)md_unpack_number(&in, 8);
		f->changed.tv_nsec = (long)md_unpack_number(&in, 8);
		f->ends = (uint32_t)md_unpack_number(&in, 4);
	}
	free(bytes);
	im.files = files;
	im.file_count = g->files;
	return !in.bad && !in.no_memory && im.path;
}

/* ---- asks ---- */

static bool add_packet(void *out, const struct input_packet *p)
{
	md_buf_put(out, p, sizeof(*p));
	return true;
}

static void put_losses(const struct input *in, struct answer *a, struct md_buf *out)
{
	struct input_losses l = { .lines = "" };

	in->losses(in, &l);
	a->events = l.events;
	a->packets = l.packets;
	a->count = l.count;
	md_buf_put(out, l.list, l.count * sizeof(*l.list));
	md_buf_puts(out, l.lines);
}

/* -errno or more, as struct answer has it. */
static int run_ask(const struct ask *q, struct answer *a, struct md_buf *out)
{
	const struct input *in = q->stream < im.stream_count ? im.streams[q->stream].in : NULL;
	int ret;

	fault_happen(&im, q->what == ASK_OPEN ? "open" : "read", out);
	if (q->what == ASK_OPEN) {
		ret = import_open(&im, &a->err);
		if (!ret)
			model_pack(&im, out);
		return ret;
	}
	if (q->what == ASK_READ && in)
		return in->read(in, &a->at, q->want, out, &a->cpu);
	if (q->what == ASK_PACKETS && in && in->packets)
		return in->packets(in, add_packet, out);
	if (q->what == ASK_LOSSES && in && in->losses) {
		put_losses(in, a, out);
		return 0;
	}
	return -EINVAL;
}

static int write_bytes(int fd, const struct md_buf *out)
{
	size_t done = 0;

	while (done < out->len) {
		ssize_t n = pwrite(fd, out->data + done, out->len - done, (off_t)done);

		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

/* Finds the answer; its bytes stay in out. */
static void find_answer(const struct ask *q, struct answer *a, struct md_buf *out)
{
	int ret;

	*a = (struct answer){ .at = q->at, .err = TR_ERR_INIT };
	if (out->size > KEEP_BYTES)
		md_buf_deinit(out);
	md_buf_reset(out);
	confine_time(cpu_max);
	import_reported();
	ret = run_ask(q, a, out);
	if (ret < 0 && q->what != ASK_OPEN)
		tr_fail(&a->err, ret, "%s", import_reported());
	if (ret >= 0 && out->failed)
		ret = q->what == ASK_OPEN ? tr_fail(&a->err, -ENOMEM, "out of memory") : -ENOMEM;
	if (ret >= 0 && out->len > FOREIGN_ANSWER_MAX)
		ret = tr_fail(&a->err, -EFBIG, "an event, or a list, has more than %u MiB",
			      (unsigned int)(FOREIGN_ANSWER_MAX >> 20));
	a->ret = ret;
	a->bytes = ret < 0 ? 0 : out->len;
}

/*
 * The events that a reader of a stream asks for next, found while it uses those before. A reader
 * takes all events of a stream in pieces, so it waits for the first one only.
 */
struct ahead {
	bool found;
	struct ask q;
	struct answer a;
	struct md_buf out;
};

static struct ahead ahead[FOREIGN_LINES][AHEAD_STREAMS];

static bool is_found(const struct ahead *h, const struct ask *q)
{
	return h->found && q->what == h->q.what && q->stream == h->q.stream &&
	       q->want == h->q.want && !memcmp(&q->at, &h->q.at, sizeof(q->at));
}

/* Looks ahead of the answer, if the reader can come back for more. */
static void look_ahead(struct ahead *h, const struct ask *q, const struct answer *a)
{
	if (q->what != ASK_READ || a->ret != 1 || !memcmp(&a->at, &q->at, sizeof(a->at)) ||
	    fault_seconds())
		return;
	h->q = (struct ask){ ASK_READ, q->stream, a->at, q->want };
	find_answer(&h->q, &h->a, &h->out);
	/* What is not there yet may come; a failure is looked at when it is asked for. */
	h->found = h->a.ret == 1 && h->out.len <= AHEAD_BYTES;
	if (!h->found)
		md_buf_deinit(&h->out);
}

/* Never returns: the end of the socket ends the process. */
static void serve_line(size_t i)
{
	struct md_buf out = MD_BUF_INIT, *bytes;
	struct answer own, *a;
	struct ahead *h;
	struct ask q;

	for (;;) {
		ssize_t n = recv(sockets[i], &q, sizeof(q), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(q))
			_exit(n ? 1 : 0);
		h = &ahead[i][q.stream % AHEAD_STREAMS];
		a = is_found(h, &q) ? &h->a : &own;
		bytes = a == &own ? &out : &h->out;
		if (a == &own)
			find_answer(&q, a, bytes);
		if (a->ret >= 0 && write_bytes(memories[i], bytes)) {
			a->ret = -ENOMEM;
			a->bytes = 0;
		}
		own = *a;
		h->found = h->found && a != &h->a;
		if (send(sockets[i], &own, sizeof(own), MSG_NOSIGNAL) != (ssize_t)sizeof(own))
			_exit(0);
		look_ahead(h, &q, &own);
	}
}

/* ---- the process ---- */

static int compare_bytes(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

/* Has the libraries open now what they would open later, when that is not allowed any more. */
static void warm_up(void)
{
	char bytes[SORT_WARM] = { 0 };

	tzset();
	seal_prepare();
#ifdef __GLIBC__
	/* To give memory of another arena back, glibc opens /proc/sys/vm/overcommit_memory. */
	mallopt(M_ARENA_MAX, 1);
#endif
	qsort(bytes, sizeof(bytes), 1, compare_bytes);
}

/* All threads have begun: until then each needs system calls that are not allowed later. */
static pthread_barrier_t begun;

static void *run_line(void *number)
{
	pthread_barrier_wait(&begun);
	serve_line((uintptr_t)number);
	return NULL;
}

static bool start_threads(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool done = !pthread_attr_init(&attr) &&
		    !pthread_barrier_init(&begun, NULL, FOREIGN_LINES);

	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (uintptr_t i = 1; i < FOREIGN_LINES && done; i++)
		done = !pthread_create(&thread, &attr, run_line, (void *)i);
	if (done)
		pthread_barrier_wait(&begun);
	return done;
}

int foreign_main(void)
{
	int fds[2 * FOREIGN_LINES - 1];
	struct greeting g;

	/* Nothing of the daemon's but the socket. */
	close_range(FOREIGN_SOCKET + 1, ~0u, 0);
	fcntl(FOREIGN_SOCKET, F_SETFD, FD_CLOEXEC);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_NAME, "trail-import");
	if (!receive(&g, sizeof(g), fds, 2 * FOREIGN_LINES - 1))
		return 2;
	sockets[0] = FOREIGN_SOCKET;
	memcpy(memories, fds, sizeof(memories));
	memcpy(sockets + 1, fds + FOREIGN_LINES, (FOREIGN_LINES - 1) * sizeof(int));
	cpu_max = g.cpu_max;
	if (confine_rights(g.uid, g.gid, g.files))
		return 3;
	warm_up();
	if (!read_table(&g) || !receive_files(g.files))
		return 2;
	if (!start_threads() || confine_calls())
		return 4;
	serve_line(0);
	return 0;
}
