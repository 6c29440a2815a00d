/* SPDX-License-Identifier: MIT */
/* LTTng-UST has a header of this name, whose contents mean nothing here. */
#error "trailfs: <lttng/ust-cancelstate.h>:" \
	"no thread is cancelled in the library; leave the calls out"
