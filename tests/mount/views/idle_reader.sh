#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# A reader that waits for events costs next to nothing: the daemon looks for them many times a
# second, and sleeps in between. (A look takes far less than a millisecond. A daemon that does not
# sleep uses all of a CPU, or what other programs leave it of one.)
. "$(dirname "$0")/../../lib/mount.sh"

mount_tree
daemon=$(daemon_pids)
ticks() { awk '{ print $14 + $15 }' "/proc/$daemon/stat"; }
for wait in 'cat pipe' 'tail -f text'; do
	s=$S/idle
	mkdir "$s"
	put 'tick:*' "$s/user/events"
	put start "$s/control"
	(cd "$s" && exec $wait >/dev/null) &
	reader=$!
	sleep 1
	# Once without a disturbance is enough.
	for try in 1 2 3 4 5; do
		begin=$(ticks)
		sleep 1
		used=$(($(ticks) - begin))
		[ $((used * 5)) -ge "$(getconf CLK_TCK)" ] || break
	done
	is "$wait: the daemon sleeps" yes \
		"$([ $((used * 5)) -lt "$(getconf CLK_TCK)" ] && echo yes || echo "$used ticks")"
	kill $reader
	wait $reader
	rmdir "$s"
done
echo "$checks checks"
