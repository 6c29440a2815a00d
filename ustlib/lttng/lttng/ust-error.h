/* SPDX-License-Identifier: MIT */
/* LTTng-UST has a header of this name, whose contents mean nothing here. */
#error "trailfs: <lttng/ust-error.h>:" \
	"no function of trailfs returns these codes; sessions are directories of the mount, " \
	"trailfs(4)"
