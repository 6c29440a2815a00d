# SPDX-License-Identifier: GPL-2.0-or-later
#
# The service is upgraded while a program records and `tail` follows; a restart keeps the session. The
# program says how many events it wrote.
set -e
export DEBIAN_FRONTEND=noninteractive
cat >/root/oracle.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <trail/trail.h>
#include <unistd.h>
static volatile sig_atomic_t ended;
static void end(int sig)
{
	ended = sig;
}
int main(void)
{
	long i = 0;

	signal(SIGTERM, end);
	for (; !ended; i++) {
		TRAIL(oracle, tick, i);
		usleep(500);
	}
	printf("%ld\n", i);
	return 0;
}
C
cc /root/oracle.c -o /root/oracle -ltrail
systemctl enable --now trailfs
s=/trace/sessions/long
mkdir $s $s/user/channels/c
echo 4M >$s/user/channels/c/subbuf_size
echo discard >$s/user/channels/c/loss_mode
echo 'oracle:*' >$s/user/channels/c/events
echo start >$s/control
# The first events may not be lost because the machine is busy.
TRAIL_ATTACH_TIMEOUT=60000 /root/oracle >/root/count &
app=$!
tail -n +1 -f $s/text >/root/followed 2>/root/tail-errors &
tail=$!
sleep 1
before=$(systemctl show -p MainPID --value trailfs)
apt-get install -y -q --no-install-recommends /later/*.deb
dpkg-query -W -f 'version ${Version}\n' trailfs
n=0
while readlink /proc/$before/exe | grep deleted; do
	n=$((n + 1)); [ $n -lt 600 ] || exit 1; sleep 0.1
done
cat /trace/version >/dev/null
sleep 1
kill $app
wait $app
echo stop >$s/control
is() { [ "$2" = "$3" ] && echo "ok $1" || echo "differs: $1: expected '$2', got '$3'"; }
n=0
while [ "$(tail -n 1 /root/followed | sed 's/.*{ i = \([0-9]*\) }$/\1/')" != $(($(cat /root/count) - 1)) ]; do
	n=$((n + 1)); [ $n -lt 300 ] || break; sleep 0.1
done
numbers() { sed -n 's/.*{ i = \([0-9]*\) }$/\1/p' "$1" | md5sum; }
echo "events $(cat /root/count)"
expected=$(seq 0 $(($(cat /root/count) - 1)) | md5sum)
is "the process after the upgrade" "$before" "$(systemctl show -p MainPID --value trailfs)"
is "text" "$expected" "$(numbers $s/text)"
is "tail -f" "$expected" "$(numbers /root/followed)"
is "errors of tail" "" "$(cat /root/tail-errors)"
is "discarded" "events_discarded 0" "$(grep '^events_discarded' $s/status)"
kill $tail
systemctl restart trailfs
is "the program after a restart" /usr/bin/trailfs "$(readlink /proc/$(systemctl show -p MainPID --value trailfs)/exe)"
is "text after a restart" "$expected" "$(numbers $s/text)"
# For who looks for the reason of a difference.
find $s -name status -exec grep -H -v ' 0$' {} +
journalctl -u trailfs --no-pager
