/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In C: the executable, a library it is linked with, and a plug-in that it loads, unloads and loads
 * again.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "fields.h"

void library_event(int v);

int main(int argc, char **argv)
{
	int err = all_fields();

#ifndef ALONE
	library_event(1);
	for (int i = 0; i < 2 && argc > 1; i++) {
		void *plugin = dlopen(argv[1], RTLD_NOW);
		void (*hit)(int) = NULL;

		if (plugin)     /* as dlsym(3) says it */
			*(void **)&hit = dlsym(plugin, "plugin_event");
		if (!hit) {
			fprintf(stderr, "%s\n", dlerror());
			return 2;
		}
		hit(i);
		dlclose(plugin);
	}
#else
	(void)argc, (void)argv;
#endif
	return err;
}
