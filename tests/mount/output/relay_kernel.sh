#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Kernel sessions on a real lttng-relayd: its files are what trace/ shows, byte for byte, and at
# full speed each event is there or counted as lost, and babeltrace2 reports the losses; both
# domains in one session.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/relay.sh"
ticker=$BUILD/tests/lib/ticker calls=$BUILD/tests/lib/calls
need_relay

sent() { [ "$(key pending_bytes "$S/$1/status")" = 0 ]; }

start_relay
mount_kernel -o tz=UTC

# Both domains in one session.
s=$S/both$mark
mkdir "$s" && put "$relay_url" "$s/output"
printf 'sched_switch\nsyscall:getppid\n' >"$s/kernel/events" || fail "kernel events"
put 'tick:*' "$s/user/events"
put 'tid cpu_id' "$s/kernel/contexts"
put start "$s/control"
"$ticker" 500 100 2 || fail ticker
pid=$("$calls" 5000)
put stop "$s/control"
d=$(relay_dir "both$mark")
[ -f "$d/kernel/metadata" ] || fail "there is no kernel trace in $d"
same_as_trace "both$mark" "$d"
is "recorded" "$(key events_recorded "$s/status")" "$(wc -l <"$work/files")"
is "discarded" 0 "$(key events_discarded "$s/status")"
is "the program's" 1000 "$(grep -c tick:tock "$work/files")"
is "getppid entries" 5000 "$(grep -c " syscall_entry_getppid: .*{ tid = $pid, " "$work/files")"
[ "$(grep -c sched_switch "$work/files")" -gt 50 ] || fail "hardly any sched_switch"
rmdir "$s"
read_relay "$d" | cmp - "$work/files" || fail "the end of the session has changed the relay's files"

# Small buffers, system calls at full speed: what does not fit is counted, and babeltrace2 reports
# the same for the relay's files and for trace/.
s=$S/small$mark
mkdir "$s" "$s/kernel/channels/channel0" && put "$relay_url" "$s/output"
put 4096 "$s/kernel/channels/channel0/subbuf_size"
put 4 "$s/kernel/channels/channel0/subbuf_count"
put syscall:getppid "$s/kernel/events"
put start "$s/control"
stop_process "$relay_pid"
"$calls" 20000 >/dev/null
kill -CONT "$relay_pid"
"$calls" 20 >/dev/null
put stop "$s/control"
within 60 sent "small$mark" || fail "not all is sent: $(cat "$s/status")"
recorded=$(key events_recorded "$s/status") lost=$(key events_discarded "$s/status")
[ "$lost" -gt 0 ] || fail "nothing was discarded: $(cat "$s/status")"
is "recorded and discarded, as the kernel counts them" "$(kernel_counted "small$mark")" \
	$((recorded + lost))
d=$(relay_dir "small$mark")
read_relay "$d" >"$work/files"
is "events on the relay" "$recorded" "$(wc -l <"$work/files")"
is "losses that babeltrace2 reports" "$lost" "$(reported)"
rmdir "$s"
echo "$checks checks"
