#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# triggers/: made and removed as directories; owner and mode; bad input, each with an errno, a
# sentence and a caret; config and triggers.d; a killed daemon.
. "$(dirname "$0")/../../lib/mount.sh"
T=$MNT/triggers
mkdir -p "$XDG_CONFIG_HOME/trailfs/triggers.d"
cat >"$XDG_CONFIG_HOME/trailfs/triggers.d/preset.ini" <<'END'
[trigger]
condition = session web started
actions = notify every 3
actions = stop web
enabled = 0
END
printf '[trigger]\nname = other\ncondition = session x stopped\n' \
	>"$XDG_CONFIG_HOME/trailfs/triggers.d/named.ini"
printf '[trigger]\n\nactions = notfy\n' >"$XDG_CONFIG_HOME/trailfs/triggers.d/wrong.ini"
mount_tree -o tz=UTC

# --- triggers.d
is "presets" "other preset" "$(ls "$T" | tr '\n' ' ' | sed 's/ $//')"
is "a preset" "[trigger] condition = session web started actions = notify every 3 \
actions = stop web enabled = 0 " "$(tr '\n' ' ' <"$T/preset/config")"
has "$(cat "$MNT/error")" "wrong.ini:3: no such action 'notfy'; did you mean 'notify'?"
rmdir "$T/preset" "$T/other" || fail rmdir

# --- a directory
mkdir "$T/a" || fail mkdir
cd "$T/a" || fail cd
is "files" "actions condition config enabled error notifications notifications.json status " \
	"$(ls | tr '\n' ' ')"
is "private" "drwx------" "$(stat -c %A .)"
is "private files" "-rw-------" "$(stat -c %A condition)"
is "enabled" 1 "$(cat enabled)"
is "no condition" "" "$(cat condition)"
is "taken" EEXIST "$(tool mkdir "$T/a")"
is "no name" EINVAL "$(tool mkdir "$T/-a")"
is "a long name" ENAMETOOLONG "$(tool mkdir "$T/$(printf '%0201d' 0)")"
is "no such" ENOENT "$(tool rmdir "$T/b")"
chmod 750 . && is "shared" "drwxr-x---" "$(stat -c %A .)"
is "shared files" "-rw-r-----" "$(stat -c %A actions)"
is "only the directory" EPERM "$(tool chmod actions 700)"

# --- bad input: FILE TEXT ERRNO SENTENCE COLUMN
wrong() {
	is "'$2' in $1" "$3" "$(tool open "$1" w write "$2\n")"
	has "$(cat error)" "^$1:*[0-9]*: .*$4"
	if [ -n "$5" ]; then
		is "caret of '$2'" "$5" "$(awk '/^ *\^$/ { at = index($0, "^") - 3 } END { print at }' \
			error)"
	fi
	is "nothing has changed" "$before" "$(cat config)"
	echo 1 >enabled
}
echo 'session web started' >condition
printf 'notify\nstop web\n' >actions
before=$(cat config)
wrong condition 'sesion web started' EINVAL "did you mean 'session'" 0
wrong condition 'session' EINVAL 'the name of a session is missing' 7
wrong condition 'session w/b started' EINVAL '' 8
wrong condition 'session web begun' EINVAL "no such state of a session 'begun'" 12
wrong condition 'session web started now' EINVAL "'now' is not expected here" 20
wrong condition 'buffer web > 3%' EINVAL 'a channel is SESSION/DOMAIN/CHANNEL' ''
wrong condition 'buffer web/usr/c > 3%' EINVAL 'the domain is user or kernel' 11
wrong condition 'buffer web/user/ > 3%' EINVAL 'the name of the channel is missing' 16
wrong condition 'buffer web/user/c = 3%' EINVAL "no such comparison '='" 18
wrong condition 'buffer web/user/c > 101%' EINVAL 'a share is from 0% to 100%' 20
wrong condition 'buffer web/user/c > much' EINVAL '' 20
wrong condition 'consumed web < 3' EINVAL "no such comparison '<'" 13
wrong condition 'discarded web > x' EINVAL 'a whole number' 16
wrong condition 'discarded web >' EINVAL 'a number is missing' 15
wrong condition 'rotation web done' EINVAL "no such state of a rotation 'done'" 13
wrong condition 'session a started\nsession b started' EINVAL 'a trigger has one condition' 0
wrong actions 'notfy' EINVAL "did you mean 'notify'" 0
wrong actions 'notify\nstop' EINVAL 'the name of a session is missing' 4
wrong actions 'notify every' EINVAL 'a number of hits is missing' 12
wrong actions 'notify every x' EINVAL 'a whole number' 13
wrong actions 'notify every 0' EINVAL 'must be at least 1' 13
wrong actions 'notify every 2 once-after 3' EINVAL 'one rate' 15
wrong actions 'notify once_after 2' EINVAL "did you mean 'once-after'" 7
wrong actions 'stop web x' EINVAL "'x' is not expected here" 9
wrong actions 'stop web max-size 3' EINVAL "'max-size' is not expected here" 9
wrong actions 'snapshot web a b' EINVAL "'b' is not expected here" 15
wrong actions 'snapshot web a/b' EINVAL '' 14
wrong actions 'snapshot web output' EINVAL 'the address of a relay is missing' 19
wrong actions 'snapshot web output tmp' EINVAL 'must be an absolute path' 20
wrong actions 'snapshot web output net://h:0' EINVAL 'port from 1' 28
wrong enabled '2' EINVAL 'not one of 0, 1' 0
(printf '[trigger]\nconditon = x\n' >config) 2>/dev/null
has "$(cat error)" '^config:2: no such key'
(printf '[trigger]\nenabled = 0\nactions = notify\nactions = stap x\n' >config) 2>/dev/null
has "$(head -n 1 error)" "^config:4: no such action 'stap'"
is "nothing has changed" "$before" "$(cat config)"

# --- what is read can be written again
cat config >"$work/a.ini"
mkdir "$T/b" && cat "$work/a.ini" >"$T/b/config" || fail "config is refused"
cmp "$work/a.ini" "$T/b/config" || fail "the copy differs"
echo >actions
is "emptied" "" "$(cat actions)"
echo 'snapshot web "every" max-size 4M once-after 2' >>actions
echo 'notify' >>actions
(echo '!stop web' >>actions) 2>/dev/null && fail "an action that is not there is removed"
has "$(head -n 1 error)" '^actions: the trigger has no such action'
printf '%s\n' 'stop web' notify '! stop web' 'clear web' >>actions || fail "remove: $(cat error)"
is "one of two" 'notify notify clear web ' "$(sed 1d actions | tr '\n' ' ')"
printf '%s\n' !notify '!clear web' >>actions || fail "remove: $(cat error)"
is "added" 'snapshot web "every" max-size 4M once-after 2 notify ' "$(tr '\n' ' ' <actions)"
echo >condition
is "no condition again" "" "$(cat condition)"

# --- two users
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	as() {
		u=$1
		shift
		setpriv --reuid "$u" --regid "$u" --clear-groups "$@"
	}
	as 12345 mkdir "$T/hers" || fail "another user cannot make a trigger"
	is "hers" 12345 "$(stat -c %u "$T/hers")"
	as 12346 cat "$T/hers/config" 2>/dev/null && fail "it is not private"
	as 12346 rmdir "$T/hers" 2>/dev/null && fail "another user removes it"
	chmod 700 "$T/hers" || fail "root may not"
	as 12345 mkdir "$S/hers" && mkdir "$S/roots"
	as 12345 sh -c "echo 'session roots started' >'$T/hers/condition'" 2>/dev/null &&
		fail "a condition on root's session"
	has "$(cat "$T/hers/error")" "not the trigger owner's"
	as 12345 sh -c "echo 'session hers started' >'$T/hers/condition'" || fail "her own session"
	chown 12346 "$T/hers" && is "chown" 12346 "$(stat -c %u "$T/hers")"
	as 12346 rmdir "$T/hers" || fail "the owner cannot remove it"
	rmdir "$S/hers" "$S/roots"
fi

# --- the daemon is killed
echo 'session web started' >condition
mkdir "$S/web"
echo 'trail:*' >"$S/web/user/events"
echo start >"$S/web/control"
is "hit" 1 "$(key hits status)"
cat config >"$work/before"
cd /
kill -9 $(daemon_pids)
within 10 daemon_ended
mount_tree -o tz=UTC
cd "$T/a" || fail "the trigger is gone"
cmp config "$work/before" || fail "the trigger is another"
is "hits" 1 "$(key hits status)"
is "its mode" "drwxr-x---" "$(stat -c %A .)"
is "the session of before is no start" 1 "$(key hits status)"
echo stop >"$S/web/control"
echo start >"$S/web/control"
is "the next start" 2 "$(key hits status)"
# Its actions run after the write has returned: the reader below shall not see them.
within 20 grep -q '^action 2 executed 2' status || fail "its actions: $(cat status)"

# --- removed
cat notifications >"$work/end" &
reader=$!
within 10 sh -c '[ "$(awk "/^readers/ { print \$2 }" status)" = 1 ]' || fail "no reader"
rmdir "$T/a" || fail rmdir
wait $reader || fail "a read of a removed trigger"
is "its end" "" "$(cat "$work/end")"
is "the files are gone" "" "$(ls 2>/dev/null)"
is "state" "b other preset " "$(ls "$work/state/triggers" | tr '\n' ' ')"
echo "$checks checks"
