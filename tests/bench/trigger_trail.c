/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * See trigger_hits.h. TRIGGER_FILE: the `notifications` of the trigger on bench:alarm.
 * SESSION_CONTROL: the `control` of a session that records bench:beat.
 */
#include "trigger_hits.h"

#include <errno.h>
#include <fcntl.h>
#include <trail/trail.h>

static int notifications = -1;

static void hit(uint64_t number)
{
	TRAIL(bench, alarm, TRAIL_FIELD(number, number));
}

static int seen(int *on)
{
	return ++*on;
}

static bool is_recorded(void)
{
	int on = 0;

	TRAIL(bench, beat, TRAIL_FIELD(on, seen(&on)));
	return on;
}

static void start_session(void)
{
	int fd = open(getenv("SESSION_CONTROL"), O_WRONLY);

	/* EBUSY: the trigger's stop has not quite ended. */
	while (write(fd, "start\n", 6) != 6 && errno == EBUSY)
		pause_us(1000);
	close(fd);
}

static void open_listener(void)
{
	notifications = open(getenv("TRIGGER_FILE"), O_RDONLY);
	if (notifications < 0)
		perror("open");
}

static bool next_notification(void)
{
	char line[65536];

	return read(notifications, line, sizeof(line)) > 0;
}

int main(int argc, char **argv)
{
	return hits_main(argc, argv);
}
