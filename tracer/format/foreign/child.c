/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/foreign/child.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/pack.h"
#include "tracer/base/hash.h"
#include "tracer/format/foreign/fault.h"
#include "tracer/format/foreign/spawn.h"

#define LASTING_MS 60000        /* a process that lived so long has not failed at once */
#define PAUSE_MAX_S 60
#define PUNCH_BYTES (1u << 20)  /* a greater answer does not stay in the memory */
#define EVICT_TRIES 500         /* of 10 ms, while all processes of the user are in use */

struct line { int sock, memory; };

struct child {
	pthread_mutex_t lock;
	pthread_cond_t freed;   /* a line is free, or the process has ended */
	const char *path;
	const struct import_file *files;
	size_t file_count;
	uint64_t bytes;         /* of all files */
	uid_t uid;
	gid_t gid;
	pid_t pid;              /* 0: there is none; atomic: written under the lock */
	bool dead;              /* it has ended, and lines of it are in use */
	unsigned int busy;      /* a bit for each line that is in use */
	struct line lines[FOREIGN_LINES];
	bool opened;            /* digest is known */
	uint64_t digest;        /* of its model: the next process must have the same */
	unsigned int failures;  /* since one that lasted */
	int64_t started, used;  /* ms of CLOCK_MONOTONIC */
	int64_t next;           /* the same: when another one may start */
	struct child *after;  /* in the list; guarded by list_lock */
};

/* Guards the list of all. Taken inside child.lock; its holder only tries others' locks. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct child *list;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static unsigned int cpu_max(const struct child *p)
{
	unsigned int set = fault_seconds();

	return set ? set : FOREIGN_CPU_MAX + (unsigned int)(p->bytes >> FOREIGN_CPU_BYTES);
}

struct child *child_new(const char *path, const struct import_file *files, size_t file_count,
			    const struct owner *owner)
{
	struct child *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->path = path;
	p->files = files;
	p->file_count = file_count;
	p->uid = owner->uid;
	p->gid = owner->gid;
	for (size_t i = 0; i < file_count; i++)
		p->bytes += files[i].size >> 4; /* (A sum of sparse files must not overflow.) */
	p->bytes = p->bytes > UINT64_MAX >> 8 ? UINT64_MAX >> 4 : p->bytes << 4;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->freed, NULL);
	pthread_mutex_lock(&list_lock);
	p->after = list;
	list = p;
	pthread_mutex_unlock(&list_lock);
	return p;
}

/* ---- the end of a process ---- */

/* Caller holds the lock; no line is in use. */
static void close_lines(struct child *p)
{
	for (unsigned int i = 0; i < FOREIGN_LINES; i++) {
		close(p->lines[i].sock);
		close(p->lines[i].memory);
	}
	p->dead = false;
	__atomic_store_n(&p->pid, 0, __ATOMIC_RELAXED);
}

/* Ends a process that is idle, which is no failure. Caller holds the lock; no line is in use. */
static void retire(struct child *p)
{
	if (!p->pid)
		return;
	spawn_end(p->pid);
	close_lines(p);
}

/* Notes that it has ended, or ends it. Caller holds the lock. */
static void note_end(struct child *p, const char *what, char *why)
{
	int status;
	char end[100];

	*why = 0;
	if (p->dead)
		return;
	p->dead = true;
	status = spawn_end(p->pid);
	spawn_describe(status, end, sizeof(end));
	snprintf(why, REASON_SIZE, "%s: the process that reads the trace %s", p->path,
		 what ? what : end);
	if (now_ms() - p->started > LASTING_MS)
		p->failures = 0;
	/* The first time, another one starts at once. */
	p->next = now_ms();
	if (p->failures)
		p->next += 1000 * (p->failures > 6 ? PAUSE_MAX_S : 1 << (p->failures - 1));
	p->failures++;
}

void child_free(struct child *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&list_lock);
	for (struct child **at = &list; *at; at = &(*at)->after)
		if (*at == p) {
			*at = p->after;
			break;
		}
	pthread_mutex_unlock(&list_lock);
	retire(p);
	pthread_cond_destroy(&p->freed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* ---- its start ---- */

/* Ends the idle process of this user that was not used for the longest time. Caller: list_lock. */
static bool evict(const struct child *for_it, unsigned int *running)
{
	struct child *oldest = NULL;

	*running = 0;
	for (struct child *p = list; p; p = p->after) {
		if (p == for_it || p->uid != for_it->uid ||
		    !__atomic_load_n(&p->pid, __ATOMIC_RELAXED))
			continue;
		++*running;
		if (pthread_mutex_trylock(&p->lock))
			continue;
		if (p->pid && !p->busy && (!oldest || p->used < oldest->used)) {
			if (oldest)
				pthread_mutex_unlock(&oldest->lock);
			oldest = p;
		} else {
			pthread_mutex_unlock(&p->lock);
		}
	}
	if (oldest && *running >= PROCESSES_MAX)
		retire(oldest);
	if (oldest)
		pthread_mutex_unlock(&oldest->lock);
	return *running < PROCESSES_MAX || oldest;
}

static bool make_place(const struct child *p)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	unsigned int running;
	bool done = false;

	for (int i = 0; i < EVICT_TRIES && !done; i++) {
		pthread_mutex_lock(&list_lock);
		done = evict(p, &running);
		pthread_mutex_unlock(&list_lock);
		if (!done)
			nanosleep(&pause, NULL);
	}
	return done;
}

/* The list of the files, as read_table (serve.c) reads it. */
static void put_table(const struct child *p, struct md_buf *out)
{
	md_pack_string(out, p->path, true);
	for (size_t i = 0; i < p->file_count; i++) {
		const struct import_file *f = &p->files[i];

		md_pack_string(out, f->path, true);
		md_pack_number(out, f->size, 8);
		md_pack_number(out, (uint64_t)f->changed.tv_sec, 8);
		md_pack_number(out, (uint64_t)f->changed.tv_nsec, 8);
		md_pack_number(out, f->ends, 4);
	}
}

static int make_memory(void)
{
	int fd = memfd_create("trail-import", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && !ftruncate(fd, (off_t)FOREIGN_ANSWER_MAX) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* The lines; theirs: the process's ends of the sockets. 0 or -errno. */
static int make_lines(struct child *p, int theirs[FOREIGN_LINES])
{
	int ends[2], ret = 0;

	for (unsigned int i = 0; i < FOREIGN_LINES; i++) {
		bool made = !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);

		ret = made ? ret : -errno;
		p->lines[i] = (struct line){ made ? ends[0] : -1, make_memory() };
		ret = p->lines[i].memory < 0 && !ret ? -errno : ret;
		theirs[i] = made ? ends[1] : -1;
	}
	return ret;
}

/* Sends what a process gets at first. 0 or -errno. */
static int greet(const struct child *p, const int theirs[FOREIGN_LINES])
{
	struct greeting g = { .uid = p->uid, .gid = p->gid, .files = (uint32_t)p->file_count,
			      .cpu_max = cpu_max(p) };
	int fds[FOREIGN_FILES_PIECE], ret;
	struct md_buf table = MD_BUF_INIT;

	put_table(p, &table);
	g.table = table.len;
	ret = table.failed ? -ENOMEM
	      : pwrite(p->lines[0].memory, table.data, table.len, 0) == (ssize_t)table.len ? 0
											   : -EIO;
	md_buf_deinit(&table);
	for (unsigned int i = 0; i < FOREIGN_LINES; i++) {
		fds[i] = p->lines[i].memory;
		if (i)
			fds[FOREIGN_LINES - 1 + i] = theirs[i];
	}
	if (!ret)
		ret = spawn_send(p->lines[0].sock, &g, sizeof(g), fds, 2 * FOREIGN_LINES - 1);
	for (size_t i = 0; i < p->file_count && !ret; i += FOREIGN_FILES_PIECE) {
		uint32_t n = 0;

		while (n < FOREIGN_FILES_PIECE && i + n < p->file_count)
			fds[n] = p->files[i + n].fd, n++;
		ret = spawn_send(p->lines[0].sock, &n, sizeof(n), fds, n);
	}
	return ret;
}

/* ---- asks ---- */

/* Appends the bytes of an answer. 0, -ENOMEM or -EIO. */
static int take_bytes(const struct line *l, uint64_t n, struct md_buf *out)
{
	char *to = md_buf_room(out, n);
	size_t done = 0;

	if (!to)
		return -ENOMEM;
	while (done < n) {
		ssize_t r = pread(l->memory, to + done, n - done, (off_t)done);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return -EIO;
		done += (size_t)r;
	}
	out->len += n;
	if (n > PUNCH_BYTES)
		fallocate(l->memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)n);
	return 0;
}

/* A sentence of the process: it may have any bytes. */
static void clean_sentence(struct tr_err *err)
{
	char *texts[] = { err->sentence, err->text };

	err->sentence[sizeof(err->sentence) - 1] = 0;
	err->text[sizeof(err->text) - 1] = 0;
	for (int i = 0; i < 2; i++)
		for (char *c = texts[i]; *c; c++)
			if ((unsigned char)*c < ' ' && *c != '\t')
				*c = '?';
	if (err->column < -1 || err->column > (int)strlen(err->text))
		err->column = -1;
}

/*
 * Sends an ask on a line and waits for the answer. 0: there is a valid one; 1: there is none, and
 * *what says why, or is NULL if the process has ended.
 */
static int exchange(const struct child *p, const struct line *l, const struct ask *q,
		    struct answer *a, const char **what)
{
	*what = NULL;
	if (send(l->sock, q, sizeof(*q), MSG_NOSIGNAL) != (ssize_t)sizeof(*q))
		return 1;
	if (!spawn_wait(l->sock, p->pid, cpu_max(p), what) ||
	    recv(l->sock, a, sizeof(*a), MSG_DONTWAIT) != (ssize_t)sizeof(*a))
		return 1;
	clean_sentence(&a->err);
	if (a->ret > 1 || a->ret < -4095 || a->bytes > FOREIGN_ANSWER_MAX ||
	    (a->ret < 0 && a->bytes)) {
		*what = "gave an answer that is not valid; it was ended";
		return 1;
	}
	return 0;
}

/* Makes the process and greets it. 0 or -errno; -EPIPE: it ended at once. Caller holds the lock. */
static int make_process(struct child *p)
{
	int theirs[FOREIGN_LINES];
	pid_t pid = 0;
	int ret = make_lines(p, theirs);

	if (!ret)
		ret = spawn_start(theirs[0], &pid);
	if (!ret) {
		__atomic_store_n(&p->pid, pid, __ATOMIC_RELAXED);
		p->started = now_ms();
		ret = greet(p, theirs) ? -EPIPE : 0;
	}
	for (unsigned int i = 0; i < FOREIGN_LINES; i++)
		if (theirs[i] >= 0)
			close(theirs[i]);
	if (ret && !pid)
		close_lines(p);
	return ret;
}

/* The model that the process sends: it is always the same. 0 or -errno with a sentence. */
static int check_model(struct child *p, const char *model, size_t n, struct tr_err *err)
{
	uint64_t digest = hash_bytes(HASH_START, model, n);

	if (p->opened && digest != p->digest)
		return tr_fail(err, -ESTALE, "%s: the trace has changed since it was opened; write "
			       "the path to `input` again", p->path);
	p->opened = true;
	p->digest = digest;
	return 0;
}

/* Caller holds the lock; no line is in use and there is no process. As child_open. */
static int start(struct child *p, struct md_buf *out, struct tr_err *err)
{
	const struct ask q = { .what = ASK_OPEN };
	size_t before = out->len;
	const char *what = NULL;
	char why[REASON_SIZE];
	struct answer a;
	int ret;

	/* `error` has a sentence about the end of the one before. */
	if (now_ms() < p->next)
		return -EIO;
	if (!make_place(p))
		return tr_fail(err, -EAGAIN, "%u inputs of the user are being read: try again",
			       PROCESSES_MAX);
	ret = make_process(p);
	if (ret && !p->pid)
		return tr_fail(err, ret, "the process that reads the trace cannot be started: %s",
			       strerror(-ret));
	if (ret || exchange(p, &p->lines[0], &q, &a, &what)) {
		note_end(p, what, why);
		close_lines(p);
		return tr_fail(err, -EIO, "%s", why);
	}
	ret = a.ret;
	if (ret < 0)
		*err = a.err;
	else if ((ret = take_bytes(&p->lines[0], a.bytes, out)))
		tr_fail(err, ret, "out of memory");
	else
		ret = check_model(p, out->data + before, out->len - before, err);
	if (ret)
		retire(p);
	return ret;
}

int child_open(struct child *p, struct md_buf *out, struct tr_err *err)
{
	int ret;

	pthread_mutex_lock(&p->lock);
	ret = start(p, out, err);
	p->used = now_ms();
	pthread_mutex_unlock(&p->lock);
	return ret;
}

/* Waits for a line, and starts the process if there is none. Its number, or -errno with `why`. */
static int take_line(struct child *p, char *why)
{
	struct md_buf model = MD_BUF_INIT;
	struct tr_err err = TR_ERR_INIT;
	int ret = 0;

	*why = 0;
	pthread_mutex_lock(&p->lock);
	while (p->dead || p->busy == (1u << FOREIGN_LINES) - 1)
		pthread_cond_wait(&p->freed, &p->lock);
	if (!p->pid && (ret = start(p, &model, &err)))
		snprintf(why, REASON_SIZE, "%s", err.sentence);
	if (!ret) {
		ret = __builtin_ctz(~p->busy);
		p->busy |= 1u << ret;
	}
	pthread_mutex_unlock(&p->lock);
	md_buf_deinit(&model);
	return ret;
}

/* lost: the process is of no use any more. */
static void give_line(struct child *p, int line, bool lost, const char *what, char *why)
{
	pthread_mutex_lock(&p->lock);
	if (lost)
		note_end(p, what, why);
	p->busy &= ~(1u << line);
	p->used = now_ms();
	if (p->dead && !p->busy)
		close_lines(p);
	pthread_cond_broadcast(&p->freed);
	pthread_mutex_unlock(&p->lock);
}

int child_ask(struct child *p, const struct ask *q, struct answer *a, struct md_buf *out,
		char why[REASON_SIZE])
{
	const char *what = NULL;
	int line = take_line(p, why), ret = 0;
	bool lost;

	if (line < 0)
		return line;
	lost = exchange(p, &p->lines[line], q, a, &what) != 0;
	if (!lost && a->ret >= 0)
		ret = take_bytes(&p->lines[line], a->bytes, out);
	if (!lost && a->ret < 0)
		snprintf(why, REASON_SIZE, "%s", a->err.sentence);
	else if (lost)
		a->at = q->at;
	give_line(p, line, lost, what, why);
	return lost ? -EIO : ret ? ret : a->ret;
}

int child_refuse(struct child *p, const char *what, char why[REASON_SIZE])
{
	pthread_mutex_lock(&p->lock);
	*why = 0;
	if (p->pid) {
		note_end(p, what, why);
		if (!p->busy)
			close_lines(p);
	}
	pthread_mutex_unlock(&p->lock);
	return -EIO;
}
