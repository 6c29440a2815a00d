/* SPDX-License-Identifier: GPL-2.0-only */
/* For what is shared with user space. */
#include <linux/limits.h>
#include <linux/types.h>

#define UINT16_MAX U16_MAX
#define UINT32_MAX U32_MAX
#define INT64_MIN S64_MIN
#define INT64_MAX S64_MAX
