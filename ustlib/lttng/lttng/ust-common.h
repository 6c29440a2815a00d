/* SPDX-License-Identifier: MIT */
/* LTTng-UST has a header of this name, whose contents mean nothing here. */
#error "trailfs: <lttng/ust-common.h>: the library initializes itself; leave the calls out"
