/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The word before each record in a page of the ring buffer, as the kernel's compiler has it. */
#ifndef TESTS_LIB_KPAGE_WORD_H
#define TESTS_LIB_KPAGE_WORD_H

#include <stdint.h>
#include <string.h>

static inline uint32_t kpage_word(uint32_t type, uint32_t delta)
{
	/* struct ring_buffer_event */
	const struct {
		uint32_t type_len:5, time_delta:27;
	} bits = { type & 31, delta & ((1u << 27) - 1) };
	uint32_t word;

	memcpy(&word, &bits, sizeof(word));
	return word;
}

#endif
