/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hits everything that is in fields.h. C and C++. Arguments are plug-ins to load first. (A field is
 * empty always or never: babeltrace2 2.0.4 shows what it was at an earlier event.)
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifndef COMPAT_DEFINE_HERE
#define TRACEPOINT_DEFINE
#ifdef COMPAT_DYNAMIC
#define TRACEPOINT_PROBE_DYNAMIC_LINKAGE
#endif
#endif
#include "fields.h"

static int evaluated;

static int once(void)
{
	return ++evaluated;
}

static void levels(void)
{
	tracepoint(compat, emerg, 0);
	tracepoint(compat, alert, 1);
	tracepoint(compat, err, 3);
	tracepoint(compat, warning, 4);
	tracepoint(compat, notice, 5);
	tracepoint(compat, info, 6);
	tracepoint(compat, debug_system, 7);
	tracepoint(compat, debug_program, 8);
	tracepoint(compat, debug_process, 9);
	tracepoint(compat, debug_module, 10);
	tracepoint(compat, debug_unit, 11);
	tracepoint(compat, debug_function, 12);
	tracepoint(compat, debug_line, 13);
	tracepoint(compat, debug, 14);
}

static void values(void)
{
	static const int v[] = { -1, 0, 2147483647 };
	static const unsigned char bytes[] = { 0, 1, 2, 0xfd, 0xfe, 0xff };
	static const uint16_t net[] = { 0x5000, 0x0100 };
	static const struct point p = { 21, 200, "label \"p\"\n" };

	tracepoint(compat, none);
	tracepoint(compat, nothing);
	tracepoint(compat, integers, -2, 18446744073709551615ull, &p);
	tracepoint(compat, integers, 65, 1, &p);
	tracepoint(compat, numbers, 1.5f, -0.1);
	tracepoint(compat, strings, "some text", NULL, &p);
	tracepoint(compat, arrays, v, bytes, net);
	tracepoint(compat, sequences, v, bytes, net, 3);
	tracepoint(compat, sequences, v, bytes, net, 0);
	for (int i = 0; i < 3; i++)
		tracepoint(compat, enumerations, i * 10, i - 1);
	tracepoint(compat, enumerations, 1, 77);
	tracepoint(compat, enumerations, 20, -100);
	tracepoint(compat, enumerations, 100, 1000);
	tracepoint(compat, mixed, 5, "five", 0);
	tracepoint(compat, ten, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
}

int main(int argc, char **argv)
{
	static char text[3001];
	static int many[300];

	for (int i = 1; i < argc; i++)
		if (!dlopen(argv[i], RTLD_NOW)) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
	memset(text, 'x', sizeof(text) - 1);
	for (int i = 0; i < 300; i++)
		many[i] = i;
	values();
	levels();
	tracepoint(compat, large, 5, text, many, 300);
	tracepoint(compat, large, 5, "small", many, 2);
	tracepoint(compat, first, once(), "one");
	tracepoint(compat, second, once(), "two");
	if (tracepoint_enabled(compat, third))
		do_tracepoint(compat, third, once(), "three");
	if (evaluated)
		tracepoint(compat, first, evaluated, "evaluated");
	else
		tracepoint(compat, second, evaluated, "never");
	return 0;
}
