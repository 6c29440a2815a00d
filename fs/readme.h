/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FS_README_H
#define FS_README_H

/* The file README at the top of the mount. */
extern const char readme[];

#endif
