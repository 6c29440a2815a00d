/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dlopen PLUGIN [NAME]: opens it, opens it again, closes it twice, opens it in a name space of its
 * own, and fails to open what is not there. Prints its address. NAME: is found along the run path
 * of this program.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	void *handle, *again, *apart;
	struct link_map *map;
	const char *error;
	int (*value)(void);

	if (argc < 2)
		return 1;
	handle = dlopen(argv[1], RTLD_NOW);
	if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map))
		return 2;
	printf("0x%lX\n", (unsigned long)map->l_addr);
	value = (int (*)(void))dlsym(handle, "plugin_value");
	again = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	if (again != handle || !value || value() != 42 || dlclose(again) || value() != 42 ||
	    dlclose(handle))
		return 3;
	apart = dlmopen(LM_ID_NEWLM, argv[1], RTLD_LAZY);
	if (!apart || dlclose(apart))
		return 4;
	if (dlopen("/does/not/exist.so", RTLD_NOW) || !(error = dlerror()) ||
	    !strstr(error, "/does/not/exist.so"))
		return 5;
	handle = dlopen(NULL, RTLD_NOW);
	if (!handle || dlclose(handle))
		return 6;
	if (argc > 2 && !dlopen(argv[2], RTLD_NOW)) {
		fprintf(stderr, "%s\n", dlerror());
		return 7;
	}
	return 0;
}
