#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A program that has no address space for its buffers: its events are counted as discarded, and the
# status says which program it is, and why.
. "$(dirname "$0")/../../lib/mount.sh"
spoiler=$BUILD/tests/mount/users/spoiler
[ -x "$spoiler" ] || skip "there is no test program"
mount_tree

session() { # NAME
	s=$S/$1
	mkdir "$s" "$s/user/channels/channel0" "$s/user/channels/two" || fail "session $1"
	put 8388608 "$s/user/channels/channel0/subbuf_size"
	put 4 "$s/user/channels/channel0/subbuf_count"
	put 4096 "$s/user/channels/two/subbuf_size"
	put 2 "$s/user/channels/two/subbuf_count"
	put 'spoil:tick if n < 10' "$s/user/channels/channel0/events"
}
counts() { awk -v c="$1" '$2 == c && $3 == "*" { print $4, $5 }' "$s/counts"; }

# --- room for the counters, and for the small buffers of another channel. The filter decides.
session some
put 'spoil:*' "$s/user/channels/two/events"
put start "$s/control"
(ulimit -v 24576 && exec "$spoiler" 25) || fail "spoiler: $?"
is "the large buffers" "0 10" "$(awk '$1 == "stream" { n += $4; m += $6 }
	END { print n + 0, m + 0 }' "$s/user/channels/channel0/status")"
is "the small buffers" "25 0" "$(awk '$1 == "stream" { n += $4; m += $6 }
	END { print n + 0, m + 0 }' "$s/user/channels/two/status")"
# (The daemon may learn of it after the program has ended.)
within 20 grep -q '^problem' "$s/status" || fail "no problem: $(cat "$s/status")"
problem=$(grep '^problem' "$s/status")
has "$problem" '^problem channel0: program spoiler (pid [0-9]*) cannot map its buffer of [0-9]* bytes'
has "$problem" ': Cannot allocate memory; its events are discarded$'
is "problems" 1 "$(printf '%s\n' "$problem" | wc -l)"
has "$(cat "$s/error")" "channel channel0: process [0-9]* cannot map its buffer"

# --- a program that finds room later has its buffers at the next change
put clear "$s/control"
is "problems after clear" "" "$(grep '^problem' "$s/status")"
"$spoiler" 25 || fail "spoiler: $?"
is "the large buffers" "10 0" "$(counts channel0)"
rmdir "$s"

# --- no room even for that: counted all the same
"$spoiler" 30 limit "$work/go" >"$work/said" &
pid=$!
within 20 grep -q spoilt "$work/said" || fail "the program has not begun"
session none
put start "$s/control"
touch "$work/go"
wait $pid || fail "spoiler: $?"
settled() { [ "$(key events_discarded "$s/status")" = "$1" ]; }
within 20 settled 30 || fail "without room: $(cat "$s/status")"
is "recorded" 0 "$(key events_recorded "$s/status")"
within 20 grep -q "^problem channel0: program spoiler (pid $pid) cannot map" "$s/status" ||
	fail "no problem: $(cat "$s/status")"
rmdir "$s"

# --- a map's buffer: smaller ones are advised
mkdir "$S/map" "$S/map/user/maps/m"
put 16777216 "$S/map/user/maps/m/buffer_size"
put 'spoil:tick by n count' "$S/map/user/maps/m/rules"
put start "$S/map/control"
(ulimit -v 24576 && exec "$spoiler" 25) || fail "spoiler: $?"
lost() { [ "$(key lost "$S/map/user/maps/m/values")" = 25 ]; }
within 20 lost || fail "a map: $(cat "$S/map/user/maps/m/values")"
status=$(cat "$S/map/user/maps/m/values")
has "$status" '^problem channel0: program spoiler (pid [0-9]*) cannot map'
has "$status" '^advice buffer_size: a program has no room for buffers of [0-9]* bytes .*: make them smaller$'
is "advice" 1 "$(printf '%s\n' "$status" | grep -c '^advice')"
rmdir "$S/map"
echo "$checks checks"
