/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The relay protocol: addresses, the bytes of commands, and replies, right and hostile. */
#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/output/relay/client.h"

/* ---- addresses ---- */

static int parse(const char *text, struct relay_url *u)
{
	struct tr_err err = TR_ERR_INIT;
	int ret = relay_url_parse(text, u, &err);

	CHECK(ret ? ret == -EINVAL && err.sentence[0] : !err.sentence[0]);
	return ret;
}

static void explained(const char *text, const char *with)
{
	struct tr_err err = TR_ERR_INIT;
	struct relay_url u;

	CHECK(relay_url_parse(text, &u, &err) == -EINVAL && strstr(err.sentence, with));
}

static bool is(const char *text, bool ipv6, const char *host, int control, const char *data_host,
	       int data, const char *path)
{
	struct relay_url u;

	return !parse(text, &u) && u.ipv6 == ipv6 && !strcmp(u.control.host, host) &&
	       u.control.port == control && !strcmp(u.data.host, data_host) &&
	       u.data.port == data && !strcmp(u.path, path);
}

static void addresses(void)
{
	CHECK(is("net://relay", false, "relay", 5342, "relay", 5343, ""));
	CHECK(is("net://relay\n", false, "relay", 5342, "relay", 5343, ""));
	CHECK(is("net://10.0.0.1:1", false, "10.0.0.1", 1, "10.0.0.1", 5343, ""));
	CHECK(is("net://r.example.org:1:65535/a/b_1/", false, "r.example.org", 1, "r.example.org",
		 65535, "a/b_1"));
	CHECK(is("net6://[fe80::1%eth0]:7/x", true, "fe80::1%eth0", 7, "fe80::1%eth0", 5343, "x"));
	CHECK(is("net6://ip6-localhost", true, "ip6-localhost", 5342, "ip6-localhost", 5343, ""));
	CHECK(is("tcp://a:1\ntcp://b:2\n", false, "a", 1, "b", 2, ""));
	CHECK(is("tcp://a:1/p", false, "a", 1, "a", 5343, "p"));
	CHECK(is("tcp://a/p tcp://b", false, "a", 5342, "b", 5343, "p"));
	CHECK(is("tcp6://[::1]\ntcp6://[::2]:9", true, "::1", 5342, "::2", 9, ""));
	CHECK(relay_url_is("net6://x") && relay_url_is("tcp://") && !relay_url_is("/net://x") &&
	      !relay_url_is("file:///x"));
}

static void bad_addresses(void)
{
	static const char *const bad[] = {
		"net://",
		"net://:1",
		"net://[::1]",
		"net:///p",
		"net://h:",
		"net://h:0",
		"net://h:65536",
		"net://h:99999999999",
		"net://h:1:2:3",
		"net://h:1x",
		"net://h/../x",
		"net://h/a/.b",
		"net://h/a b",
		"net://h x",
		"net://h\ntcp://h",
		"net6://[::1",
		"net6://::1",
		"tcp://a\nnet://b",
		"tcp://a\ntcp6://b",
		"tcp://a/p\ntcp://b/q",
		"tcp://a\ntcp://b\ntcp://c",
		"http://h",
		"net://-h",
		"net://h\x01",
		"",
	};
	static char path[3000], host[600];
	struct relay_url u;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (parse(bad[i], &u) != -EINVAL)
			printf("# accepted: %s\n", bad[i]);
		CHECK(parse(bad[i], &u) == -EINVAL);
	}
	explained("net6://::1", "an IPv6 address is in brackets");
	explained("net://::1", "an IPv6 address is in brackets");
	explained("net:///p", "a host name or address is missing");
	memset(path, 'x', sizeof(path) - 1);
	memcpy(path, "net://h/", 8);
	CHECK(parse(path, &u) == -EINVAL);
	memset(host, 'x', sizeof(host) - 1);
	memcpy(host, "net://", 6);
	CHECK(parse(host, &u) == -EINVAL);
}

/* ---- commands ---- */

/* The buffer is these bytes, written as hexadecimal digits and blanks; and is emptied. */
static bool bytes(struct md_buf *b, const char *hex)
{
	size_t n = 0;
	bool same = true;

	for (unsigned int v; *(hex += strspn(hex, " ")); hex += 2, n++) {
		if (sscanf(hex, "%2x", &v) != 1)
			return false;
		same = same && n < b->len && (uint8_t)b->data[n] == v;
	}
	same = same && n == b->len;
	for (size_t i = 0; i < b->len && !same; i++)
		printf("%s%02x", i ? " " : "# ", (uint8_t)b->data[i]);
	if (!same)
		printf("\n");
	md_buf_reset(b);
	return same;
}

#define HEADER(len, cmd) "0000000000000000 00000000000000" len " 000000" cmd " 00000000 "

static const struct md_packet packet = {
	.stream_id = 3, .stream_instance_id = 4, .timestamp_begin = 0x1122, .timestamp_end = 0x1133,
	.content_size = 672, .packet_size = 1344, .packet_seq_num = 5, .events_discarded = 6,
};

static void commands(void)
{
	static const struct relay_rotation r[] = { { 1, 2 }, { 3, 4 } };
	const uint64_t chunk = 9;
	uint8_t header[RELAY_DATA_HEADER];
	struct md_buf b = MD_BUF_INIT;

	relay_put_version(&b, 2, 13);
	CHECK(bytes(&b, HEADER("08", "05") "00000002 0000000d"));
	relay_put_none(&b, RELAY_STREAMS_SENT);
	CHECK(bytes(&b, HEADER("00", "10")));
	relay_put_two(&b, RELAY_DATA_PENDING, 7, UINT64_MAX);
	CHECK(bytes(&b, HEADER("10", "08") "0000000000000007 ffffffffffffffff"));
	relay_put_metadata(&b, 2, "ab", 2);
	CHECK(bytes(&b, HEADER("0e", "06") "0000000000000002 00000000 6162"));
	relay_put_index(&b, 8, 1, 2, &packet);
	CHECK(bytes(
		&b,
		HEADER("50",
		       "0d") "0000000000000001 0000000000000002 0000000000000540 00000000000002a0"
			     "0000000000001122 0000000000001133 0000000000000006 0000000000000003 "
			     "0000000000000004"
			     "0000000000000005"));
	relay_put_index(&b, 7, 1, 2, &packet);
	CHECK(b.len == RELAY_HEADER + 64);
	md_buf_reset(&b);
	relay_put_chunk(&b, 1, 2, "");
	CHECK(bytes(&b, HEADER("14", "13") "0000000000000001 0000000000000002 00000000"));
	relay_put_rotation(&b, &chunk, r, 2);
	CHECK(bytes(&b, HEADER("2d", "12") "00000002 01 0000000000000009"
		    "0000000000000001 0000000000000002 0000000000000003 0000000000000004"));
	relay_put_rotation(&b, NULL, r, 1);
	CHECK(bytes(&b,
		    HEADER("1d",
			   "12") "00000001 00 0000000000000000 0000000000000001 0000000000000002"));
	relay_put_chunk_end(&b, 1, 2, RELAY_CHUNK_DELETE);
	CHECK(bytes(&b, HEADER("15", "14") "0000000000000001 0000000000000002 01 00000002"));
	relay_set_data_header(header, 1, 2, 3);
	md_buf_put(&b, header, sizeof(header));
	CHECK(bytes(&b, "0000000000000000 0000000000000001 0000000000000002 00000003 00000000"));
	md_buf_deinit(&b);
}

static void sessions_and_streams(void)
{
	struct relay_session_info s = {
		.name = "web", .host = "h", .path = "", .live_timer = 16, .id = 1, .created = 2,
		.uuid = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
	};
	const struct relay_stream_info st = {
		.channel = "c_0", .path = "ust", .file_size = 1, .file_count = 2, .chunk = 3
	};
	struct md_buf b = MD_BUF_INIT;
	char name[300];

	CHECK(!relay_put_session(&b, 13, &s));
	CHECK(bytes(&b, HEADER("42", "02") "00000004 00000002 00000001 00000010 00 00"
					   "0102030405060708090a0b0c0d0e0f10 0000000000000001 "
					   "0000000000000002 00 0000000000000000"
					   "77656200 6800 00"));
	s.is_ctf2 = true;
	CHECK(!relay_put_session(&b, 15, &s));
	CHECK(bytes(&b, HEADER("46", "02") "00000004 00000002 00000001 00000010 00 00"
					   "0102030405060708090a0b0c0d0e0f10 0000000000000001 "
					   "0000000000000002 00 0000000000000000 00000002"
					   "77656200 6800 00"));
	CHECK(!relay_put_session(&b, 10, &s));
	CHECK(b.len == RELAY_HEADER + 255 + 64 + 8 && !strcmp(b.data + RELAY_HEADER, "web") &&
	      !strcmp(b.data + RELAY_HEADER + 255, "h"));
	md_buf_reset(&b);
	CHECK(!relay_put_stream(&b, 11, &st));
	CHECK(bytes(
		&b,
		HEADER("28",
		       "01") "00000004 00000004 0000000000000001 0000000000000002 0000000000000003"
			     "635f3000 75737400"));
	CHECK(!relay_put_stream(&b, 10, &st));
	CHECK(b.len == RELAY_HEADER + 264 + 4096 + 16);
	md_buf_reset(&b);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	s.name = name;
	CHECK(relay_put_session(&b, 13, &s) == -ENAMETOOLONG &&
	      relay_put_session(&b, 4, &s) == -ENAMETOOLONG && !b.len);
	s.name = "web";
	s.host = name;
	CHECK(relay_put_session(&b, 13, &s) == -ENAMETOOLONG && !b.len);
	md_buf_deinit(&b);
}

/* ---- replies ---- */

static int peer;        /* the relay's end of the control connection */
static uint32_t codes[8], code_count;

static int note(void *arg, const struct relay_wait *w, uint32_t code)
{
	(void)arg, (void)w;
	codes[code_count++ % 8] = code;
	return code == RELAY_OK ? 0 : -EREMOTEIO;
}

static void open_link(struct relay_link *l)
{
	int control[2] = { -1, -1 };

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, control));
	link_init(l);
	l->control = control[0];
	peer = control[1];
	l->minor = RELAY_MINOR;
	l->replied = note;
	l->stall_ms = 200;
	code_count = 0;
}

static void close_link(struct relay_link *l)
{
	link_close(l);
	close(peer);
}

static void say(const void *p, size_t n)
{
	CHECK(write(peer, p, n) == (ssize_t)n);
}

static void say_u32(uint32_t v)
{
	v = htobe32(v);
	say(&v, sizeof(v));
}

static void say_u64(uint64_t v)
{
	v = htobe64(v);
	say(&v, sizeof(v));
}

static void replies(void)
{
	const struct relay_session_info s = { .name = "n", .host = "h", .path = "" };
	const struct relay_stream_info st = { .channel = "c", .path = "p" };
	char path[RELAY_PATH_MAX];
	struct relay_link l;
	uint64_t id = 0;
	bool allowed = false;

	open_link(&l);
	say_u64(77);
	say_u32(RELAY_OK);
	say_u32(4);
	say("h/n", 4);
	CHECK(!relay_create_session(&l, &s, path) && !strcmp(path, "h/n"));
	say_u64(5);
	say_u32(RELAY_OK);
	CHECK(!relay_add_stream(&l, &st, &id) && id == 5);
	say_u32(RELAY_OK);
	say_u64(1);
	CHECK(!relay_allows_clear(&l, &allowed) && allowed);
	say_u32(RELAY_OK);
	say_u32(2);
	say("x", 2);
	CHECK(!relay_close_chunk(&l, 1, 2, RELAY_CHUNK_STAYS));
	say_u32(97);
	relay_put_none(&l.out, RELAY_STREAMS_SENT);
	CHECK(relay_run(&l) == -EREMOTEIO);
	close_link(&l);
}

/* Replies of several commands come in pieces, before that of a call. */
static void outstanding(void)
{
	const struct relay_wait w = { 0 };
	uint32_t ok = htobe32(RELAY_OK);
	struct relay_link l;

	open_link(&l);
	for (int i = 0; i < 3; i++) {
		relay_put_index(&l.out, l.minor, 1, (uint64_t)i, &packet);
		CHECK(!link_expect(&l, &w));
	}
	CHECK(!link_flush(&l) && l.count == 3);
	say(&ok, 3);
	CHECK(!link_poll(&l) && l.count == 3);
	say((const char *)&ok + 3, 1);
	say(&ok, 4);
	CHECK(!link_poll(&l) && l.count == 1 && code_count == 2);
	say(&ok, 4);
	say_u32(RELAY_OK);
	relay_put_none(&l.out, RELAY_STREAMS_SENT);
	CHECK(!relay_run(&l) && l.count == 0 && code_count == 3 && codes[2] == RELAY_OK);
	CHECK(!link_poll(&l));
	close_link(&l);
}

/* A relay that lies, is silent, or goes. */
static void hostile(void)
{
	const struct relay_session_info s = { .name = "n", .host = "h", .path = "" };
	const struct relay_wait w = { 0 };
	char path[RELAY_PATH_MAX], long_path[RELAY_PATH_MAX] = { 0 };
	struct relay_link l;

	open_link(&l);
	say_u64(1);
	say_u32(RELAY_OK);
	say_u32(RELAY_PATH_MAX + 1);
	CHECK(relay_create_session(&l, &s, path) == -EPROTO && !path[0]);
	close_link(&l);

	open_link(&l);
	memset(long_path, 'x', sizeof(long_path));
	say_u64(1);
	say_u32(RELAY_OK);
	say_u32(sizeof(long_path));
	say(long_path, sizeof(long_path));
	CHECK(relay_create_session(&l, &s, path) == -EPROTO && !path[0]);
	close_link(&l);

	open_link(&l);
	say("?", 1);
	CHECK(link_poll(&l) == -EPROTO);
	close_link(&l);

	open_link(&l);
	relay_put_none(&l.out, RELAY_STREAMS_SENT);
	CHECK(relay_run(&l) == -ETIMEDOUT);
	close_link(&l);

	open_link(&l);
	relay_put_index(&l.out, l.minor, 1, 1, &packet);
	CHECK(!link_expect(&l, &w));
	say_u32(3);
	CHECK(link_wait(&l, 10) == -EREMOTEIO);
	close_link(&l);

	/* A byte that no command asked for, behind replies that are read at once. */
	open_link(&l);
	for (int i = 0; i < 2; i++)
		CHECK(!link_expect(&l, &w));
	say_u32(RELAY_OK);
	say_u32(RELAY_OK);
	say("?", 1);
	CHECK(!link_poll(&l) && l.count == 0 && code_count == 2);
	CHECK(link_poll(&l) == -EPROTO);
	close_link(&l);

	open_link(&l);
	close(peer);
	peer = -1;
	CHECK(link_poll(&l) == -ECONNRESET);
	relay_put_none(&l.out, RELAY_STREAMS_SENT);
	CHECK(relay_run(&l) < 0);
	link_close(&l);
}

int main(void)
{
	CASE(addresses);
	CASE(bad_addresses);
	CASE(commands);
	CASE(sessions_and_streams);
	CASE(replies);
	CASE(outstanding);
	CASE(hostile);
	return test_summary();
}
