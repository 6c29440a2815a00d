// SPDX-License-Identifier: GPL-2.0-or-later
// In C++: the same fields, and where C++ is different: inline functions, templates, members,
// lambdas, scoped enumerations.
#include "fields.h"

#include <string>

enum class state : unsigned char { idle = 3 };

inline void cxx_inline(int v)
{
	TRAIL(api, cxx_inline, v);
}

template <class T> static void cxx_template(T v)
{
	TRAIL(api, cxx_template, v);
}

struct object {
	int member = 4;
	object() { TRAIL(api, cxx_constructor, member); }
	void method() const { TRAIL(api, cxx_method, this->member); }
};

int main()
{
	int err = all_fields();
	std::string s = "std";
	state st = state::idle;

	cxx_inline(1);
	cxx_template(2);
	cxx_template(2.5);
	object().method();
	[&] { TRAIL(api, cxx_lambda, TRAIL_FIELD(s, s.c_str()), st); }();
	return err;
}
