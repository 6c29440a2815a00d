/* SPDX-License-Identifier: GPL-2.0-only */
/* For what is shared with user space. */
#include <linux/types.h>
