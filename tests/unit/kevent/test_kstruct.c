/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pointers of system calls point to: types, payloads, filters; and records that lie. */
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "tests/unit/kevent/kpayload.h"

#define HEAD(name) "name: " name "\nID: 7\nformat:\n" \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n" \
	"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
#define LOC(kind, name, offset) \
	"\tfield:__captured " kind " " name ";\toffset:" offset ";\tsize:4;\tsigned:0;\n"

static const char address_format[] =
	HEAD("sys_enter_connect") "\tfield:int fd;\toffset:16;\tsize:8;\tsigned:0;\n" LOC(
		"family", "family", "24") LOC("port", "dport", "24") LOC("v4addr", "v4addr", "24")
		LOC("v6addr", "v6addr", "24");
static const char fds_format[] =
	HEAD("compat_sys_exit_poll") "\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n" LOC(
		"int", "len", "24") LOC("ints", "fildes", "28") LOC("fd_set", "readfds", "32")
		LOC("epoll_event", "event", "36") LOC("pollfds", "asked", "40")
			LOC("polled", "fds", "40");

static struct kformat *parse(const char *text)
{
	struct kformat *f = NULL;

	CHECK(kformat_parse("syscalls", text, strlen(text), &f) == 0);
	return f;
}

static void addresses(void)
{
	struct kformat *f = parse(address_format);
	uint8_t r[64] = { 0 };

	CHECK_STR(kformat_name(f), "syscall_entry_connect");
	put64(r + 16, 5);
	check_payload(f, r, 28,
		      "{ fd = 5, family = 0, dport = 0, _v4addr_length = 0, v4addr = [ ], "
		      "_v6addr_length = 0, v6addr = [ ] }\n");
	put32(r + 24, 16u << 16 | 28);
	put16(r + 28, AF_INET);
	memcpy(r + 30, "\x12\x34\x7f\0\0\1", 6);
	check_payload(f, r, 44,
		      "{ fd = 5, family = 2, dport = 4660, _v4addr_length = 4, v4addr = [ [0] = "
		      "127, [1] = 0, [2] = 0, [3] = 1 ], "
		      "_v6addr_length = 0, v6addr = [ ] }\n");
	/* Too short for what it says it is, and outside of the record */
	put32(r + 24, 15u << 16 | 28);
	check_payload(f, r, 44,
		      "{ fd = 5, family = 2, dport = 0, _v4addr_length = 0, v4addr = [ ], "
		      "_v6addr_length = 0, v6addr = [ ] }\n");
	put32(r + 24, 16u << 16 | 29);
	check_payload(f, r, 44,
		      "{ fd = 5, family = 0, dport = 0, _v4addr_length = 0, v4addr = [ ], "
		      "_v6addr_length = 0, v6addr = [ ] }\n");
	put32(r + 24, 28u << 16 | 28);
	put16(r + 28, AF_INET6);
	memcpy(r + 30, "\0\x11\0\0\0\0" "\0\1\0\0\0\0\0\0" "\0\0\0\0\0\0\0\x9", 22);
	check_payload(f, r, 56,
		      "{ fd = 5, family = 10, dport = 17, _v4addr_length = 0, v4addr = [ ], "
		      "_v6addr_length = 8, v6addr = [ [0] = 1, [1] = 0, "
		      "[2] = 0, [3] = 0, [4] = 0, [5] = 0, [6] = 0, [7] = 9 ] }\n");
	kformat_free(f);
}

#define NOTHING \
	"{ u64 = 0x0, fd = 0 }, raw_events = 0x0, events = { EPOLLIN = 0, EPOLLPRI = 0, " \
	"EPOLLOUT = 0, EPOLLERR = 0, EPOLLHUP = 0 } }"
#define POLLED(fd, raw, in, out) \
	"{ fd = " fd ", raw_events = " raw ", events = { POLLIN = " in ", POLLPRI = 0, " \
	"POLLOUT = " out ", POLLERR = 0, POLLHUP = 0 } }"

static void descriptors(void)
{
	struct kformat *f = parse(fds_format);
	struct epoll_event e = { .events = EPOLLIN | EPOLLHUP, .data.u64 = 0x200000002 };
	struct pollfd fds[] = { { 3, POLLIN, 0 }, { 4, POLLIN | POLLOUT, POLLOUT } };
	uint8_t r[128] = { 0 };

	CHECK_STR(kformat_name(f), "compat_syscall_exit_poll");
	put64(r + 16, 1);
	check_payload(f, r, 44,
		      "{ ret = 1, len = 0, fildes = [ [0] = 0, [1] = 0 ], _readfds_length = 0, "
		      "readfds = [ ], event = { data_union = " NOTHING
		      ", _asked_length = 0, asked = [ ], _fds_length = 0, fds = [ ] }\n");
	put32(r + 24, 4u << 16 | 44);
	put32(r + 28, 8u << 16 | 44);
	put32(r + 32, 2u << 16 | 44);
	put32(r + 36, sizeof(e) << 16 | 52);
	put32(r + 40, sizeof(fds) << 16 | (52 + sizeof(e)));
	put32(r + 44, 0x01020201);      /* the same in both byte orders */
	put32(r + 48, (uint32_t)-1);
	memcpy(r + 52, &e, sizeof(e));
	memcpy(r + 52 + sizeof(e), fds, sizeof(fds));
	check_payload(
		f, r, 52 + sizeof(e) + sizeof(fds),
		"{ ret = 1, len = 16908801, fildes = [ [0] = 16908801, [1] = -1 ], "
		"_readfds_length = 2, readfds = [ [0] = 0x1, [1] = 0x2 ], "
		"event = { data_union = { u64 = 0x200000002, "
		"fd = 2 }, raw_events = 0x11, events = "
		"{ EPOLLIN = 1, EPOLLPRI = 0, EPOLLOUT = 0, EPOLLERR = 0, EPOLLHUP = 1 } }, "
		"_asked_length = 2, asked = [ [0] = " POLLED(
			"3", "0x1", "1", "0") ", [1] = " POLLED("4", "0x5", "1",
								"1") " ], _fds_length = 1, fds = [ "
								     "[0] = " POLLED("4", "0x4",
										     "0",
										     "1") " ] }\n");
	kformat_free(f);
}

/* A filter sees addresses, and nothing from the first structure on. */
static void filters(void)
{
	struct kformat *f = parse(address_format);
	struct filter_event e;

	kformat_filter_event(f, &e);
	CHECK(e.field_count == 5 && f->field_count == 5);
	kformat_free(f);
	f = parse(fds_format);
	kformat_filter_event(f, &e);
	CHECK(e.field_count == 4 && f->field_count == 7);
	kformat_free(f);
}

/* Whatever records say: nothing is read outside of them, and there is room for all. */
static void noise(void)
{
	struct kformat *formats[] = { parse(address_format), parse(fds_format) };
	uint64_t x = 88172645463325252u;
	uint8_t out[8192];

	for (int i = 0; i < 20000; i++) {
		struct kcode *c = kcode_make(formats[i % 2]);
		size_t len = 24 + x % 200;
		uint8_t *r = malloc(len);
		ssize_t n;

		for (size_t k = 0; k < len; k++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			r[k] = (uint8_t)(x % 3 ? x % 60 : 0);
		}
		n = kcode_run(c, r, len, out, kcode_bound(c, len));
		CHECK(n > 0 || (n == -EBADMSG && len < 44));
		free(r);
		kcode_free(c);
	}
	kformat_free(formats[0]);
	kformat_free(formats[1]);
}

static void not_kinds(void)
{
	static const char text[] = HEAD("sys_enter_x")
		LOC("nonsense", "a",
		    "24") "\tfield:__captured int b;\toffset:28;\tsize:8;\tsigned:0;\n";
	struct kformat *f = parse(text);

	CHECK(f->field_count == 0);
	kformat_free(f);
}

int main(void)
{
	CASE(addresses);
	CASE(descriptors);
	CASE(filters);
	CASE(noise);
	CASE(not_kinds);
	return test_summary();
}
