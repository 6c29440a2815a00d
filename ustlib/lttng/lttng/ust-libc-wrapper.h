/* SPDX-License-Identifier: MIT */
/* LTTng-UST has a header of this name, whose contents mean nothing here. */
#error "trailfs: <lttng/ust-libc-wrapper.h>: preload libtrail-libc.so, which needs no call"
