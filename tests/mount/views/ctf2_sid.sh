#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 2400
#
# The texts with which import_ctf2.sh compares: babeltrace2 2.1.2 of Debian sid prints the same ones
# of the examples of the specification, and of our traces of CTF 2 made by hand, and refuses all
# that must be refused. (Where it cannot, skip_of says why.)
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/sid.sh"
python3 -c 'import json' 2>/dev/null || skip "there is no python3"
need_sid
python3 "$top/tests/lib/ctf2_spec.py" "$work/spec" || fail "ctf2_spec.py"
python3 "$top/tests/lib/ctf2_cases.py" "$work/cases" || fail "ctf2_cases.py"

# babeltrace2 2.1.2 aborts: a BLOB without bytes, a packet context with a CPU after roles; has no
# numbers of 16 bits; takes `null` once in a path; ends at what is not Unicode.
skip_of='spec/43 cases/good/nothing cases/good/clocks cases/good/half cases/good/length_of_parents
cases/good/not_unicode'
cat >"$work/read" <<'END'
cd /mnt
for t in spec/*.text cases/good/*.text; do
	TZ=UTC babeltrace2 "${t%.text}" >"${t%.text}.sid" 2>"${t%.text}.err" || echo "${t%.text}"
done >/mnt/failed
for t in cases/bad/*.why; do
	TZ=UTC babeltrace2 "${t%.why}" >/mnt/out 2>&1 && echo "${t%.why}"
done >/mnt/taken
babeltrace2 --version | head -n 1
END
sid read || fail "babeltrace2 does not run"
is "traces it cannot read" "$(printf '%s\n' $skip_of | sort)" "$(sort "$work/failed")"
for t in "$work/spec"/*.text "$work/cases/good"/*.text; do
	name=${t#"$work"/}
	grep -qx "${name%.text}" "$work/failed" && continue
	cmp -s "$t" "${t%.text}.sid" || fail "$name: $(diff "$t" "${t%.text}.sid" | head -n 4)"
	checks=$((checks + 1))
done
! grep -q float_192 "$work/taken" || fail "babeltrace2 takes a number of 192 bits: docs/formats.md"
echo "$(wc -l <"$work/taken") of our bad traces it takes: $(xargs <"$work/taken")"
echo "$checks checks"
