#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 100
#
# docs/fleets.md: two hosts with the session of docs/examples/fleet.ini send to one relay, and one
# babeltrace2 reads both, with the name and the boot of each.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/relay.sh"
ticker=$BUILD/tests/lib/ticker
need_relay
can_mount
unshare --uts true 2>/dev/null || skip "no host can have a name of its own here"

# host NAME COMMAND…: runs it as on that host
host() {
	dir=$work/$1
	shift
	TRAIL_RUNTIME_DIR=$dir/state XDG_CONFIG_HOME=$dir/config "$@"
}
start_host() { # NAME
	mkdir -p "$work/$1/mnt" "$work/$1/state" "$work/$1/config/trailfs/sessions.d"
	sed -e "s,^output = .*,output = $relay_url," -e 's,^events = .*,events = tick:*,' \
		"$top/docs/examples/fleet.ini" \
		>"$work/$1/config/trailfs/sessions.d/fleet.ini"
	host "$1" unshare --uts sh -c 'hostname "$1" && "$TRAILFS" "$2" -o tz=UTC' sh "$1" \
		"$work/$1/mnt" >"$work/$1/log" 2>&1 ||
		fail "the daemon of $1: $(cat "$work/$1/log")"
	hosts="${hosts-} $1"
}
end_hosts() {
	for h in ${hosts-}; do
		umount "$work/$h/mnt" 2>/dev/null || umount -l "$work/$h/mnt"
	done
	hosts=
}
trap 'code=$?; end_hosts; stop_relay; (exit $code); clean_up' EXIT
sent() { [ "$(key pending_bytes "$work/$1/mnt/sessions/fleet/status")" = 0 ]; }

# The example as it is, but that no relay has that name: its values are accepted.
mkdir -p "$XDG_CONFIG_HOME/trailfs/sessions.d"
sed 's,relay\.example\.com,127.0.0.1:1:1,' "$top/docs/examples/fleet.ini" \
	>"$XDG_CONFIG_HOME/trailfs/sessions.d/fleet.ini"
mount_tree
is "mistakes in the example" "" "$(cat "$MNT/error")"
is "state" active "$(key state "$S/fleet/status")"
is "rules" '*:* loglevel <= warning' "$(cat "$S/fleet/user/events")"

# Two hosts
start_relay
for h in alpha beta; do start_host $h; done
host alpha "$ticker" 300 100 || fail ticker
host beta "$ticker" 200 100 || fail ticker
host alpha "$ticker" 100 0 || fail ticker
for h in alpha beta; do
	s=$work/$h/mnt/sessions/fleet
	is "recorded on $h" "$([ $h = alpha ] && echo 400 || echo 200)" \
		"$(key events_recorded "$s/status")"
	put stop "$s/control"
	within 60 sent $h || fail "$h: $(cat "$s/status")"
done
read_relay --fields=trace:hostname "$relay_out" >"$work/files"
is "events of alpha" 400 "$(grep -c '^alpha \|^\[.*\] .* alpha ' "$work/files")"
is "events of beta" 200 "$(grep -c '^beta \|^\[.*\] .* beta ' "$work/files")"
for h in alpha beta; do
	metadata=$(cat "$relay_out/$h/fleet-"*/ust/uid/*/64-bit/metadata | tr -d '\0')
	has "$metadata" "hostname = \"$h\";"
	has "$metadata" "boot_id = \"$(cat /proc/sys/kernel/random/boot_id)\";"
done
echo "$checks checks"
