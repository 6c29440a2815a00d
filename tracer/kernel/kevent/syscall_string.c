// SPDX-License-Identifier: GPL-2.0-or-later
/* Arguments of system calls that are strings: see kevent/kevent.h. */
#include "tracer/kernel/kevent/kevent.h"

#include <stddef.h>
#include <string.h>

static bool is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(word, *words))
			return true;
	return false;
}

bool syscall_takes_string(const char *syscall, const char *type, const char *name)
{
	/*
	 * The kernel's names of arguments that LTTng records as strings, and newer ones of the same
	 * kind.
	 */
	static const char *const names[] = {
		"filename", "pathname", "path", "oldname", "newname", "name", "dev_name",
		"dir_name", "new_root", "put_old", "specialfile", "special", "u_name", "name_user",
		"from_pathname", "to_pathname", "fs_name", "uname", "_type", "_description",
		"_fs_name", "_key", "_callout_info", "uargs", "library", NULL
	};
	/* In these calls the kernel writes the argument, or it is bytes with a length. */
	static const char *const out[] = {
		"getcwd", "gethostname", "uname", "newuname", "olduname", NULL
	};

	if (!strstr(type, "char *") || strstr(type, "char *const") || is_one_of(syscall, out))
		return false;
	if (!strcmp(name, "type"))
		return !strcmp(syscall, "mount");
	/*
	 * sethostname and setdomainname have a length and no NUL; LTTng records them as strings all
	 * the same.
	 */
	return is_one_of(name, names);
}
