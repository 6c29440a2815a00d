/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The root directory: files about the mount as a whole. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "fs/base/base.h"
#include "fs/base/handover.h"
#include "fs/base/process.h"
#include "fs/base/words.h"
#include "fs/tree/errors.h"
#include "fs/tree/rows.h"
#include "fs/tree/tree.h"
#include "tracer/face/tracer.h"

#define SESSION_NAME_MOST 200
#define LOG_LINE_MOST 4096


static atomic_uint_fast64_t changes;

void root_changed(void)
{
	atomic_fetch_add(&changes, 1);
}

static uint64_t status_change(const struct node *n)
{
	(void)n;
	return atomic_load(&changes);
}

static int show_readme(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)n, (void)who;
	readme_print(out);
	return 0;
}

static int show_schema(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)n, (void)who;
	schema_print(out);
	return 0;
}

static int show_version(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)n, (void)who;
	md_buf_printf(out, "trailfs %s\n", TRAILFS_VERSION);
	tracer_version(fs.tracer, out);
	md_buf_printf(out, "time_zone %s\n", fs.zone);
	return 0;
}

static int show_status(const struct node *n, const struct who *who, struct md_buf *out)
{
	struct facts facts = { .out = out, .json = n->row->arg == FORM_JSON };
	const struct handover_head *table = handover_head();

	facts_begin(&facts);
	tracer_status(fs.tracer, who->uid, &facts);
	fact_number(&facts, "daemons_replaced", table ? table->taken : 0);
	fact_number(&facts, "errors", errors_count());
	facts_end(&facts);
	return 0;
}

static int show_metrics(const struct node *n, const struct who *who, struct md_buf *out)
{
	struct owner viewer = process_owner(who);

	return tracer_metrics(fs.tracer, &viewer, n->row->arg == FORM_PLAIN, out);
}

/* Calls fn for each line that is not empty, until one fails. */
static int each_line(const char *text, const struct log_writer *who,
		     int (*fn)(const struct log_writer *, const char *, size_t, struct tr_err *),
		     struct tr_err *err)
{
	for (int line = 1; *text; line++) {
		size_t n = strcspn(text, "\n");
		int rc = n ? fn(who, text, n, err) : 0;

		if (rc) {
			err->line = line;
			return rc;
		}
		text += n + (text[n] == '\n');
	}
	return 0;
}

static int check_message(const struct log_writer *who, const char *line, size_t n,
			 struct tr_err *err)
{
	(void)who;
	return n <= LOG_LINE_MOST ? 0
				  : tr_fail_at(err, -EINVAL, line, -1,
					       "a message has at most %d bytes, this one has %zu",
					       LOG_LINE_MOST, n);
}

static int log_message(const struct log_writer *who, const char *line, size_t n, struct tr_err *err)
{
	return tracer_log(fs.tracer, who, line, n, err);
}

static int store_log(const struct node *n, const struct who *who, const char *text, bool replace,
		     struct tr_err *err)
{
	struct log_writer writer = { .uid = who->uid, .gid = who->gid, .tid = (uint32_t)who->pid };
	struct process process;
	int rc;

	(void)n, (void)replace;
	process_of(who, &process);
	writer.pid = (uint32_t)process.pid;
	rc = each_line(text, &writer, check_message, err);
	return rc ? rc : each_line(text, &writer, log_message, err);
}

static int show_tracepoints(const struct node *n, const struct who *who, struct md_buf *out)
{
	available_user(fs.tracer, who->uid, (enum app_file)n->row->arg, out);
	return 0;
}

static int show_contexts(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)n, (void)who;
	available_contexts(out);
	return 0;
}

static int show_user(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)n;
	available_user_json(fs.tracer, who->uid, out);
	return 0;
}

static int show_loggers(const struct node *n, const struct who *who, struct md_buf *out)
{
	available_loggers(fs.tracer, who->uid, (enum agent_domain)n->row->arg, true, out);
	return 0;
}

static int find_session(const struct node *dir, const char *name, const struct who *who,
			struct found *found)
{
	struct session *s = session_get(fs.tracer, name);
	struct session_info info;

	(void)dir, (void)who;
	if (!s)
		return -ENOENT;
	session_info(s, &info);
	/*
	 * The address names no other session while a node has it. The creation time keeps st_ino
	 * the same after the node is forgotten.
	 */
	*found = (struct found){ .row = &session_row,
				 .session = s,
				 .tag = (uintptr_t)s,
				 .salt = (uint64_t)info.created };
	return 0;
}

static void list_sessions(const struct node *dir, const struct who *who, struct listing *out)
{
	struct md_buf names = MD_BUF_INIT;
	struct found found;

	sessions_list(fs.tracer, &names);
	for (const char *p = names_next(&names, NULL); p; p = names_next(&names, p)) {
		if (find_session(dir, p, who, &found))
			continue;
		listing_add(out, p, &session_row, found.salt);
		found_drop(&found);
	}
	md_buf_deinit(&names);
}

static int make_session(const struct node *dir, const char *name, const struct who *who,
			struct tr_err *err)
{
	int rc = words_name(name, SESSION_NAME_MOST, err);
	struct owner owner;

	(void)dir;
	if (rc)
		return rc;
	if (fs.uid && who->uid != fs.uid)
		return tr_fail(err, -EPERM,
			       "this is the mount of user %u, who alone makes sessions here",
			       (unsigned)fs.uid);
	owner = process_owner(who);
	return session_create(fs.tracer, name, &owner, err);
}

static int remove_session(const struct node *dir, const char *name, const struct who *who,
			  struct tr_err *err)
{
	(void)dir, (void)who;
	return session_destroy(fs.tracer, name, err);
}

static int sessions_attr(const struct node *n, const struct who *who, struct stat *st)
{
	(void)n, (void)who;
	/*
	 * Root's mount serves all users: as in /tmp, each may make sessions and remove its own.
	 */
	st->st_mode = S_IFDIR | (fs.uid ? 0755 : 01777);
	return 0;
}

static const struct tree_row available_user_rows[] = {
	{ .name = "tracepoints",
	  .mode = S_IFREG | 0444,
	  .show = show_tracepoints,
	  .arg = APP_TRACEPOINTS },
	{ .name = "fields", .mode = S_IFREG | 0444, .show = show_tracepoints, .arg = APP_FIELDS },
	{ .name = "contexts", .mode = S_IFREG | 0444, .show = show_contexts },
	{ 0 }
};

/* The file for programs is not `sized`: a stat(2) must not wait for agents. */
#define AGENT_ROW(domain, which) \
	{ .name = domain, .mode = S_IFDIR | 0555, .rows = available_agent_rows, .arg = which }, \
	{ .name = domain ".json", .mode = S_IFREG | 0444, .show = show_loggers, .arg = which }

static const struct tree_row available_rows[] = {
	{ .name = "user", .mode = S_IFDIR | 0555, .rows = available_user_rows },
	{ .name = "user.json", .mode = S_IFREG | 0444, .show = show_user, .sized = true },
	AGENT_ROW("jul", AGENT_JUL),
	AGENT_ROW("log4j", AGENT_LOG4J),
	AGENT_ROW("log4j2", AGENT_LOG4J2),
	AGENT_ROW("python", AGENT_PYTHON),
	{ 0 }
};

static bool daemon_may_trace_kernel(void)
{
	return kernel_allowed(fs.tracer, &(struct owner){ .uid = fs.uid, .gid = fs.gid });
}

/*
 * kernel/ exists if the daemon may trace the kernel. Its mode says which users may read it.
 */
static int find_available(const struct node *dir, const char *name, const struct who *who,
			  struct found *found)
{
	(void)dir, (void)who;
	found->row = !strcmp(name, "kernel") ? &available_kernel_row : &available_kernel_json_row;
	return (!strcmp(name, "kernel") || !strcmp(name, "kernel.json")) &&
			       daemon_may_trace_kernel()
		       ? 0
		       : -ENOENT;
}

static void list_available(const struct node *dir, const struct who *who, struct listing *out)
{
	(void)dir, (void)who;
	if (!daemon_may_trace_kernel())
		return;
	listing_add(out, "kernel", &available_kernel_row, 0);
	listing_add(out, "kernel.json", &available_kernel_json_row, 0);
}

static const struct tree_row root_rows[] = {
#ifdef OTHER_ROWS       /* a build for tests: the daemon of another version has other rows */
	{ .name = "another", .mode = S_IFREG | 0444, .show = show_readme },
	{ .name = "apps", .mode = S_IFDIR | 0555, .find = apps_find, .list = apps_each },
#endif
	{ .name = "README", .mode = S_IFREG | 0444, .show = show_readme },
	{ .name = "schema.json", .mode = S_IFREG | 0444, .show = show_schema },
	{ .name = "version", .mode = S_IFREG | 0444, .show = show_version },
	{ .name = "status", .mode = S_IFREG | 0444, .show = show_status, .change = status_change },
	{ .name = "metrics", .mode = S_IFREG | 0444, .show = show_metrics, .sized = true },
	{ .name = "metrics.prom", .mode = S_IFREG | 0444, .show = show_metrics, .arg = FORM_PLAIN,
	  .sized = true },
	{ .name = "status.json", .mode = S_IFREG | 0444, .show = show_status, .arg = FORM_JSON,
	  .sized = true },
	ERROR_ROW,
	{ .name = "log", .mode = S_IFREG | 0222, .store = store_log, .how = STORE_RAW },
	{ .name = "available",
	  .mode = S_IFDIR | 0555,
	  .rows = available_rows,
	  .find = find_available,
	  .list = list_available },
	{ .name = "apps", .mode = S_IFDIR | 0555, .find = apps_find, .list = apps_each },
	{ .name = "sessions",
	  .mode = S_IFDIR | 01777,
	  .find = find_session,
	  .list = list_sessions,
	  .make = make_session,
	  .remove = remove_session,
	  .attr = sessions_attr,
	  .lasting = true },
	{ .name = "triggers",
	  .mode = S_IFDIR | 01777,
	  .find = triggers_find,
	  .list = triggers_each,
	  .make = triggers_make,
	  .remove = triggers_remove,
	  .attr = sessions_attr,
	  .lasting = true },
	{ 0 }
};

const struct tree_row root_row = { .mode = S_IFDIR | 0755, .rows = root_rows };
