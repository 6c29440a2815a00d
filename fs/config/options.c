/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "fs/config/config.h"

enum kind { STRING, SWITCH, SIZE, COUNT, TIME, LEVEL, VERSION };

struct option {
	const char *name;
	enum kind kind;
	size_t at;              /* in struct options */
	const char *help;
};

#define AT(field) offsetof(struct options, field)

static const struct option options[] = {
	{ "tz", STRING, AT(zone), "=ZONE         time zone of text (default: the daemon's own)" },
	{ "state", STRING, AT(state),
	  "=DIR       state directory (default: /run/trailfs or $XDG_RUNTIME_DIR/trailfs)" },
	{ "rings", STRING, AT(rings),
	  "=DIR       buffers are files of this directory, for trail-recover after a crash" },
	{ "allow_other", SWITCH, AT(allow_other),
	  "[=0]    other users see the mount (default for root)" },
	{ "keep", SWITCH, AT(keep),
	  "[=0]           SIGTERM leaves the sessions to the next daemon; an unmount ends them" },
	{ "keeper", SWITCH, AT(keeper),
	  "=0            the keeper does not start the daemon again when it is killed" },
	{ "max_frozen", SIZE, AT(max_frozen),
	  "=SIZE   bytes that trace images may hold in all (default 512M)" },
	{ "apps_size", SIZE, AT(apps_size),
	  "=SIZE    of the file system for registrations (default 128M for root; 0: none)" },
	{ "max_sessions", COUNT, AT(max_sessions),
	  "=N    how many sessions there may be (default 0: no limit)" },
	{ "user_sessions", COUNT, AT(limit.max_sessions),
	  "=N   how many sessions one user may have (default 1000; 0: no limit)" },
	{ "user_buffers", SIZE, AT(limit.max_buffers),
	  "=SIZE bytes of buffers for one user's sessions (default 0: no limit)" },
	{ "user_frozen", SIZE, AT(limit.max_frozen),
	  "=SIZE  bytes that one user's trace images may hold (default 256M)" },
	{ "wait", TIME, AT(wait_ms),
	  "=TIME       how long stop, rotate, clear and the like wait for files (default 800ms)" },
	{ "relay_timeout", TIME, AT(relay_timeout_ms),
	  "=TIME how long a relay may show no progress (default 60s)" },
	{ "ctf_version", VERSION, AT(ctf2),
	  "=1.8|2 of the metadata of new sessions (default 1.8)" },
	{ "log_level", LEVEL, AT(log_level),
	  "=LEVEL   error, warning, info or debug (default info)" },
};

/*
 * Options of mount(8) and the kernel that are passed on; everything else that is not in the table
 * is a mistake.
 */
static const char *const mount_options[] = {
	"ro",         "rw",           "suid",         "nosuid",    "dev",     "nodev",
	"exec",       "noexec",       "async",        "sync",      "dirsync", "atime",
	"noatime",    "auto_unmount", "allow_root",   "max_read=", "fsname=", "context=",
	"fscontext=", "defcontext=",  "rootcontext=",
};

/* fstab options that are meant for other programs: the daemon ignores them. */
static const char *const ignored[] = {
	"defaults",
	"auto",
	"noauto",
	"user",
	"nouser",
	"users",
	"owner",
	"group",
	"nofail",
	"_netdev",
	"relatime",
	"norelatime",
	"strictatime",
	"nostrictatime",
	"diratime",
	"nodiratime",
	"default_permissions",
	"user=",
	"x-",
	"comment=",
};

#define COUNT_OF(a) (sizeof(a) / sizeof(*(a)))

static bool is_one_of(const char *opt, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(list[i]);
		bool prefix = list[i][len - 1] == '=' || list[i][len - 1] == '-';

		if (!strncmp(opt, list[i], len) && (prefix || !opt[len]))
			return true;
	}
	return false;
}

#define TOO_LARGE "possible: it is too large"

static int bad(const struct option *o, const char *value, const char *expected)
{
	say(SAY_ERROR, "option %s: '%s' is not %s", o->name, value ? value : "", expected);
	return -EINVAL;
}

static int set_string(char **field, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

struct unit { const char *suffix; uint64_t factor; };

static const struct unit sizes[] = { { "", 1 },
				     { "k", 1u << 10 },
				     { "m", 1u << 20 },
				     { "g", 1u << 30 },
				     { "t", UINT64_C(1) << 40 },
				     { NULL, 0 } };
static const struct unit counts[] = { { "", 1 }, { NULL, 0 } };
static const struct unit milliseconds[] = { { "", 1 },      { "ms", 1 },      { "s", 1000 },
					    { "m", 60000 }, { "h", 3600000 }, { NULL, 0 } };

/* 0, -EINVAL, or -ERANGE if the number is above `most`. */
static int number(const char *value, const struct unit *units, uint64_t most, uint64_t *out)
{
	char *end;

	if (!value || !isdigit((unsigned char)*value))
		return -EINVAL;
	errno = 0;
	*out = strtoull(value, &end, 10);
	while (units->suffix && strcasecmp(units->suffix, end))
		units++;
	if (!units->suffix)
		return -EINVAL;
	if (errno || __builtin_mul_overflow(*out, units->factor, out) || *out > most)
		return -ERANGE;
	return 0;
}

static int set_number(const struct option *o, uint32_t *field, const struct unit *units,
		      const char *value, const char *expected)
{
	uint64_t n;
	int rc = number(value, units, UINT32_MAX, &n);

	if (rc)
		return bad(o, value, rc == -ERANGE ? TOO_LARGE : expected);
	*field = (uint32_t)n;
	return 0;
}

static int set_switch(bool *field, const char *value)
{
	static const char *const no[] = { "0", "no", "off", "false" }, *const yes[] = { "1", "yes",
											"on",
											"true" };

	if (value && !is_one_of(value, no, COUNT_OF(no)) && !is_one_of(value, yes, COUNT_OF(yes)))
		return -EINVAL;
	*field = !value || is_one_of(value, yes, COUNT_OF(yes));
	return 0;
}

static int set_level(enum say_level *field, const char *value)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };

	for (size_t i = 0; value && i < COUNT_OF(names); i++) {
		if (!strcmp(value, names[i])) {
			*field = (enum say_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int set_version(bool *is_2, const char *value)
{
	if (!value || (strcmp(value, "1.8") != 0 && strcmp(value, "2") != 0))
		return -EINVAL;
	*is_2 = *value == '2';
	return 0;
}

/* in: where the option has its place, struct options as a rule */
static int set_option(void *in, const struct option *opt, const char *value)
{
	void *field = (char *)in + opt->at;
	int rc;

	switch (opt->kind) {
	case STRING:
		return value && *value ? set_string(field, value) : bad(opt, value, "a name");
	case SWITCH:
		return set_switch(field, value) ? bad(opt, value, "0 or 1") : 0;
	case SIZE:
		rc = number(value, sizes, UINT64_MAX, field);
		return rc ? bad(opt, value, rc == -ERANGE ? TOO_LARGE : "a size like 512M") : 0;
	case COUNT:
		return set_number(opt, field, counts, value, "a number");
	case TIME:
		return set_number(opt, field, milliseconds, value, "a time like 500ms or 5s");
	case LEVEL:
		return set_level(field, value) ? bad(opt, value, "error, warning, info or debug")
					       : 0;
	case VERSION:
		return set_version(field, value) ? bad(opt, value, "1.8 or 2") : 0;
	}
	return -ENOENT;
}

char *options_mount(const struct options *o)
{
	bool named = o->source && *o->source && !strchr(o->source, ',');
	char *all = NULL;

	if (asprintf(&all, "%s%sfsname=%s", o->mount_options, *o->mount_options ? "," : "",
		     named ? o->source : "trailfs") < 0)
		return NULL;
	return all;
}

int options_set(struct options *o, const char *name, const char *value)
{
	for (size_t i = 0; i < COUNT_OF(options); i++)
		if (!strcmp(options[i].name, name))
			return set_option(o, &options[i], value);
	return -ENOENT;
}

#define UNSAID UINT32_MAX       /* the limit of all users holds; not a useful limit itself */

static struct user_limit *limit_of(struct options *o, uid_t uid)
{
	struct user_limit *more;

	for (size_t i = 0; i < o->user_limit_count; i++)
		if (o->user_limits[i].uid == uid)
			return &o->user_limits[i];
	more = realloc(o->user_limits, (o->user_limit_count + 1) * sizeof(*more));
	if (!more)
		return NULL;
	o->user_limits = more;
	more[o->user_limit_count] = (struct user_limit){ uid, UNSAID, UNSAID, UNSAID };
	return &more[o->user_limit_count++];
}

int options_set_user(struct options *o, const char *user, const char *name, const char *value)
{
	static const struct option of_user[] = {
		{ "sessions", COUNT, offsetof(struct user_limit, max_sessions), NULL },
		{ "buffers", SIZE, offsetof(struct user_limit, max_buffers), NULL },
		{ "frozen", SIZE, offsetof(struct user_limit, max_frozen), NULL },
	};
	const struct passwd *pw = getpwnam(user);
	struct user_limit *limit;
	char *end;
	unsigned long uid = pw ? pw->pw_uid : strtoul(user, &end, 10);

	if (!pw && (!isdigit((unsigned char)*user) || *end || uid >= UINT32_MAX)) {
		/* A file for many machines may name users that are not on all. */
		say(SAY_WARNING, "there is no user '%s'", user);
		return 0;
	}
	limit = limit_of(o, (uid_t)uid);
	if (!limit)
		return -ENOMEM;
	for (size_t i = 0; i < COUNT_OF(of_user); i++)
		if (!strcmp(of_user[i].name, name))
			return set_option(limit, &of_user[i], value);
	return -ENOENT;
}

/*
 * After all options are read: a limit that the section of a user leaves out is that of all users.
 * The user who mounts has none.
 */
static void settle_limits(struct options *o)
{
	static const struct user_limit none;

	for (size_t i = 0; i < o->user_limit_count; i++) {
		struct user_limit *l = &o->user_limits[i];
		const struct user_limit *all = l->uid == getuid() ? &none : &o->limit;

		l->max_sessions = l->max_sessions == UNSAID ? all->max_sessions : l->max_sessions;
		l->max_buffers = l->max_buffers == UNSAID ? all->max_buffers : l->max_buffers;
		l->max_frozen = l->max_frozen == UNSAID ? all->max_frozen : l->max_frozen;
	}
}

static int pass_on(struct options *o, const char *opt)
{
	char *all;

	if (asprintf(&all, "%s%s%s", o->mount_options, *o->mount_options ? "," : "", opt) < 0)
		return -ENOMEM;
	free(o->mount_options);
	o->mount_options = all;
	return 0;
}

/* One of -o: "name", "name=value". */
static int one_option(struct options *o, char *opt)
{
	char *value = strchr(opt, '=');
	int rc;

	if (!*opt || is_one_of(opt, ignored, COUNT_OF(ignored)))
		return 0;
	if (is_one_of(opt, mount_options, COUNT_OF(mount_options)))
		return pass_on(o, opt);
	if (value)
		*value++ = 0;
	rc = options_set(o, opt, value);
	if (rc == -ENOENT) {
		say(SAY_ERROR, "unknown option '%s' (see trailfs --help)", opt);
		return -EINVAL;
	}
	return rc;
}

static int option_list(struct options *o, const char *list)
{
	char *copy = strdup(list), *rest = copy, *opt;
	int rc = copy ? 0 : -ENOMEM;

	while (!rc && (opt = strsep(&rest, ",")))
		rc = one_option(o, opt);
	free(copy);
	return rc;
}

static int positional(struct options *o, const char *arg)
{
	if (!o->mountpoint)
		return set_string(&o->mountpoint, arg);
	if (o->source) {
		say(SAY_ERROR, "too many arguments: '%s' (see trailfs --help)", arg);
		return -EINVAL;
	}
	/* mount(8) calls us with a source before the mount point. */
	o->source = o->mountpoint;
	o->mountpoint = NULL;
	return set_string(&o->mountpoint, arg);
}

int options_parse(struct options *o, int argc, char **argv)
{
	int rc = 0;

	for (int i = 1; !rc && i < argc; i++) {
		const char *a = argv[i];

		if (!strcmp(a, "-f") || !strcmp(a, "--foreground"))
			o->foreground = true;
		else if (!strcmp(a, "-h") || !strcmp(a, "--help"))
			o->help = true;
		else if (!strcmp(a, "-V") || !strcmp(a, "--version"))
			o->version = true;
		else if (!strncmp(a, "-o", 2) && a[2])
			rc = option_list(o, a + 2);
		else if (!strcmp(a, "-o") && i + 1 < argc)
			rc = option_list(o, argv[++i]);
		else if (a[0] == '-' && a[1])
			rc = (say(SAY_ERROR, "unknown argument '%s' (see trailfs --help)", a),
			      -EINVAL);
		else
			rc = positional(o, a);
	}
	settle_limits(o);
	if (!rc && !o->mountpoint && !o->help && !o->version) {
		say(SAY_ERROR, "where to mount? usage: trailfs MOUNTPOINT [-f] [-o OPTION,...]");
		return -EINVAL;
	}
	return rc;
}

/* TRAIL_RUNTIME_DIR is what applications look at, too: both ends meet there. */
static int default_state(struct options *o)
{
	const char *own = getenv("TRAIL_RUNTIME_DIR"), *user = getenv("XDG_RUNTIME_DIR");
	int n;

	if (own && *own)
		return set_string(&o->state, own);
	if (!getuid())
		return set_string(&o->state, "/run/trailfs");
	if (user && *user)
		n = asprintf(&o->state, "%s/trailfs", user);
	else
		n = asprintf(&o->state, "/run/user/%u/trailfs", (unsigned)getuid());
	if (n < 0)
		o->state = NULL;
	return n < 0 ? -ENOMEM : 0;
}

int options_init(struct options *o)
{
	*o = (struct options){
		.allow_other = !getuid(),
		.keeper = true,
		.max_frozen = 512ull << 20,
		.apps_size = APPS_SIZE_DEFAULT,
		.limit = { .max_sessions = 1000, .max_frozen = 256ull << 20 },
		.log_level = SAY_INFO,
		.mount_options = strdup(""),
	};
	return o->mount_options ? default_state(o) : -ENOMEM;
}

void options_deinit(struct options *o)
{
	free(o->mountpoint);
	free(o->source);
	free(o->mount_options);
	free(o->zone);
	free(o->state);
	free(o->rings);
	free(o->user_limits);
}

void options_help(void)
{
	printf("usage: trailfs MOUNTPOINT [-f] [-o OPTION,...]\n"
	       "       mount -t fuse.trailfs none MOUNTPOINT [-o OPTION,...]\n"
	       "\n"
	       "Tracing as a file system. `cat MOUNTPOINT/README` tells how to use it.\n"
	       "fusermount3 -u MOUNTPOINT (or umount) ends it, and all its sessions.\n"
	       "\n"
	       "    -f, --foreground    stay in the foreground, messages on standard error\n"
	       "    -h, --help          this text\n"
	       "    -V, --version       the version\n"
	       "\n"
	       "Options of -o, also lines `NAME = VALUE` in [trailfs] of /etc/trailfs.conf and\n"
	       "$XDG_CONFIG_HOME/trailfs.conf (what is set later wins, -o is last):\n\n");
	for (size_t i = 0; i < COUNT_OF(options); i++)
		printf("    %s%s\n", options[i].name, options[i].help);
	printf("    and the usual ones of mount(8): ro, nosuid, noexec, …\n"
	       "\n"
	       "To begin with; run a program with tracepoints before the last line:\n\n"
	       "    mkdir -p ~/trace && trailfs ~/trace\n"
	       "    mkdir ~/trace/sessions/first && cd ~/trace/sessions/first\n"
	       "    echo '*' > user/events\n"
	       "    echo start > control\n"
	       "    cat text\n");
}
