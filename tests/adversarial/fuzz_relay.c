/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * A hostile relay: replies with bytes changed, left out and put in, to the client of the relay
 * protocol; and addresses of relays from their grammar and from noise. The client must end each
 * call with a result, and may not read or write outside its buffers (SAN=1 shows it).
 *
 * fuzz_relay [SECONDS [SEED]]: 3 seconds; SOAK=1: 10,000,000 inputs, however long they take.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/fuzz.h"
#include "tracer/output/relay/client.h"

static int on_reply(void *arg, const struct relay_wait *w, uint32_t code)
{
	uint64_t *asked = arg;

	expect(w->number == *asked, "replies come in the order of their commands");
	++*asked;
	return code == RELAY_OK || code == 0 || code == 1 ? 0 : -EREMOTEIO;
}

static void put_number(struct md_buf *b, uint64_t v, unsigned int size)
{
	static const uint64_t odd[] = { 0,    1,          9,          11,         4095,      4096,
					4097, 0x7fffffff, 0x80000000, UINT32_MAX, UINT64_MAX };
	uint64_t v64;
	uint32_t v32;

	if (!rnd(12))
		v = rnd(2) ? odd[rnd(sizeof(odd) / sizeof(odd[0]))] : rnd(UINT64_MAX);
	v64 = htobe64(v);
	v32 = htobe32((uint32_t)v);
	md_buf_put(b, size == 8 ? (void *)&v64 : (void *)&v32, size);
}

static void put_path(struct md_buf *b)
{
	uint64_t len = 1 + rnd(rnd(50) ? 60 : RELAY_PATH_MAX + 10);

	put_number(b, len, 4);
	while (--len)
		md_buf_putc(b, (char)('a' + rnd(26)));
	md_buf_putc(b, (char)(rnd(20) ? 0 : 1));
}

/* What a relay replies to the calls of use_client(). */
static void put_replies(struct md_buf *b, uint64_t indexes)
{
	put_number(b, rnd(1000), 8);
	put_number(b, RELAY_OK, 4);
	put_path(b);
	put_number(b, rnd(1000), 8);
	put_number(b, RELAY_OK, 4);
	for (uint64_t i = 0; i < indexes + 1; i++)
		put_number(b, RELAY_OK, 4);
	put_number(b, RELAY_OK, 4);
	put_number(b, rnd(2), 8);
	put_number(b, RELAY_OK, 4);
	put_path(b);
	while (!rnd(4))
		md_buf_putc(b, (char)rnd(256));
	if (!rnd(4))
		b->len = rnd(b->len + 1);
}

static void use_client(struct relay_link *l, uint64_t indexes, uint64_t *asked)
{
	const struct relay_session_info s = { .name = "s", .host = "h", .path = "" };
	const struct relay_stream_info st = { .channel = "c", .path = "p" };
	const struct md_packet p = { .packet_size = 8 };
	char path[RELAY_PATH_MAX];
	uint64_t id, number = *asked;
	bool allowed;
	int err = relay_create_session(l, &s, path);

	expect(memchr(path, 0, sizeof(path)), "the path has an end");
	err = err ? err : relay_add_stream(l, &st, &id);
	for (uint64_t i = 0; i < indexes && !err; i++) {
		relay_put_index(&l->out, l->minor, id, i, &p);
		err = link_expect(l, &(struct relay_wait){ .number = number++ });
		if (!err && !rnd(3))
			err = link_flush(l);
		if (!err && !rnd(3))
			err = link_poll(l);
	}
	if (!err) {
		relay_put_none(&l->out, RELAY_STREAMS_SENT);
		err = relay_run(l);
		expect(err || l->count == 0, "a call waits for all replies before its own");
	}
	err = err ? err : relay_allows_clear(l, &allowed);
	err = err ? err : relay_close_chunk(l, 1, 2, RELAY_CHUNK_ARCHIVE);
	if (!err)
		link_poll(l);
}

static void try_client(void)
{
	struct md_buf b = MD_BUF_INIT;
	uint64_t indexes = rnd(rnd(20) ? 10 : 40), asked = 0;
	struct relay_link l;
	int fd[2];

	link_init(&l);
	expect(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), "socketpair");
	l.control = fd[0];
	l.minor = rnd(10) ? RELAY_MINOR : RELAY_MINOR_MIN + (uint32_t)rnd(10);
	l.replied = on_reply;
	l.arg = &asked;
	put_replies(&b, indexes);
	expect(!b.failed && write(fd[1], b.data, b.len) == (ssize_t)b.len, "write");
	/* What it does not say, it will never say: no call waits. */
	shutdown(fd[1], SHUT_WR);
	use_client(&l, indexes, &asked);
	link_close(&l);
	close(fd[1]);
	md_buf_deinit(&b);
}

static void try_address(void)
{
	static const char *const parts[] = {
		"net://", "net6://", "tcp://", "tcp6://", "host", "[::1]",   ":",     "5342",
		"/",      "path",    "..",     ".",       "\n",   " ",       "99999", "0",
		"]",      "[",       "-",      "%eth0",   "\xff", "tcp://b", "x.y",
	};
	char text[4096] = "";
	struct tr_err err = TR_ERR_INIT;
	struct relay_url u;

	if (rnd(4))
		strcat(text, parts[rnd(4)]);
	for (uint64_t n = rnd(8); n; n--)
		strcat(text, parts[rnd(sizeof(parts) / sizeof(parts[0]))]);
	while (!rnd(20) && strlen(text) < 3000)
		for (size_t n = 0, at = strlen(text); n < 400; n++)
			text[at + n] = (char)('a' + rnd(26)), text[at + n + 1] = 0;
	if (relay_url_parse(text, &u, &err)) {
		expect(err.sentence[0], "an error has a sentence");
		return;
	}
	expect(memchr(u.control.host, 0, sizeof(u.control.host)) && u.control.host[0] &&
		       u.control.port && u.data.host[0] && u.data.port,
	       "an address has hosts and ports");
	expect(u.path[0] != '/' && u.path[0] != '.' && !strstr(u.path, "/."),
	       "a path stays where it belongs");
}

int main(int argc, char **argv)
{
	const char *soak = getenv("SOAK");
	uint64_t inputs = 0, least = soak && *soak == '1' ? 10000000 : 1000;
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 3);

	fuzz_seed(argc > 2 ? argv[2] : NULL);
	for (; inputs < least || time(NULL) < end; inputs++) {
		try_client();
		try_address();
	}
	printf("%llu inputs\n", (unsigned long long)inputs);
	return 0;
}
