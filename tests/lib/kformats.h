/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Format files: written by hand, and those of the running kernel. */
#ifndef TESTS_UNIT_KFORMATS_H
#define TESTS_UNIT_KFORMATS_H

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/kernel/kevent/kevent.h"

#define TRACEFS "/sys/kernel/tracing"

#define COMMON \
	"format:\n" \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char format_function[] __attribute__((unused)) =
	"name: function\nID: 1\n" COMMON
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip\n";

static const char format_bits[] __attribute__((unused)) =
	"name: bits\nID: 9\n" COMMON
	"\tfield:int before;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int x:3;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int y : 29;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:int after;\toffset:16;\tsize:4;\tsigned:1;\n\n";

static const char format_switch[] =
	"name: sched_switch\nID: 316\n" COMMON
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:1;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:1;\n"
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"prev_comm=%s\", REC->prev_comm\n";

/* Before 4.20, the number was called so. */
static const char format_open[] =
	"name: sys_enter_open\nID: 500\n" COMMON
	"\tfield:int nr;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:const char * filename;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:int flags;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:umode_t mode;\toffset:32;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"\"\n";

/* A kernel that records what the pointers point to. */
static const char format_openat[] =
	"name: sys_enter_openat\nID: 501\n" COMMON
	"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:int flags;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:umode_t mode;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] __filename_val;\toffset:48;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"\"\n";

static const char format_epoll_ctl[] =
	"name: sys_enter_epoll_ctl\nID: 502\n" COMMON
	"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:int epfd;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:int op;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:int fd;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:struct epoll_event * event;\toffset:40;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"\"\n";

/* A case whose formats have an unsigned long of 8 bytes: it is as long as that of this program. */
#define CASE_OF_64_BITS(function) \
	do { \
		if (sizeof(long) == 8) \
			CASE(function); \
	} while (0)

static const char format_odd[] =
	"name: odd\nID: 7\n" COMMON
	"\tfield:u8 small;\toffset:8;\tsize:1;\tsigned:0;\n"
	"\tfield:bool yes;\toffset:9;\tsize:1;\tsigned:0;\n"
	"\tfield:__be16 port;\toffset:10;\tsize:2;\tsigned:0;\n"
	"\tfield:enum zone_type zone;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:const struct page * page;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:char bdi[32];\toffset:24;\tsize:32;\tsigned:0;\n"
	"\tfield:char symbolic_comm[TASK_COMM_LEN];\toffset:56;\tsize:16;\tsigned:0;\n"
	"\tfield:s16 pair[2];\toffset:72;\tsize:4;\tsigned:1;\n"
	"\tfield:u8 mac[6];\toffset:76;\tsize:6;\tsigned:0;\n"
	"\tfield:struct thing what;\toffset:82;\tsize:3;\tsigned:0;\n"
	"\tfield:__data_loc char[] text;\toffset:88;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] near;\toffset:92;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc u16[] words;\toffset:96;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc cpumask_t mask;\toffset:100;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc struct pair[] bytes;\toffset:104;\tsize:4;\tsigned:0;\n"
	"\tfield:struct nothing none;\toffset:108;\tsize:0;\tsigned:0;\n"
	"\tfield:u32 rest[];\toffset:108;\tsize:0;\tsigned:0;\n\n"
	"print fmt: \"%d\", REC->small\n";

static const char format_kfree_skb[] =
	"name: kfree_skb\nID: 8\n" COMMON "\tfield:void * skbaddr;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:enum skb_drop_reason reason;\toffset:16;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"reason: %s\", __print_symbolic(REC->reason, { 1, \"NOT_SPECIFIED\" }, { (1UL "
	"<< 2), \"FOUR\" }, "
	"{ 0x10, \"HEX\" })\n";

static const char format_issue[] =
	"name: block_rq_issue\nID: 9\n" COMMON
	"\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:char rwbs[8];\toffset:12;\tsize:8;\tsigned:0;\n"
	"\tfield:char comm[16];\toffset:20;\tsize:16;\tsigned:0;\n\n"
	"print fmt: \"\"\n";

static const char format_fork[] =
	"name: sched_process_fork\nID: 10\n" COMMON
	"\tfield:__data_loc char[] parent_comm;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:pid_t parent_pid;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc char[] child_comm;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:pid_t child_pid;\toffset:20;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"\"\n";

/* As long as its list is. */
static const char format_stack[] =
	"name: kernel_stack\nID: 4\n" COMMON
	"\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\n"
	"print fmt: \"\"\n";

/* A kernel of 32 bits: what LTTng shows as 64 bits is made larger. */
static const char format_alloc[] =
	"name: kmalloc\nID: 11\n" COMMON
	"\tfield:unsigned long call_site;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:short gfp_flags;\toffset:12;\tsize:2;\tsigned:1;\n\n"
	"print fmt: \"\"\n";

/* Made by writing to kprobe_events. */
static const char format_return[] =
	"name: opened\nID: 1900\n" COMMON
	"\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] path;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:s32 fd;\toffset:28;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"(%lx <- %lx) path=\\\"%s\\\" fd=%d\", REC->__probe_func, "
	"REC->__probe_ret_ip, __get_str(path), REC->fd\n";

static const struct {
	const char *system, *text;
} stored_formats[] = {
	{ "sched", format_switch },   { "syscalls", format_open }, { "syscalls", format_openat },
	{ "mine", format_odd },       { "skb", format_kfree_skb }, { "block", format_issue },
	{ "sched", format_fork },     { "ftrace", format_stack },  { "kmem", format_alloc },
	{ "kprobes", format_return },
};

#define STORED_FORMATS (sizeof(stored_formats) / sizeof(stored_formats[0]))

/* Bytes read; 0: it cannot be. */
static inline size_t read_whole(const char *path, char *to, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got;

	if (fd < 0)
		return 0;
	while (n < room && (got = read(fd, to + n, room - n)) > 0)
		n += (size_t)got;
	close(fd);
	return n;
}

/* Of the running kernel; NULL. */
static inline struct kformat *load_format(const char *system, const char *event)
{
	static char text[1 << 16];
	struct kformat *f;
	char path[512];

	snprintf(path, sizeof(path), TRACEFS "/events/%s/%s/format", system, event);
	return kformat_parse(system, text, read_whole(path, text, sizeof(text)), &f) ? NULL : f;
}

#endif
