#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# switch_period: how long readers of streams/ wait for what is in an unfinished sub-buffer.
# read_period: how often they look.
. "$(dirname "$0")/../../lib/mount.sh"
big() { head -c 2000 /dev/zero | tr '\0' "$1" >"$MNT/log" || fail log; }
holds() { grep -aq "$1" "$work/out"; }

mount_tree
session() { # a file of the channel, its value, what reads
	mkdir "$S/s" "$S/s/user/channels/c" || fail mkdir
	put 4096 "$S/s/user/channels/c/subbuf_size"
	put "$2" "$S/s/user/channels/c/$1"
	put 'trail:*' "$S/s/user/channels/c/events"
	put start "$S/s/control"
	put first "$MNT/log"
	: >"$work/out"
	timeout 200 cat "$S/s/$3" >>"$work/out" &
	reader=$!
	within 10 holds first || fail "$1: what was there at the open is kept back"
}
end() {
	put stop "$S/s/control"
	wait $reader || fail "$1: the reader does not end"
	holds "$2" || fail "$1: kept back after the stop"
	rmdir "$S/s" || fail rmdir
}
stream=user/channels/c/streams/$(id -u)/log

# Nothing is kept back by itself.
session switch_period 0 $stream
put second "$MNT/log"
within 10 holds second || fail "kept back without a period"
end switch_period second

session switch_period 1h $stream
put second "$MNT/log"
sleep 0.3
holds second && fail "an unfinished sub-buffer is not kept back"
big a
big b
big c
within 10 holds second || fail "a finished sub-buffer is kept back"
holds cccc && fail "the unfinished sub-buffer after it is not kept back"
put last "$MNT/log"
end switch_period last

session switch_period 300ms $stream
put second "$MNT/log"
within 10 holds second || fail "kept back longer than the period"
end switch_period second

for view in $stream pipe; do
	session read_period 1h $view
	put second "$MNT/log"
	sleep 0.3
	holds second && fail "read_period: $view looked"
	end read_period second
	session read_period 200ms $view
	put second "$MNT/log"
	within 10 holds second || fail "read_period: $view does not look again"
	end read_period second
done
