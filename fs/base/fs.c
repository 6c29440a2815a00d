/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fs/base/base.h"

struct fs fs;
