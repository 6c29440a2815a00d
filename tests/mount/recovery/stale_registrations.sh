#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Registration files whose process is gone do not stay: those of programs that ended while there was
# no daemon, files that never got a lock, that are no registrations, or never got their name.
# Counters of missed events that no process can reach are not added to the session's.
. "$(dirname "$0")/../../lib/mount.sh"
liar=$BUILD/tests/mount/recovery/liar
apps=$TRAIL_RUNTIME_DIR/apps
mkdir -p "$apps"
[ "$(id -u)" != 0 ] || chmod 1777 "$apps"
key() { sed -n "s/^$1 //p" "$2"; }
none() { [ -z "$(ls -A "$apps")" ]; }
hex=0123456789abcdef0123456789abcde

# --- of programs that ended before the daemon came
"$liar" "$apps" unlocked || fail liar
: | "$liar" "$apps" garbage || fail liar
head -c 100 /dev/zero >"$apps/${hex}0"
: >"$apps/.${hex}1"
: >"$apps/${hex}2"
ln "$apps/${hex}2" "$apps/.${hex}2" || fail ln
touch -d '2 minutes ago' "$apps/.${hex}1" "$apps/.${hex}2"
: >"$apps/.${hex}3"
mount_tree
[ "$(ls -A "$apps")" = ".${hex}3" ] || [ -z "$(ls -A "$apps")" ] || fail "left: $(ls -A "$apps")"
# A young one may belong to a program that is about to lock it. It goes when it is older.
touch -c -d '2 minutes ago' "$apps/.${hex}3"
within 10 none || fail "left: $(ls -A "$apps")"

# --- of programs that end while the daemon runs
mkfifo "$work/end"
before=$(key registrations_rejected "$MNT/status")
"$liar" "$apps" garbage <"$work/end" &
pid=$!
exec 3>"$work/end"
rejected() { [ "$(key registrations_rejected "$MNT/status")" -gt "$before" ]; }
within 10 rejected || fail "a file of zeros is not rejected"
[ -n "$(ls -A "$apps")" ] || fail "the file of a program that lives is gone"
exec 3>&-
wait $pid || fail liar
within 10 none || fail "left: $(ls -A "$apps")"
"$liar" "$apps" unlocked || fail liar
within 10 none || fail "left: $(ls -A "$apps")"
# The kernel reports the end of a file before it drops its lock: the daemon looks again.
registered() { [ "$(key registrations "$MNT/status")" = "$1" ]; }
"$liar" "$apps" late <"$work/end" &
pid=$!
exec 3>"$work/end"
within 10 registered 1 || fail "not registered"
exec 3>&-
wait $pid || fail liar
within 10 none || fail "left: $(ls -A "$apps")"
: >"$apps/.${hex}4"
within 10 none || fail "left: $(ls -A "$apps")"

# --- counters: 2^32 - 1 and 2^64 - 1
mkdir "$S/s" && put 'my_app:*' "$S/s/user/events" && put start "$S/s/control" || fail session
for missed in 1 4294967295 18446744073709551615; do
	began=$(date +%s)
	before=$(key events_discarded "$S/s/status")
	"$liar" "$apps" missed $missed || fail "liar: the daemon does not want its events"
	within 10 none || fail "left: $(ls -A "$apps")"
	[ $missed != 1 ] || [ "$(key events_discarded "$S/s/status")" = 3 ] ||
		fail "$(cat "$S/s/status")"
	# Each CPU can count one in 4 ns. tmpfs of an old kernel does not know how old a file is.
	most=$((250000000 * $(getconf _NPROCESSORS_CONF) * ($(date +%s) - began + 2)))
	[ -n "$(stat -c %W "$work/end" | grep -v '^[0-]$')" ] ||
		most=$((250000000 * $(getconf \
			_NPROCESSORS_CONF) * ($(sed 's/[. ].*//' /proc/uptime) + 2)))
	now=$(key events_discarded "$S/s/status")
	case $now in ????????????????*) fail "$missed: discarded $now" ;; esac
	[ $((now - before)) -le $most ] ||
		fail "$missed: $((now - before)) discarded, $most are possible"
done
grep -q 'claims to have missed more events' "$S/s/error" || fail "not said: $(cat "$S/s/error")"
