/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contents of registration files: app/parse.c and app/ctf_event.c for app/registration.c.
 * Private to tracer/.
 */
#ifndef TRACER_APP_PARSE_H
#define TRACER_APP_PARSE_H

#include <stddef.h>

#include "tracer/app/registration.h"

/*
 * Checks the bytes of a whole file and fills r from them (nothing in r points into data then). 0,
 * -EBADMSG with a reason if its tables are wrong, or -ENOMEM; nothing is held after a failure.
 */
int registration_parse(struct registration *r, const uint8_t *data, size_t size,
		       const char **reason);
/* How many fields the structure or variant at f takes, with all that is in it; another takes 1. */
uint32_t registration_extent(const struct trail_reg_field *f);
/* Why a program refuses a tracepoint of its own: TRAIL_REFUSED_… */
static inline const char *refused_why(uint8_t why)
{
	switch (why) {
	case TRAIL_REFUSED_ARGUMENTS: return "its arguments are not those of its class";
	case TRAIL_REFUSED_TYPE: return "a field has a type that the library does not know";
	case TRAIL_REFUSED_VERSION: return "its provider has a version that is not known";
	default: return "the program refuses it";
	}
}
/* registration.c: frees what registration_parse made. */
void registration_forget(struct registration *r);

#endif
