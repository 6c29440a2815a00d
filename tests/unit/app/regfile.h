/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A registration file that a test builds, and a directory for it. */
#ifndef TESTS_UNIT_APP_REGFILE_H
#define TESTS_UNIT_APP_REGFILE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/regs.h"
#include "tests/lib/test.h"
#include "tracer/app/registration.h"
#include "tracer/base/os/state_file.h"

static char path[300];
static int dir;
static struct regs regs;
static struct md_buf file;

static void begin(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(path, sizeof(path), "%s/regfile.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(path) != NULL);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	regs_sample(&regs);
}

static void end(void)
{
	close(dir);
	state_file_remove(AT_FDCWD, path);
	md_buf_deinit(&regs.strings);
	md_buf_deinit(&file);
}

/*
 * Writes the file built last and opens it: the reason why it, or one of its events, is refused, or
 * "" for success.
 */
static inline const char *verdict(void)
{
	struct registration *r = NULL;
	const char *reason = NULL;
	int fd = regs_save(dir, "f", file.data, file.len), ret;

	ret = registration_open(NULL, dir, "f", &r, &reason);
	close(fd);
	for (uint32_t i = 0; !ret && i < r->event_count && !reason; i++)
		reason = r->events[i].refused;
	if (!ret) {
		CHECK((reason != NULL) == (r->refused_count != 0));
		registration_close(r);
	} else {
		CHECK(!r);
	}
	CHECK(!ret || (ret == -EBADMSG && reason));
	return reason ? reason : ret ? "no reason" : "";
}

#endif
