#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Events that BPF programs record while others are fetched have their own times: the calls of a
# thread are in their order, entry and exit in turns, and no two events of a CPU share a moment but
# those within a few cycles.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree
programs_record || skip "BPF programs record nothing here: $(grep '^kernel' "$MNT/version")"
s=$S/times
c=$s/kernel/channels/channel0
mkdir "$s" "$c"
put bpf "$c/backend"
put 4M "$c/subbuf_size"
put 16 "$c/subbuf_count"
echo tid >"$s/kernel/contexts"
put syscall:getppid "$s/kernel/events"
mkfifo "$work/numbers"
"$BUILD/tests/lib/calls" <"$work/numbers" >"$work/pid" &
app=$!
exec 9>"$work/numbers"
echo $app >"$s/kernel/track/pid" || fail "track: $(cat "$s/error")"
put start "$s/control"
echo 200000 >&9
exec 9>&-
# Each read fetches what the programs have recorded so far.
while kill -0 $app 2>/dev/null; do
	cat "$s/status" >"$work/status"
done
wait $app || fail "calls"
put stop "$s/control"
lost=$(key events_discarded "$s/status")
tid=$(cat "$work/pid")
awk -v tid="$tid" '
	!/getppid/ || $0 !~ "tid = " tid " " { next }
	{
		entry = /entry_getppid/
		wrong += n++ % 2 == entry
		same = $1 == last ? same + 1 : 0
		most = same > most ? same : most
		last = $1
	}
	END { print n, wrong + 0, most < 4 ? "apart" : most + 1 " at one time" }' "$s/text" >"$work/found"
# (Small buffers, as before Linux 6.2, and preempted programs lose some.)
if [ "$lost" = 0 ]; then
	is "events, out of turn, times" "400000 0 apart" "$(cat "$work/found")"
else
	is "times" apart "$(cut -d' ' -f3- "$work/found")"
fi
echo "$lost lost, $checks checks"
