#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Contexts of a real application: each says what /proc says of the process.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
mkdir -p "$TRAIL_RUNTIME_DIR/apps"
[ "$(id -u)" != 0 ] || chmod 1777 "$TRAIL_RUNTIME_DIR/apps"
mount_tree -o tz=UTC
mkdir "$S/s" || fail mkdir
put 'tick:*' "$S/s/user/events"
put 'vpid vtid procname pthread_id ip cpu_id vuid veuid vsuid vgid vegid vsgid' "$S/s/user/contexts"
printf '%s\n' 'cgroup_ns ipc_ns mnt_ns net_ns pid_ns user_ns uts_ns $app.nobody:knows' \
	>>"$S/s/user/contexts" || fail contexts
counter=$(grep -m 1 -x 'perf:thread:page-faults' "$MNT/available/user/contexts")
[ -z "$counter" ] || printf '%s\n' "$counter" >>"$S/s/user/contexts" || fail contexts
put start "$S/s/control"
"$ticker" 100000 2000 &
pid=$!
has_events() { [ -n "$(head -n 1 "$S/s/text")" ]; }
within 10 has_events || fail "no events"
put stop "$S/s/control"
cat "$S/s/text" >"$work/text"
TZ=UTC babeltrace2 "$S/s/trace" >"$work/bt2" || fail babeltrace2
cmp "$work/text" "$work/bt2" || fail "text is not what babeltrace2 prints"
line=$(head -n 1 "$work/text")
says() { is "$1" "$2" "$(echo "$line" | sed -n "s/.* }, {.* $1 = \([^,]*\),.*/\1/p")"; }
says vpid $pid
says vtid $pid
says procname '"ticker"'
for name in vuid veuid vsuid; do
	says $name "$(id -u)"
done
for name in vgid vegid vsgid; do
	says $name "$(id -g)"
done
for name in cgroup ipc mnt net pid user uts; do
	says ${name}_ns "$(stat -L -c %i /proc/$pid/ns/$name)"
done
has "$line" '_app_nobody_knows_tag = ( "_none" : container = 0 )'
has "$line" "{ thread = 0, n = 0 }"
[ -z "$counter" ] || has "$line" 'perf_thread_page_faults = [0-9]* }, {'
kill $pid
wait $pid 2>/dev/null
exit 0
