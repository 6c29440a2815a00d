#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `status` has a line `unmatched RULE` for each rule of the user domain that matches no registered
# tracepoint, and `unknown_field RULE: SENTENCE` if no tracepoint that it matches has a field of its
# filter.
. "$(dirname "$0")/../../lib/mount.sh"

mount_tree
s=$S/unmatched
mkdir "$s"
unmatched() {
	sed -n 's/^unmatched //p' "$s/status" | paste -sd '|'
}
is "no rules" "" "$(unmatched)"
cat >"$s/user/events" <<'R'
tick_app:tick
tick_app:tik loglevel <= info
~tick_app:disabled
trail:log
ticker:none* if n == 1
R
is "no application" "tick_app:tick|tick_app:tik loglevel <= info|ticker:none* if n == 1" \
	"$(unmatched)"

# An application registers one of them, and ends.
TICKER=${TICKER:-$BUILD/tests/lib/ticker}
[ -x "$TICKER" ] || skip "there is no ticker"
put 'tick:tock' "$s/user/events"
echo 'tick:tok' >>"$s/user/events"
is "not yet" "tick:tock|tick:tok" "$(unmatched)"
"$TICKER" 0 1000 >"$work/ticks" 2>&1 &
app=$!
one_is_left() {
	[ "$(unmatched)" = tick:tok ]
}
within 20 one_is_left || fail "with the application: $(unmatched)"
unknown() {
	sed -n 's/^unknown_field //p' "$s/status"
}
is "no filter" "" "$(unknown)"
cat >"$s/user/events" <<'R'
tick:tock if thred == 1 && n > 2
~tick:* if nn == 1
tick:* if n > 2
* if no_field_of_this_name == 1
tick:none if nn == 1
R
is "a misspelt field" "tick:tock if thred == 1 && n > 2: no field 'thred' in the tracepoints that\
 it matches; did you mean 'thread'?" "$(unknown)"
is "a field that is nothing like it" "tick:tock if xyzzy == 1: no field 'xyzzy' in the tracepoints\
 that it matches" "$(put 'tick:tock if xyzzy == 1' "$s/user/events" && unknown)"
put 'tick:tock' "$s/user/events"
echo 'tick:tok' >>"$s/user/events"
kill $app
wait $app
both_are_left() {
	[ "$(unmatched)" = "tick:tock|tick:tok" ]
}
within 20 both_are_left || fail "without it: $(unmatched)"
rmdir "$s"
echo "$checks checks"
