/* SPDX-License-Identifier: MIT */
/* LTTng-UST has a header of this name, whose contents mean nothing here. */
#error "trailfs: <lttng/ust-sigbus.h>: the library takes no SIGBUS; leave the handler out"
