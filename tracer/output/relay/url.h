/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a relay is, as `output` says it:
 *
 *	net://HOST[:CONTROL[:DATA]][/PATH]      net6://… for IPv6
 *	tcp://HOST[:PORT][/PATH]                control; the same for data follows it
 *
 * A blank or a newline is between the two of tcp://. Without the second, data goes to the same
 * host. HOST may be an address, [::1] for IPv6.
 *
 * Private to tracer/output/relay/.
 */
#ifndef TRACER_RELAY_URL_H
#define TRACER_RELAY_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/base/err.h"

#define RELAY_PORT_CONTROL 5342
#define RELAY_PORT_DATA 5343

struct relay_address {
	char host[256];
	uint16_t port;
};

struct relay_url {
	bool ipv6;
	struct relay_address control, data;
	char path[1024];                /* below the host's directory; "": SESSION-TIME */
};

/* Whether the text begins like the address of a relay. */
bool relay_url_is(const char *text);
/* Parses one address, or a pair. 0, or -EINVAL or -ENAMETOOLONG with a sentence. */
int relay_url_parse(const char *text, struct relay_url *u, struct tr_err *err);

#endif
