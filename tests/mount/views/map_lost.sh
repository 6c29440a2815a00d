#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Pairs of a map across losses: a first event whose second one does not come makes no pair with a
# second event from after losses, whose own first event may be lost.
. "$(dirname "$0")/../../lib/mount.sh"

SELLER=$BUILD/tests/mount/views/seller
[ -x "$SELLER" ] || skip "there is no seller"
mount_tree
s=$S/lost
m=$s/user/maps/m
mkdir "$s" "$m"
put 4K "$m/buffer_size"
# Each ninth sale has no end. A sale is larger than an end: the ring of sales is full before.
put 'pair shop:sale shop:serve_end on thread count, sum(n), sum(first.n), max(latency)' "$m/rules"
put start "$s/control"
mkfifo "$work/go"
one_cpu "$SELLER" 100000 <"$work/go" >"$work/opened" &
app=$!
exec 9>"$work/go"
within 20 grep -q open "$work/opened" || fail "seller does not open"
# The daemon takes no events while the rings fill.
kill -STOP $(daemon_pids)
echo >&9
exec 9>&-
wait $app
failed=$?
kill -CONT $(daemon_pids)
is "seller" 0 $failed
taken() { [ "$(key events "$m/values")" -gt 0 ] && [ "$(key lost "$m/values")" -gt 0 ]; }
within 20 taken || fail "nothing is lost: $(cat "$m/values")"
put stop "$s/control"
set -- $(awk '/^#/ { on = 1; next } on { print; exit }' "$m/values")
[ "${1:-0}" -gt 10 ] || fail "few pairs: $(cat "$m/values")"
is "each pair is of one sale" "$2" "$3"
[ "$(key unpaired "$m/values")" -gt 0 ] || fail "no end is alone: the rings are full at once"
echo "$checks checks"
