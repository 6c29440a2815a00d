// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The queues of those who read `notifications`. Each open has its own, of a bounded size; what
 * finds no room is counted, and a line in the queue says how many that were.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "metadata/number.h"
#include "tracer/trigger/trigger.h"

#define QUEUE_MAX (64u << 10)           /* bytes of one queue */
#define USER_MAX (8u << 20)             /* bytes in all queues of one user's triggers */
#define READERS_MAX 1024u               /* of one trigger */
#define KEPT_MAX 1024u                  /* bytes of the buffer of a queue without lines */
#define NS 1000000000

/* A line of a queue. Its text follows. */
struct notice {
	size_t bytes;                   /* of the text */
	uint64_t count;                 /* notifications that it stands for */
};

struct notices {
	struct cds_list_head node;      /* in trigger.readers */
	struct trigger *trigger;        /* referenced */
	bool json;
	struct md_buf queue;            /* struct notice and text of each line: from `at` on */
	size_t at;
	size_t waiting;                 /* bytes of text that are not read yet */
	uint64_t unread;                /* notifications that the lines stand for */
	uint64_t lost;                  /* since the last line that says so */
	struct notices_watcher watcher; /* hold NULL: none */
	struct cds_list_head ready;     /* in triggers.ready while `held` */
	bool held;                      /* the watcher waits for serve() */
};

/* The queue is about to get something to read. */
static void announce_first(struct notices *n)
{
	if (n->waiting || n->lost || n->held || !n->watcher.hold)
		return;
	n->held = true;
	n->watcher.hold(n->watcher.arg);
	cds_list_add_tail(&n->ready, &triggers_of(n->trigger->tracer)->ready);
}

static size_t bytes_of(const struct triggers *all, uid_t uid)
{
	const struct trigger *trigger;
	const struct notices *n;
	size_t sum = 0;

	cds_list_for_each_entry(trigger, &all->list, node)
		if (trigger->uid == uid)
			cds_list_for_each_entry(n, &trigger->readers, node)
				sum += n->waiting;
	return sum;
}

/* Whether the owner's queues may have this many bytes more. */
static bool user_has_room(const struct trigger *trigger, size_t size)
{
	const struct triggers *all = triggers_of(trigger->tracer);

	return all->queue_bytes + size <= USER_MAX ||
	       bytes_of(all, trigger->uid) + size <= USER_MAX;
}

/* `[HH:MM:SS.NNNNNNNNN]`. Without printf(): its code is not in the cache when a rare hit comes. */
static void put_time(int64_t time, struct md_buf *out)
{
	char *o = md_buf_room(out, 20);

	if (!o)
		return;
	*o++ = '[';
	o = md_put_time_of_day(o, time / NS);
	*o++ = '.';
	o = md_put9(o, (uint32_t)(time % NS));
	*o = ']';
	out->len += 20;
}

static void print_line(const struct trigger *trigger, int64_t time, const struct values *v,
		       bool json, struct md_buf *out)
{
	size_t before;

	if (json) {
		md_buf_printf(out, "{\"time\":%" PRId64 ",\"trigger\":\"%s\",\"values\":{",
			      time, trigger->name);
		v->print(v, json, out);
		md_buf_puts(out, "}}\n");
		return;
	}
	put_time(time, out);
	md_buf_putc(out, ' ');
	md_buf_puts(out, trigger->name);
	md_buf_puts(out, " { ");
	before = out->len;
	v->print(v, json, out);
	md_buf_puts(out, out->len > before ? " }\n" : "}\n");
}

/* Forgets all lines. A small buffer stays for the next one. */
static void empty(struct notices *n)
{
	triggers_of(n->trigger->tracer)->queue_bytes -= n->waiting;
	n->waiting = 0;
	n->unread = 0;
	n->at = 0;
	if (!n->queue.failed && n->queue.size <= KEPT_MAX) {
		md_buf_reset(&n->queue);
		return;
	}
	md_buf_deinit(&n->queue);
	n->queue = (struct md_buf)MD_BUF_INIT;
}

/* Puts a line into the queue. If memory runs out, all lines of the queue are lost. */
static void put_line(struct notices *n, const struct md_buf *text, uint64_t count)
{
	struct notice line = { text->len, count };

	md_buf_put(&n->queue, &line, sizeof(line));
	md_buf_put(&n->queue, text->data, text->len);
	if (n->queue.failed || text->failed) {
		n->lost += n->unread + count;
		empty(n);
		return;
	}
	n->waiting += line.bytes;
	n->unread += count;
	triggers_of(n->trigger->tracer)->queue_bytes += line.bytes;
}

/* The line about lost notifications. Its time: when it was put into the queue. */
static void put_lost(struct notices *n)
{
	struct md_buf text = MD_BUF_INIT;
	uint64_t lost = n->lost;

	if (n->json)
		md_buf_printf(&text, "{\"trigger\":\"%s\",\"lost\":%" PRIu64 "}\n",
			      n->trigger->name, lost);
	else
		md_buf_printf(&text, "# %s: %" PRIu64 " notifications lost\n", n->trigger->name,
			      lost);
	n->lost = 0;
	put_line(n, &text, lost);
	md_buf_deinit(&text);
}

/* Makes the bytes that were read free. */
static void compact(struct notices *n)
{
	if (!n->waiting) {
		empty(n);
	} else if (n->at >= QUEUE_MAX) {
		n->queue.len -= n->at;
		memmove(n->queue.data, n->queue.data + n->at, n->queue.len);
		n->at = 0;
	}
}

static void add_line(struct notices *n, const struct md_buf *line)
{
	announce_first(n);
	if (n->waiting + line->len > QUEUE_MAX || line->failed ||
	    !user_has_room(n->trigger, line->len)) {
		n->lost++;
		n->trigger->lost++;
		return;
	}
	if (n->lost)
		put_lost(n);
	put_line(n, line, 1);
	n->trigger->sent++;
	compact(n);
}

void notices_send(struct trigger *trigger, int64_t time, const struct values *v)
{
	struct md_buf lines[2] = { MD_BUF_INIT, MD_BUF_INIT };
	struct notices *n;

	cds_list_for_each_entry(n, &trigger->readers, node) {
		/* A full queue takes no line: do not print one. */
		if (n->waiting >= QUEUE_MAX - 64) {
			n->lost++;
			trigger->lost++;
			continue;
		}
		if (!lines[n->json].len)
			print_line(trigger, time, v, n->json, &lines[n->json]);
		add_line(n, &lines[n->json]);
	}
	md_buf_deinit(&lines[0]);
	md_buf_deinit(&lines[1]);
}

void notices_lose(struct trigger *trigger, uint64_t count)
{
	struct notices *n;

	cds_list_for_each_entry(n, &trigger->readers, node) {
		announce_first(n);
		n->lost += count;
		trigger->lost += count;
	}
}

int notices_open(struct trigger *trigger, bool json, struct notices **out)
{
	struct triggers *all = triggers_of(trigger->tracer);
	struct notices *n = calloc(1, sizeof(*n));
	int ret = 0;

	if (!n)
		return -ENOMEM;
	n->json = json;
	n->trigger = trigger;
	pthread_mutex_lock(&all->lock);
	if (trigger->gone)
		ret = -ENOENT;
	else if (trigger->reader_count >= READERS_MAX)
		ret = -EMFILE;
	if (!ret) {
		trigger->refs++;
		trigger->reader_count++;
		cds_list_add_tail(&n->node, &trigger->readers);
	}
	pthread_mutex_unlock(&all->lock);
	if (ret)
		free(n);
	else
		*out = n;
	return ret;
}

/* Notifications that all readers of now got, or lost: a killed daemon's are in its counters. */
static uint64_t count_all(const struct trigger *trigger)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < trigger->action_count; i++)
		if (trigger->actions[i].kind == ACTION_NOTIFY)
			sum += trigger->actions[i].executed;
	return sum;
}

/* Notifications, also lost ones, that the reader does not know of. */
static uint64_t count_unread(const struct notices *n)
{
	return n->unread + n->lost;
}

uint64_t notices_number(struct notices *n)
{
	struct triggers *all = triggers_of(n->trigger->tracer);
	uint64_t number;

	pthread_mutex_lock(&all->lock);
	number = count_all(n->trigger) - count_unread(n);
	pthread_mutex_unlock(&all->lock);
	return number;
}

void notices_resume(struct notices *n, uint64_t number)
{
	struct triggers *all = triggers_of(n->trigger->tracer);
	uint64_t now;

	pthread_mutex_lock(&all->lock);
	/* Of what is in the queue already, the reader will know. */
	now = count_all(n->trigger) - count_unread(n);
	if (number < now) {
		n->lost += now - number;
		n->trigger->lost += now - number;
	}
	pthread_mutex_unlock(&all->lock);
}

/*
 * Copies whole lines, if one fits, so that no reader has a part of one when the daemon is killed;
 * else as much of the first as fits. Returns the bytes.
 */
static size_t take_lines(struct notices *n, char *buf, size_t size)
{
	size_t done = 0, bytes;
	struct notice line;

	while (done < n->waiting && done < size) {
		memcpy(&line, n->queue.data + n->at, sizeof(line));
		bytes = line.bytes < size - done ? line.bytes : size - done;
		if (done && bytes < line.bytes)
			break;
		memcpy(buf + done, n->queue.data + n->at + sizeof(line), bytes);
		done += bytes;
		n->at += bytes;
		line.bytes -= bytes;
		if (line.bytes) {
			memcpy(n->queue.data + n->at, &line, sizeof(line));
			break;
		}
		n->at += sizeof(line);
		n->unread -= line.count;
	}
	n->waiting -= done;
	return done;
}

ssize_t notices_read(struct notices *n, void *buf, size_t size)
{
	struct triggers *all = triggers_of(n->trigger->tracer);
	ssize_t ret;

	pthread_mutex_lock(&all->lock);
	if (!n->waiting && n->lost)
		put_lost(n);
	if (n->waiting) {
		size = take_lines(n, buf, size);
		all->queue_bytes -= size;
		compact(n);
		ret = (ssize_t)size;
	} else {
		ret = n->trigger->gone ? 0 : -EAGAIN;
	}
	pthread_mutex_unlock(&all->lock);
	return ret;
}

void notices_watch(struct notices *n, const struct notices_watcher *watcher)
{
	struct triggers *all = triggers_of(n->trigger->tracer);

	pthread_mutex_lock(&all->lock);
	n->watcher = *watcher;
	pthread_mutex_unlock(&all->lock);
}

void notices_serve(struct triggers *all)
{
	struct notices_watcher watcher;
	struct notices *n;

	pthread_mutex_lock(&all->lock);
	while (!cds_list_empty(&all->ready)) {
		n = cds_list_first_entry(&all->ready, struct notices, ready);
		cds_list_del(&n->ready);
		n->held = false;
		watcher = n->watcher;
		pthread_mutex_unlock(&all->lock);
		watcher.serve(watcher.arg);
		pthread_mutex_lock(&all->lock);
	}
	pthread_mutex_unlock(&all->lock);
}

void notices_close(struct notices *n)
{
	struct trigger *trigger;
	struct triggers *all;

	if (!n)
		return;
	trigger = n->trigger;
	all = triggers_of(trigger->tracer);
	pthread_mutex_lock(&all->lock);
	all->queue_bytes -= n->waiting;
	cds_list_del(&n->node);
	/* Of a watcher that does not keep the reader open until it is served. */
	if (n->held)
		cds_list_del(&n->ready);
	trigger->reader_count--;
	pthread_mutex_unlock(&all->lock);
	md_buf_deinit(&n->queue);
	free(n);
	trigger_put(trigger);
}
