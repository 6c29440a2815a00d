// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens a trace of any format. */
#include "tracer/format/import/import.h"

#include <errno.h>

static const struct import_format *const formats[] = { &ctf_format, &ltt_format, &lket_format };

int import_open(struct import *im, struct tr_err *err)
{
	int ret = 0;

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats) && !ret; i++) {
		ret = formats[i]->open(im, err);
		if (!ret && im->trace_count && !im->format)
			im->format = formats[i]->name;
	}
	if (!ret && !im->trace_count)
		ret = tr_fail_at(err, -EINVAL, im->path, -1,
				 "no trace in this directory: expected a file `metadata` of CTF "
				 "1.8 or 2, eventdefs/ and control/ of LTT, or files stpd_cpuN of "
				 "LKET, in it or below it");
	return ret;
}
