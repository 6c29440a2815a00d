#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A loss at the end of a session is seen in timeline.html, with its count, where Chromium is installed.
. "$(dirname "$0")/../../lib/mount.sh"
command -v chromium >/dev/null || skip "there is no chromium"
ticker=$BUILD/tests/lib/ticker
mount_tree
s=$S/s
mkdir "$s" "$s/user/channels/c"
echo 4K >"$s/user/channels/c/subbuf_size"
echo 2 >"$s/user/channels/c/subbuf_count"
echo discard >"$s/user/channels/c/loss_mode"
echo 'tick:*' >"$s/user/channels/c/events"
put start "$s/control"
one_cpu "$ticker" 5000 0
put stop "$s/control"
cat "$s/export/timeline.html" >"$work/page.html" || fail "cannot read"
python3 "$top/tests/lib/browse_losses.py" "file://$work/page.html" "$(key events_discarded "$s/status")" \
	>"$work/browsed" 2>&1
case $? in
0) checks=$((checks + 1)) ;;
77) skip "chromium does not work here" ;;
*) fail "the page: $(tail -n 5 "$work/browsed")" ;;
esac
cat "$work/browsed"
echo "$checks checks"
