#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A kernel rule that waits for its file, which comes while the kernel takes no definition of an
# event: the daemon says so, once, and tries again although nothing changes.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/busy.sh"

mount_busy _events
[ -e "$T/uprobe_events" ] || skip "this kernel has no uprobes"

s=$S/t
late=$work/late/program
mkdir "$s" "$work/late"
echo "?uprobe:$late:main as began" >"$s/kernel/events" || fail "refused: $(cat "$s/error")"
echo start >"$s/control" || fail "$(cat "$s/error")"
is "pending" "channel0 0 pending ?uprobe:$late:main as began" "$(sed -n 2p "$s/kernel/rules")"

: >"$BUSY"
printf 'int main(void) { return 0; }\n' | ${CC:-cc} -x c -o "$work/program" - || skip "no compiler"
mv "$work/program" "$late"
within 60 attempts 1 || fail "not tried: $(cat "$s/kernel/rules")"
told() { grep -q 'a rule that waits for its event: .* Device or resource busy' "$s/error"; }
within 20 told || fail "it does not say why: $(cat "$s/error")"
# What it says later is about this mistake, not about the rule again.
echo 'no:such event' >>"$s/kernel/events" 2>/dev/null && fail "the mistake is accepted"
mistake=$(cat "$s/error")
within 60 attempts 3 || fail "not tried again: $(cat "$s/kernel/rules")"
is "pending while the kernel is busy" pending "$(awk 'NR == 2 { print $3 }' "$s/kernel/rules")"
is "said once" "$mistake" "$(cat "$s/error")"

rm "$BUSY"
found() { grep -q "^channel0 1 .*$late:main as began" "$s/kernel/rules"; }
within 120 found || fail "still pending: $(cat "$s/kernel/rules")"
"$late"
recorded() { grep -q ' began: ' "$s/text"; }
within 20 recorded || fail "the program is not recorded: $(cat "$s/kernel/rules")"
echo "$checks checks"
