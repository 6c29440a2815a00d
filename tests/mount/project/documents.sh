#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The documents: lines of at most 80 columns, manuals that have each setting, export, context and
# action and that groff formats without a warning, tables that are current, links to files that
# exist, pictures that are well-formed.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/rows.sh"
cd "$top" || fail "cd"
LC_ALL=C.UTF-8
export LC_ALL

# check_columns COLUMNS FILE: rows of Markdown tables and macros of manuals may be longer.
check_columns() {
	grep -v '^[|.]' "$2" >"$work/text"
	[ "$(wc -L <"$work/text")" -le "$1" ] || fail "$2 has lines of more than $1 columns"
	checks=$((checks + 1))
}

for f in README.md docs/CHANGES docs/CONTRIBUTING docs/*.md docs/*.[1348]; do
	check_columns 80 "$f"
done
[ "$(wc -l <docs/design.md)" -le 400 ] || fail "docs/design.md has more than 400 lines"

# Words of README.md and links in Markdown that name a document
for f in $(grep -o 'docs/[A-Za-z.0-9-]*[A-Za-z0-9]' README.md) \
	$(sed -n 's/.*](\([a-zA-Z0-9._/-]*\)).*/docs\/\1/p' docs/*.md); do
	[ -e "$f" ] || fail "there is no $f"
	checks=$((checks + 1))
done

# Each setting, export, context and action is in the manual of its subject.
described() { # PAGE NAME…
	page=docs/trailfs-$1.4
	shift
	for name; do
		grep -q "^\.\(It\|Pa\|Cm\|Ic\|Ql\|Dl\|Li\).*[ /]$name\( \|$\)" "$page" ||
			fail "$page does not describe $name"
		checks=$((checks + 1))
	done
}
described session $(rows session/session_settings.def) $(rows session/channel_settings.def)
described views $(rows session/exports.def)
described rules $(rows abi/contexts.def CONTEXT) $(rows abi/contexts.def COMMON_CONTEXT)
described kernel $(rows abi/contexts.def KERNEL_CONTEXT)
described triggers $(rows trigger/actions.def)

# docs/rooms.md: where each step is
sed -n 's/^|[^|]*| \([a-z_/0-9]*\.[ch]\) | `\([a-z_0-9]*\)` |$/\1 \2/p' docs/rooms.md >"$work/steps"
[ "$(wc -l <"$work/steps")" -ge 30 ] || fail "docs/rooms.md has no table of steps"
while read -r file function; do
	grep "^\([a-z_].*[ *]\)\?$function(" "$file" | grep -qv ';$' ||
		fail "docs/rooms.md: $file has no function $function"
	checks=$((checks + 1))
done <"$work/steps"

# docs/formats.md: no field is empty, and each test that is named exists
! grep '^|.*| *|' docs/formats.md || fail "docs/formats.md has a row without a test or a reason"
for t in $(sed -n 's/\\//g; /^|/p' docs/formats.md |
	grep -o '[a-z_0-9]*\.sh\|\(test\|fuzz\)_[a-z_0-9]*' | sort -u); do
	[ -n "$(find tests -name "$t" -o -name "$t.c")" ] || fail "docs/formats.md: there is no $t"
	checks=$((checks + 1))
done

tools/lket-table.sh | diff docs/lket.md - >"$work/diff" ||
	fail "docs/lket.md is not what tools/lket-table.sh makes: $(head -n 5 "$work/diff")"
! grep '^| `@.* | ? |$' docs/lket.md || fail "hooks that no test fires, without a reason"
hooks=$(grep -c '^| `@' docs/lket.md)
[ "$hooks" -ge 220 ] || fail "docs/lket.md has $hooks hooks"
checks=$((checks + 2))

if command -v groff >/dev/null; then
	for f in docs/*.[1348]; do
		# (groff 1.24 says where long words leave a line short.)
		groff -mdoc -Tutf8 -ww "$f" 2>&1 >"$work/page" | grep -v ': cannot adjust line' &&
			fail "$f has errors"
		[ "$(wc -l <"$work/page")" -gt 30 ] || fail "$f is empty"
		checks=$((checks + 1))
	done
fi
if command -v xmllint >/dev/null; then
	for f in docs/*.svg; do
		xmllint --noout "$f" || fail "$f is not well-formed"
	done
fi
echo "$checks checks"
