/* SPDX-License-Identifier: MIT */
/*
 * scope.h - TRAIL_SCOPE and TRAIL_LOCATION, for C++. Included by trail.h alone, which describes
 * them.
 */
#ifndef TRAIL_SCOPE_H
#define TRAIL_SCOPE_H

#pragma GCC system_header

#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_source_location
#include <source_location>
#endif

namespace trail { namespace {

/* Calls a function where the scope ends, by an exception as well. */
template <class F> struct scope_end {
	F at_end;
	scope_end(bool, F f) : at_end(f) { }
	scope_end(const scope_end &) = delete;
	scope_end &operator=(const scope_end &) = delete;
	~scope_end() { at_end(); }
};

/* A place in a source, as a field of an event has it. */
struct location {
	const char *file;
	unsigned int line;
	const char *function;

#ifdef __cpp_lib_source_location
	explicit location(const std::source_location &of)
		: file(of.file_name()), line((unsigned int)of.line()), function(of.function_name())
	{ }
#endif
	location(const char *file_, unsigned int line_, const char *function_)
		: file(file_), line(line_), function(function_)
	{ }
};
TRAIL_MEMBERS(location, file, line, function);

} }

/*
 * Of the two events only the first has fields. Names are made of what the user spelled. It is one
 * declaration, so that it is a pair also where it is all that a loop or a condition has.
 */
#define TRAIL__SCOPE(level_, provider_, args_, end_args_, end_, ...) \
	const ::trail::scope_end TRAIL__PASTE(trail__end_, __LINE__)( \
		__extension__({ TRAIL__EVENT(level_, provider_, args_, __VA_ARGS__); true; }), \
		[] { TRAIL__EVENT(level_, provider_, end_args_, end_); })
#define TRAIL_SCOPE_LEVEL(level, provider, event, ...) \
	TRAIL__SCOPE(TRAIL__LEVEL_##level, #provider, \
		     #event "_begin" __VA_OPT__(",") #__VA_ARGS__, #event "_end", event##_end, \
		     event##_begin __VA_OPT__(,) __VA_ARGS__)
#define TRAIL_SCOPE(provider, event, ...) \
	TRAIL__SCOPE(TRAIL__LEVEL_DEBUG_LINE, #provider, \
		     #event "_begin" __VA_OPT__(",") #__VA_ARGS__, #event "_end", event##_end, \
		     event##_begin __VA_OPT__(,) __VA_ARGS__)
#define TRAIL_LOCATION(name, ...) TRAIL_FIELD(name, ::trail::location(__VA_ARGS__))

#endif
