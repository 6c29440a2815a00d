/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/* The kernel's state dump: every event decodes, and this process is in it as it is. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metadata/buf.h"
#include "metadata/ctf.h"
#include "metadata/decode.h"
#include "metadata/number.h"
#include "tests/lib/test.h"
#include "tracer/abi/ring.h"
#include "tracer/kernel/statedump/statedump.h"
#include "tracer/kernel/task/task.h"

struct collector {
	struct kdump_sink sink;
	struct md_stream *stream;
	size_t count[KDUMP_TYPES], all, bad;
	enum kdump_type first, last;
	size_t stop_after;
	bool own_state, own_file, own_pid_ns, own_user_ns, own_uts, own_code;
};

static int32_t own_pid, own_ppid;       /* as records of the kernel have them */
static int file_fd;
static char file_path[256];

static uint64_t number(const uint8_t *p, unsigned int n)
{
	return md_load(p, n, MD_HOST_IS_BIG);
}

static uint64_t ns_number(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

static void look(struct collector *c, enum kdump_type type, const uint8_t *p)
{
	switch (type) {
	/* tid pid ppid name[16] type mode submode status cpu file_table_address */
	case KDUMP_PROCESS_STATE:
		c->own_state |= number(p + 4, 4) == (uint64_t)own_pid &&
				number(p + 8, 4) == (uint64_t)own_ppid &&
				!memcmp(p + 12, "weird) (name\0\0\0\0", 16) &&
				number(p + 28, 4) == 0 && number(p + 32, 4) == 5 &&
				number(p + 36, 4) == 1 && number(p + 40, 4) == 2 &&
				number(p + 48, 8) == (uint64_t)own_pid;
		break;
	case KDUMP_PROCESS_PID_NS:      /* tid vtid vpid vppid ns_level ns_inum */
		c->own_pid_ns |= number(p + 4, 4) == (uint64_t)getpid() &&
				 number(p + 8, 4) == (uint64_t)getpid() &&
				 number(p + 12, 4) == (uint64_t)getppid() &&
				 number(p + 20, 4) == ns_number("/proc/self/ns/pid");
		break;
	case KDUMP_PROCESS_USER_NS:
		c->own_user_ns |= number(p + 4, 4) == getuid() && number(p + 8, 4) == getgid() &&
				  number(p + 16, 4) == ns_number("/proc/self/ns/user");
		break;
	case KDUMP_PROCESS_UTS_NS:
		c->own_uts |= number(p + 4, 4) == ns_number("/proc/self/ns/uts");
		break;
	case KDUMP_FILE_DESCRIPTOR:     /* file_table_address fd flags fmode filename */
		c->own_file |= number(p + 8, 4) == (uint64_t)file_fd &&
			       (number(p + 12, 4) & (O_ACCMODE | O_APPEND | O_CLOEXEC)) ==
				       (O_WRONLY | O_APPEND) &&
			       number(p + 16, 4) == 2 && !strcmp((const char *)p + 20, file_path);
		break;
	case KDUMP_PROCESS_MAPPING:     /* pid start size offset build_id path */
		c->own_code |= number(p, 4) == (uint64_t)own_pid &&
			       (uintptr_t)look - number(p + 4, 8) < number(p + 12, 8) &&
			       strstr((const char *)p + 28 + strlen((const char *)p + 28) + 1,
				      "test_kstatedump");
		break;
	default:
		break;
	}
}

/* One event through the decoder: it takes just the payload. */
static int event(struct kdump_sink *sink, enum kdump_type type, int32_t tid, const void *payload,
		 size_t len)
{
	struct collector *c = (struct collector *)(void *)sink;
	uint8_t bytes[KDUMP_PAYLOAD_MAX + 64], *p = bytes;
	struct md_decoder d = { .stream = c->stream, .p = bytes };
	struct md_occurrence o;
	uint32_t header = TRAIL_HEADER_WORD(type, 0);

	if (len > KDUMP_PAYLOAD_MAX)
		return -E2BIG;
	memcpy(p, &header, 4);          /* compact: 5 bits id, 27 of time */
	memcpy(p + 4, payload, len);
	d.end = bytes + 4 + len;
	if (md_decoder_next(&d, &o) != 1 || o.payload != bytes + 4 || o.end != d.end ||
	    md_decoder_next(&d, &o) != 0)
		c->bad++;
	if (!c->all++)
		c->first = type;
	c->last = type;
	c->count[type]++;
	if (tid == own_pid)
		look(c, type, bytes + 4);
	return c->all == c->stop_after ? -ECANCELED : 0;
}

static bool init(struct collector *c)
{
	memset(c, 0, sizeof(*c));
	c->sink.event = event;
	c->stream = md_stream_create(0, MD_HEADER_COMPACT);
	for (int i = 0; c->stream && i < KDUMP_TYPES; i++) {
		struct md_event *e = kdump_event((enum kdump_type)i);

		if (!e)
			return false;
		e->id = (uint32_t)i;
		if (md_stream_add(c->stream, e))
			return false;
	}
	return c->stream != NULL;
}

static bool find_own(void)
{
	struct tasks tasks = { 0 };
	int ret = tasks_global() ? 0 : tasks_read(&tasks, NULL);

	own_pid = tasks_translate(&tasks, (int32_t)getpid());
	own_ppid = tasks_translate(&tasks, (int32_t)getppid());
	tasks_deinit(&tasks);
	return !ret;
}

static void dump(void)
{
	struct collector c;
	int ret;

	if (!find_own())
		SKIP("the kernel's numbers of processes are unknown here");
	snprintf(file_path, sizeof(file_path), "%s/kstatedump.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	file_fd = mkstemp(file_path);
	close(file_fd);
	file_fd = open(file_path, O_WRONLY | O_APPEND | O_CLOEXEC);
	prctl(PR_SET_NAME, "weird) (name");
	CHECK(init(&c));
	ret = kstatedump(&c.sink);
	CHECK(ret == 0 && !c.bad && c.first == KDUMP_START && c.last == KDUMP_END &&
	      c.count[KDUMP_START] == 1 && c.count[KDUMP_END] == 1);
	CHECK(c.own_state);
	CHECK(c.own_file);
	CHECK(c.own_pid_ns);
	CHECK(c.own_user_ns);
	CHECK(c.own_uts);
	CHECK(c.own_code);
	CHECK(c.count[KDUMP_NETWORK_INTERFACE] >= 1);
#ifdef __x86_64__
	CHECK(c.count[KDUMP_CPU_TOPOLOGY] >= 1);
#endif
	for (int i = 0; i < KDUMP_TYPES; i++)
		printf("# %s: %zu\n", kdump_name((enum kdump_type)i), c.count[i]);
	md_stream_destroy(c.stream);
	close(file_fd);
	unlink(file_path);
}

/* Who receives the events may have enough. */
static void stopped(void)
{
	struct collector c;

	CHECK(init(&c));
	for (size_t n = 1; n < 40; n++) {
		c.all = 0;
		c.stop_after = n;
		CHECK(kstatedump(&c.sink) == -ECANCELED && c.all == n);
	}
	md_stream_destroy(c.stream);
}

static void print(enum kdump_type type, struct md_buf *b)
{
	struct md_event *e = kdump_event(type);

	md_buf_reset(b);
	md_ctf_print_event(e, 0, b);
	md_event_destroy(e);
}

/* As LTTng 2.13 prints them. */
static void metadata(void)
{
	struct md_buf b = MD_BUF_INIT;

	print(KDUMP_NETWORK_INTERFACE, &b);
	CHECK_STR(md_buf_str(&b),
		  "event {\n\tname = \"lttng_statedump_network_interface\";\n\tid = "
		  "0;\n\tstream_id = 0;\n\tfields := struct {\n"
		  "\t\tstring _name;\n"
		  "\t\tinteger { size = 32; align = 8; signed = 0; encoding = none; base = 16; "
		  "byte_order = be; } _address_ipv4;\n\t};\n};\n\n");
	print(KDUMP_PROCESS_STATE, &b);
	CHECK(strstr(md_buf_str(&b), "integer { size = 8; align = 8; signed = 1; encoding = UTF8; "
				     "base = 10; } _name[16];\n"));
	CHECK(strstr(md_buf_str(&b), "integer { size = 64; align = 8; signed = 0; encoding = none; "
				     "base = 16; } _file_table_address;\n"));
	print(KDUMP_FILE_DESCRIPTOR, &b);
	CHECK(strstr(md_buf_str(&b), "base = 8; } _flags;\n"));
	md_buf_deinit(&b);
}

int main(void)
{
	CASE(dump);
	CASE(stopped);
	CASE(metadata);
	return test_summary();
}
