#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A saved session loads again: with an output, while the session that was saved still writes there,
# as an ordinary user, after a kill of the daemon. Its start fails if its output's directory has a
# trace. Whether it was active is a comment. Each channel's section has a name.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree -o tz=UTC

has_error() { # SESSION PATTERN
	has "$(cat "$S/$1/error")" "$2"
}
# load SESSION: a new session takes the configuration of stdin
load() {
	mkdir "$S/$1" || fail "mkdir $1"
	cat >"$S/$1/config" || fail "the configuration of $1 is refused: $(cat "$S/$1/error")"
}
start() { # SESSION: prints ok or the error's name
	tool open "$S/$1/control" w write 'start\n' | sed 's/^[0-9].*/ok/'
}

# --- a path
mkdir "$S/web" && cd "$S/web" || fail mkdir
put 'trail:*' user/events
put "$work/out/web" output
is "inactive" '' "$(grep active config)"
has "$(cat config)" "^output = $work/out/web\$"
put start control
echo hello >"$MNT/log"
has "$(cat config)" '^active = yes$'
cat config >"$work/web.ini"
load copy <"$work/web.ini"
is "output of the copy" "$work/out/web" "$(cat "$S/copy/output")"
is "a copy does not start" inactive "$(key state "$S/copy/status")"
is "start" EEXIST "$(start copy)"
has_error copy "there is a trace in this directory\\|session 'web' writes to this directory"
is "still inactive" inactive "$(key state "$S/copy/status")"
put "$work/out/copy" "$S/copy/output"
is "start elsewhere" ok "$(start copy)"
# With `start = yes`, the load fails as a whole.
mkdir "$S/third"
before=$(cat "$S/third/config")
sed 's/^active/start/' "$work/web.ini" >"$work/started.ini"
cat "$work/started.ini" 2>"$work/err" >"$S/third/config" &&
	fail "loaded and started into a directory with a trace"
has "$(cat "$work/err")" 'File exists'
has_error third "there is a trace in this directory\\|session 'web' writes to this directory"
is "as it was" "$before" "$(cat "$S/third/config")"
rmdir "$S/third"
sed "s,^output.*,output = $work/out/third," "$work/started.ini" | load third
is "started by the line that was a comment" active "$(key state "$S/third/status")"
rmdir "$S/copy" "$S/third"

# --- two sessions name one directory: the first that is started has it
for n in one two; do
	printf '[session]\noutput = %s\n[user channel]\nname = channel0\nevents = trail:*\n' \
		"$work/out/both" | load $n
done
is "the first" ok "$(start one)"
is "the second" EEXIST "$(start two)"
rmdir "$S/one" "$S/two"

# --- default: a directory of its own for each session and each start
home=$(getent passwd "$(id -u)" 2>/dev/null | cut -d : -f 6)
if [ -d "$home" ] && [ -w "$home" ]; then
	load d <<-END
		[session]
		output = default
		[user channel]
		name = channel0
		events = trail:*
	END
	d=$(cat "$S/d/output")
	has "$d" "^$home/trailfs-traces/d-[0-9]\{8\}-[0-9]\{6\}$"
	has "$(cat "$S/d/config")" '^output = default$'
	load e <"$S/d/config"
	e=$(cat "$S/e/output")
	has "$e" "^$home/trailfs-traces/e-[0-9]\{8\}-[0-9]\{6\}$"
	mkdir "$d/ust"
	is "start" ok "$(start d)"
	is "another directory" "$d-2" "$(cat "$S/d/output")"
	has "$(cat "$S/d/config")" '^output = default$'
	rmdir "$S/d"
	rm -r "$d" "$d-2"
fi

# --- a killed daemon: what was not started yet can be started
sed "s,^output.*,output = $work/out/k," "$work/web.ini" | load k
cd /
kill -9 $(daemon_pids)
within 10 daemon_ended
fusermount3 -u -z "$MNT" 2>/dev/null || umount -l "$MNT"
mount_tree -o tz=UTC
is "start" ok "$(start k)"
echo again >"$MNT/log"
put stop "$S/k/control"
is "recorded" 1 "$(grep -c again "$S/k/text")"
[ -d "$work/out/k/ust" ] || fail "nothing in the output"
if [ -n "${e-}" ]; then
	has "$(cat "$S/e/config")" '^output = default$'
	rm -r "$e"
	rmdir "$home/trailfs-traces" 2>/dev/null
fi
rmdir "$S"/*

# --- each channel's section has a name
mkdir "$S/s"
before=$(cat "$S/s/config")
wrong() { # PATTERN TEXT
	printf "$2" | cat 2>/dev/null >"$S/s/config" && fail "taken: $2"
	has_error s "$1"
	is "nothing changed" "$before" "$(cat "$S/s/config")"
}
wrong '^config:4: .*begins with its name' \
	'[user channel]\nname = a\nevents = x:*\n[user channel]\nevents = y:*\n'
wrong '^config:4: .*begins with its name' \
	'[user channel]\nname = a\nevents = x:*\n[user channel]\n[session]\n'
wrong '^config:1: .*begins with its name' '[user channel]\n[user channel]\nname = a\n'
# A line that is indented continues a value, whatever it begins with.
printf '[user channel]\nname = a\nevents = x:*\n[session]\nrotate_size = 0\n\n [user]\ntrack/vpid =\n 1\n 2\n' | cat 2>/dev/null >"$S/s/config" &&
	fail "an indented section is one more value of rotate_size"
printf '[session]\n  [user channel]\nname = a\nevents = x:*\n [user channel]\n' |
	cat 2>/dev/null >"$S/s/config" &&
	fail "an indented line after a key is a value"
printf '\357\273\277[user channel]\nname = a\n' >"$S/s/config"
is "a byte order mark" a "$(ls "$S/s/user/channels")"

# --- an ordinary user loads what root saved, but for the kernel's events
if [ "$(id -u)" = 0 ] && setpriv --reuid 54321 --regid 54321 --clear-groups true 2>/dev/null; then
	as() { setpriv --reuid 54321 --regid 54321 --clear-groups "$@"; }
	printf '\n[kernel]\ntrack/pid = *\ntrack/vpid = *\ntrack/uid = *\n' >"$work/kernel"
	mkdir "$S/root"
	grep -q '^\[kernel\]$' "$S/root/config" && cp "$S/root/config" "$work/k.ini" ||
		cat "$S/root/config" "$work/kernel" >"$work/k.ini"
	chmod 644 "$work/k.ini"
	as mkdir "$S/hers"
	as sh -c "cat $work/k.ini >$S/hers/config" ||
		fail "the defaults of [kernel] are refused: $(cat "$S/hers/error")"
	before=$(cat "$S/hers/config")
	for line in 'track/pid = 1' 'track/pid ='; do
		printf '[kernel]\n%s\n' "$line" >"$work/k"
		as sh -c "cat $work/k >$S/hers/config" 2>/dev/null &&
			fail "a user's session takes '$line' in [kernel]"
		is "nothing changed" "$before" "$(cat "$S/hers/config")"
	done
fi
echo "$checks checks"
