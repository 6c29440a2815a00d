// SPDX-License-Identifier: GPL-2.0-or-later
// TRAIL_SCOPE in functions, templates and blocks that an exception leaves; TRAIL_LOCATION.
#include <trail/trail.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_source_location
#include <source_location>

static void failed(int code, std::source_location where = std::source_location::current())
{
	TRAIL(scope, failed, code, TRAIL_LOCATION(where, where));
}
#endif

template <class T> inline T twice(T v)
{
	TRAIL_SCOPE(scope, twice, v);
	return v * 2;
}

int main(int argc, char **)
{
	const std::string path = "/a";

	errno = 7;
	try {
		TRAIL_SCOPE(scope, load, path, TRAIL_FIELD(n, argc + 1), errno);
		TRAIL_SCOPE_LEVEL(INFO, scope, inner, TRAIL_FIELD(function, __func__));
		twice(3);
		twice(1.5);
		if (argc > 0)
			throw std::runtime_error("left");
	} catch (const std::exception &) {
		TRAIL(scope, caught, TRAIL_LOCATION(at, "main.cc", __LINE__, __func__));
	}
	for (int i = 0; i < 2; i++)
		TRAIL_SCOPE(scope, alone, i);
#ifdef __cpp_lib_source_location
	failed(7);
#endif
	return 0;
}
