#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Sessions that are made at mount: from sessions.d, from trailfs.conf; started if they say so; not
# over what a killed daemon left; and what is wrong with one of them is reported, and hinders no
# other.
. "$(dirname "$0")/../../lib/mount.sh"
d=$XDG_CONFIG_HOME/trailfs/sessions.d
mkdir -p "$d"

# What a session shows is a preset.
mount_tree -o tz=UTC
mkdir "$S/web"
echo 'trail:*' >"$S/web/user/events"
mkdir "$S/web/user/channels/errors"
echo 'my_app:* loglevel <= err' >"$S/web/user/channels/errors/events"
echo discard >"$S/web/user/channels/errors/loss_mode"
echo 3M >"$S/web/snapshot_max_size"
cat "$S/web/config" >"$d/web.ini"
cp "$d/web.ini" "$work/web.ini"
fusermount3 -u "$MNT"
within 15 daemon_ended || fail "the daemon does not end"
within 15 keeper_ended || fail "the keeper does not end"

{
	printf '[session]\nstart = yes\n'
	cat "$work/web.ini"
} >"$d/started.ini"
# Two in one file, and one that is wrong between two that are not
printf '[session]\nname = first\n[user channel]\nname = channel0\nevents = a:*\n' >"$d/three.ini"
printf '[session]\nname = wrong\n[user channel]\nname = channel0\nevents = b:* if ==\nsubbuf_size = 4k\n' >>"$d/three.ini"
printf '[session]\nname = third\nsnapshot_max_size = 1k\n[user channel]\nname = c\nevents = c:*\n  c2:*\n' >>"$d/three.ini"
# Paths of files: those of the daemon
printf '[session]\noutput = %s\nstart = yes\n[user channel]\nname = c\nevents = o:*\n' "$work/trace" \
	>"$d/output.ini"
echo '[session]' >"$d/not-a-preset.txt"
echo 'nonsense' >"$d/nonsense.ini"
printf '[session]\nname = ../up\n' >"$d/up.ini"
mkdir "$d/directory.ini"
printf '[trailfs]\ntz = UTC\n[user 12345]\nsessions = 3\n\n[session]\nname = conf\n[user channel]\nname = channel0\nevents = e:*\n' >"$XDG_CONFIG_HOME/trailfs.conf"

mount_tree
error=$(cat "$MNT/error")
is "made" "conf first output started third web" "$(ls "$S" | tr '\n' ' ' | sed 's/ $//')"
cmp "$work/web.ini" "$S/web/config" || fail "the preset is not what it was"
sed '/^active = yes$/d' "$S/started/config" | cmp "$work/web.ini" - ||
	fail "the preset with start is not what it was"
is "not started" inactive "$(key state "$S/web/status")"
is "started" active "$(key state "$S/started/status")"
is "with an output" "$work/trace active" "$(cat "$S/output/output") $(key state "$S/output/status")"
rmdir "$S/output" && rm -r "$work/trace" || fail "the session with an output"
echo hello >"$MNT/log"
is "and records" 1 "$(grep -c hello "$S/started/text")"
is "of trailfs.conf" 'e:*' "$(cat "$S/conf/user/events")"
is "two rules, one below the other" 'c:* c2:*' \
	"$(tr '\n' ' ' <"$S/third/user/channels/c/events" | sed 's/ $//')"
is "tz is still read" "time_zone UTC" "$(grep time_zone "$MNT/version")"
grep trailfs.conf "$work/daemon.log" && fail "a section with a user's limits is taken for a session"
has "$error" "three.ini:10: "
has "$error" "events\|b:\* if =="
has "$error" "nonsense.ini:1: neither"
has "$error" "up.ini:2: a name"
has "$error" "directory.ini"
has "$(cat "$work/daemon.log")" "three.ini:10: "
is "owner" "$(id -u)" "$(stat -c %u "$S/web")"
is "private" 700 "$(stat -c %a "$S/web")"

# A killed daemon: what it left stays, and is not made anew.
echo 'changed:*' >"$S/web/user/events"
rmdir "$S/first"
kill -9 $(daemon_pids)
within 10 daemon_ended
fusermount3 -u -z "$MNT" 2>/dev/null || umount -l "$MNT"
mount_tree
is "as it was left" 'changed:*' "$(cat "$S/web/user/events")"
is "its events, too" 1 "$(grep -c hello "$S/started/text")"
is "made again" 'a:*' "$(cat "$S/first/user/events")"
echo "$checks checks"
