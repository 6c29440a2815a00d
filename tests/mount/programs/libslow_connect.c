/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For LD_PRELOAD: a program that loses its CPU for 2.5 s as soon as it is connected. */
#include <dlfcn.h>
#include <sys/socket.h>
#include <time.h>

int connect(int fd, const struct sockaddr *address, socklen_t length)
{
	int (*real)(int, const struct sockaddr *, socklen_t) =
		(int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
	int ret = real(fd, address, length);

	nanosleep(&(struct timespec){ .tv_sec = 2, .tv_nsec = 500000000 }, NULL);
	return ret;
}
