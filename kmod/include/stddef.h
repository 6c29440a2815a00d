/* SPDX-License-Identifier: GPL-2.0-only */
/* For what is shared with user space. */
#include <linux/stddef.h>
#include <linux/types.h>
