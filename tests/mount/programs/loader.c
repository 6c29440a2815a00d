/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail dl */
/*
 * loader LIBRARY: for each byte on standard input: `o` opens the library, `h` has it hit plug:hit,
 * `c` closes it, `t` hits load:tick; answers with the same byte.
 */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include <trail/trail.h>

int main(int argc, char **argv)
{
	void *plug = NULL;
	void (*hit)(int) = NULL;
	void *symbol;
	char c;

	for (int n = 0; argc > 1 && read(0, &c, 1) == 1; n++) {
		if (c == 'o') {
			plug = dlopen(argv[1], RTLD_NOW);
			symbol = plug ? dlsym(plug, "plug_hit") : NULL;
			memcpy(&hit, &symbol, sizeof(hit));
		}
		if (c == 'h' && hit)
			hit(n);
		if (c == 'c' && plug) {
			dlclose(plug);
			hit = NULL;
		}
		if (c == 't')
			TRAIL(load, tick, n);
		if (write(1, &c, 1) != 1)
			return 1;
	}
	return 0;
}
