#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each command and each option that the manual pages of LTTng 2.16 describe, as Debian sid has them,
# is in a row of docs/lttng-commands.md, and each row names its test.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/sid.sh"
need_sid
table=$top/docs/lttng-commands.md
man=$sid_root/usr/share/man
ls "$man"/man1/lttng-*.1.gz >/dev/null 2>&1 || skip "the root with Debian sid has no manual pages"

# options PAGE: a line for each option of the lists in it; an entry follows .PP
options() {
	gzip -dc "$1" | sed 's/\\-/-/g; s/\\&//g' | awk '
		before == ".PP" && /^\\fB-/ {
			gsub(/\\f[BIR]/, "")
			n = split($0, words, /[ ,=\[]+/)
			for (i = 1; i <= n; i++)
				if (words[i] ~ /^-/) print words[i]
		}
		{ before = $0 }' | sort -u
}
# section NAME: the rows of the table's section, and those of all commands
section() { awk -v c="## $1" '/^## / { on = $0 == c || $0 == "## All commands" } on && /^[|]/' "$table"; }

look() { # PAGE SECTION
	section "$2" >"$work/rows"
	grep -q "^## $2\$" "$table" || fail "there is no section '$2'"
	options "$1" >"$work/options"
	while read -r option; do
		grep -qe "\`$option[^a-z-]" "$work/rows" || fail "$2 $option is in no row"
		checks=$((checks + 1))
	done <"$work/options"
}

look "$man/man1/lttng.1.gz" "All commands"
for page in "$man"/man1/lttng-*.1.gz; do
	name=${page##*/}
	name=${name%.1.gz}
	case $name in
	lttng-crash | lttng-gen-tp) look "$page" "$name" ;;
	*) look "$page" "${name#lttng-}" ;;
	esac
done
look "$man/man7/lttng-event-rule.7.gz" add-trigger
# What the page on triggers has in the text of a condition or an action
for option in $(gzip -dc "$man/man1/lttng-add-trigger.1.gz" | sed 's/\\-/-/g; s/\\f[BIR]//g' |
	sed -n '/^--\(condition\|action\)=[a-z]/,/^\.fi/p' | grep -o -- '--[a-z][a-z-]*' | sort -u); do
	section add-trigger | grep -qe "\`$option[^a-z-]" || fail "add-trigger $option is in no row"
	checks=$((checks + 1))
done
[ "$checks" -gt 250 ] || fail "only $checks options"
# Without a test are the rows about the program lttng itself.
is "rows without a test" 3 "$(grep -c '| none |$' "$table")"
is "rows that are missing" 0 "$(grep -c '| missing |$' "$table")"
echo "$checks checks"
