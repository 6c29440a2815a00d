// SPDX-License-Identifier: GPL-2.0-or-later
/* Applications whose registration file was closed while it was still locked. */
#include "tracer/app/app.h"

#define CLOSED_LOOKS 200u       /* by the timer of the attach server: for 20 s */

void app_closed(struct tracer *t, const char *name)
{
	struct app *a;

	app_check(t, name);
	a = app_by_name(t, name);
	if (!a)
		return;
	a->closed_looks = CLOSED_LOOKS;
	cds_list_move(&a->closed, &t->closed);
}

bool apps_check_closed(struct tracer *t)
{
	struct app *a, *next;

	cds_list_for_each_entry_safe(a, next, &t->closed, closed) {
		if (!--a->closed_looks)
			cds_list_del_init(&a->closed);
		app_check(t, a->name);
	}
	return !cds_list_empty(&t->closed);
}
