// SPDX-License-Identifier: GPL-2.0-or-later
/* What this kernel permits, found out by doing it once. */
#include "tracer/kernel/bpf/bpf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define JIT "/proc/sys/net/core/bpf_jit_enable"
#define LOCKDOWN "/sys/kernel/security/lockdown"

/* The text of a small file; "": there is none. */
static void read_text(const char *path, char text[256])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, 255);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
}

static bool is_locked_down(void)
{
	char text[256];

	read_text(LOCKDOWN, text);
	return strstr(text, "[confidentiality]") != NULL;
}

/*
 * Linux 6.12 for riscv64 does not call the functions that its compiler of programs would put in
 * their place, if programs are interpreted: all of them are told that they run on CPU 0.
 */
static bool is_interpreted(void)
{
	char text[256];

	read_text(JIT, text);
	return *text == '0';
}

bool bpf_kernel_since(unsigned int major, unsigned int minor)
{
	unsigned int is[2];
	struct utsname u;

	if (uname(&u) || sscanf(u.release, "%u.%u", &is[0], &is[1]) != 2)
		return true;
	return is[0] > major || (is[0] == major && is[1] >= minor);
}

static int refuse(int ret, const char *what, struct tr_err *err)
{
	if ((ret == -EPERM || ret == -EACCES) && is_locked_down())
		return tr_fail(err, -EACCES, "the kernel is locked down: confidentiality");
	if (ret == -EPERM || ret == -EACCES)
		return tr_fail(err, -EACCES,
			       "the daemon may not use BPF: it needs root's rights, or CAP_BPF and "
			       "CAP_PERFMON");
	return tr_fail(err, ret == -ENOMEM ? ret : -EOPNOTSUPP, "this kernel has no %s", what);
}

#define KERNEL_ENOTSUPP 524      /* the kernel's own: its compiler lacks an instruction */

/*
 * A program that reads memory of the process, as those of system calls do, and adds atomically,
 * which the compiler for arm cannot.
 */
static int load_probe(void)
{
	struct bpf_code *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return -ENOMEM;
	bpf_code_begin(c);
	bpf_set(c, BPF_REG_2, 8);
	bpf_set(c, BPF_REG_3, 0);
	bpf_set_stack(c, BPF_REG_1, -8);
	bpf_call(c, BPF_FUNC_probe_read_user_str);
	bpf_store_number(c, BPF_DW, BPF_REG_10, -16, 0);
	bpf_set(c, BPF_REG_1, 1);
	bpf_add_atomic(c, BPF_REG_10, -16, BPF_REG_1);
	bpf_set(c, BPF_REG_0, 0);
	bpf_exit(c);
	ret = bpf_load(BPF_PROG_TYPE_TRACEPOINT, c, NULL);
	free(c);
	return ret;
}

int bpf_supported(struct tr_err *err)
{
	const struct bpf_map_spec spec = {
		.type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4096, .entries = 1,
		.flags = BPF_F_MMAPABLE, .name = "trailfs_probe",
	};
	int map, program;

	if (is_interpreted())
		return tr_fail(err, -EOPNOTSUPP,
			       "the kernel interprets BPF programs, which can fail: " JIT
			       " is 0 (sysctl net.core.bpf_jit_enable=1)");
	map = bpf_map_create(&spec);
	if (map < 0)
		return refuse(map, map == -ENOSYS ? "BPF"
						  : "BPF maps that a program can map (Linux 5.5)",
			      err);
	close(map);
	program = load_probe();
	if (program < 0)
		return refuse(program,
			      program == -KERNEL_ENOTSUPP
				      ? "compiler of BPF programs that add atomically"
				      : "BPF programs of tracepoints",
			      err);
	close(program);
	return 0;
}

/* A program that stores in the map how many bytes of the kernel's stack it gets, or -errno. */
static void put_trial(struct bpf_code *c, int map)
{
	enum { ADDRESS = -8, BYTES = -16, KEY = -24 };

	bpf_code_begin(c);
	bpf_set_stack(c, BPF_REG_2, ADDRESS);
	bpf_set(c, BPF_REG_3, 8);
	bpf_set(c, BPF_REG_4, 0);
	bpf_call(c, BPF_FUNC_get_stack);
	bpf_store(c, BPF_DW, BPF_REG_10, BYTES, BPF_REG_0);
	bpf_store_number(c, BPF_W, BPF_REG_10, KEY, 0);
	bpf_set_map(c, BPF_REG_1, map);
	bpf_set_stack(c, BPF_REG_2, KEY);
	bpf_set_stack(c, BPF_REG_3, BYTES);
	bpf_set(c, BPF_REG_4, 0);
	bpf_call(c, BPF_FUNC_map_update_elem);
	bpf_pass(c);
}

int bpf_stacks_at_getppid(uint32_t id)
{
	const struct bpf_map_spec spec = {
		.type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .entries = 1,
		.name = "trailfs_trial",
	};
	struct bpf_code *c = calloc(1, sizeof(*c));
	int map = c ? bpf_map_create(&spec) : -ENOMEM, program = map, link = map;
	int64_t bytes = 0;
	uint32_t key = 0;

	if (map >= 0) {
		put_trial(c, map);
		program = link = bpf_load(BPF_PROG_TYPE_TRACEPOINT, c, NULL);
	}
	free(c);
	if (program >= 0)
		link = bpf_attach(program, id);
	if (link >= 0) {
		syscall(SYS_getppid);
		if (bpf_map_get(map, &key, &bytes))
			bytes = 0;
	}
	if (program >= 0)
		bpf_detach(link, program);
	if (map >= 0)
		close(map);
	return link < 0 ? link : bytes > 0;
}
