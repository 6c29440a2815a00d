/* SPDX-License-Identifier: MIT */
/* Byte order, by the names of LTTng-UST. */
#ifndef TRAIL_LTTNG_UST_ENDIAN_H
#define TRAIL_LTTNG_UST_ENDIAN_H

#include <byteswap.h>
#include <endian.h>

#define lttng_ust_bswap_16(x) bswap_16(x)
#define lttng_ust_bswap_32(x) bswap_32(x)
#define lttng_ust_bswap_64(x) bswap_64(x)
#define LTTNG_UST_BYTE_ORDER __BYTE_ORDER
#define LTTNG_UST_LITTLE_ENDIAN __LITTLE_ENDIAN
#define LTTNG_UST_BIG_ENDIAN __BIG_ENDIAN
#define LTTNG_UST_FLOAT_WORD_ORDER __FLOAT_WORD_ORDER

#endif
