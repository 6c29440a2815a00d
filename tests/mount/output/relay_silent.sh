#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A relay that accepts connections and never answers: rmdir of a session with events refuses and
# says why, other users of the mount continue, and an empty session can be removed.
. "$(dirname "$0")/../../lib/mount.sh"
ticker=$BUILD/tests/lib/ticker

cat >"$work/silent.c" <<'C'
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* Listens on two ports, prints them, and never reads. The kernel accepts for it. */
int main(void)
{
	for (int i = 0; i < 2; i++) {
		struct sockaddr_in a = { .sin_family = AF_INET };
		socklen_t len = sizeof(a);
		int s = socket(AF_INET, SOCK_STREAM, 0);

		a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		if (s < 0 || bind(s, (struct sockaddr *)&a, len) || listen(s, 8) ||
		    getsockname(s, (struct sockaddr *)&a, &len))
			return 1;
		printf("%d\n", ntohs(a.sin_port));
	}
	fflush(stdout);
	for (;;)
		pause();
}
C
${CC:-cc} -o "$work/silent" "$work/silent.c" || skip "no compiler"
"$work/silent" >"$work/ports" &
silent=$!
within 10 sh -c "[ \"\$(wc -l <$work/ports)\" = 2 ]" || fail "the silent relay has no ports"
url=net://127.0.0.1:$(tr '\n' ':' <"$work/ports" | sed 's/:$//')

mount_tree -o wait=800
for name in full empty; do
	mkdir "$S/$name" || fail "mkdir $name"
	put "$url" "$S/$name/output"
	put 'tick:*' "$S/$name/user/events"
done
put start "$S/empty/control"
rmdir "$S/empty" || fail "rmdir of an empty session"

put start "$S/full/control"
"$ticker" 20 0 || fail ticker
is "recorded" 20 "$(key events_recorded "$S/full/status")"
rmdir "$S/full" 2>"$work/rmdir" && fail "rmdir succeeds, and the events are lost"
has "$(cat "$work/rmdir")" 'Input/output error'
has "$(cat "$MNT/error")" 'cannot be written'
is "the events are still there" 20 "$(wc -l <"$S/full/text")"
rmdir "$S/full/user/channels/channel0" 2>"$work/rmdir" && fail "rmdir of the channel"
has "$(cat "$work/rmdir")" 'Input/output error'

# Without the relay's answer a clear is not served before the connection is given up.
kill $silent
within 60 sh -c "echo clear >'$S/full/control' && rmdir '$S/full'" || fail "rmdir after clear"
echo "$checks checks"
