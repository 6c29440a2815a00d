// SPDX-License-Identifier: GPL-2.0-or-later
/* `control`: the verbs of a session. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "tracer/kernel/available.h"
#include "tracer/output/output.h"
#include "tracer/session/session.h"
#include "tracer/base/base.h"
#include "tracer/output/snapshot/snapshot.h"
#include "tracer/verb/reclaim.h"
#include "tracer/verb/steps.h"
#include "tracer/verb/verbs.h"

/* Sets a number that no session had before, including those of earlier daemons. */
static void request_statedump(struct session *s)
{
	uint64_t now = (uint64_t)wall_clock(), *last = &s->tracer->last_statedump;

	*last = now > *last ? now : *last + 1;
	s->statedump = *last;
}

/*
 * Memory and swap of the machine; buffers can be swapped. The code that makes the kernel's rings,
 * which cannot, refuses sizes that are too large.
 */
static uint64_t memory_of_machine(void)
{
	struct sysinfo info;

	return sysinfo(&info) < 0 ? UINT64_MAX
				  : ((uint64_t)info.totalram + info.totalswap) * info.mem_unit;
}

int session_start(struct session *s, struct tr_err *err)
{
	struct channel *c;
	uint64_t bytes = 0;
	int ret = 0;

	ret = session_check_alive(s, err);
	if (ret)
		return ret;
	if (s->active)
		return tr_fail(err, -EBUSY, "the session is active already");
	if (!session_has_work(s))
		return tr_fail(err, -EINVAL,
			       "nothing to record: write an event rule to user/events or to "
			       "kernel/events first");
	cds_list_for_each_entry(c, &s->channels, node)
		if (channel_room(c, &bytes))
			return tr_fail(err, -EDQUOT,
				       "channel %s: the limit of buffers of user %u is reached "
				       "(user_buffers)",
				       c->name, s->uid);
	/*
	 * Pages are allocated when they are filled. Without this check, applications would meet the
	 * shortage, and the kernel would kill some.
	 */
	if (bytes > memory_of_machine())
		return tr_fail(err, -ENOMEM,
			       "the buffers would have %" PRIu64
			       " bytes, which is more than this machine's memory",
			       bytes);
	cds_list_for_each_entry(c, &s->channels, node)
		if (!ret && (!c->kernel || kernel_is_open(s->tracer)))
			ret = channel_start(c, err);
	for_each_part(p, s->tracer)
		if (!ret && (*p)->start)
			ret = LOCKED(s->tracer, (*p)->start(s, err));
	if (ret)
		return ret;
	s->active = true;
	if (!s->starts++)
		session_clear_parts(s);
	s->started = wall_clock();
	request_statedump(s);
	session_apply(s);
	return 0;
}

static int verb_start(struct session *s, const struct verb_line *line, struct tr_err *err)
{
	int ret = s->active ? 0 : session_prepare_parts(s, err);

	(void)line;
	return ret ? ret : session_start(s, err);
}

static int verb_statedump(struct session *s, const struct verb_line *line, struct tr_err *err)
{
	(void)line;
	if (!s->active)
		return tr_fail(err, -EBUSY,
			       "the session is not active; its start asks for a state dump");
	request_statedump(s);
	domains_ask_dump(s);
	return 0;
}

/* What applications that ended had missed belongs to a session that is active, or was just now. */
static void collect_missed(struct session *s)
{
	bool active = s->active;

	s->active = true;
	domains_collect(s);
	s->active = active;
}

/*
 * After s->active became false: the second part of a stop. A halted session may be active again.
 * then_stop() has to follow, without locks.
 */
static void end_recording(struct session *s)
{
	collect_missed(s);
	session_apply(s);
	session_halt_parts(s);
}

static int verb_stop(struct session *s, const struct verb_line *line, struct tr_err *err)
{
	(void)line;
	if (!s->active && !s->halting)
		return tr_fail(err, -EBUSY, "the session is not active");
	s->active = false;
	end_recording(s);
	return 0;
}

/* Drains kernel events recorded until now into the rings; releases both locks meanwhile. */
static int drain_before(struct session *s, struct tr_err *err)
{
	session_unlock(s);
	domain_drain(s, DOMAIN_KERNEL);
	session_lock(s);
	return session_check_alive(s, err);
}

/* Writes the state of the domains as events; releases both locks meanwhile. */
static int dump_state(struct session *s, struct tr_err *err)
{
	session_unlock(s);
	domains_dump(s);
	session_lock(s);
	return session_check_alive(s, err);
}

static int verb_clear(struct session *s, const struct verb_line *line, struct tr_err *err)
{
	(void)line;
	if (drain_before(s, err))
		return -ENOENT;
	if (!session_has_rings(s))      /* else session_clear_all does it */
		session_clear_rings(s);
	return 0;
}

static int then_stop(struct session *s, struct tr_err *err)
{
	struct tr_err why = TR_ERR_INIT;
	int ret;

	domain_drain(s, DOMAIN_KERNEL);
	ret = session_stop_parts(s, &why);
	return ret ? tr_fail(err, ret,
			     "the session has stopped, but what its buffers hold cannot be "
			     "written: %s",
			     why.sentence)
		   : 0;
}

/* Without locks, after one or more verbs. */
static void follow_verbs(struct session *s, bool stopped)
{
	session_follow_parts(s);
	if (stopped) {
		domain_drain(s, DOMAIN_KERNEL);
		domains_gc(s->tracer);
	}
	buffers_keep(s->tracer);
}

int session_halt(struct session *s)
{
	int ret = -EAGAIN;

	if (pthread_mutex_trylock(&s->lock))
		return ret;
	if (pthread_mutex_trylock(&s->tracer->lock)) {
		pthread_mutex_unlock(&s->lock);
		return ret;
	}
	if (s->active && !session_check_alive(s, NULL) && !session_check_records(s, NULL) &&
	    domains_may_halt(s)) {
		s->active = false;
		s->halting = true;
		domains_halt(s);
		ret = 0;
	}
	session_unlock(s);
	return ret;
}

int session_halted(struct session *s, struct tr_err *err)
{
	int ret;

	session_lock(s);
	ret = session_check_alive(s, err);
	if (!ret) {
		end_recording(s);
		session_save(s);
		session_changed(s);
	}
	session_unlock(s);
	ret = ret ? ret : then_stop(s, err);
	follow_verbs(s, true);
	return ret;
}

static const struct session_verb start_verb = {
	.name = "start", .when_inactive = true, .run = verb_start,
}, stop_verb = {
	.name = "stop", .when_active = true, .run = verb_stop, .then = then_stop,
}, clear_verb = {
	.name = "clear", .when_active = true, .when_inactive = true, .run = verb_clear,
	.then = session_clear_all,
}, statedump_verb = {
	.name = "regenerate statedump", .when_active = true, .run = verb_statedump,
};

static const struct session_verb *const verbs[] = {
	&start_verb, &stop_verb, &clear_verb, &snapshot_verb, &rotate_verb, &reclaim_verb,
	&metadata_verb, &statedump_verb,
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

void session_verbs(struct session *s, struct md_buf *out)
{
	struct session_shown shown = session_shown(s);

	for (size_t i = 0; i < VERBS && !shown.imported; i++)
		if ((shown.info.active ? verbs[i]->when_active : verbs[i]->when_inactive) &&
		    (!verbs[i]->shown || verbs[i]->shown(&shown)))
			md_buf_printf(out, "%s%s\n", verbs[i]->name,
				      verbs[i]->arguments ? verbs[i]->arguments : "");
}

static int no_verb(const char *line, size_t len, size_t from, const char *words, size_t n,
		   struct tr_err *err)
{
	const char *names[VERBS], *near;
	char text[128];

	for (size_t i = 0; i < VERBS; i++)
		names[i] = verbs[i]->name;
	near = nearest(words, n, names, VERBS);
	snprintf(text, sizeof(text), "%.*s", (int)(len < 100 ? len : 100), line);
	if (near)
		return tr_fail_at(err, -EINVAL, text, (int)(from < 100 ? from : 100),
				  "not a verb; did you mean '%s'?", near);
	return tr_fail_at(err, -EINVAL, text, (int)(from < 100 ? from : 100),
			  "not a verb: start, stop, clear, snapshot, rotate, reclaim, "
			  "regenerate metadata and regenerate statedump are");
}

#define WORDS_MOST 4096         /* a snapshot may name a path */

/*
 * Copies one line of a write with single blanks between words. Returns its length; 0: an empty line
 * or a comment.
 */
static size_t line_words(const char *line, size_t len, char words[WORDS_MOST])
{
	size_t n = 0;

	for (size_t i = 0; i < len && line[0] != '#' && n + 2 < WORDS_MOST; i++) {
		bool blank = strchr(" \t\r", line[i]) != NULL;

		if (!blank && n && strchr(" \t\r", line[i - 1]))
			words[n++] = ' ';
		if (!blank)
			words[n++] = line[i];
	}
	words[n] = 0;
	return n;
}

/*
 * Parses one line of a write. Returns its verb, or NULL for an empty line or a comment. *next: the
 * beginning of the next line. *arg, in words: what follows the verb, or NULL.
 */
static int parse_verb(const char *line, char words[WORDS_MOST], const struct session_verb **verb,
		      const char **arg, const char **next, struct tr_err *err)
{
	size_t len = strcspn(line, "\n"), n = line_words(line, len, words), size;

	*next = line + len + (line[len] == '\n');
	*verb = NULL;
	*arg = NULL;
	if (!n)
		return 0;
	for (size_t i = 0; i < VERBS && !*verb; i++) {
		size = strlen(verbs[i]->name);
		if (strncmp(verbs[i]->name, words, size) ||
		    (words[size] && (words[size] != ' ' || !verbs[i]->arguments)))
			continue;
		*verb = verbs[i];
		if (words[size])
			*arg = words + size + 1;
	}
	if (!*verb)
		return no_verb(line, len, strspn(line, " \t\r"), words, n, err);
	return *arg ? (*verb)->check(words, (size_t)(*arg - words), err) : 0;
}

int session_control(struct session *s, const char *text, uint64_t request, struct tr_err *err)
{
	struct verb_line call = { NULL, 0 };
	const struct session_verb *verb;
	const char *at, *next;
	char words[WORDS_MOST];
	int ret = 0, line = 0;
	struct steps steps;
	bool stopped, wanted;

	for (at = text; *at && !ret; at = next) {
		line++;
		ret = parse_verb(at, words, &verb, &call.arg, &next, err);
	}
	if (!ret) {
		session_lock(s);
		steps_begin(&steps, s, request, text);
		line = 0;
		for (at = text; *at && !ret; at = next) {
			line++;
			parse_verb(at, words, &verb, &call.arg, &next, NULL);
			call.request = steps_number(&steps, line, false);
			/*
			 * An earlier verb may have released the lock, so an rmdir may have begun.
			 */
			ret = session_check_alive(s, err);
			if (verb && !ret)
				ret = session_check_records(s, err);
			wanted = verb && !ret && !steps_have(&steps, line, false);
			if (wanted)
				ret = verb->run(s, &call, err);
			if (wanted && !ret) {
				steps_add(&steps, line, false);
				session_save(s);
				session_changed(s);
			}
			if (!ret && s->active && s->dump_begun != s->statedump)
				ret = dump_state(s, err);
			if (verb && !ret && verb->then && !steps_have(&steps, line, true)) {
				session_unlock(s);
				ret = verb->then(s, err);
				session_lock(s);
				if (!ret && request) {
					steps_add(&steps, line, true);
					session_save(s);
				}
			}
		}
		stopped = !s->active;
		session_unlock(s);
		follow_verbs(s, stopped);
	}
	if (ret && err)
		err->line = line;
	return ret;
}
