#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Applications of 32 bits and the daemon, which has 64: the library is built for them here, from its
# sources as they are.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
. "$(dirname "$0")/../../lib/bits32.sh"
build_bits32 ticker fields process
mount_tree

mkdir "$S/both" && mkdir "$S/both/user/channels/channel0" || fail "session"
echo 'vpid vtid procname ip' >"$S/both/user/channels/channel0/contexts" || fail "contexts"
{ echo 'tick:*'; echo 'f:* if word == "*4" || large < 3'; } >"$S/both/user/events" || fail "rules"
echo start >"$S/both/control"
"$work/ticker" 1000 0 3 fork || fail "ticker of 32 bits"
"$BUILD/tests/lib/ticker" 1000 0 3 fork || fail "ticker of 64 bits"
"$work/fields" 10 || fail "fields"
"$work/process" close >/dev/null || fail "process close"
"$work/process" kill >/dev/null
"$work/process" small >/dev/null || fail "process small"
echo stop >"$S/both/control"
cat "$S/both/text" >"$work/text"
TZ=UTC babeltrace2 "$S/both/trace" >"$work/bt2" 2>"$work/bt2.err" ||
	fail "babeltrace2: $(cat "$work/bt2.err")"
cmp "$work/text" "$work/bt2" || fail "text and babeltrace2 differ"
[ "$(grep -c 'tick:tock' "$work/text")" = 10000 ] ||
	fail "$(grep -c 'tick:tock' "$work/text") ticks: $(cat "$S/both/status")"
[ "$(grep -c ' f:all: ' "$work/text")" = 1 ] || fail "$(grep -c ' f:all: ' "$work/text") of f:all"
[ "$(grep -c ' f:none: ' "$work/text")" = 0 ] || fail "f:none has no fields"
