/* SPDX-License-Identifier: MIT */
/* What LTTng-UST asks of a compiler. */
#ifndef TRAIL_LTTNG_UST_COMPILER_H
#define TRAIL_LTTNG_UST_COMPILER_H

#define lttng_ust_notrace __attribute__((no_instrument_function))
#define LTTNG_UST_COMPILER__COMBINE_TOKENS(a, b) a##b
#define LTTNG_UST_COMPILER_COMBINE_TOKENS(a, b) LTTNG_UST_COMPILER__COMBINE_TOKENS(a, b)

#ifdef __cplusplus
#define LTTNG_UST_COMPOUND_LITERAL(type, ...) new (type) __VA_ARGS__
#else
#define LTTNG_UST_COMPOUND_LITERAL(type, ...) (type[]) { __VA_ARGS__ }
#endif

#if defined(__cplusplus) && __cplusplus >= 201103L
#define lttng_ust_static_assert(predicate, message, identifier) static_assert(predicate, message)
#elif !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define lttng_ust_static_assert(predicate, message, identifier) _Static_assert(predicate, message)
#else
#define lttng_ust_static_assert(predicate, message, identifier) \
	typedef char lttng_ust_static_assert_##identifier[2 * !!(predicate) - 1] \
		__attribute__((unused))
#endif

#endif
