#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The status of a channel that has samples alone says by what they are taken: not by the backend,
# which records the channel's events.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
s=$S/samples
c=$s/kernel/channels/c
mkdir "$s" "$c"
echo 'sample:cpu 99hz' >"$c/events" || skip "no samples are taken here: $(cat "$s/error")"
backend() { sed -n 's/^backend //p' "$c/status"; }
is "before the start" "performance events" "$(backend)"
echo start >"$s/control" || fail "start: $(cat "$s/error")"
is "active" "performance events" "$(backend)"
has "$(cat "$c/status.json")" '"backend": *"performance events"'
echo sched:sched_process_exec >>"$c/events" || fail "the event: $(cat "$s/error")"
is "with an event" 0 "$(backend | grep -c performance)"
echo '!sample:cpu' >>"$c/events"
is "the event alone" 0 "$(backend | grep -c performance)"
echo "$checks checks"
