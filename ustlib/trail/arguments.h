/* SPDX-License-Identifier: MIT */
/*
 * arguments.h - how the preprocessor takes the arguments of TRAIL() apart. Included by trail.h
 * alone; nothing here is for use in programs.
 */
#ifndef TRAIL_ARGUMENTS_H
#define TRAIL_ARGUMENTS_H

#pragma GCC system_header

/*
 * Preprocessing. An argument is a field maker's tuple if it is in parentheses and begins with
 * TRAIL__MARK, which is a function-like macro so that it survives being passed through other
 * macros.
 */
#define TRAIL__MARK() ~, 1
#define TRAIL__DETECT(...) TRAIL__FIRST(__VA_ARGS__, ~)
#define TRAIL__FIRST(first, ...) first ()
#define TRAIL__SECOND(a, b, ...) b
#define TRAIL__SECOND_(...) TRAIL__SECOND(__VA_ARGS__)
#define TRAIL__IS_TUPLE(x) TRAIL__SECOND_(TRAIL__DETECT x, 0, ~)
#define TRAIL__PASTE(a, b) TRAIL__PASTE_(a, b)
#define TRAIL__PASTE_(a, b) a##b
#define TRAIL__NORMAL(x) TRAIL__PASTE(TRAIL__NORMAL_, TRAIL__IS_TUPLE(x))(x)
#define TRAIL__NORMAL_0(x) PLAIN, 0, 0, x
#define TRAIL__NORMAL_1(x) TRAIL__REST x
#define TRAIL__REST(mark, ...) __VA_ARGS__
#define TRAIL__CALL(op, i, ...) TRAIL__CALL_(op, i, __VA_ARGS__)
#define TRAIL__CALL_(op, i, maker, ...) op##maker(i, __VA_ARGS__)

/* m(i, x) for each argument but the first, which is the event's name. */
#define TRAIL__COUNT(...) \
	TRAIL__COUNT_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, ~)
#define TRAIL__COUNT_(z, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, n, \
	...) n
#define TRAIL__EACH(m, ...) TRAIL__PASTE(TRAIL__EACH_, TRAIL__COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define TRAIL__EACH_0(m, z)
#define TRAIL__EACH_1(m, z, a) m(1, a)
#define TRAIL__EACH_2(m, z, a, ...) m(2, a) TRAIL__EACH_1(m, z, __VA_ARGS__)
#define TRAIL__EACH_3(m, z, a, ...) m(3, a) TRAIL__EACH_2(m, z, __VA_ARGS__)
#define TRAIL__EACH_4(m, z, a, ...) m(4, a) TRAIL__EACH_3(m, z, __VA_ARGS__)
#define TRAIL__EACH_5(m, z, a, ...) m(5, a) TRAIL__EACH_4(m, z, __VA_ARGS__)
#define TRAIL__EACH_6(m, z, a, ...) m(6, a) TRAIL__EACH_5(m, z, __VA_ARGS__)
#define TRAIL__EACH_7(m, z, a, ...) m(7, a) TRAIL__EACH_6(m, z, __VA_ARGS__)
#define TRAIL__EACH_8(m, z, a, ...) m(8, a) TRAIL__EACH_7(m, z, __VA_ARGS__)
#define TRAIL__EACH_9(m, z, a, ...) m(9, a) TRAIL__EACH_8(m, z, __VA_ARGS__)
#define TRAIL__EACH_10(m, z, a, ...) m(10, a) TRAIL__EACH_9(m, z, __VA_ARGS__)
#define TRAIL__EACH_11(m, z, a, ...) m(11, a) TRAIL__EACH_10(m, z, __VA_ARGS__)
#define TRAIL__EACH_12(m, z, a, ...) m(12, a) TRAIL__EACH_11(m, z, __VA_ARGS__)
#define TRAIL__EACH_13(m, z, a, ...) m(13, a) TRAIL__EACH_12(m, z, __VA_ARGS__)
#define TRAIL__EACH_14(m, z, a, ...) m(14, a) TRAIL__EACH_13(m, z, __VA_ARGS__)
#define TRAIL__EACH_15(m, z, a, ...) m(15, a) TRAIL__EACH_14(m, z, __VA_ARGS__)
#define TRAIL__EACH_16(m, z, a, ...) m(16, a) TRAIL__EACH_15(m, z, __VA_ARGS__)

#endif
