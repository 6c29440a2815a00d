# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the tests with a relay share: `. "$top/tests/lib/relay.sh"` after mount.sh.
#
#   relay_out   the directory that lttng-relayd writes to
#   relay_url   its address, for `output`
#   relay_host  set before: where it listens, in place of 127.0.0.1
#   relay_net   set before: a process; the relay runs in its network namespace
#   live_port   for `babeltrace2 --input-format=lttng-live net://localhost:PORT`

relay_out=$work/relay
relay_pid=
relay_host=${relay_host-127.0.0.1}

need_relay() {
	command -v lttng-relayd >/dev/null || skip "there is no lttng-relayd"
	command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
	trap 'code=$?; stop_relay; (exit $code); clean_up' EXIT
}

# A program listens on this port of relay_host.
listening() {
	grep -q "^ *[0-9]*: $(hex_address):$(printf %04X "$1") 00000000:0000 0A" \
		"/proc/${relay_net-$$}/net/tcp"
}

# As /proc/net/tcp has it on little-endian machines
hex_address() {
	echo "$relay_host" | {
		IFS=. read -r a b c d
		printf '%02X%02X%02X%02X' "$d" "$c" "$b" "$a"
	}
}

relay_listens() {
	listening "$control_port" && listening "$data_port" && listening "$live_port"
}

relay_ended() {
	[ ! -d "/proc/$relay_pid" ] || grep -q '^State:.*Z' "/proc/$relay_pid/status" 2>/dev/null
}

# start_relay [OPTION…]: with the ports of before, if it was started before
start_relay() {
	mkdir -p "$relay_out" "$work/lttng"
	tries=20
	while :; do
		if [ -z "${control_port-}" ]; then
			port=$(($(od -An -N2 -tu2 /dev/urandom) % 20000 + 10000))
		fi
		control_port=${control_port-$port} data_port=${data_port-$((port + 1))} \
			live_port=${live_port-$((port + 2))}
		LTTNG_HOME=$work/lttng LTTNG_RELAYD_HEALTH=$work/lttng/health.$tries \
			${relay_net:+nsenter -t "$relay_net" -n --} lttng-relayd -o "$relay_out" \
			-C "tcp://$relay_host:$control_port" -D "tcp://$relay_host:$data_port" \
			-L "tcp://$relay_host:$live_port" "$@" >>"$work/relayd.log" 2>&1 &
		relay_pid=$!
		until relay_listens || relay_ended; do sleep 0.02; done
		relay_ended || break
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "lttng-relayd does not start: $(cat "$work/relayd.log")"
		[ -z "${relay_url-}" ] && unset control_port data_port live_port
	done
	relay_url=net://$relay_host:$control_port:$data_port
}

# kill_relay [SIGNAL]: it has ended when this returns
kill_relay() {
	kill "-${1-KILL}" "$relay_pid"
	wait "$relay_pid" 2>/dev/null
	relay_pid=
}

stop_relay() {
	[ -z "$relay_pid" ] || { kill -CONT "$relay_pid"; kill_relay KILL; } 2>/dev/null
}

# relay_session NAME [PATH]: $c is its channel
relay_session() {
	mkdir "$S/$1" "$S/$1/user/channels/channel0" || fail mkdir
	put "$relay_url${2-}" "$S/$1/output"
	put 'tick:*' "$S/$1/user/events"
	c=$S/$1/user/channels/channel0
	put 16 "$c/subbuf_count"
}

# relay_dir SESSION: the newest directory of the session on the relay
relay_dir() {
	for newest in "$relay_out/$(hostname)/$1"-[0-9]*-[0-9]*; do :; done
	echo "$newest"
}

# read_relay DIRECTORY…: as babeltrace2 prints it
read_relay() {
	TZ=UTC timeout 200 babeltrace2 --clock-gmt "$@" 2>"$work/warnings" ||
		fail "babeltrace2 does not accept $*: $(cat "$work/warnings")" >&2
}

# Discarded events that babeltrace2 has reported at the last read_relay
reported() {
	sed -n 's/.*Tracer discarded \([0-9]*\) event.*/\1/p' "$work/warnings" |
		awk '{ s += $1 } END { print s + 0 }'
}

# same_as_trace SESSION DIRECTORY: in $work/files
same_as_trace() {
	read_relay "$2" >"$work/files"
	read_relay "$S/$1/trace" >"$work/trace.text"
	cmp "$work/files" "$work/trace.text" ||
		fail "$1: the relay's files are not what trace/ shows"
	checks=$((checks + 1))
}
