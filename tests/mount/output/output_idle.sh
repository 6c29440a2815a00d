#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A session with an output and without programs costs next to nothing: its writer sleeps. The first
# program wakes it, and nothing of a small buffer is lost.
. "$(dirname "$0")/../../lib/mount.sh"
ticker=$BUILD/tests/lib/ticker
switches() { cat /proc/"$1"/task/*/status |
	awk '/^voluntary_ctxt_switches/ { n += $2 } END { print n }'; }

mount_tree
mkdir "$S/s" && put "$work/out" "$S/s/output"
put 'tick:*' "$S/s/user/events"
put start "$S/s/control"
pid=$(daemon_pids)
before=$(switches "$pid")
sleep 2
after=$(switches "$pid")
# (A writer that looks every few ms takes 500.)
[ $((after - before)) -lt 300 ] || fail "$((after - before)) switches in 2 s without a program"
"$ticker" 500 1000 || fail ticker
put stop "$S/s/control"
is "recorded" 500 "$(key events_recorded "$S/s/status")"
rmdir "$S/s" || fail rmdir
echo "$((after - before)) switches"
