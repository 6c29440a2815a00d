/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/kernel/task/task.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metadata/buf.h"
#include "tracer/base/probe/btf.h"
#include "tracer/kernel/bpf/bpf.h"
#include "tracer/kernel/task/program.h"

#define INITIAL_PID_NS 0xEFFFFFFCu      /* its inode number: linux/proc_ns.h */
#define LINES_MAX (256u << 20)          /* bytes: more than 2^22 threads, the kernel's limit */

/* ---- which numbers /proc has ---- */

static bool is_initial(const char *path)
{
	struct stat st;

	return !stat(path, &st) && st.st_ino == INITIAL_PID_NS;
}

bool tasks_global(void)
{
	/* The second: a container may have the /proc of the host. */
	return is_initial("/proc/self/ns/pid") || is_initial("/proc/1/ns/pid");
}

/* Whether /proc belongs to the daemon's namespace, or to one around it. */
static bool has_own_proc(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	int outer, inner, n = 0;

	while (f && !n && fgets(line, sizeof(line), f))
		if (!strncmp(line, "NSpid:", 6))
			n = sscanf(line + 6, "%d %d", &outer, &inner);
	if (f)
		fclose(f);
	return n == 1;
}

/* ---- the program in the kernel ---- */

static pthread_mutex_t layout_lock = PTHREAD_MUTEX_INITIALIZER; /* guards layout and is_found */
static struct task_layout layout;
static bool is_found;

/* The kernel's types are some megabytes: they are read once. */
static int get_layout(struct task_layout *out)
{
	struct btf *types = NULL;
	int ret = 0;

	pthread_mutex_lock(&layout_lock);
	if (!is_found) {
		ret = btf_load(BTF_FILE, NULL, &types);
		if (!ret)
			ret = task_layout_find(types, &layout);
		btf_free(types);
		is_found = !ret;
	}
	*out = layout;
	pthread_mutex_unlock(&layout_lock);
	return ret;
}

static int load_program(const struct task_layout *l)
{
	struct bpf_code *code = calloc(1, sizeof(*code));
	int ret;

	if (!code)
		return -ENOMEM;
	task_program_make(l, code);
	ret = bpf_load_iterator(code, l->iterator);
	free(code);
	return ret;
}

/* A descriptor whose reads give a struct task_line for each thread. */
static int open_iterator(void)
{
	struct task_layout l;
	union bpf_attr a;
	int ret = get_layout(&l), program, link;

	if (ret)
		return ret;
	program = load_program(&l);
	if (program < 0)
		return program;
	memset(&a, 0, sizeof(a));
	a.link_create.prog_fd = (uint32_t)program;
	a.link_create.attach_type = BPF_TRACE_ITER;
	link = (int)bpf_command(BPF_LINK_CREATE, &a);
	close(program);
	if (link < 0)
		return link;
	memset(&a, 0, sizeof(a));
	a.iter_create.link_fd = (uint32_t)link;
	ret = (int)bpf_command(BPF_ITER_CREATE, &a);
	close(link);
	return ret;
}

/* ---- the list ---- */

static int read_lines(int fd, struct md_buf *out)
{
	uint8_t part[32768];
	ssize_t n;

	while ((n = read(fd, part, sizeof(part))) != 0) {
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (n > 0)
			md_buf_put(out, part, (size_t)n);
		if (out->failed || out->len > LINES_MAX)
			return -ENOMEM;
	}
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int set_list(const struct md_buf *lines, struct tasks *out)
{
	size_t count = lines->len / sizeof(struct task_line);
	struct task_line line;

	out->items = calloc(count + 1, sizeof(*out->items));
	if (!out->items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct task *t = &out->items[out->count];

		memcpy(&line, lines->data + i * sizeof(line), sizeof(line));
		/* A thread that is ending has no number any more. */
		if (line.number <= 0)
			continue;
		*t = (struct task){ .number = line.number, .tid = line.tid, .pid = line.pid };
		memcpy(t->comm, line.comm, sizeof(t->comm) - 1);
		out->count++;
	}
	qsort(out->items, out->count, sizeof(*out->items), compare_numbers);
	return 0;
}

static int fail_unknown(struct tr_err *err, const char *why)
{
	return tr_fail(err, -EOPNOTSUPP,
		       "the daemon runs in a PID namespace, and the kernel's numbers of its "
		       "processes are not known: %s", why);
}

int tasks_read(struct tasks *out, struct tr_err *err)
{
	struct md_buf lines = MD_BUF_INIT;
	int fd, ret;

	*out = (struct tasks){ 0 };
	if (!has_own_proc())
		return fail_unknown(err, "/proc belongs to another namespace; mount a new one");
	fd = open_iterator();
	ret = fd < 0 ? fd : read_lines(fd, &lines);
	if (fd >= 0)
		close(fd);
	if (!ret)
		ret = set_list(&lines, out);
	md_buf_deinit(&lines);
	if (ret == -ENOMEM)
		return tr_fail(err, ret, "out of memory");
	return ret ? fail_unknown(err, ret == -EPERM || ret == -EACCES
					       ? "the daemon may not use BPF"
					       : "this kernel has no BPF iterators (Linux 5.8)")
		   : 0;
}

const struct task *tasks_find(const struct tasks *t, int32_t number)
{
	struct task key = { .number = number };

	return t->count ? bsearch(&key, t->items, t->count, sizeof(key), compare_numbers) : NULL;
}

int32_t tasks_translate(const struct tasks *t, int32_t number)
{
	const struct task *found = tasks_find(t, number);

	return found ? found->tid : number;
}

int32_t tasks_number(const struct tasks *t, int32_t tid)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->items[i].tid == tid)
			return t->items[i].number;
	return tid;
}

void tasks_deinit(struct tasks *t)
{
	free(t->items);
	*t = (struct tasks){ 0 };
}
