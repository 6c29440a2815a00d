/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/output/relay/url.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tracer/base/lexer.h"

static const struct scheme {
	const char *name;
	bool ipv6, pair;
} schemes[] = {
	{ "net://", false, false },
	{ "net4://", false, false },
	{ "net6://", true, false },
	{ "tcp://", false, true },
	{ "tcp4://", false, true },
	{ "tcp6://", true, true },
};

static const struct scheme *find_scheme(const char *text)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (!strncmp(text, schemes[i].name, strlen(schemes[i].name)))
			return &schemes[i];
	return NULL;
}

bool relay_url_is(const char *text)
{
	return find_scheme(text) != NULL;
}

/* At the end of the address: a blank, or the end of its line. */
static bool at_end(const struct scan *s)
{
	return scan_at_end(s) || strchr(" \t\r", s->line[s->at]);
}

static int refuse(const struct scan *s, const char *sentence)
{
	return scan_fail(s, s->at, "%s", sentence);
}

static bool is_host_char(char c, bool bracketed)
{
	return isalnum((unsigned char)c) || c == '-' || c == '.' || c == '_' ||
	       (bracketed && (c == ':' || c == '%'));
}

static int parse_host(struct scan *s, bool ipv6, char *host, size_t size)
{
	bool bracketed = s->line[s->at] == '[';
	size_t from, n;

	if (bracketed && !ipv6)
		return refuse(s, "an IPv6 address needs net6:// or tcp6://");
	from = s->at += bracketed;
	while (is_host_char(s->line[s->at], bracketed))
		s->at++;
	n = s->at - from;
	if (!n && !bracketed && s->line[s->at] == ':')
		return refuse(s, "an IPv6 address is in brackets, as in net6://[::1]; else a host "
			      "is missing here");
	if (!n || s->line[from] == '-')
		return refuse(s, "a host name or address is missing here");
	if (n >= size)
		return refuse(s, "the host name is too long");
	snprintf(host, size, "%.*s", (int)n, s->line + from);
	if (!bracketed)
		return 0;
	if (s->line[s->at] != ']')
		return refuse(s, "']' is missing after the address");
	s->at++;
	return 0;
}

/* ":PORT", if it is there. */
static int parse_port(struct scan *s, uint16_t *port)
{
	uint32_t v = 0;
	size_t from;

	if (s->line[s->at] != ':')
		return 0;
	from = ++s->at;
	while (isdigit((unsigned char)s->line[s->at]) && v <= UINT16_MAX)
		v = 10 * v + (uint32_t)(s->line[s->at++] - '0');
	if (s->at == from || !v || v > UINT16_MAX)
		return scan_fail(s, from, "must be a port from 1 to 65535");
	*port = (uint16_t)v;
	return 0;
}

/* "/PATH" up to the end of the address, without slashes around it. */
static int parse_path(struct scan *s, char *path, size_t size)
{
	size_t from, end;

	path[0] = 0;
	if (at_end(s))
		return 0;
	if (s->line[s->at] != '/')
		return refuse(s, "must be ':' and a port, '/' and a path, or the end");
	while (s->line[s->at] == '/')
		s->at++;
	for (from = s->at; !at_end(s); s->at++) {
		char c = s->line[s->at];

		if ((unsigned char)c < ' ' || c == 0x7f)
			return refuse(s, "a path on the relay has no control characters");
		if (c == '.' && (s->at == from || s->line[s->at - 1] == '/'))
			return refuse(s, "no part of a path on the relay begins with a dot");
	}
	for (end = s->at; end > from && s->line[end - 1] == '/'; end--)
		;
	if (end - from >= size)
		return scan_fail(s, from, "the path is too long");
	snprintf(path, size, "%.*s", (int)(end - from), s->line + from);
	return 0;
}

/* Goes to what follows an address, which may be in the next line. False: nothing does. */
static bool go_on(struct scan *s)
{
	while (s->line[s->at] && strchr(" \t\r\n", s->line[s->at])) {
		if (s->line[s->at++] != '\n')
			continue;
		s->line += s->at;
		s->at = 0;
	}
	return s->line[s->at];
}

/* The second of a pair: the address for data. */
static int parse_data(struct scan *s, const struct relay_url *u, struct relay_address *data)
{
	const struct scheme *scheme = find_scheme(s->line + s->at);
	char path[sizeof(u->path)];
	size_t from = s->at;
	int ret;

	if (!scheme || !scheme->pair || scheme->ipv6 != u->ipv6)
		return refuse(s, "must be the address for data, tcp://HOST[:PORT]");
	s->at += strlen(scheme->name);
	data->port = RELAY_PORT_DATA;
	ret = parse_host(s, u->ipv6, data->host, sizeof(data->host));
	ret = ret ? ret : parse_port(s, &data->port);
	ret = ret ? ret : parse_path(s, path, sizeof(path));
	if (!ret && path[0] && strcmp(path, u->path))
		ret = scan_fail(s, from, "both addresses must have the same path");
	return ret;
}

int relay_url_parse(const char *text, struct relay_url *u, struct tr_err *err)
{
	struct scan *s = SCAN(text, 0, err);
	const struct scheme *scheme = find_scheme(text);
	int ret;

	if (!scheme)
		return refuse(s, "must begin with net://, net6://, tcp:// or tcp6://");
	*u = (struct relay_url){ .ipv6 = scheme->ipv6, .control.port = RELAY_PORT_CONTROL };
	s->at = strlen(scheme->name);
	ret = parse_host(s, u->ipv6, u->control.host, sizeof(u->control.host));
	ret = ret ? ret : parse_port(s, &u->control.port);
	u->data = u->control;
	u->data.port = RELAY_PORT_DATA;
	if (!ret && !scheme->pair)
		ret = parse_port(s, &u->data.port);
	ret = ret ? ret : parse_path(s, u->path, sizeof(u->path));
	if (!ret && scheme->pair && go_on(s))
		ret = parse_data(s, u, &u->data);
	if (!ret && go_on(s))
		ret = refuse(s, "nothing may follow the address of a relay");
	return ret;
}
