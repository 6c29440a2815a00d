#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The files `error`: the newest mistake first, of their directory and what is below it.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree
mkdir "$S/s" "$S/s/user/channels/c" "$S/s/user/channels/d" "$S/s/user/maps/m" "$MNT/triggers/t"
cd "$S/s" || exit 2

# wrong FILE: a mistake that names the file
wrong() {
	echo "[$1" 2>/dev/null >"$1" && fail "a mistake in $1 is accepted"
}
# named FILE: which files it names, in its order
named() {
	sed -n 's/^\([a-z_]*\):.*/\1/p' "$1" | tr '\n' ' '
}

wrong user/events
wrong user/channels/c/subbuf_size
wrong user/channels/c/enabled
wrong user/maps/m/rules
is "the session: newest first" "rules enabled subbuf_size events " "$(named error)"
is "a channel: its own" "enabled subbuf_size " "$(named user/channels/c/error)"
is "another channel: none" "" "$(cat user/channels/d/error)"
is "a map" "rules " "$(named user/maps/m/error)"
is "a domain" "rules enabled subbuf_size events " "$(named user/error)"
is "another domain" "" "$(cat python/error)"
is "the root has none of them" "" "$(cat "$MNT/error")"
wrong control
is "a fifth one: the oldest has gone" "control rules enabled subbuf_size " "$(named error)"
has "$(head -n 2 error)" '^  \[control$'
is "it is not in user" "rules enabled subbuf_size " "$(named user/error)"
echo 'a:b' >user/events
is "a success empties all" "" "$(cat error user/error user/channels/c/error)"

# A trigger has its own, and the root none of them
wrong "$MNT/triggers/t/condition"
wrong "$MNT/triggers/t/enabled"
mkdir "$MNT/nothing" 2>/dev/null
is "a trigger" "enabled condition " "$(named "$MNT/triggers/t/error")"
is "the root" "mkdir " "$(named "$MNT/error")"
is "who may read it" "$(stat -c %A "$MNT/triggers/t/condition" | tr w -)" \
	"$(stat -c %A "$MNT/triggers/t/error")"
rmdir "$MNT/triggers/t"
is "a success in the root" "" "$(cat "$MNT/error")"
mkdir "$MNT/triggers/t"
is "another trigger of that name" "" "$(cat "$MNT/triggers/t/error")"
rmdir "$MNT/triggers/t"
wrong control
cd "$S" && rmdir s && mkdir s
is "another session of that name" "" "$(cat s/error)"
echo "$checks checks"
