/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/* Files opened with a user's rights: as root, for a user who is in no database. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/base/os/open_as.h"

enum { USER = 54321 };

static char dir[256];

static const char *at(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void put(const char *name, mode_t mode, uid_t owner)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, name, strlen(name)) > 0 && fchmod(fd, mode) == 0 &&
	      fchown(fd, owner, owner) == 0);
	close(fd);
}

static void put_link(const char *name, const char *to, uid_t owner)
{
	CHECK(symlink(to, at(name)) == 0 && lchown(at(name), owner, owner) == 0);
}

/* 0 if what is opened is the file of that content. */
static int opens(uid_t owner, const char *name, const char *content)
{
	char got[64] = "";
	struct tr_err err = TR_ERR_INIT;
	int fd = ownerfile_open(&(struct owner){ owner, owner, { 0 } }, at(name), &err);

	if (fd < 0) {
		CHECK(err.sentence[0]);
		return fd;
	}
	CHECK(read(fd, got, sizeof(got) - 1) > 0);
	close(fd);
	return strcmp(got, content);
}

static void rights(void)
{
	if (geteuid() != 0)
		SKIP("not root");
	put("open", 0644, 0);
	put("secret", 0600, 0);
	put("mine", 0600, USER);
	CHECK(mkdir(at("closed"), 0700) == 0);
	put("closed/open", 0644, 0);
	CHECK(opens(0, "secret", "secret") == 0 && opens(USER, "open", "open") == 0 &&
	      opens(USER, "mine", "mine") == 0);
	CHECK(opens(USER, "secret", "") == -EACCES && opens(USER, "closed/open", "") == -EACCES);
	CHECK(opens(0, "closed/open", "closed/open") == 0);
	/* Everything is as it was before. */
	CHECK(open(at("secret"), O_RDONLY | O_CLOEXEC) >= 0 && getgroups(0, NULL) >= 0);
}

static void links(void)
{
	char absolute[512];

	if (geteuid() != 0)
		SKIP("not root");
	CHECK(mkdir(at("lib"), 0755) == 0);
	put_link("of_root", "open", 0);
	put_link("of_user", "open", USER);
	put_link("of_another", "open", USER + 1);
	put_link("to_secret", "secret", USER);
	put_link("lib/up", "../lib/../open", 0);
	snprintf(absolute, sizeof(absolute), "%s/of_root", dir);
	put_link("chain", absolute, 0);
	put_link("loop", "loop", 0);
	put_link("to_dir", "lib", 0);
	CHECK(opens(USER, "of_root", "open") == 0 && opens(USER, "of_user", "open") == 0 &&
	      opens(USER, "of_another", "") == -EACCES);
	CHECK(opens(0, "of_root", "open") == 0 && opens(0, "of_user", "") == -EACCES);
	CHECK(opens(USER, "to_secret", "") == -EACCES && opens(USER, "lib/up", "open") == 0 &&
	      opens(USER, "chain", "open") == 0);
	CHECK(opens(USER, "loop", "") == -ELOOP && opens(USER, "to_dir/up", "open") == 0);
}

static void not_files(void)
{
	const struct owner me = { getuid(), getgid(), { 0 } };
	char name[300];

	CHECK(mkfifo(at("fifo"), 0666) == 0 && chmod(at("fifo"), 0666) == 0);
	CHECK(opens(getuid(), "fifo", "") == -EINVAL && opens(getuid(), ".", "") == -EINVAL);
	CHECK(opens(getuid(), "none", "") == -ENOENT && opens(getuid(), "fifo/x", "") == -ENOTDIR);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	CHECK(opens(getuid(), name, "") == -ENAMETOOLONG);
	CHECK(ownerfile_open(&me, "/dev/null", NULL) == -EINVAL &&
	      ownerfile_open(&me, "/", NULL) == -EINVAL);
}

static void remove_all(void)
{
	static const char *const names[] = { "open",    "secret",     "mine",      "closed/open",
					     "closed",  "lib/up",     "lib",       "of_root",
					     "of_user", "of_another", "to_secret", "chain",
					     "loop",    "to_dir",     "fifo",      "" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		remove(at(names[i]));
}

int main(void)
{
	snprintf(dir, sizeof(dir), "%s/ownerfile.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	CHECK(mkdtemp(dir) && chmod(dir, 0755) == 0);
	CASE(rights);
	CASE(links);
	CASE(not_files);
	remove_all();
	return test_summary();
}
