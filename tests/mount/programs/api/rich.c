/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays and labels as fields, in C: rich.sh knows the text that must come out. */
#include "rich.h"

int main(int argc, char **argv)
{
	(void)argv;
	rich_fields(argc);
	return 0;
}
