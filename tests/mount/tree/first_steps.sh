#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What a new user does wrong, and the sentence that says how it is right: rm -r of a session, a
# session of agents without agents, a user without /run/user/UID; README of the mount lists the
# exports that this build has.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree

# --- rm -r: everything stays, and one line of `error` says what removes it
mkdir "$S/kept" "$S/kept/user/channels/c" "$S/kept/user/maps/m" ||
	fail "a session"
rm -rf "$S/kept" 2>/dev/null && fail "rm -rf removes a session"
[ -d "$S/kept/user/maps/m" ] && [ -d "$S/kept/user/channels/c" ] || fail "rm -rf removed a part"
is "lines of error" 1 "$(wc -l <"$S/kept/error")"
has "$(cat "$S/kept/error")" 'use rmdir on the directory of the session'
# Another mistake is a line of its own, and rm does not push it out.
echo nonsense 2>/dev/null >"$S/kept/control"
rm -r "$S/kept" 2>/dev/null
is "sentences" 1 "$(grep -c 'use rmdir' "$S/kept/error")"
has "$(cat "$S/kept/error")" nonsense
rmdir "$S/kept" || fail "rmdir of the session"
mkdir "$MNT/triggers/t" || fail "a trigger"
rm -r "$MNT/triggers/t" 2>/dev/null && fail "rm -r removes a trigger"
is "lines of error" 1 "$(wc -l <"$MNT/triggers/t/error")"
has "$(cat "$MNT/triggers/t/error")" "use rmdir on the directory of .* trigger"
rmdir "$MNT/triggers/t" || fail "rmdir of the trigger"

# --- agents 0 says why
mkdir "$S/agents" && put '*' "$S/agents/python/events" || fail "rules on loggers"
is "agents" 0 "$(key agents "$S/agents/status")"
has "$(cat "$S/agents/status")" \
	"^advice agents: no program is connected: .*lttngust; it runs .* finds $work/.lttng/agent.port"
put '*' "$S/agents/jul/events"
has "$(grep '^advice agents' "$S/agents/status")" 'lttngust; a Java program has .*; it runs'
put '' "$S/agents/python/events"
grep '^advice agents' "$S/agents/status" | grep -q 'lttngust' && fail "advice for a domain without rules"
put '' "$S/agents/jul/events"
grep '^advice agents' "$S/agents/status" && fail "advice without rules"

# --- README lists export/ as it is
mkdir "$S/export" || fail "a session"
for f in $(ls "$S/export/export"); do
	has "$(cat "$MNT/README")" "export/$f"
done
for f in $(grep -o 'export/[a-z][a-z0-9._]*' "$MNT/README" | sort -u); do
	[ -e "$S/export/$f" ] || fail "README lists $f, which does not exist"
	checks=$((checks + 1))
done

# --- an ordinary user without a login session, and so without /run/user/UID
if [ "$(id -u)" = 0 ] && [ ! -d /run/user/65534 ]; then
	mkdir "$work/theirs" && chown 65534 "$work/theirs"
	as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
	as_user env -u TRAIL_RUNTIME_DIR timeout 200 "$TRAILFS" "$work/theirs" 2>"$work/err" &&
		fail "a mount without a state directory"
	is "lines of the error" 1 "$(wc -l <"$work/err")"
	has "$(cat "$work/err")" '^trailfs: /run/user/65534/trailfs: .*Set TRAIL_RUNTIME_DIR to a directory of your own'
fi
echo "$checks checks"
