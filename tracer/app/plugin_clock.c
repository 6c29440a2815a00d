// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "tracer/app/plugin_clock.h"

static void get_clock(const uint8_t *data, const struct trail_reg *head,
		      struct trail_reg_clock *clock)
{
	memcpy(clock, data + head->event_offset - sizeof(*clock), sizeof(*clock));
}

bool plugin_clock_check(const uint8_t *data, const struct trail_reg *head)
{
	struct trail_reg_clock c;

	if (head->event_offset < sizeof(*head) + sizeof(c))
		return false;
	get_clock(data, head, &c);
	return c.freq && c.name < head->string_size && c.description < head->string_size;
}

/* The name of a clock is an identifier in CTF 1.8. */
static void make_identifier(char *name)
{
	for (char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			*p = '_';
	if (!isalpha((unsigned char)name[0]))
		name[0] = '_';
}

int plugin_clock_copy(struct registration *r, const uint8_t *data, const struct trail_reg *head)
{
	const char *strings = (const char *)data + head->string_offset;
	static const uint8_t none[16];
	struct trail_reg_clock from;
	struct md_clock *to = calloc(1, sizeof(*to));

	if (!to)
		return -ENOMEM;
	get_clock(data, head, &from);
	to->freq = from.freq;
	snprintf(to->name, sizeof(to->name), "%s", strings + from.name);
	make_identifier(to->name);
	snprintf(to->description, sizeof(to->description), "%s", strings + from.description);
	for (char *p = to->description; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
	memcpy(to->uuid, from.uuid, sizeof(to->uuid));
	/* Readers order the traces of one clock only if it has a UUID. */
	if (!memcmp(to->uuid, none, sizeof(none)))
		uuid_generate_sha1(to->uuid, none, to->name, strlen(to->name));
	r->clock = to;
	return 0;
}
