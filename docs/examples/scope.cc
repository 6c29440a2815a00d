// SPDX-License-Identifier: MIT

// Events of a C++ program (see trail(3)):
//
//	c++ -std=c++20 scope.cc -o scope -ltrail
#include <trail/trail.h>

#include <string>

static int load(const std::string &path)
{
	TRAIL_SCOPE(my_app, load, path); // load_begin here, load_end at the end of the block

	return static_cast<int>(path.size());
}

int main()
{
	const int size = load("/index.html");

	TRAIL(my_app, loaded, size);
}
