#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# What make bench runs: a part that fails does not stop the others, and is said at the end; the rows
# of set-up, which write to a directory one after the other, each have a figure.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
command -v bash >/dev/null || skip "there is no bash"
mkdir -p "$work/b/tests/bench"
ln -s "$TRAILFS" "$work/b/trailfs"
${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -I"$top" "$top/tests/bench/steps.c" -o "$work/b/tests/bench/steps" ||
	skip "cannot build steps.c"
# (The path of a state directory has at most 90 bytes.)
short=$(mktemp -d /tmp/bench.XXXXXX) || fail "mktemp"
unset TRAIL_RUNTIME_DIR
BUILD=$work/b TMPDIR=$short timeout 200 "$top/tests/bench/run" no_such_part event_costs record_set_up \
	>"$work/out" 2>"$work/err"
is "exit status with parts that fail" 1 $?
is "what is left" "" "$(ls "$short")"
rmdir "$short"
has "$(cat "$work/out")" '^  mkdir, config, start  *[0-9.][0-9.]* *$'
has "$(cat "$work/out")" '^  … a file for each setting  *[0-9.][0-9.]* *$'
is "what failed" "failed:   no_such_part: it ended early   event_costs: bench_event failed" \
	"$(tail -n 3 "$work/out" | tr '\n' ' ' | sed 's/ $//')"
echo "$checks checks"
