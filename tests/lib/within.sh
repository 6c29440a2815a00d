# SPDX-License-Identifier: GPL-2.0-or-later
#
# within SECONDS COMMAND…: waits until the command succeeds. The limit only ends a test that would
# wait for ever, so it is 90 seconds at least: a machine may be slow.
# It looks often at first: a look costs a process or more, which slows down what it waits for.
uptime_seconds() { read -r up rest </proc/uptime && echo "${up%.*}"; }
within() {
	deadline=$(($(uptime_seconds) + ($1 > 90 ? $1 : 90)))
	shift
	looks=0
	until "$@"; do
		[ "$(uptime_seconds)" -lt $deadline ] || return 1
		looks=$((looks + 1))
		[ $looks -gt 20 ] && sleep 0.2 || sleep 0.05
	done
}
