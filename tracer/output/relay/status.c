/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tracer/base/timefmt.h"
#include "tracer/output/relay/internal.h"

#define SILENT_MS 500u

/* For how long replies are due and none came, ns; 0: none is due. */
static uint64_t silence(const struct relay *r)
{
	uint64_t since = __atomic_load_n(&r->link.silent_since, __ATOMIC_RELAXED),
		 now = monotonic_now();

	return since && now > since ? now - since : 0;
}

bool relay_is_silent(const struct relay *r)
{
	return silence(r) > SILENT_MS * UINT64_C(1000000);
}

const char *relay_trouble(const struct output *o)
{
	return relay_is_silent(relay_of(o)) ? relay_explain(-ETIMEDOUT) : NULL;
}

void relay_status(const struct output *o, struct facts *out)
{
	const struct relay_shown *shown = &relay_of(o)->shown;
	char when[TIME_TEXT_MAX];

	time_print(shown->since, TIME_FORMAT_STATUS, when);
	if (shown->connected)
		fact_text(out, "relay", "connected, protocol %d.%" PRIu32 ", since %s",
			  RELAY_MAJOR, shown->minor, when);
	else if (shown->connections)
		fact_text(out, "relay", "disconnected, since %s", when);
	else
		fact_text(out, "relay", "not connected yet");
	if (shown->path[0]) {
		struct md_buf path = MD_BUF_INIT;

		md_buf_escape(&path, shown->path, strnlen(shown->path, sizeof(shown->path)));
		fact_text(out, "relay_path", "%s", md_buf_str(&path));
		out->out->failed |= path.failed;
		md_buf_deinit(&path);
	}
	fact_number(out, "relay_connections", shown->connections);
	fact_number(out, "relay_resent_packets", shown->resent);
	if (relay_is_silent(relay_of(o)))
		fact_text(out, "relay_silent", "%.1f s", (double)silence(relay_of(o)) / 1e9);
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
	case -ECANCELED:
		return "the connection was given up";
	default:
		return strerror(-err);
	}
}
