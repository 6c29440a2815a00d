/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * config/: the options of the daemon. They are set in /etc/trailfs.conf, in
 * $XDG_CONFIG_HOME/trailfs.conf, and with -o; the later wins.
 *
 *	options.c       the options by name, and the command line
 *	options_file.c  the two files
 *	inifile.c       INI files (inifile.h)
 *
 * No lock: these functions are called by the main thread.
 */
#ifndef FS_CONFIG_CONFIG_H
#define FS_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/base/base.h"
#include "tracer/face/tracer.h"

/*
 * Of apps_size: for the usual state directory of root, as big as is usual and as memory allows; for
 * another one, none.
 */
#define APPS_SIZE_DEFAULT UINT64_MAX

struct options {
	/* Command line only. */
	char *mountpoint;       /* as given */
	/* the first of two arguments, as mount(8) gives it; only shown by mount(8) */
	char *source;
	bool foreground, help, version;
	char *mount_options;    /* -o that are for mount(8) and the kernel, comma separated */

	/* Everywhere. */
	char *zone;             /* tz=; NULL: the daemon's own */
	char *state;            /* state=; NULL: the default */
	char *rings;            /* rings=; NULL: buffers are in memory */
	bool allow_other;
	bool keeper;            /* it starts a daemon in the place of one that was killed */
	bool keep;              /* a signal leaves the sessions to the next daemon */
	uint64_t max_frozen;
	uint64_t apps_size;
	uint32_t max_sessions;
	uint32_t wait_ms, relay_timeout_ms;
	struct user_limit limit;        /* of each user */
	struct user_limit *user_limits; /* of those that have a section of their own */
	size_t user_limit_count;
	bool ctf2;              /* the metadata of new sessions are of CTF 2 */
	enum say_level log_level;
};

/* Defaults; state may depend on the environment. */
int options_init(struct options *o);
void options_deinit(struct options *o);
/* The options of mount_open (fs/fuse/fuse.h), to be freed. NULL: no memory. */
char *options_mount(const struct options *o);
/*
 * Sets one option by name; value NULL: none was given. -ENOENT: no such option; -EINVAL: not such a
 * value (said why).
 */
int options_set(struct options *o, const char *name, const char *value);
/*
 * The same of a section [user NAME]: `sessions`, `buffers`, `frozen`. NAME is a name or a number.
 */
int options_set_user(struct options *o, const char *user, const char *name, const char *value);
/* The command line. 0, or -EINVAL and was said why. */
int options_parse(struct options *o, int argc, char **argv);
/* The two files. 0, or -errno and was said why. A file that does not exist is no error. */
int options_read(struct options *o);
/* Whether a section of these files has options: [trailfs], [user NAME]. */
bool options_section(const char *section);
void options_help(void);
/*
 * Calls visit for each directory that has settings: /etc if the daemon is root's, then
 * $XDG_CONFIG_HOME or ~/.config.
 */
void options_each_dir(void (*visit)(const char *dir));

#endif
