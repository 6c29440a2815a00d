/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core trail pthread */
/*
 * A daemon that means harm with its answers; the application neither hangs nor dies:
 *	flood	signs of life that do not end when the application has waited long enough
 *	pile	many signs of life before a late answer: a hit reads some, and later ones the rest
 *	large	a plan larger than TRAIL_PLAN_MAX is refused
 *	huge	a region of huge pages that are not there
 */
#define _GNU_SOURCE
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "tests/adversarial/false_daemon.h"

#define SIGNS 100 /* fit into the buffer of a socket; no hit may read all */

static const struct trail_answer life = { .magic = TRAIL_ALIVE_MAGIC };

/* The application: h hits; each letter is its own answer. */
static int application(void)
{
	char what;

	while (read(0, &what, 1) == 1) {
		if (what == 'h')
			hit();
		if (write(1, &what, 1) != 1)
			return 1;
	}
	return 0;
}

static void hit_there(void)
{
	tell('h');
	done('h');
}

/* The next question of an application that hits. */
static int asked(const char *patience, uint32_t *index)
{
	uint32_t lane;

	start(patience);
	switch_on();
	tell('h');
	return question(index, &lane);
}

/* The application asks once more when it ends, for what it has missed. */
static void end_untraced(void)
{
	uint32_t index, lane;

	close(to_app);
	to_app = -1;
	close(question(&index, &lane));
	end();
}

static void send_signs(int conn)
{
	for (int i = 0; i < SIGNS; i++)
		check(send(conn, &life, sizeof(life), MSG_NOSIGNAL) > 0, "a sign is not sent");
}

static bool has_unread(int conn)
{
	int bytes;

	return ioctl(conn, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

/* The signs come, and the application runs again, when the time to wait in all is over. */
static void flood(void)
{
	uint32_t index;
	int conn = asked("100", &index);

	kill(app, SIGSTOP);
	send_signs(conn);
	usleep(3000000);
	kill(app, SIGCONT);
	done('h');
	check(has_unread(conn), "flood: waited for the last sign");
	end(); /* beside unread signs it asks no other question */
	close(conn);
}

static void pile(void)
{
	struct false_plan plan;
	struct pollfd p;
	uint32_t index;
	int conn = asked("10", &index);
	char byte;

	done('h');
	send_signs(conn);
	hit_there();
	check(has_unread(conn), "pile: one hit read all");
	plan = good_plan(index);
	send_plan(conn, &plan, sizeof(plan), -1, region->fd);
	p = (struct pollfd){ .fd = conn, .events = POLLIN };
	for (int i = 0; i < 30000 && poll(&p, 1, 10) == 0; i++)
		hit_there();
	check(recv(conn, &byte, 1, MSG_DONTWAIT) == 1, "pile: the answer was not taken");
	close(conn);
	end();
}

static void large(void)
{
	uint32_t index, size = TRAIL_PLAN_MAX + 4096;
	int conn = asked("60000", &index), fd;
	struct false_plan plan = good_plan(index);
	char byte;

	fd = plan_memfd(&plan, size);
	send_plan(conn, &plan, size, fd, region->fd);
	close(fd);
	done('h');
	check(recv(conn, &byte, 1, 0) == 0, "large: the plan was taken");
	close(conn);
	end_untraced();
}

static void huge(void)
{
	int fd = memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB), conn;
	struct false_plan plan;
	struct stat st;
	uint32_t index;
	char byte;

	if (fd < 0 || fstat(fd, &st) || ftruncate(fd, st.st_blksize) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)) {
		printf("# left out: there are no files of huge pages\n");
		return;
	}
	conn = asked("60000", &index);
	plan = good_plan(index);
	plan.region.key++;
	plan.region.size = (uint64_t)st.st_blksize;
	send_plan(conn, &plan, sizeof(plan), -1, fd);
	close(fd);
	done('h');
	check(recv(conn, &byte, 1, 0) == 1, "huge: the plan, without the region, was not taken");
	close(conn);
	end();
}

int main(void)
{
	if (is_application())
		return application();
	daemon_open();
	flood();
	pile();
	large();
	huge();
	return daemon_close();
}
