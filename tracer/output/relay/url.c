/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/output/relay/url.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

#define BLANK " \t\r\n"

/* One address while it is parsed: p moves through it, line is where it begins. */
struct scan {
	const char *line, *p, *end;
	struct tr_err *err;
};

static int refuse(const struct scan *s, const char *sentence)
{
	char line[512];

	snprintf(line, sizeof(line), "%.*s", (int)(s->end - s->line), s->line);
	return tr_fail_at(s->err, -EINVAL, line, (int)(s->p - s->line), "%s", sentence);
}

static bool is_host_char(char c, bool bracketed)
{
	return isalnum((unsigned char)c) || c == '-' || c == '.' || c == '_' ||
	       (bracketed && (c == ':' || c == '%'));
}

static int parse_host(struct scan *s, bool ipv6, char *host, size_t size)
{
	bool bracketed = s->p < s->end && *s->p == '[';
	const char *from;

	if (bracketed && !ipv6)
		return refuse(s, "an IPv6 address needs net6:// or tcp6://");
	from = s->p += bracketed;
	while (s->p < s->end && is_host_char(*s->p, bracketed))
		s->p++;
	if (s->p == from && !bracketed && s->p < s->end && *s->p == ':')
		return refuse(s, "an IPv6 address is in brackets, as in net6://[::1]; else a host "
			      "is missing here");
	if (s->p == from || *from == '-')
		return refuse(s, "a host name or address is missing here");
	if ((size_t)(s->p - from) >= size)
		return refuse(s, "the host name is too long");
	snprintf(host, size, "%.*s", (int)(s->p - from), from);
	if (!bracketed)
		return 0;
	if (s->p == s->end || *s->p != ']')
		return refuse(s, "']' is missing after the address");
	s->p++;
	return 0;
}

/* ":PORT", if it is there. */
static int parse_port(struct scan *s, uint16_t *port)
{
	uint32_t v = 0;
	const char *from;

	if (s->p == s->end || *s->p != ':')
		return 0;
	from = ++s->p;
	while (s->p < s->end && isdigit((unsigned char)*s->p) && v <= UINT16_MAX)
		v = 10 * v + (uint32_t)(*s->p++ - '0');
	if (s->p == from || !v || v > UINT16_MAX) {
		s->p = from;
		return refuse(s, "must be a port from 1 to 65535");
	}
	*port = (uint16_t)v;
	return 0;
}

/* "/PATH" up to the end of the line, without slashes around it. */
static int parse_path(struct scan *s, char *path, size_t size)
{
	const char *from, *end = s->end;

	path[0] = 0;
	if (s->p == s->end)
		return 0;
	if (*s->p != '/')
		return refuse(s, "must be ':' and a port, '/' and a path, or the end");
	while (s->p < s->end && *s->p == '/')
		s->p++;
	for (from = s->p; end > from && end[-1] == '/'; end--)
		;
	if ((size_t)(end - from) >= size)
		return refuse(s, "the path is too long");
	for (const char *c = from; c < end; c++) {
		s->p = c;
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return refuse(s, "a path on the relay has no control characters");
		if (*c == '.' && (c == from || c[-1] == '/'))
			return refuse(s, "no part of a path on the relay begins with a dot");
	}
	snprintf(path, size, "%.*s", (int)(end - from), from);
	s->p = s->end;
	return 0;
}

static struct scan line_at(const char *text, struct tr_err *err)
{
	return (struct scan){
		.line = text, .p = text, .end = text + strcspn(text, BLANK), .err = err
	};
}

/* What follows the address at text; "": nothing. */
static const char *after(const char *text)
{
	text += strcspn(text, BLANK);
	return text + strspn(text, BLANK);
}

/* The second of a pair: the address for data. */
static int parse_data(const char *text, const struct relay_url *u, struct relay_address *data,
		      struct tr_err *err)
{
	struct scan s = line_at(text, err);
	const struct scheme *scheme = find_scheme(text);
	char path[sizeof(u->path)];
	int ret;

	if (!scheme || !scheme->pair || scheme->ipv6 != u->ipv6)
		return refuse(&s, "must be the address for data, tcp://HOST[:PORT]");
	s.p += strlen(scheme->name);
	data->port = RELAY_PORT_DATA;
	ret = parse_host(&s, u->ipv6, data->host, sizeof(data->host));
	ret = ret ? ret : parse_port(&s, &data->port);
	ret = ret ? ret : parse_path(&s, path, sizeof(path));
	if (!ret && path[0] && strcmp(path, u->path))
		ret = refuse(&s, "the path must be that of the first address");
	return ret;
}

int relay_url_parse(const char *text, struct relay_url *u, struct tr_err *err)
{
	struct scan s = line_at(text, err);
	const struct scheme *scheme = find_scheme(text);
	const char *rest = after(text);
	int ret;

	if (!scheme)
		return refuse(&s, "must begin with net://, net6://, tcp:// or tcp6://");
	*u = (struct relay_url){ .ipv6 = scheme->ipv6, .control.port = RELAY_PORT_CONTROL };
	s.p += strlen(scheme->name);
	ret = parse_host(&s, u->ipv6, u->control.host, sizeof(u->control.host));
	ret = ret ? ret : parse_port(&s, &u->control.port);
	u->data = u->control;
	u->data.port = RELAY_PORT_DATA;
	if (!ret && !scheme->pair)
		ret = parse_port(&s, &u->data.port);
	ret = ret ? ret : parse_path(&s, u->path, sizeof(u->path));
	if (!ret && scheme->pair && *rest) {
		ret = parse_data(rest, u, &u->data, err);
		rest = after(rest);
	}
	if (!ret && *rest) {
		s = line_at(rest, err);
		ret = refuse(&s, "nothing may follow the address of a relay");
	}
	return ret;
}
