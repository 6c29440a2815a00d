#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 240
#
# What can happen between a session and its relay: a name that does not resolve yet, a relay that is
# absent at first, a network that stalls, a connection that is cut. Recording
# and other sessions continue, status says what is wrong, and streaming continues by itself: each
# event is on the relay, or counted.
# SOAK=1: the network stalls for 30 s.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/relay.sh"
ticker=$BUILD/tests/lib/ticker
need_relay

# A proxy before the relay: SIGSTOP stalls both connections, SIGKILL cuts them.
cat >"$work/proxy.c" <<'C'
#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int copy(int from, int to)
{
	char buf[65536];
	ssize_t n = read(from, buf, sizeof(buf)), done = 0, k = 1;

	while (n > 0 && done < n && (k = write(to, buf + done, (size_t)(n - done))) > 0)
		done += k;
	return n > 0 && k > 0;
}

static struct sockaddr_in address(const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port)) };

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

/* proxy FROM TO FROM TO: ports */
int main(int argc, char **argv)
{
	struct pollfd p[256];
	int other[256], n = 2, one = 1;

	for (int i = 0; i < 2 && argc == 5; i++) {
		struct sockaddr_in a = address(argv[1 + 2 * i]);

		p[i] = (struct pollfd){ .fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN };
		setsockopt(p[i].fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(p[i].fd, (struct sockaddr *)&a, sizeof(a)) || listen(p[i].fd, 8))
			return 1;
	}
	while (poll(p, (nfds_t)n, -1) >= 0) {
		for (int i = 0, end = n; i < end; i++) {
			struct sockaddr_in a = address(argv[2 + 2 * (i % 2)]);
			int in, out;

			if (!p[i].revents)
				continue;
			if (i >= 2) {
				if (!copy(p[i].fd, p[other[i]].fd)) {
					shutdown(p[i].fd, SHUT_RDWR);
					shutdown(p[other[i]].fd, SHUT_RDWR);
					p[i].fd = -1 - p[i].fd;
					p[other[i]].fd = p[other[i]].fd >= 0 ? -1 - p[other[i]].fd : p[other[i]].fd;
				}
				continue;
			}
			in = accept(p[i].fd, NULL, NULL);
			out = socket(AF_INET, SOCK_STREAM, 0);
			if (n + 2 > 256 || connect(out, (struct sockaddr *)&a, sizeof(a))) {
				close(in);
				close(out);
				continue;
			}
			p[n] = (struct pollfd){ .fd = in, .events = POLLIN };
			p[n + 1] = (struct pollfd){ .fd = out, .events = POLLIN };
			other[n] = n + 1;
			other[n + 1] = n;
			n += 2;
		}
	}
	return 1;
}
C
${CC:-cc} -o "$work/proxy" "$work/proxy.c" || skip "no compiler"
proxy_pid=
end_proxy() {
	[ -z "$proxy_pid" ] || { kill -KILL "$proxy_pid" && wait "$proxy_pid"; } 2>/dev/null
	proxy_pid=
}
start_proxy() {
	"$work/proxy" $((control_port + 10)) "$control_port" $((data_port + 10)) "$data_port" &
	proxy_pid=$!
	within 20 listening $((data_port + 10)) || fail "the proxy does not listen"
}
trap 'code=$?; end_proxy; stop_relay; umount -l /etc/hosts /etc/resolv.conf 2>/dev/null; (exit $code); clean_up' EXIT

# Names are looked up in files of this test; no server is asked.
printf '127.0.0.1 localhost\n' >"$work/hosts"
printf 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n' >"$work/resolv"
has_own_mounts
mount --bind "$work/hosts" /etc/hosts 2>/dev/null &&
	mount --bind "$work/resolv" /etc/resolv.conf 2>/dev/null ||
	skip "cannot mount a file"

s=$S/net
error() { grep -q "^output_error .*$1" "$s/status"; }
confirmed() { [ "$(key pending_bytes "$s/status")" = 0 ] &&
	grep -q '^relay connected' "$s/status"; }
recorded() { key events_recorded "$s/status"; }
# the events in all directories, each once
on_relay() {
	for d in "$relay_out/$(hostname)"/net-*; do
		TZ=UTC timeout 60 babeltrace2 --clock-gmt "$d" 2>/dev/null
	done | sed 's/(+[^)]*)//' | sort -u | wc -l | tr -d ' '
}
all_there() { # WHAT EMITTED
	within 60 confirmed || fail "$1: not confirmed: $(cat "$s/status")"
	is "$1: recorded and discarded" "$2" \
		"$(($(recorded) + $(key events_discarded "$s/status")))"
	is "$1: on the relay" "$(recorded)" "$(on_relay)"
}

start_relay
kill_relay
mount_tree -o tz=UTC
relay_url=net://relay.test:$((control_port + 10)):$((data_port + 10))
relay_session net
put 4 "$c/subbuf_count"
put 4096 "$c/subbuf_size"
mkdir "$S/other" && put 'tick:*' "$S/other/user/events" || fail mkdir
put start "$S/other/control"

# A name that is not known yet, and then a relay that is not there yet
put start "$s/control"
"$ticker" 200 0 || fail ticker
within 60 error 'host name is not known' || fail "a name that does not resolve: $(cat "$s/status")"
has "$(cat "$s/error")" 'output: the relay.s host name is not known: events are discarded'
is "text continues" 200 "$(wc -l <"$s/text")"
echo '127.0.0.1 relay.test' >>"$work/hosts"
within 60 error 'Connection refused' || fail "a relay that is absent: $(cat "$s/status")"
is "connections" 0 "$(key relay_connections "$s/status")"
start_relay
start_proxy
connected() { grep -q '^relay connected' "$s/status"; }
within 60 connected || fail "no connection: $(cat "$s/status")"
put stop "$s/control"
all_there "late" 200

# The network stalls: the buffers fill, what does not fit is counted, and streaming continues after
# that.
stop_process "$proxy_pid"
tool open "$s/control" w write 'start\n' >/dev/null
"$ticker" 60000 0 || fail ticker
[ "$(key events_discarded "$s/status")" -gt 0 ] || fail "the buffers do not fill"
[ "$(wc -l <"$s/text")" -gt 0 ] || fail "text while the network stalls"
[ -z "${SOAK-}" ] || sleep 30
is "another session" 60200 "$(key events_recorded "$S/other/status")"
kill -CONT "$proxy_pid"
tool open "$s/control" w write 'stop\n' >/dev/null
all_there "stalled" 60200
is "the same connection" 1 "$(key relay_connections "$s/status")"

# The connection is cut while packets are sent.
put start "$s/control"
"$ticker" 30000 0 &
ticks=$!
end_proxy
wait $ticks
start_proxy
tool open "$s/control" w write 'stop\n' >/dev/null
all_there "cut" 90200

rmdir "$s" "$S/other" || fail rmdir
echo "$checks checks"
