# SPDX-License-Identifier: GPL-2.0-or-later
# Names in the lines of tracer/*/*.def, of which files, contexts and actions are made. A test has a
# list of its own of what must be there; these functions add what is new, so that a new line needs
# no change of it.

# rows FILE [MACROS [KIND]]: the names, of lines of these macros (a regular expression) and this kind
rows() {
	grep "^${2:-[A-Z_]*}(" "$top/tracer/$1" |
		sed -n "s/^[A-Z_]*(\([A-Z_0-9]*, \)\?\"\([^\"]*\)\", ${3-}.*/\2/p"
}
# with_rows NAME…: these names, sorted, each followed by a space
with_rows() {
	printf '%s\n' $* | LC_ALL=C sort -u | tr '\n' ' '
}
