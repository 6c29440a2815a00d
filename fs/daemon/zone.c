/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/daemon/daemon.h"

#define ZONES "/usr/share/zoneinfo/"

/* As POSIX writes zones: a name of letters (or <anything>), then an offset: CET-1CEST, <+03>-3. */
static bool is_rule(const char *zone)
{
	const char *p = zone;

	if (*p == '<')
		p = strchr(p, '>') ? strchr(p, '>') + 1 : p;
	else
		while (isalpha((unsigned char)*p))
			p++;
	if (p - zone < 3)
		return false;
	p += *p == '+' || *p == '-';
	return isdigit((unsigned char)*p);
}

static bool is_known(const char *zone)
{
	char path[PATH_MAX];

	if (!strcmp(zone, "UTC") || !strcmp(zone, "GMT") || is_rule(zone))
		return true;
	if (*zone == ':')
		zone++;
	snprintf(path, sizeof(path), "%s%s", *zone == '/' ? "" : ZONES, zone);
	return !access(path, R_OK);
}

static void name_of_local(char *name, size_t size)
{
	char link[PATH_MAX];
	ssize_t n = readlink("/etc/localtime", link, sizeof(link) - 1);
	const char *env = getenv("TZ"), *zone;

	if (env && *env) {
		snprintf(name, size, "%s", env);
		return;
	}
	link[n < 0 ? 0 : n] = 0;
	zone = strstr(link, "/zoneinfo/");
	snprintf(name, size, "%s",
		 zone && !(env && !*env) ? zone + strlen("/zoneinfo/")
		 : env                   ? "UTC"
					 : tzname[0]);
}

int zone_set(const char *zone, char *name, size_t size)
{
	if (zone) {
		if (!is_known(zone))
			return -EINVAL;
		if (setenv("TZ", zone, 1))
			return -errno;
	}
	tzset();
	name_of_local(name, size);
	return 0;
}
