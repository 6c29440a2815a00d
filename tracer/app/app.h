/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applications: their registration files, the state words that the rules ask for, and the answers
 * that they attach with.
 *
 *	app.c             registrations come and go; state words by the rules
 *	user_domain.c     what rules mean for registered tracepoints (session/domain.h)
 *	selection.c       which events of an application the sessions want, and in which group
 *	layout.c          what registration files declare, parsed once for equal files
 *	table.c           registrations by name, by process and by file, and what each user has;
 *	                  which process one is of, and whether that has ended
 *	directories.c     where registrations are, and what users put beside them
 *	registration.c    one registration file: opened, watched, switched
 *	parse.c           reads it
 *	plugin_clock.c    what it says of a clock plug-in
 *	ctf_event.c       makes its event classes
 *	attach_server.c   the thread that applications talk to
 *	attach_connection.c  their connections
 *	user_queue.c      the turns of the users, and their sockets
 *	attach_reply.c    makes the answers
 *	prepared_slots.c  the parts of answers that applications share
 *	picked.c          fields that a channel takes of an event, where it takes not all
 *	refused.c         what is said of tracepoints that are left out
 *	trouble.c         what programs do to their buffers, or cannot do with them
 *	show.c            what apps/ and available/user show
 *
 * All under tracer.lock, but for the server's own connections.
 */
#ifndef TRACER_APP_APP_H
#define TRACER_APP_APP_H

#include "tracer/base/facts.h"
#include "tracer/app/registration.h"
#include "tracer/app/table.h"
#include "tracer/session/session.h"

struct app {
	struct cds_list_head node;
	struct cds_list_head by_name, by_pid, by_file;  /* app/table.c */
	struct user *user;
	struct registration *file;
	char name[33];                          /* of the registration file */
	int dir;                                /* which of apps.fds it is in */
	uint32_t pid;                           /* as the daemon sees it; 0: not known */
	bool outside;   /* it has asked, and the daemon's PID namespace does not have it */
	bool shared;    /* another process has asked for it, too: after chroot(2), a child */
	struct selection *selection; /* what is recorded of it; NULL: nothing was selected yet */
	uint8_t *words;              /* per event: this daemon's byte of its state word */
	bool stores_words; /* the words are TRAIL_WORD_ASKING: it stores those of the answer */
	uint8_t generation;     /* the last that a word of it had */
	uint32_t failures;          /* attach attempts in a row that were not completed */
	struct cds_list_head retry; /* in apps.retries: change the generations at retry_at */
	int64_t retry_at;                       /* wall clock */
	gid_t gid;                              /* of the process when it registered */
	/*
	 * The /proc/PID/cgroup of the process that registered, when a session first needed it;
	 * NULL: not read.
	 */
	char *cgroups;
	uint64_t statedump;                     /* number of the last request sent to it */
	struct cds_list_head closed; /* in apps.closed: apps_check_closed() looks at it again */
	uint64_t closed_at;     /* monotonic: for a while from then on */
	uint64_t unlocked_at;   /* monotonic: it lived without a lock then; 0: it has one */
};

/* The domain's data in the tracer, all under tracer.lock but for what is atomic. */
struct apps {
	struct cds_list_head list;              /* struct app */
	uint32_t count;                         /* of the list; atomic */
	/* Directories with registrations: [0] the tracer's own, [1] see apps_open(); -1: none. */
	int fds[2];
	bool mounted, full;                     /* directories.c */
	struct apptable *table;                 /* table.c */
	struct layouts *layouts;                /* layout.h */
	uint64_t rules_version;	/* grows when sessions may want other events of applications */
	struct cds_list_head retries;           /* struct app */
	struct cds_list_head closed;            /* struct app: app_closed() */
	uint8_t first_generation;               /* apps_begin_generations() */
	bool rescan_pending;	/* a registration was not opened: no descriptor, no memory */
	uint32_t rejected;	/* invalid registration files, for status; atomic */
	uint32_t tracepoints_rejected;  /* left out of registrations, for status; atomic */
	struct server *server;  /* attach_server.c; NULL: applications are not served */
};

static inline struct apps *apps_of(const struct tracer *t)
{
	return domain_data(t, DOMAIN_USER);
}

/* user_domain.c: caller holds tracer.lock */
extern const struct domain_ops user_domain;

/* selection.c: caller holds tracer.lock */
/*
 * The session is active, serves the user and has the clock of the process, and the inclusion sets
 * have the process. If the number of the process is not known, track/cgroup is taken to have it: it
 * asks then, which tells the number, or that there is none here.
 */
bool session_wants(const struct session *s, struct app *a);
/* The process's name, as a part of a path; empty: not known. Without a lock. */
void app_comm(uint32_t pid, char *out, size_t size);
/* The group of the application's owner, made if there is none; NULL: no memory, or an I/O error. */
struct stream_group *owner_group(struct channel *c, const struct app *a);
/* The fields of an event, for filters. It refers to the registration. */
struct filter_event app_fields(const struct app *a, uint32_t event);
/* event_wanted for an event of an application; event is its index there. */
uint64_t app_wanted(struct channel *c, const struct app *a, uint32_t event, struct wanted *program);

/* table.c: caller holds tracer.lock */
/*
 * At the start, before an application is found. A program compares its words with those that it
 * last asked for, and the daemon before this one may have set them to 0 when it ended: each daemon
 * of a state directory begins with other values, so that the program asks again.
 */
void apps_begin_generations(struct tracer *t);
void app_identify(struct tracer *t, struct app *a);     /* finds its pid, if that is quick */
void app_forget_cgroups(struct app *a);                 /* a session that needs them reads them */
/*
 * Its process is gone, or it has removed its file. One that is on overlayfs and has closed the
 * descriptor of its file holds no lock and lives: apps_check_closed() looks at it from then on.
 */
bool app_has_ended(struct tracer *t, struct app *a);
/*
 * A process has closed the file: app_check(). The kernel reports that before it drops the lock of a
 * process that ends (fs/file_table.c, __fput). So an application that still has it is looked at
 * again by apps_check_closed(), which returns after how many ms to look the next time; 0: none is
 * left.
 */
void app_closed(struct tracer *t, const char *name);
unsigned int apps_check_closed(struct tracer *t);

/* app.c: caller holds tracer.lock */
int app_found(struct tracer *t, const char *name);      /* a registration file appeared */
void app_arrived(struct tracer *t, const char *name);   /* the same; also looks for its pid */
void app_check(struct tracer *t, const char *name);     /* drops the application if it ended */
/* It has taken an answer over. */
void app_attached(struct tracer *t, struct app *a);
/*
 * An attempt to attach was not completed: new generations, so that it asks again. Removes it from
 * apps.retries.
 */
void app_retry(struct tracer *t, struct app *a);
/* Sets its state words by the rules. again: with new generations, so that it attaches again. */
void app_apply(struct tracer *t, struct app *a, bool again);
void apps_scan(struct tracer *t);
/*
 * directories.c. apps.fds[0] is open. Root's daemon mounts a file system of config.apps_size on it,
 * if it can; apps.fds[1] is then what is below. For other daemons, that one is the system's.
 */
void apps_open(struct tracer *t);
/* Without keep, unmounts what apps_open() has mounted, if no process has a file there. */
void apps_close(struct tracer *t, bool keep);
/* Something was mounted or unmounted. True: apps.fds[1] is another directory now. */
bool apps_look_again(struct tracer *t);
/* Puts it into the root's `error` when there is no room any more. */
void apps_check_room(struct tracer *t);
/*
 * Removes an entry of a directory of registrations that can be none: true if it is such an
 * entry. What takes long is continued by the next scan.
 */
bool app_junk(struct tracer *t, int dir, const char *name);
void app_created(struct tracer *t, const char *name);   /* the same, in all directories */
/* Lines for the root's `status`. Any lock state. */
void apps_status(const struct tracer *t, struct facts *out);
void apps_gc(struct tracer *t);                         /* drops applications that have ended */
void apps_drop(struct tracer *t, bool switch_off);

/* refused.c: caller holds tracer.lock */
#define PROBLEMS_MOST 16u
/*
 * Lines `problem OBJECT, process PID: SENTENCE` for tracepoints that are left out; counts *most
 * down for each.
 */
void app_problems(const struct app *a, unsigned int *most, struct facts *out);
/*
 * Puts the tracepoints that are left out into `error`, once for each program, however often it
 * starts: `problem` lines are for each process.
 */
void app_report_refused(struct tracer *t, struct app *a);
/* The file is no registration. Its process may be gone already, with the file. */
void app_report_rejected(struct tracer *t, int dir, const char *name, const char *reason);

/* show.c: calls fn for the lines in order, each once; changes them. No lock. */
void lines_each_sorted(struct md_buf *lines, void (*fn)(void *arg, const char *line), void *arg);

/* attach_server.c */
int server_start(struct tracer *t);
void server_stop(struct tracer *t);
/*
 * Unlocked. What programs that have ended counted as lost comes into the rings: the kernel queues
 * that a registration appeared or was closed before wait(2) returns for its process.
 */
void apps_catch_up(struct tracer *t);
void apps_catch_up_locked(struct tracer *t);    /* caller holds tracer.lock; without a pause */
/* As far as tracer.lock can be had by then (wall_clock). */
void apps_catch_up_until(struct tracer *t, int64_t until);

#endif
