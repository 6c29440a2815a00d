/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/* record.h, with trailfs. A session must have bench:text. */
#include "record.h"

#include <trail/trail.h>

static const char sixteen[] = "sixteen bytes ..";

static void record_emit(int i)
{
	TRAIL(bench, text, i, sixteen);
}

int main(int argc, char **argv)
{
	return record_main(argc, argv);
}
