/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regions: layout, seals, sparse memory, and adopting what an earlier daemon or a stranger left. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/base/os/memory.h"
#include "tracer/base/ring/ring.h"

static const struct region_geometry geo = {
	.mode = TRAIL_MODE_OVERWRITE,
	.ring_count = 3,
	.subbuf_count = 4,
	.subbuf_size = 1 << 20,
	.switch_count = 5000,
	.clock_mult = 5,
	.clock_base = 6,
};

static uint64_t resident(const struct region *r)
{
	struct stat st;

	return fstat(r->fd, &st) ? 0 : (uint64_t)st.st_blocks * 512;
}

static void layout(void)
{
	struct region *r = NULL;
	const struct trail_region *h;

	CHECK(region_create(&geo, 77, &r) == 0);
	if (!r)
		return;
	h = (const struct trail_region *)r->map;
	CHECK(h->magic == TRAIL_REGION_MAGIC && h->size == r->size && h->key == 77 &&
	      h->clock_mult == 5);
	CHECK(r->switch_offset % TRAIL_PAGE == 0 &&
	      r->ring_offset >= r->switch_offset + geo.switch_count);
	CHECK(r->ring_offset % TRAIL_PAGE == 0 && r->data_offset % TRAIL_PAGE == 0);
	CHECK(r->data_offset >=
	      sizeof(struct trail_ring) + 2 * geo.subbuf_count * sizeof(struct trail_subbuf));
	CHECK(r->ring_stride == r->data_offset + geo.subbuf_count * geo.subbuf_size);
	CHECK(r->size == r->ring_offset + 3 * r->ring_stride);
	CHECK(region_data(r, 2) + geo.subbuf_count * geo.subbuf_size == r->map + r->size);
	CHECK(region_head(r, 1) == 0);
	/* Control blocks and switch bytes are there; the data is not. */
	CHECK(resident(r) >= r->ring_offset + 3 * r->data_offset);
	CHECK(!h->populate || resident(r) < (1 << 20));
	region_switch(r, 4999, 7);
	CHECK(r->map[r->switch_offset + 4999] == 7);
	region_switch(r, 4999, 0);
	CHECK(r->map[r->switch_offset + 4999] == 0);
	region_switch(r, 5000, 1);
	CHECK(r->map[r->switch_offset + 5000] == 0);
	region_put(r);
	region_put(NULL);
}

static void sealed(void)
{
	struct region *r;

	CHECK(region_create(&geo, 1, &r) == 0);
	CHECK((fcntl(r->fd, F_GET_SEALS) & 7) == (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW));
	CHECK(ftruncate(r->fd, 0) < 0 && ftruncate(r->fd, (off_t)r->size + 4096) < 0);
	CHECK(fcntl(r->fd, F_GETFD) & FD_CLOEXEC);
	region_put(r);
}

static void retire(void)
{
	struct region *r;

	CHECK(region_create(&geo, 1, &r) == 0);
	memset((uint8_t *)region_data(r, 1), 1, 3 << 20);
	CHECK(resident(r) >= 3 << 20);
	region_ring(r, 1)->head = 12345;
	region_retire(region_get(r));
	region_retire_finish();
	CHECK(r->retired);
	CHECK(resident(r) < 1 << 20);
	CHECK(region_data(r, 1)[100] == 0);
	CHECK(region_head(r, 1) == 12345);
	region_put(r);
}

static void refuse(void)
{
	static const struct region_geometry bad[] = {
		{ .ring_count = 0, .subbuf_count = 4, .subbuf_size = 4096, .switch_count = 1 },
		{ .ring_count = 1, .subbuf_count = 3, .subbuf_size = 4096, .switch_count = 1 },
		{ .ring_count = 1, .subbuf_count = 1, .subbuf_size = 4096, .switch_count = 1 },
		{ .ring_count = 1, .subbuf_count = 8192, .subbuf_size = 4096, .switch_count = 1 },
		{ .ring_count = 1, .subbuf_count = 4, .subbuf_size = 2048, .switch_count = 1 },
		{ .ring_count = 1, .subbuf_count = 4, .subbuf_size = 5000, .switch_count = 1 },
		{ .ring_count = 1,
		  .subbuf_count = 4,
		  .subbuf_size = 1ull << 31,
		  .switch_count = 1 },
		{ .ring_count = 1, .subbuf_count = 4, .subbuf_size = 4096, .switch_count = 0 },
		{ .ring_count = 1, .subbuf_count = 4, .subbuf_size = 4096, .switch_count = 65537 },
		{ .ring_count = 8192,
		  .subbuf_count = 4096,
		  .subbuf_size = 1 << 30,
		  .switch_count = 1 },
		{ .ring_count = 1,
		  .subbuf_count = 4,
		  .subbuf_size = 4096,
		  .switch_count = 1,
		  .mode = 3 },
		{ .ring_count = 1,
		  .subbuf_count = 2,
		  .subbuf_size = 4096,
		  .switch_count = 257,
		  .mode = TRAIL_MODE_COUNT },
		{ .ring_count = 1,
		  .subbuf_count = 4,
		  .subbuf_size = 4096,
		  .switch_count = 1,
		  .kind = 2 },
	};
	struct region *r;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(region_create(&bad[i], 1, &r) == -EINVAL);
}

/* No machine has so much; without a check, all of its memory would be taken. */
static void more_than_there_is(void)
{
	static const struct region_geometry huge = {
		.ring_count = 1,
		.subbuf_count = 4096,
		.subbuf_size = 1 << 30,
		.switch_count = 1,
		.preallocate = true,
	};
	struct region *r;

	if (memory_available() < (UINT64_C(4) << 40))
		CHECK(region_create(&huge, 1, &r) == -ENOSPC);
}

static void adopt(void)
{
	struct region *r, *again = NULL;
	int fd;

	CHECK(region_create(&geo, 9, &r) == 0);
	region_ring(r, 2)->lost = 42;
	fd = fcntl(r->fd, F_DUPFD_CLOEXEC, 3);
	CHECK(region_adopt(fd, &again) == 0);
	if (!again)
		return;
	CHECK(again->key == 9 && again->size == r->size &&
	      !memcmp(&again->geo, &r->geo, sizeof(geo)));
	CHECK(region_ring(again, 2)->lost == 42);
	region_put(region_get(again));
	CHECK(region_ring(again, 2)->lost == 42);
	region_put(again);
	CHECK(fcntl(fd, F_GETFD) < 0);
	region_put(r);
}

/* Whatever an application wrote into the header: refused, or of the very size that is mapped. */
static void adopt_lies(void)
{
	struct region *r, *again;
	uint64_t state = 1;
	int fd;

	CHECK(region_create(&geo, 9, &r) == 0);
	for (int i = 0; i < 3000; i++) {
		struct trail_region *h = (struct trail_region *)r->map, good = *h;
		int err;

		for (int k = 0; k < 1 + i % 3; k++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			r->map[(state >> 33) % sizeof(good)] ^= (uint8_t)(1u << (state >> 60));
		}
		fd = fcntl(r->fd, F_DUPFD_CLOEXEC, 3);
		err = region_adopt(fd, &again);
		if (!err) {
			CHECK(again->size == r->size);
			CHECK(again->ring_offset + again->geo.ring_count * again->ring_stride ==
			      r->size);
			region_put(again);
		} else {
			CHECK(err == -EBADMSG);
			CHECK(!close(fd));
		}
		*h = good;
	}
	region_put(r);
}

static void adopt_other_files(void)
{
	struct region *again;
	int fd = memfd_create("x", MFD_ALLOW_SEALING), p[2];

	CHECK(!ftruncate(fd, 1 << 20));
	CHECK(region_adopt(fd, &again) == -EBADMSG);    /* not sealed */
	CHECK(!fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW));
	CHECK(region_adopt(fd, &again) == -EBADMSG);    /* no header */
	close(fd);
	CHECK(!pipe(p));
	CHECK(region_adopt(p[0], &again) == -EBADMSG);
	CHECK(region_adopt(-1, &again) == -EBADMSG);
	close(p[0]);
	close(p[1]);
}

int main(void)
{
	CASE(layout);
	CASE(sealed);
	CASE(retire);
	CASE(refuse);
	CASE(more_than_there_is);
	CASE(adopt);
	CASE(adopt_lies);
	CASE(adopt_other_files);
	return test_summary();
}
