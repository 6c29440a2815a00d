/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a reader of packets finds lost, and what remains of it when it passes lines that have told a
 * part: its next packet may be read already.
 */
#include <string.h>

#include "tests/lib/test.h"
#include "tracer/base/ring/losses.h"

static void packet(struct losses *l, uint64_t number, uint64_t discarded)
{
	struct md_packet h = { .packet_seq_num = number, .events_discarded = discarded };

	losses_packet(l, &h, 0);
}

/* How many of this kind are pending; takes all. */
static uint64_t take(struct losses *l, enum md_loss_kind kind)
{
	struct md_loss loss;
	uint64_t n = 0;

	while (losses_take(l, &loss))
		if (loss.kind == kind)
			n += loss.count;
	return n;
}

/* The lines told all up to 30 discarded and packet 5. */
static const struct losses_place told = {
	.known = true, .numbered = true, .lost = 30, .packet = 5
};

static void behind(void)
{
	struct losses l = { .at = { true, true, 10, 5 } };

	losses_pass(&l, &told);
	CHECK(!l.pending);
	packet(&l, 6, 30);
	CHECK(!l.pending);
	packet(&l, 7, 31);
	CHECK(take(&l, MD_LOSS_DISCARDED) == 1);
}

static void next_is_read(void)
{
	struct losses l = { .at = { true, true, 10, 5 } };

	packet(&l, 6, 51);
	losses_pass(&l, &told);
	CHECK(l.at.packet == 6 && l.at.lost == 51);
	CHECK(take(&l, MD_LOSS_DISCARDED) == 21);
	packet(&l, 7, 51);
	CHECK(!l.pending);
}

static void next_is_read_and_the_same(void)
{
	struct losses l = { .at = { true, true, 10, 5 } };

	packet(&l, 6, 30);
	losses_pass(&l, &told);
	CHECK(!l.pending);
	packet(&l, 7, 30);
	CHECK(!l.pending);
}

static void packets(void)
{
	struct losses l = { .at = { true, true, 30, 3 } };

	/* Packets 4, 6 and 7 are missing; the lines have told of 4. */
	packet(&l, 5, 30);
	packet(&l, 8, 30);
	losses_pass(&l, &told);
	CHECK(take(&l, MD_LOSS_PACKETS) == 2);
	packet(&l, 9, 30);
	CHECK(!l.pending);
}

int main(void)
{
	CASE(behind);
	CASE(next_is_read);
	CASE(next_is_read_and_the_same);
	CASE(packets);
	return test_summary();
}
