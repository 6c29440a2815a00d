/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/* A program that does nothing: what starting it costs is what starting a program costs. */
int main(void)
{
	return 0;
}
