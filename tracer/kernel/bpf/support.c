// SPDX-License-Identifier: GPL-2.0-or-later
/* What this kernel permits, found out by doing it once. */
#include "tracer/kernel/bpf/bpf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOCKDOWN "/sys/kernel/security/lockdown"

static bool is_locked_down(void)
{
	int fd = open(LOCKDOWN, O_RDONLY | O_CLOEXEC);
	char text[256];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return strstr(text, "[confidentiality]") != NULL;
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

/* A program that reads memory of the process, as those of system calls do. */
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
	int map = bpf_map_create(&spec), program;

	if (map < 0)
		return refuse(map, map == -ENOSYS ? "BPF"
						  : "BPF maps that a program can map (Linux 5.5)",
			      err);
	close(map);
	program = load_probe();
	if (program < 0)
		return refuse(program, "BPF programs of tracepoints", err);
	close(program);
	return 0;
}
