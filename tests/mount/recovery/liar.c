/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * liar APPS_DIR HOW [MISSED]: writes a registration file as the library does. HOW is one of
 *
 *	missed     good; once the daemon asks for the events, each counter of missed events is
 *		   MISSED
 *	garbage    zeros, until standard input ends
 *	unlocked   good, but without a lock
 *	late       good, closed but locked until standard input ends
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#include "tests/lib/regs.h"

/*
 * late: the lock is one of a descriptor that only reads, whose end the daemon does not see; what it
 * sees, the end of the others, is before that.
 */
static uint8_t *publish(const char *apps, struct md_buf *file, bool lock, bool late)
{
	char name[33], hidden[400], path[400];
	uint8_t id[16], *map;
	int fd;

	if (getrandom(id, sizeof(id), 0) != sizeof(id))
		return NULL;
	for (int i = 0; i < 16; i++)
		snprintf(name + 2 * i, 3, "%02x", id[i]);
	snprintf(hidden, sizeof(hidden), "%s/.%s", apps, name);
	snprintf(path, sizeof(path), "%s/%s", apps, name);
	fd = regs_save(AT_FDCWD, hidden, file->data, file->len);
	if (fd < 0 || (lock && flock(late ? open(hidden, O_RDONLY) : fd, LOCK_EX | LOCK_NB)))
		return NULL;
	map = mmap(NULL, file->len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || rename(hidden, path))
		return NULL;
	close(fd);
	return map;
}

/* Until the daemon wants an event; at most 20 s. */
static bool wait_wanted(const struct trail_reg *reg)
{
	const uint32_t *word = (const uint32_t *)((const uint8_t *)reg + reg->state_offset);

	for (int i = 0; i < 2000; i++) {
		if (__atomic_load_n(word, __ATOMIC_ACQUIRE))
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	return false;
}

int main(int argc, char **argv)
{
	struct md_buf file = MD_BUF_INIT;
	struct trail_reg *reg;
	struct regs regs;
	uint64_t zero = 0, missed = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;

	if (argc < 3)
		return 2;
	regs_sample(&regs);
	regs_file(&regs, &file);
	regs_pad(&file);
	reg = (struct trail_reg *)(void *)file.data;
	reg->missed_offset = (uint32_t)file.len;
	for (uint32_t i = 0; i < regs.event_count; i++)
		md_buf_put(&file, &zero, sizeof(zero));
	reg = (struct trail_reg *)(void *)file.data;
	reg->pid = (uint32_t)getpid();
	reg->size = (uint32_t)file.len;
	if (!strcmp(argv[2], "garbage"))
		memset(file.data, 0, file.len);
	reg = (struct trail_reg *)(void *)publish(argv[1], &file, strcmp(argv[2], "unlocked") != 0,
					       !strcmp(argv[2], "late"));
	md_buf_deinit(&file);
	md_buf_deinit(&regs.strings);
	if (!reg) {
		perror(argv[1]);
		return 1;
	}
	if (!strcmp(argv[2], "late"))
		munmap(reg, reg->size);
	if (!strcmp(argv[2], "garbage") || !strcmp(argv[2], "late"))
		while (getchar() != EOF)
			;
	if (strcmp(argv[2], "missed") != 0)
		return 0;
	if (!wait_wanted(reg))
		return 1;
	for (uint32_t i = 0; i < regs.event_count; i++)
		((uint64_t *)(void *)((uint8_t *)reg + reg->missed_offset))[i] = missed;
	return 0;
}
