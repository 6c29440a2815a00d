/* SPDX-License-Identifier: MIT */
/* LTTng-UST has a header of this name, whose contents mean nothing here. */
#error "trailfs: <lttng/ust-abi.h>:" \
	"there is no session daemon to talk to; sessions are directories of the mount, " \
	"trailfs(4)"
