/* SPDX-License-Identifier: MIT */
/*
 * cxx_types.h - types of C++17 and later as descriptions of fields: names, labels and members,
 * and what code a type has. Included by cxx.h alone; nothing here is for use in programs.
 */
#ifndef TRAIL_CXX_TYPES_H
#define TRAIL_CXX_TYPES_H

#include <trail/trail.h>

#pragma GCC system_header

#include <type_traits>
#include <utility>

namespace trail { namespace {

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

/* One word up to its end or its first comma; all that is not ASCII counts as letters. */
constexpr bool is_word(const char *s)
{
	const char *begin = s;

	while (begins_name(*s) || (*s >= '0' && *s <= '9') || *s == '$' || (*s & 0x80))
		s++;
	return s > begin && (!*s || *s == ',');
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
 * Skips an expression that names a value: `+*&` before it, a cast, a name, and after it members,
 * indices and calls. Returns the place after it, or null if there is none.
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

} }

#endif
