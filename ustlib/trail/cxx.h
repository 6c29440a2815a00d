/* SPDX-License-Identifier: MIT */
/*
 * cxx.h - what trail.h does with its arguments in C++17 and later: types become descriptions,
 * values become pieces. Included by trail.h alone. But for TRAIL_LABELS and TRAIL_MEMBERS nothing
 * here is for use in programs.
 */
#ifndef TRAIL_CXX_H
#define TRAIL_CXX_H

#pragma GCC system_header

#include <type_traits>
#include <utility>

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

/* ---- names ---- */

/* state::idle is called idle. */
constexpr const char *last_name(const char *spelled)
{
	const char *name = spelled;

	for (; *spelled; spelled++)
		if (*spelled == ':' || *spelled == ' ')
			name = spelled + 1;
	return name;
}

constexpr bool begins_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

constexpr const char *skip_spaces(const char *s)
{
	while (*s == ' ')
		s++;
	return s;
}

constexpr const char *skip_name(const char *s)
{
	while (begins_name(*s) || (*s >= '0' && *s <= '9'))
		s++;
	return s;
}

/* After the bracket that closes the one at s; null if none does. */
constexpr const char *skip_brackets(const char *s)
{
	int depth = 0;
	char quote = 0;

	for (; *s; s++) {
		if (quote) {
			if (*s == '\\' && s[1])
				s++;
			else if (*s == quote)
				quote = 0;
		} else if (*s == '"' || *s == '\'') {
			quote = *s;
		} else if (*s == '(' || *s == '[' || *s == '{') {
			depth++;
		} else if ((*s == ')' || *s == ']' || *s == '}') && --depth == 0) {
			return s + 1;
		}
	}
	return nullptr;
}

/*
 * After a path to a value: `+*&` before it, a cast, a name, and after it members, indices and
 * calls. Null: it is none.
 */
constexpr const char *skip_path(const char *s)
{
	const char *end = nullptr;

	s = skip_spaces(s);
	if ((*s == '+' && s[1] != '+') || *s == '*' || *s == '&')
		return skip_path(s + 1);
	if (*s == '(') {
		end = skip_brackets(s);
		if (!end)
			return nullptr;
		if (begins_name(*skip_spaces(end)) || *skip_spaces(end) == '(')
			return skip_path(end);
		s = skip_path(s + 1);
		if (!s || skip_spaces(s) != end - 1)
			return nullptr;
		s = end;
	} else {
		if (*s == ':' && s[1] == ':')
			s += 2;
		if (!begins_name(*s))
			return nullptr;
		s = skip_name(s);
	}
	for (;;) {
		const char *next = skip_spaces(s);

		if (*next == '(' || *next == '[') {
			s = skip_brackets(next);
			if (!s)
				return nullptr;
			continue;
		}
		if (*next != '.' && !(*next == '-' && next[1] == '>') &&
		    !(*next == ':' && next[1] == ':'))
			return s;
		s = skip_spaces(next + (*next == '.' ? 1 : 2));
		if (!begins_name(*s))
			return nullptr;
		s = skip_name(s);
	}
}

constexpr bool has_name(const char *spelled)
{
	const char *end = skip_path(spelled);

	return end && !*skip_spaces(end);
}

/* ---- what TRAIL_LABELS and TRAIL_MEMBERS say ---- */

template <unsigned int count> struct labels {
	const char *name;
	struct trail__label list[count];
};

template <class T, class = void> constexpr bool has_labels = false;
template <class T>
constexpr bool has_labels<
	T, typename std::enable_if<std::is_enum<T>::value,
				   std::void_t<decltype(trail__labels(std::declval<T>()))>>::type> =
	true;

template <class T> struct labels_of {
	static constexpr auto all = trail__labels(T());
	static constexpr struct trail__enum value = { all.name, all.list,
						      sizeof(all.list) / sizeof(all.list[0]) };
};

template <class T, class M> struct member {
	using type = M;
	const char *name;
	M T::*pointer;
};

struct no_members {
	static constexpr unsigned int count = 0;
	template <class F> constexpr void each(F &&) const { }
};

template <class P, class M> struct more_members {
	static constexpr unsigned int count = P::count + 1;
	P before;
	M last;
	template <class F> constexpr void each(F &&f) const
	{
		before.each(f);
		f(last);
	}
};

template <class T, class M> constexpr member<T, M> member_of(const char *name, M T::*pointer)
{
	return { name, pointer };
}

template <class P, class T, class M>
constexpr more_members<P, member<T, M>> operator+(P before, member<T, M> last)
{
	return { before, last };
}

template <class T, class = void> constexpr bool has_members = false;
template <class T>
constexpr bool has_members<
	T, typename std::enable_if<
		   std::is_class<T>::value,
		   std::void_t<decltype(trail__members(static_cast<const T *>(nullptr)))>>::type> =
	true;

template <class T> constexpr auto members_of = trail__members(static_cast<const T *>(nullptr));

/* ---- types ---- */

enum class sort { unknown, scalar, string, text, array, sequence, structure };

template <class T>
using bare = typename std::remove_cv<typename std::remove_reference<T>::type>::type;

template <class T>
constexpr bool is_number = (std::is_arithmetic<T>::value && !std::is_same<T, long double>::value) ||
			   std::is_enum<T>::value;

/* What has data() and size(), and how many elements if that is part of the type */
template <class T, class = void> struct container { using element = void; };
template <class T>
struct container<T, std::void_t<decltype(std::declval<const T &>().data()),
				decltype(std::declval<const T &>().size())>> {
	using pointer = decltype(std::declval<const T &>().data());
	using element = typename std::conditional<std::is_pointer<pointer>::value,
						  bare<typename std::remove_pointer<pointer>::type>,
						  void>::type;
};
template <class T, class = void> constexpr size_t fixed_size = 0;
template <class T>
constexpr size_t fixed_size<T, std::void_t<decltype(std::tuple_size<T>::value)>> =
	std::tuple_size<T>::value;
template <class T, size_t count> constexpr size_t fixed_size<T[count], void> = count;

template <class T> struct element_of { using type = typename container<T>::element; };
template <class T, size_t count> struct element_of<T[count]> { using type = bare<T>; };

/* U is a type, or a reference to one. */
template <class U> constexpr sort sort_of()
{
	using T = bare<U>;
	using D = typename std::decay<U>::type;
	using E = typename element_of<T>::type;

	if constexpr (std::is_array<T>::value)
		return std::is_same<E, char>::value ? sort::text
		     : is_number<E> || std::is_pointer<E>::value ? sort::array : sort::unknown;
	else if constexpr (std::is_same<D, char *>::value || std::is_same<D, const char *>::value)
		return sort::string;
	else if constexpr (is_number<D> || std::is_pointer<D>::value)
		return sort::scalar;
	else if constexpr (has_members<D>)
		return sort::structure;
	else if constexpr (std::is_same<E, char>::value)
		return sort::text;
	else if constexpr (is_number<E> || std::is_pointer<E>::value)
		return fixed_size<T> ? sort::array : sort::sequence;
	else
		return sort::unknown;
}

template <class T, bool = std::is_enum<T>::value> struct integer { using type = T; };
template <class T> struct integer<T, true> { using type = typename std::underlying_type<T>::type; };

/* Of a number, or a pointer; as the element of something if kind is not 0. */
template <class T> constexpr unsigned int number_code(unsigned int kind)
{
	if constexpr (std::is_pointer<T>::value)
		return TRAIL__CODE_OF(kind ? kind : TRAIL__INT, TRAIL__HEX, sizeof(T));
	else if constexpr (std::is_floating_point<T>::value)
		return TRAIL__CODE_OF(kind ? kind : TRAIL__FLOAT, kind ? TRAIL__REAL : 0,
				      sizeof(T));
	else
		return TRAIL__CODE_OF(
			kind ? kind : TRAIL__INT,
			(std::is_signed<typename integer<T>::type>::value ? TRAIL__SIGNED : 0) |
				(has_labels<T> && !kind ? TRAIL__ENUM : 0),
			sizeof(T));
}

template <class U> constexpr unsigned int code()
{
	constexpr sort s = sort_of<U>();

	if constexpr (s == sort::scalar)
		return number_code<typename std::decay<U>::type>(0);
	else if constexpr (s == sort::array || s == sort::sequence)
		return number_code<typename element_of<bare<U>>::type>(
			s == sort::array ? TRAIL__ARRAY_OF : TRAIL__SEQUENCE_OF);
	else
		return s == sort::string      ? TRAIL__CODE_OF(TRAIL__STRING, 0, 0)
		       : s == sort::text      ? TRAIL__CODE_OF(TRAIL__STRING, TRAIL__TEXT, 0)
		       : s == sort::structure ? TRAIL__CODE_OF(TRAIL__STRUCT, 0, 0)
					      : 0;
}

template <class T> constexpr const struct trail__enum *values();

template <class U> constexpr struct trail__field describe(const char *name)
{
	return { name, code<U>(),
		 sort_of<U>() == sort::array ? (unsigned int)fixed_size<bare<U>> : 0,
		 values<typename std::decay<U>::type>() };
}

template <unsigned int count> struct field_table { struct trail__field of[count]; };

template <class T> constexpr auto describe_members()
{
	field_table<members_of<T>.count> table = {};
	unsigned int n = 0;

	members_of<T>.each([&table, &n](const auto &m) {
		table.of[n++] = describe<typename bare<decltype(m)>::type>(m.name);
	});
	return table;
}

template <class T> struct layout {
	static constexpr auto fields = describe_members<T>();
	static constexpr struct trail__struct value = { { nullptr, nullptr, members_of<T>.count },
							fields.of };
};

template <class T> constexpr const struct trail__enum *values()
{
	if constexpr (has_labels<T>)
		return &labels_of<T>::value;
	else if constexpr (sort_of<T>() == sort::structure)
		return &layout<T>::value.head;
	else
		return nullptr;
}

/* Whether it can be recorded, with all that is in it; and how many fields that are. */
template <class U> constexpr unsigned int total()
{
	unsigned int n = 1;

	if constexpr (sort_of<U>() == sort::structure)
		members_of<typename std::decay<U>::type>.each(
			[&n](const auto &m) { n += total<typename bare<decltype(m)>::type>(); });
	return n;
}

template <class U> constexpr bool is_known()
{
	bool known = sort_of<U>() != sort::unknown;

	if constexpr (sort_of<U>() == sort::structure)
		members_of<typename std::decay<U>::type>.each([&known](const auto &m) {
			known = known && is_known<typename bare<decltype(m)>::type>();
		});
	return known;
}

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

#define TRAIL__TOTAL(i, x) TRAIL__CALL(TRAIL__TOTAL_, i, TRAIL__NORMAL(x))
#define TRAIL__TOTAL_PLAIN(i, name, flags, e) +::trail::total<decltype((e))>()
#define TRAIL__TOTAL_VALUE TRAIL__TOTAL_PLAIN
#define TRAIL__TOTAL_ENUM(i, ...) +1
#define TRAIL__TOTAL_SEQUENCE TRAIL__TOTAL_ENUM
#define TRAIL__TOTAL_ARRAY TRAIL__TOTAL_ENUM
#define TRAIL__TOTAL_BITS TRAIL__TOTAL_ENUM

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
#define TRAIL__CAPTURE_SEQUENCE(i, name, flags, pointer, n) \
	TRAIL__CHECK_ELEMENT(name, pointer) \
	const void *const trail__v##i = (const void *)(pointer); \
	const struct trail__piece trail__p##i = { TRAIL__ELEMENT(pointer, TRAIL__SEQUENCE_OF), \
		(unsigned int)(n), trail__v##i };
#define TRAIL__CAPTURE_ARRAY(i, name, flags, pointer, n) \
	TRAIL__CHECK_ELEMENT(name, pointer) \
	const void *const trail__v##i = (const void *)(pointer); \
	const struct trail__piece trail__p##i = { TRAIL__ELEMENT(pointer, TRAIL__ARRAY_OF), \
		(unsigned int)(n), trail__v##i };

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
#define TRAIL__PIECE(i, x) TRAIL__CALL(TRAIL__PIECE_, i, TRAIL__NORMAL(x))
#define TRAIL__PIECE_PLAIN(i, name, flags, e) \
	::trail::add_pieces<trail__u##i>(trail__list, trail__v##i);
#define TRAIL__PIECE_VALUE TRAIL__PIECE_PLAIN
#define TRAIL__PIECE_ENUM(i, ...) trail__list.of[trail__list.count++] = trail__p##i;
#define TRAIL__PIECE_SEQUENCE TRAIL__PIECE_ENUM
#define TRAIL__PIECE_ARRAY TRAIL__PIECE_ENUM
#define TRAIL__PIECE_BITS TRAIL__PIECE_ENUM

#define TRAIL__HIT_PIECES(tp, ...) \
	::trail::piece_list<trail__total + 1> trail__list; \
	trail__list.count = 0; \
	TRAIL__EACH(TRAIL__PIECE, __VA_ARGS__) \
	trail__record_pieces((tp), trail__list.of, trail__list.count);

#define TRAIL__EVENT(level_, provider_, args_, ...) \
	do { \
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
