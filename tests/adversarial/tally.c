/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * tally SLOTS < TEXT: compares the text of a trace with what the writers counted, and prints `key
 * value` lines:
 *
 *   events    lines of storm events
 *   emitted   the sum of all slots
 *   before    events missing before the first one seen of a thread (overwritten ones, for instance)
 *   holes     events missing between two that are there
 *   behind    events missing after the last one seen, in all threads together
 *   worst     … in the thread where it is most
 *   other     lines of other events
 *
 * Exits with 1, and says why, if an event is there twice or out of order, was never emitted, or the
 * time goes back.
 */
#include <stdbool.h>
#include <string.h>

#include "slots.h"

struct seen { uint64_t first, last, events; };

static unsigned int complaints;

static void complain(const char *what, const char *line)
{
	if (complaints++ < 10)
		printf("%s: %s", what, line);
}

static bool field(const char *line, const char *name, uint64_t *value)
{
	const char *p = strstr(line, name);

	if (!p)
		return false;
	*value = strtoull(p + strlen(name), NULL, 10);
	return true;
}

static void take(struct seen *seen, uint64_t *slots, const char *line)
{
	uint64_t writer, thread, n;
	struct seen *s;

	if (!field(line, " writer = ", &writer) || !field(line, " thread = ", &thread) ||
	    !field(line, " n = ", &n) || writer >= SLOT_WRITERS || thread >= SLOT_THREADS) {
		complain("not an event of a writer", line);
		return;
	}
	if (n > *slot_of(slots, (unsigned int)writer, (unsigned int)thread))
		complain("never emitted", line);
	s = &seen[writer * SLOT_THREADS + thread];
	if (s->events && n <= s->last)
		complain(n == s->last ? "twice" : "out of order", line);
	if (!s->events)
		s->first = n;
	s->last = n;
	s->events++;
}

int main(int argc, char **argv)
{
	static char line[65536], last[32];
	uint64_t events = 0, emitted = 0, before = 0, holes = 0, behind = 0, worst = 0, other = 0,
		 *slots;
	struct seen *seen = calloc(SLOT_WRITERS * SLOT_THREADS, sizeof(*seen));

	if (argc != 2 || !seen)
		return 2;
	slots = slots_map(argv[1]);
	while (fgets(line, sizeof(line), stdin)) {
		/*
		 * "[12:44:11.814926623]": fixed width, so the order of times is that of the strings
		 * (but for midnight)
		 */
		if (line[0] != '[' || strncmp(line, last, 20) < 0)
			complain("time goes back", line);
		memcpy(last, line, 20);
		if (!strstr(line, " storm:")) {
			other++;
			continue;
		}
		events++;
		take(seen, slots, line);
	}
	for (size_t i = 0; i < SLOT_WRITERS * SLOT_THREADS; i++) {
		uint64_t left = slots[i] - seen[i].last;

		emitted += slots[i];
		if (seen[i].events) {
			before += seen[i].first - 1;
			holes += seen[i].last - seen[i].first + 1 - seen[i].events;
		}
		behind += left;
		if (left > worst)
			worst = left;
	}
	printf("events %llu\nemitted %llu\nbefore %llu\nholes %llu\nbehind %llu\nworst %llu\nother "
	       "%llu\n",
	       (unsigned long long)events, (unsigned long long)emitted, (unsigned long long)before,
	       (unsigned long long)holes, (unsigned long long)behind, (unsigned long long)worst,
	       (unsigned long long)other);
	return complaints ? 1 : 0;
}
