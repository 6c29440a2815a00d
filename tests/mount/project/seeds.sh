#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# docs/seeds.md is what data/seeds gives; each row has tests, which are tests of tests/run and have
# the words of the row. A row with a mistake of each kind is found.
. "$(dirname "$0")/../../lib/mount.sh"
cd "$top" || fail "cd"

tools/seeds-table.sh >"$work/table" 2>"$work/wrong" || fail "$(head -n 20 "$work/wrong")"
cmp "$work/table" docs/seeds.md || fail "docs/seeds.md is not current: make docs/seeds.md"
rows=$(grep -c '^[^#=].*|' data/seeds)
is "rows of the table" "$rows" "$(sed '1,/^| all/d' docs/seeds.md | grep -v '^| section\|^|---' | grep -c '^|')"
[ "$rows" -ge 500 ] || fail "only $rows rows"

# wrong ROW PATTERN: with this row, it fails and says so
mkdir "$work/tree" "$work/tree/data" "$work/tree/docs" "$work/tree/tools"
ln -s "$top/tests" "$work/tree/tests"
cp tools/seeds-table.sh "$work/tree/tools/"
: >"$work/tree/docs/seeds.md"
wrong() {
	printf '= A document\n%s\n' "$1" >"$work/tree/data/seeds"
	! "$work/tree/tools/seeds-table.sh" >/dev/null 2>"$work/wrong" || fail "accepted: $1"
	has "$(cat "$work/wrong")" "^data/seeds:2: $2"
}
wrong '1 | A statement' 'not SECTION | STATEMENT | TEST | REASON'
wrong '1 | A statement |' 'a row without a test'
wrong '1 | A statement |  | no: a reason' 'a row without a test'
wrong '1 | A statement | mount/none.sh: words' "tests/run has no test 'mount/none.sh'"
wrong '1 | A statement | mount/project/seeds.sh' 'no words of the test mount/project/seeds.sh'
wrong '1 | A statement | unit/metadata/test_ctf: none such' \
	"the test unit/metadata/test_ctf does not have the words 'none such'"
# (The words of a comment)
wrong '1 | A statement | mount/views/trace.sh: each process sees one moment' 'the test .* does not have'
# (Those beside code)
wrong '1 | A statement | unit/import/test_ltt: the first block' 'the test .* does not have'
wrong '1 | A statement | mount/views/import_proposal.sh: sizeof(float)' 'the test .* does not have'
echo "$checks checks"
