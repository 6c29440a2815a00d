#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 200
#
# SIGUSR2: the program that is at the daemon's path takes over, in the same process, while programs
# record and read. The two programs have other nodes, in another order. No reader notices. A program
# that cannot take over, whatever it is, is refused: the daemon says why, and continues.
#
#   UPGRADES    how often; SOAK: 200
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/undying.sh"
. "$top/tests/lib/next_daemon.sh"
upgrades=${UPGRADES:-8}
[ -z "${SOAK-}" ] || upgrades=${UPGRADES:-200}
same=$TRAILFS
other=$(dirname "$TRAILFS")/tests/other/rows/trailfs
later=$(dirname "$TRAILFS")/tests/other/version/trailfs
[ -x "$other" ] && [ -x "$later" ] || skip "there are no other builds of the daemon"
trap 'code=$?; kill_load; (exit $code); clean_up' EXIT

# install PROGRAM: at the path that the daemon was started by
mkdir "$work/bin" || fail mkdir
TRAILFS=$work/bin/trailfs
install() {
	rm -f "$TRAILFS.new"
	cp "$1" "$TRAILFS.new" && mv "$TRAILFS.new" "$TRAILFS" || fail "cannot install $1"
}
is_other() { [ -e "$MNT/another" ]; }
is_same() { [ ! -e "$MNT/another" ]; }

install "$same"
mount_first tz=UTC,wait=100000
open_files() { ls "/proc/$daemon/fd" | wc -l; }
begin_load
done=0
while [ $done -lt "$upgrades" ]; do
	if [ $((done % 2)) = 0 ]; then install "$other"; else install "$same"; fi
	mark
	kill -USR2 "$daemon" || fail "the daemon has ended"
	if [ $((done % 2)) = 0 ]; then within 60 is_other; else within 60 is_same; fi ||
		fail "no upgrade: $(cat "$MNT/error")"
	done=$((done + 1))
	check_load "after $done upgrades"
	[ $done != 4 ] || before=$(open_files)
done
is "the process" "$daemon" "$(daemon_pids)"
is "option tz" UTC "$(sed -n 's/^time_zone //p' "$MNT/version")"

# Refused: a later version of the hand-over, another program, and none
refused() { [ "$(grep -c "no upgrade, this daemon continues: $1" "$work/daemon.log")" = "$2" ]; }
nodes=$(ls "$MNT")
refuse() { # PATTERN [TIMES]
	kill -USR2 "$daemon"
	within 60 refused "$1" "${2-1}" || fail "not refused: $1"
	is "the process" "$daemon" "$(daemon_pids)"
	is "the nodes" "$nodes" "$(ls "$MNT")"
	check_load "after '$1'"
}
install "$later"
refuse '.*cannot take over: it does not know the state of this daemon'
install "$(command -v env)"
refuse '.*does not say that it can take over'
printf '#!/bin/sh\nexec sleep 0\n' >"$work/script" && chmod 755 "$work/script"
install "$work/script"
refuse '.*does not say that it can take over' 2
rm "$TRAILFS"
refuse '.*cannot be executed: No such file'
# And then a good one again
if is_other; then install "$same"; next=is_same; else install "$other"; next=is_other; fi
kill -USR2 "$daemon"
within 60 $next || fail "no upgrade after those that were refused: $(cat "$MNT/error")"
end_load
[ -z "${before-}" ] || [ "$(open_files)" -le $((before + 40)) ] ||
	fail "open files: $before after 4 upgrades, now $(open_files)"
kill -TERM "$daemon"
gone() { ! mounted && daemon_ended && keeper_ended; }
within 40 gone || fail "SIGTERM does not end the daemon"

# A daemon in the background; what is refused stands in `error`
install "$same"
(cd "$work" && bin/trailfs "$MNT" -o tz=UTC) || fail "cannot mount in the background"
daemon=$(daemon_pids)
install "$later"
kill -USR2 "$daemon"
in_error() { grep -q '^upgrade: .*does not know the state of this daemon' "$MNT/error"; }
within 60 in_error || fail "not in error: $(cat "$MNT/error")"
install "$other"
kill -USR2 "$daemon"
within 60 is_other || fail "no upgrade in the background: $(cat "$MNT/error")"
is "the process in the background" "$daemon" "$(daemon_pids)"
# The keeper starts what is installed now.
install "$same"
kill -9 "$daemon"
within 60 is_same || fail "no daemon after kill -9"
kill -TERM $(daemon_pids)
within 40 gone || fail "SIGTERM does not end the daemon that the keeper has started"
echo "$done upgrades, $(wc -l <"$work/text") lines, $checks checks$(summary)"
