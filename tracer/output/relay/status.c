/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tracer/base/timefmt.h"
#include "tracer/output/relay/internal.h"

void relay_status(const struct output *o, struct md_buf *out)
{
	const struct relay_shown *shown = &relay_of(o)->shown;
	char when[TIME_TEXT_MAX];

	time_print(shown->since, TIME_FORMAT_STATUS, when);
	if (shown->connected)
		md_buf_printf(out, "relay connected, protocol %d.%" PRIu32 ", since %s\n",
			      RELAY_MAJOR, shown->minor, when);
	else if (shown->connections)
		md_buf_printf(out, "relay disconnected, since %s\n", when);
	else
		md_buf_puts(out, "relay not connected yet\n");
	if (shown->path[0]) {
		md_buf_puts(out, "relay_path ");
		md_buf_escape(out, shown->path, strnlen(shown->path, sizeof(shown->path)));
		md_buf_putc(out, '\n');
	}
	md_buf_printf(out, "relay_connections %" PRIu64 "\nrelay_resent_packets %" PRIu64 "\n",
		      shown->connections, shown->resent);
}

const char *relay_explain(int err)
{
	switch (err) {
	case -EADDRNOTAVAIL:
		return "the relay's host name is not known";
	case -EREMOTEIO:
		return "the relay has refused a command";
	case -EPROTO:
		return "the relay has sent what its protocol does not allow";
	case -EPROTONOSUPPORT:
		return "the relay's protocol is none from 2.4 on";
	case -ETIMEDOUT:
		return "the relay does not answer";
	case -ECONNRESET:
	case -EPIPE:
		return "the relay has closed the connection";
	case -EOPNOTSUPP:
		return "the relay's protocol is older than 2.11 and has no rotation";
	case -EPERM:
		return "the relay does not allow clear";
	default:
		return strerror(-err);
	}
}
