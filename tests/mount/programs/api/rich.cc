// SPDX-License-Identifier: GPL-2.0-or-later
// The same, and what C++ has besides: strings, containers, enumerations with labels, structures in
// structures.
#include "rich.h"

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

namespace app {

enum class state : unsigned char { idle = 3, running };
TRAIL_LABELS(state, state::idle, state::running);

struct point { int x; double y; };
TRAIL_MEMBERS(point, x, y);

class request {
public:
	int id;
	std::string path;
	state st;
	point from;
	std::vector<short> sizes;
	float gains[2];
	const char *note;
};
TRAIL_MEMBERS(request, id, path, st, from, sizes, gains, note);

}

struct pair { app::point a, b; };
TRAIL_MEMBERS(pair, a, b);

static std::string make(int n)
{
	return "made " + std::to_string(n);
}

static void containers(int n)
{
	std::string s = "string " + std::to_string(n), empty, nul("a\0b", 3);
	std::string_view view = std::string_view(s).substr(0, 3), none;
	std::vector<int> ints = { n, -1 };
	const std::vector<double> doubles = { 0.5, n + 0.25 };
	std::vector<unsigned char> nothing;
	std::array<uint16_t, 3> fixed = { 1, 2, (uint16_t)n };
	std::array<float, 1> real = { 2.5f };
#if __cplusplus >= 202002L
	std::span<const int> span(ints);
#else
	const std::vector<int> &span = ints;
#endif

	TRAIL(rich, containers, s, empty, nul, view, none, ints, doubles, nothing, fixed, real,
	      span, TRAIL_FIELD(temporary, make(n)), n);
}

static void structures(int n)
{
	app::state st = n == 0 ? app::state::idle : app::state::running, odd = (app::state)77;
	app::point p = { n, 0.5 };
	app::request r = { n, "/index", st, { 1, -2 }, { 7, 8 }, { 0.5f, 1.5f }, nullptr };
	pair both = { { 1, 2 }, { 3, n + 0.75 } };

	TRAIL(rich, structures, st, odd, p, r, both, r.from,
	      TRAIL_FIELD(other, (app::point{ 5, 6 })), n);
	r.path = std::string(1000, 'x');
	TRAIL(rich, large_structure, r, n);
}

/* gcc knows that it is empty. */
static void empty_vector()
{
	TRAIL(rich, empty_vector, TRAIL_FIELD(v, std::vector<long long>()));
}

template <class T> static void in_template(const T &value)
{
	TRAIL(rich, in_template, value);
}

/* rich [wait]: with an argument it first waits for the end of its standard input. */
int main(int argc, char **)
{
	while (argc > 1 && getchar() != EOF)
		;
	rich_fields(1);
	for (int n = 0; n < 3; n++) {
		containers(n);
		structures(n);
	}
	in_template(std::string("text"));
	in_template(std::vector<long>{ 1, 2 });
	in_template(app::point{ 1, 2 });
	empty_vector();
	return 0;
}
