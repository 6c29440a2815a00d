/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/* rseq_load.c with areas of its own. */
#define OWN_AREA
#include "rseq_load.c"
