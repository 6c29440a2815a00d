/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * false_relay silent|behind: prints the two ports (control, data) on which it listens.
 *
 *	silent	never reads what it gets; the kernel accepts the connections
 *	behind	speaks version 2.4 of the relay protocol to one connection, stores nothing, and says
 *		of each packet once that it has not received it, as a relay does that has more to
 *		read. At SIGTERM it prints how many packets it received, how many it confirmed, and
 *		how often it was asked about a later packet before it had confirmed the one before.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STREAMS 64
#define COMMAND_HEADER 24
#define DATA_HEADER 32
#define RELAY_OK 10

enum { ADD_STREAM = 1, CREATE_SESSION = 2, VERSION = 5, METADATA = 6, DATA_PENDING = 8 };

static uint64_t received, confirmed, moved, streams;
static uint64_t asked[STREAMS];         /* 1 + the packet that was called missing; 0: none */
static uint64_t known[STREAMS];         /* packets that were confirmed */
static uint64_t body_left;              /* of a packet on the data connection */
static uint8_t commands[1 << 20], header[DATA_HEADER];
static size_t command_bytes, header_bytes;

static void report(int signal)
{
	char line[80];
	int n = snprintf(line, sizeof(line), "%llu %llu %llu\n", (unsigned long long)received,
			 (unsigned long long)confirmed, (unsigned long long)moved);

	_exit(signal && write(1, line, (size_t)n) == n ? 0 : 1);
}

static int listen_any(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	int s = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (s < 0 || bind(s, (struct sockaddr *)&a, len) || listen(s, 8) ||
	    getsockname(s, (struct sockaddr *)&a, &len))
		_exit(1);
	printf("%d\n", ntohs(a.sin_port));
	return s;
}

static uint64_t get_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static uint32_t get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

/* Whether a packet is missing: at the first question about it, it always is. */
static uint32_t is_pending(uint64_t stream, uint64_t number)
{
	if (stream >= STREAMS)
		report(0);
	if (asked[stream] != number + 1) {
		moved += asked[stream] != 0;
		asked[stream] = number + 1;
		return 1;
	}
	asked[stream] = 0;
	confirmed += number + 1 - known[stream];
	known[stream] = number + 1;
	return 0;
}

static void reply(int control, uint32_t command, const uint8_t *body)
{
	uint32_t out[3] = { htobe32(RELAY_OK) };
	size_t size = 4;

	if (command == METADATA)
		return;
	if (command == VERSION) {
		out[0] = htobe32(2);
		out[1] = htobe32(4);
		size = 8;
	} else if (command == CREATE_SESSION || command == ADD_STREAM) {
		out[0] = 0;
		out[1] = htobe32((uint32_t)streams);
		out[2] = htobe32(RELAY_OK);
		streams += command == ADD_STREAM;
		size = 12;
	} else if (command == DATA_PENDING) {
		out[0] = htobe32(is_pending(get_u64(body), get_u64(body + 8)));
	}
	if (write(control, out, size) != (ssize_t)size)
		report(0);
}

static void read_commands(int control)
{
	ssize_t n = read(control, commands + command_bytes, sizeof(commands) - command_bytes);
	size_t at = 0, size;

	if (n <= 0)
		pause();
	command_bytes += (size_t)n;
	for (; command_bytes - at >= COMMAND_HEADER; at += size) {
		size = COMMAND_HEADER + get_u64(commands + at + 8);
		if (command_bytes - at < size)
			break;
		reply(control, get_u32(commands + at + 16), commands + at + COMMAND_HEADER);
	}
	memmove(commands, commands + at, command_bytes - at);
	command_bytes -= at;
}

static void read_data(int data)
{
	static uint8_t body[65536];
	size_t most = body_left < sizeof(body) ? body_left : sizeof(body);
	ssize_t n = body_left ? read(data, body, most) :
		    read(data, header + header_bytes, sizeof(header) - header_bytes);

	if (n <= 0)
		pause();
	if (body_left) {
		body_left -= (size_t)n;
		received += !body_left;
		return;
	}
	header_bytes += (size_t)n;
	if (header_bytes == sizeof(header)) {
		body_left = get_u32(header + 24);
		header_bytes = 0;
	}
}

int main(int argc, char **argv)
{
	struct pollfd p[2] = { { .fd = listen_any(), .events = POLLIN },
			       { .fd = listen_any(), .events = POLLIN } };

	fflush(stdout);
	if (argc < 2 || strcmp(argv[1], "behind"))
		for (;;)
			pause();
	signal(SIGTERM, report);
	p[0].fd = accept(p[0].fd, NULL, NULL);
	for (bool connected = false;;) {
		if (poll(p, 2, -1) < 0)
			return 1;
		if (p[0].revents) {
			read_commands(p[0].fd);
		} else if (!connected) {
			p[1].fd = accept(p[1].fd, NULL, NULL);
			connected = true;
		} else if (p[1].revents) {
			read_data(p[1].fd);
		}
	}
}
