/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/* sort_labels: a filter that sorts the labels of each enumeration (labels.h). */
#include <unistd.h>

#include "tests/lib/labels.h"

int main(void)
{
	struct md_buf all = MD_BUF_INIT;
	char block[65536];
	ssize_t n;

	while ((n = read(0, block, sizeof(block))) > 0)
		md_buf_put(&all, block, (size_t)n);
	sort_all_labels(&all);
	for (size_t at = 0; at < all.len; at += (size_t)n) {
		n = write(1, all.data + at, all.len - at);
		if (n < 0)
			return 1;
	}
	md_buf_deinit(&all);
	return 0;
}
