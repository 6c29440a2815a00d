/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opened by dlopen.c. */
int plugin_value(void);
int plugin_value(void)
{
	return 42;
}
