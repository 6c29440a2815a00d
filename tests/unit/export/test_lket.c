/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/* The columns that LKET's database has of each event of a hook: numbers, and times of entries. */
#include "tests/lib/test.h"
#include "tracer/format/export/lket.h"

static const struct md_type number = { .kind = MD_INT, .size = 4, .is_signed = true };

/* The columns of the event: of a thread, and of its process if it is known. */
static const char *columns(struct lket_entries *e, unsigned int hook, int32_t tid, int32_t pid,
			   uint64_t usec)
{
	const struct lket_common c = { .group = 9, .hook = hook, .tid = 0, .pid = pid ? 1 : -1,
				       .ppid = -1 };
	const struct md_value context[] = {
		{ &number, (uint8_t *)&tid, (uint8_t *)(&tid + 1) },
		{ &number, (uint8_t *)&pid, (uint8_t *)(&pid + 1) },
	};
	const struct row r = { .time = 1000 * usec + 999, .context = context };
	static struct md_buf out;

	md_buf_deinit(&out);
	out = (struct md_buf)MD_BUF_INIT;
	CHECK(lket_common_put(&c, &r, e, &out));
	return md_buf_str(&out);
}

/* A return, whose number follows that of its entry, has the time of its thread's last entry. */
static void entries(void)
{
	struct lket_entries e = { 0 };

	CHECK_STR(columns(&e, 5, 10, 7, 100), ",9,5,100,10,7,NULL,NULL");
	CHECK_STR(columns(&e, 5, 11, 0, 200), ",9,5,200,11,NULL,NULL,NULL");
	CHECK_STR(columns(&e, 6, 10, 7, 300), ",9,6,300,10,7,NULL,100");
	CHECK_STR(columns(&e, 6, 10, 7, 400), ",9,6,400,10,7,NULL,NULL");
	CHECK_STR(columns(&e, 8, 11, 7, 500), ",9,8,500,11,7,NULL,NULL");
	CHECK_STR(columns(&e, 6, 11, 7, 600), ",9,6,600,11,7,NULL,200");
	for (int32_t tid = 0; tid < 1000; tid++)
		columns(&e, 1, tid, 7, (uint64_t)tid + 1000);
	CHECK_STR(columns(&e, 2, 500, 7, 9000), ",9,2,9000,500,7,NULL,1500");
	lket_entries_deinit(&e);
}

static void without_values(void)
{
	const struct lket_common none = { .tid = -1, .pid = -1, .ppid = -1 };
	const struct lket_common one = { .group = 1, .hook = 3, .tid = 0, .pid = -1, .ppid = -1 };
	const struct row torn = { .time = 5000, .torn = true };
	struct lket_entries e = { 0 };
	struct md_buf out = MD_BUF_INIT;

	CHECK(lket_common_put(&none, &torn, &e, &out));
	CHECK_STR(md_buf_str(&out), ",NULL,NULL,NULL,NULL,NULL,NULL,NULL");
	md_buf_reset(&out);
	CHECK(lket_common_put(&one, &torn, &e, &out));
	CHECK_STR(md_buf_str(&out), ",1,3,5,NULL,NULL,NULL,NULL");
	md_buf_deinit(&out);
	lket_entries_deinit(&e);
}

int main(void)
{
	CASE(entries);
	CASE(without_values);
	return test_summary();
}
