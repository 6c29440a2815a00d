#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# LTTNG_UST_DEBUG tells where a program registers and what the daemon answers; without it nothing is
# printed. LTTNG_UST_REGISTER_TIMEOUT says how long the daemon is waited for.
. "$(dirname "$0")/../../lib/mount.sh"
ticker=$BUILD/tests/lib/ticker
[ -x "$ticker" ] || skip "there is no $ticker"
unset TRAIL_ATTACH_TIMEOUT

# says PATTERN [VARIABLE=VALUE…]: a line of the messages of a program
says() {
	pattern=$1
	shift
	env "$@" LTTNG_UST_DEBUG=1 "$ticker" 1 0 >"$work/out" 2>"$work/err" || fail "ticker: $(cat "$work/err")"
	has "$(cat "$work/err")" "^libtrail\[[0-9]*\]: $pattern"
	cat "$work/out" "$work/err" | grep -v '^libtrail\[' && fail "more than messages"
}
says "the directories are $TRAIL_RUNTIME_DIR and $TRAIL_RUNTIME_DIR; a silent daemon is waited for 10 ms\$"
says '.*waited for 0 ms$' LTTNG_UST_REGISTER_TIMEOUT=0
says '.*waited for 250 ms$' LTTNG_UST_REGISTER_TIMEOUT=250
says '.*waited for 60000 ms$' LTTNG_UST_REGISTER_TIMEOUT=-1
says '.*waited for 10 ms$' LTTNG_UST_REGISTER_TIMEOUT=soon
says '.*waited for 7 ms$' LTTNG_UST_REGISTER_TIMEOUT=250 TRAIL_ATTACH_TIMEOUT=7
says '.*/ticker: 1 tracepoints, not registered: ' TRAIL_RUNTIME_DIR=/proc
says "the directories are /proc and /proc;.*" LTTNG_UST_APP_PATH=/sys TRAIL_RUNTIME_DIR=/proc
says "the directories are /sys and /sys;.*" -u TRAIL_RUNTIME_DIR LTTNG_UST_APP_PATH=/sys:/proc

mount_tree
says '.*/ticker: 1 tracepoints, registered$'
says '.*/ticker: 1 tracepoints, registered$' -u TRAIL_RUNTIME_DIR \
	LTTNG_UST_APP_PATH="$TRAIL_RUNTIME_DIR"
grep answered "$work/err" && fail "it asked without a session: $(cat "$work/err")"
mkdir "$S/s" && put 'tick:*' "$S/s/user/events" && put start "$S/s/control" || fail "session"
says "the daemon of $TRAIL_RUNTIME_DIR answered\$" LTTNG_UST_REGISTER_TIMEOUT=-1
# Without waiting, the first event is lost, and counted.
env LTTNG_UST_REGISTER_TIMEOUT=0 LTTNG_UST_DEBUG=1 "$ticker" 1 0 2>"$work/err" || fail "ticker"
has "$(cat "$work/err")" 'has not answered yet$\|answered$'
env LTTNG_UST_REGISTER_TIMEOUT=-1 "$ticker" 1 0 >"$work/out" 2>&1 || fail "ticker"
is "printed without LTTNG_UST_DEBUG" "" "$(cat "$work/out")"
echo "$checks checks"
