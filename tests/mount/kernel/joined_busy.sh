#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The first thread joins a control group of track/cgroup while the kernel enables no event: the daemon
# says so, and tries again although no other thread joins.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/cgroup.sh"
. "$top/tests/lib/busy.sh"

mount_busy /enable
[ "$(kernel_pid $$)" = $$ ] || skip "in a PID namespace the numbers of new processes are not known"
make_group
path=$(group_path)
[ -n "$path" ] || fail "the group has no path"
start_caller

s=$S/t$mark
mkdir "$s" "$s/kernel/channels/channel0"
put tracefs "$s/kernel/channels/channel0/backend"
put tid "$s/kernel/contexts"
put syscall:entry:getppid "$s/kernel/events"
put "$path" "$s/kernel/track/cgroup"
put start "$s/control"
call 3

: >"$BUSY"
echo $caller >"$group/cgroup.procs" || fail "the process cannot be moved"
within 60 attempts 1 || fail "not tried: $(cat "$s/status")"
refused() { grep -q 'the kernel refuses .*: Device or resource busy' "$s/status"; }
within 20 refused || fail "it does not say why: $(cat "$s/status")"
within 60 attempts 3 || fail "not tried again: $(cat "$s/status")"

rm "$BUSY"
recorded() { call 1 && grep -q " tid = $number[ ,]" "$s/text"; }
within 120 recorded || fail "the thread that joined is not recorded: $(cat "$s/status")"
refused && fail "it still says that the kernel refuses"
before=$(grep -c getppid "$s/text")
call 100
is "each call afterwards" 100 "$(($(grep -c getppid "$s/text") - before))"
echo "$checks checks"
