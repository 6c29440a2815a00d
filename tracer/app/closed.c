// SPDX-License-Identifier: GPL-2.0-or-later
/* Applications whose registration file was closed while it was still locked. */
#include "tracer/app/app.h"

#define CLOSED_LOOKS 200u       /* by the timer of the attach server: for 20 s */

bool app_closed(struct tracer *t, const char *name)
{
	struct app *a;

	app_check(t, name);
	a = app_by_name(t, name);
	if (a)
		a->closed = CLOSED_LOOKS;
	return a;
}

bool apps_check_closed(struct tracer *t)
{
	struct app *a, *next;
	bool left = false;

	cds_list_for_each_entry_safe(a, next, &t->apps, node) {
		if (!a->closed)
			continue;
		left |= --a->closed > 0;
		app_check(t, a->name);
	}
	return left;
}
