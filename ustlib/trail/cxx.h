/* SPDX-License-Identifier: MIT */
/*
 * cxx.h - what trail.h does with its arguments in C++17 and later: types become descriptions,
 * values become pieces. Included by trail.h alone. But for TRAIL_LABELS and TRAIL_MEMBERS nothing
 * here is for use in programs.
 */
#ifndef TRAIL_CXX_H
#define TRAIL_CXX_H

#pragma GCC system_header

#include <trail/cxx_types.h>

/*
 * At namespace scope, after the type: what fields of it are called, or have in them. See trail.h.
 */
#define TRAIL_LABELS(type, ...) \
	__attribute__((unused)) static constexpr auto trail__labels(type) \
	{ \
		return ::trail::labels<TRAIL__COUNT(0, __VA_ARGS__)>{ \
			#type, { TRAIL__EACH(TRAIL__LABEL, 0, __VA_ARGS__) } \
		}; \
	} \
	static_assert(true, "")
#define TRAIL_MEMBERS(type, ...) \
	__attribute__((unused)) static constexpr auto trail__members(const type *) \
	{ \
		using trail__type = type; \
		return ::trail::no_members() TRAIL__EACH(TRAIL__MEMBER, 0, __VA_ARGS__); \
	} \
	static_assert(true, "")
#define TRAIL__LABEL(i, label) \
	{ ::trail::last_name(#label), (unsigned long long)(label), (unsigned long long)(label), \
		0 },
#define TRAIL__MEMBER(i, name) + ::trail::member_of(#name, &trail__type::name)

/*
 * In C++ the trace point is a static member of a template with internal linkage: inline functions
 * and templates, whose copies the linker merges, would otherwise put sections of different kinds
 * under one name. The entry in trail_tps goes with the function that holds it (section flag "?").
 */
namespace trail { namespace {

template <class Tag> struct site { static struct trail__tp tp; };
template <class Tag>
struct trail__tp site<Tag>::tp = {
	&site<Tag>::tp.off, Tag::event(), nullptr, nullptr, nullptr, 0, 0, nullptr, 0
};

/* ---- values ---- */

/* How a hit keeps an argument: numbers and pointers as a copy, the rest where it is. */
template <class U>
using held = typename std::conditional<sort_of<U>() == sort::scalar || sort_of<U>() == sort::string,
				       const typename std::decay<U>::type,
				       const typename std::remove_reference<U>::type &>::type;

/* Where the elements begin, if it has some. */
template <class U, class H> inline __attribute__((always_inline)) const char *begin_of(const H &x)
{
	constexpr sort s = sort_of<U>();

	(void)x;
	if constexpr (s != sort::text && s != sort::array && s != sort::sequence)
		return nullptr;
	else if constexpr (std::is_array<bare<U>>::value)
		return (const char *)&x[0];
	else
		return (const char *)x.data();
}

template <class U, class H> inline __attribute__((always_inline)) unsigned int count_of(const H &x)
{
	constexpr sort s = sort_of<U>();

	(void)x;
	if constexpr (s != sort::text && s != sort::array && s != sort::sequence)
		return 1;
	else if constexpr (fixed_size<bare<U>> != 0)
		return (unsigned int)fixed_size<bare<U>>;
	else
		return (size_t)x.size() < 0xffffffffu ? (unsigned int)x.size() : 0xffffffffu;
}

template <class U, class H>
inline __attribute__((always_inline)) struct trail__piece piece_of(const H &x,
								   const char *const &begin)
{
	constexpr sort s = sort_of<U>();

	return { code<U>(), count_of<U>(x),
		 s == sort::scalar || s == sort::string ? (const void *)&x
		 : s == sort::text                      ? (const void *)&begin
							: (const void *)begin };
}

/* Of members there may be more than the room that the buffer keeps for scalars. */
template <class U, class H>
inline __attribute__((always_inline)) unsigned char *
put_value(unsigned char *at, unsigned char *end, const H &x, const char *const &begin,
	  bool is_member, int *big)
{
	if constexpr (sort_of<U>() == sort::structure) {
		members_of<typename std::decay<U>::type>.each([&](const auto &m) {
			using M = typename bare<decltype(m)>::type;
			const char *const first = begin_of<M>(x.*m.pointer);

			at = put_value<M>(at, end, x.*m.pointer, first, true, big);
		});
		return at;
	} else {
		const struct trail__piece p = piece_of<U>(x, begin);

		if (is_member && (at > end || end - at < 8)) {
			*big = 1;
			return at;
		}
		return trail__put(at, end, &p, big);
	}
}

template <unsigned int size> struct piece_list {
	struct trail__piece of[size];
	const char *begin[size];
	unsigned int count;
};

template <class U, class L, class H> inline void add_pieces(L &list, const H &x)
{
	if constexpr (sort_of<U>() == sort::structure) {
		members_of<typename std::decay<U>::type>.each([&](const auto &m) {
			add_pieces<typename bare<decltype(m)>::type>(list, x.*m.pointer);
		});
	} else {
		list.begin[list.count] = begin_of<U>(x);
		list.of[list.count] = piece_of<U>(x, list.begin[list.count]);
		list.count++;
	}
}

} }

/* ---- what is done with each kind of argument ---- */

#define TRAIL__ELEMENT(pointer, kind) \
	(::trail::number_code<::trail::bare<decltype(*(pointer))>>(kind))
#define TRAIL__CHECK_ELEMENT(name, pointer) \
	static_assert(::trail::is_number<::trail::bare<decltype(*(pointer))>>, \
		TRAIL__NO_TYPE(name) ": these are no numbers");
#define TRAIL__CHECK(name, e) \
	static_assert( \
		::trail::is_known<decltype((e))>(), \
		TRAIL__NO_TYPE(name) ", which are integers, floating point numbers, " \
				     "enumerations, strings, pointers, arrays and vectors of " \
				     "numbers, and classes that TRAIL_MEMBERS describes");

#define TRAIL__DECLARE_PLAIN(i, name, flags, e) \
	static_assert(::trail::has_name(#e), TRAIL__NO_NAME(e)); \
	TRAIL__CHECK(#e, e)
#define TRAIL__DECLARE_VALUE(i, name, flags, e) TRAIL__CHECK(name, e)
#define TRAIL__DECLARE_ENUM(i, name, flags, e, ...) \
	static_assert(std::is_integral<typename std::decay<decltype((e))>::type>::value || \
		      std::is_enum<typename std::decay<decltype((e))>::type>::value, \
		      "TRAIL: the field " name " is neither an integer nor an enumeration"); \
	static constexpr struct trail__label trail__l##i[] = { __VA_ARGS__ }; \
	static constexpr struct trail__enum trail__e##i = { name, trail__l##i, \
		sizeof(trail__l##i) / sizeof(trail__l##i[0]) };

#define TRAIL__DESCRIBE_VALUE(i, name_, flags, e) \
	{ name_, ::trail::code<decltype((e))>() | (unsigned int)(flags) << 16, \
		::trail::describe<decltype((e))>(nullptr).count, \
	  ::trail::values<typename std::decay<decltype((e))>::type>() },
#define TRAIL__DESCRIBE_ENUM(i, name, flags, e, ...) \
	{ name, \
	  ::trail::number_code<typename std::decay<decltype((e))>::type>(0) | \
		  (unsigned int)(flags) << 16, \
	  0, &trail__e##i },

#define TRAIL__TOTAL_PLAIN(i, name, flags, e) +::trail::total<decltype((e))>()
#define TRAIL__TOTAL_VALUE TRAIL__TOTAL_PLAIN
#define TRAIL__TOTAL_ENUM(i, ...) +1
#define TRAIL__TOTAL_SEQUENCE TRAIL__TOTAL_ENUM
#define TRAIL__TOTAL_ARRAY TRAIL__TOTAL_ENUM
#define TRAIL__TOTAL_BITS TRAIL__TOTAL_ENUM

#define TRAIL__OPTION_CODE(e) (::trail::code<decltype((e))>())
#define TRAIL__OPTION_COUNT(e) ((unsigned int)::trail::fixed_size<::trail::bare<decltype((e))>>)
#define TRAIL__OPTION_VALUES(e) (::trail::values<typename std::decay<decltype((e))>::type>())

#define TRAIL__CAPTURE_PLAIN TRAIL__CAPTURE_VALUE
#define TRAIL__CAPTURE_VALUE(i, name, flags, e) \
	using trail__u##i = decltype((e)); \
	::trail::held<trail__u##i> trail__v##i = (e); \
	const char *const trail__b##i = ::trail::begin_of<trail__u##i>(trail__v##i);
#define TRAIL__CAPTURE_ENUM(i, name, flags, e, ...) \
	const auto trail__v##i = (e); \
	const struct trail__piece trail__p##i = { \
		::trail::number_code<typename std::decay<decltype((e))>::type>(0), 1, \
			(const void *)&trail__v##i \
	};

#define TRAIL__END (trail__buffer + TRAIL__HEADROOM + TRAIL__DYNAMIC)
#define TRAIL__PUT(i, x) TRAIL__CALL(TRAIL__PUT_, i, TRAIL__NORMAL(x))
#define TRAIL__PUT_PLAIN(i, name, flags, e) \
	trail__at = ::trail::put_value<trail__u##i>(trail__at, TRAIL__END, trail__v##i, \
		trail__b##i, false, &trail__big); \
	trail__used = 0;
#define TRAIL__PUT_VALUE TRAIL__PUT_PLAIN
#define TRAIL__PUT_ENUM(i, ...) \
	trail__at = trail__put_field(trail__at, TRAIL__END, &trail__p##i, &trail__big, \
		&trail__used);
#define TRAIL__PUT_SEQUENCE TRAIL__PUT_ENUM
#define TRAIL__PUT_ARRAY TRAIL__PUT_ENUM
#define TRAIL__PUT_BITS TRAIL__PUT_ENUM
#define TRAIL__PUT_VARIANT TRAIL__PUT_ENUM
#define TRAIL__PIECE(i, x) TRAIL__CALL(TRAIL__PIECE_, i, TRAIL__NORMAL(x))
#define TRAIL__PIECE_PLAIN(i, name, flags, e) \
	::trail::add_pieces<trail__u##i>(trail__list, trail__v##i);
#define TRAIL__PIECE_VALUE TRAIL__PIECE_PLAIN
#define TRAIL__PIECE_ENUM(i, ...) trail__list.of[trail__list.count++] = trail__p##i;
#define TRAIL__PIECE_SEQUENCE TRAIL__PIECE_ENUM
#define TRAIL__PIECE_ARRAY TRAIL__PIECE_ENUM
#define TRAIL__PIECE_BITS TRAIL__PIECE_ENUM
#define TRAIL__PIECE_VARIANT TRAIL__PIECE_ENUM

#define TRAIL__HIT_PIECES(tp, ...) \
	::trail::piece_list<trail__total + 1> trail__list; \
	trail__list.count = 0; \
	TRAIL__EACH(TRAIL__PIECE, __VA_ARGS__) \
	trail__record_pieces((tp), trail__list.of, trail__list.count);

#ifdef TRAIL_DISABLE
#define TRAIL__EVENT(level_, provider_, args_, ...) \
	do { \
		static_assert(::trail::is_word(provider_), "TRAIL: " provider_ TRAIL__NOT_A_NAME); \
		static_assert(::trail::is_word(args_), "TRAIL: " args_ TRAIL__NOT_A_NAME); \
		TRAIL__EACH(TRAIL__DECLARE, __VA_ARGS__) \
		__attribute__((unused)) constexpr unsigned int trail__total = \
			0 TRAIL__EACH(TRAIL__TOTAL, __VA_ARGS__); \
		TRAIL__VANISH(level_, __VA_ARGS__) \
	} while (0)
#else
#define TRAIL__EVENT(level_, provider_, args_, ...) \
	do { \
		static_assert(::trail::is_word(provider_), "TRAIL: " provider_ TRAIL__NOT_A_NAME); \
		static_assert(::trail::is_word(args_), "TRAIL: " args_ TRAIL__NOT_A_NAME); \
		TRAIL__EACH(TRAIL__DECLARE, __VA_ARGS__) \
		constexpr unsigned int trail__total = 0 TRAIL__EACH(TRAIL__TOTAL, __VA_ARGS__); \
		static_assert( \
			trail__total <= 64, \
			"TRAIL: an event has 64 fields at most, members of structures included"); \
		static constexpr struct trail__field trail__fields[] = { TRAIL__EACH( \
			TRAIL__DESCRIBE, __VA_ARGS__){ 0, 0, 0, 0 } }; \
		static constexpr struct trail__event trail__event_ = { \
			provider_, \
			args_, \
			trail__fields, \
			sizeof(trail__fields) / sizeof(trail__fields[0]) - 1, \
			level_, \
			1, \
			0 \
		}; \
		struct trail__tag { \
			static constexpr const struct trail__event *event() \
			{ \
				return &trail__event_; \
			} \
		}; \
		using trail__site = ::trail::site<trail__tag>; \
		__asm__ volatile( \
			".pushsection trail_tps,\"aw?\",@progbits\n" \
			"\t.balign 8\n\t.quad %c0\n\t.popsection" :: "i"(&trail__site::tp)); \
		if (TRAIL__IS_ON(trail__site::tp)) { \
			TRAIL__HIT(&trail__site::tp, __VA_ARGS__) \
		} \
	} while (0)
#endif

#endif
