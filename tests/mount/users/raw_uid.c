/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * raw_uid UID COUNT: a child process becomes user UID by a system call that the library does not
 * see, prints `ready`, waits for a byte, and emits COUNT events raw_uid:hit { n }.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trail/trail.h>

int main(int argc, char **argv)
{
	long uid = argc > 2 ? atol(argv[1]) : 0, count = argc > 2 ? atol(argv[2]) : 0;
	int status = 1;
	char go;
	pid_t child = fork();

	if (child == 0) {
		if (syscall(SYS_setresuid, uid, uid, uid))
			_exit(2);
		if (write(1, "ready\n", 6) != 6 || read(0, &go, 1) != 1)
			_exit(3);
		for (long n = 0; n < count; n++)
			TRAIL(raw_uid, hit, n);
		_exit(0);
	}
	return child < 0 || waitpid(child, &status, 0) != child || status;
}
