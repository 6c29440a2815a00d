#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 90
#
# A bounded number of files on a file system in memory: the oldest is filled again, and not
# replaced. A process that reads it finds whole packets at any time, also after a kill -9 of the
# daemon; who has one open continues reading what it was; nothing is lost or there twice.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
[ "$(id -u)" = 0 ] || skip "only root can mount a tmpfs"
ticker=$BUILD/tests/lib/ticker
small_disk 64m

read_all() { TZ=UTC babeltrace2 "$1" 2>"$work/warnings" ||
	fail "babeltrace2 does not accept $1: $(cat "$work/warnings")" >&2; }
session() { # NAME FILE_SIZE
	s=$S/$1 out=$disk/$1
	c=$s/user/channels/channel0
	mkdir "$s" "$c" || fail mkdir
	put "$out" "$s/output"
	put 'tick:*' "$s/user/events"
	put "$2" "$c/file_size"
	put 3 "$c/file_count"
	put 4K "$c/subbuf_size"
	# (Room for all, however late the writer is)
	put 1024 "$c/subbuf_count"
	put start "$s/control"
	d=$out/ust/uid/0/64-bit
}
# All on one CPU: one stream, and all of it in the files then
tick() {
	one_cpu "$ticker" "$1" 20 || fail ticker
	all_written "$s"
}
files() { (cd "$d" && stat -c '%n %i' "channel0_${first_cpu}_"*); }
# whole_packets: a copy of the output in $work/cut, without what stands in a file after the last
# packet that its index has
whole_packets() {
	rm -rf "$work/cut"
	cp -r "$out" "$work/cut"
	for f in "$work/cut/ust/uid/0/64-bit/channel0_"*; do
		i=${f%/*}/index/${f##*/}.idx
		set -- $(od -An -v -t u8 --endian=big -j 16 -w72 "$i" 2>/dev/null | awk -v size="$(stat -c %s "$f")" '
			NF == 9 && $1 == at && at + $2 / 8 <= size { at += $2 / 8; n++ } END { printf "%d %d", at, n }')
		truncate -s "$1" "$f"
		[ ! -e "$i" ] || truncate -s $((16 + 72 * $2)) "$i"
	done
}

mount_tree -o tz=UTC
session again 16K
tick 5000
before=$(files)
is "files" 3 "$(echo "$before" | wc -l)"
# What a process has open, or has given another name to, stays.
exec 3<"$d/channel0_${first_cpu}_1"
cat "$d/channel0_${first_cpu}_1" >"$work/copy"
ln "$d/channel0_${first_cpu}_2" "$disk/link"
cp "$disk/link" "$work/link"
tick 5000
after=$(files)
has "$before" "$(echo "$after" | sed -n 1p)"
[ "$(echo "$before" | sed -n 2p)" != "$(echo "$after" | sed -n 2p)" ] ||
	fail "a file that is open was filled again"
[ "$(echo "$before" | sed -n 3p)" != "$(echo "$after" | sed -n 3p)" ] ||
	fail "a file with two names was filled again"
cat "$d/channel0_${first_cpu}_1" >"$work/copy2"
cmp -s "$work/copy" "$work/copy2" && fail "nothing came into the second file"
cmp "$disk/link" "$work/link" || fail "a file with two names has changed"
# (the descriptor was opened after the last write to that file if it was not the current one then)
[ "$(wc -c <&3)" -gt 0 ] || fail "the open file is empty"
exec 3<&-
put stop "$s/control"
is "no error" '' "$(cat "$s/error")"
read_all "$out" >"$work/files"
is "files that stay open, index and all" 2 \
	"$(ls -l /proc/"$(daemon_pids)"/fd | grep -c "again/.*channel0_$first_cpu")"
cat "$s/text" >"$work/text"
cmp "$work/files" "$work/text" || fail "text is not what the files have"
read_all "$s/trace" >"$work/moment"
cmp "$work/files" "$work/moment" || fail "trace/ is not what the files have"
has "$(tail -n 1 "$work/files")" 'n = 4999'
# No event is missing between the first that is there and the last.
awk '{ n = $(NF - 1); if (NR > 1 && n != (last + 1) % 5000) exit 1; last = n }' "$work/files" ||
	fail "events are missing, or there twice"
is "larger files than allowed" '' "$(find "$out" -name 'channel0_*' -size +16k)"
for f in "$d/channel0_${first_cpu}_"*; do
	i=$d/index/${f##*/}.idx
	n=$((($(stat -c %s "$i") - 16) / 72))
	set -- $(od -An -v -t u8 --endian=big -j $((16 + 72 * (n - 1))) -N 16 "$i")
	is "all of the file is indexed" "$(stat -c %s "$f")" $(($1 + $2 / 8))
done
rmdir "$s" || fail rmdir

# Their owner cuts files while they are filled: what is in them is spoilt, the daemon is not, nor is
# what comes after.
session cut 64K
tick 30000
pids=$(daemon_pids)
taskset -c "$first_cpu" "$ticker" 0 5 2 >"$work/ticks" &
ticks=$!
round=0
while [ $round -lt 300 ]; do
	round=$((round + 1))
	# (-c: the daemon may be replacing the file. One of this name that is not its own would be
	# no packets.)
	truncate -c -s $((round % 3 * 10000)) "$d"/channel0_*_$((round % 3)) || fail truncate
done
kill $ticks
wait $ticks
all_written "$s"
is "the same daemon" "$pids" "$(daemon_pids)"
tick 30000
put stop "$s/control"
is "no error but that" '' "$(sed '/^output: other programs have removed or cut/,/^  /d' "$s/error")"
read_all "$out" >"$work/files"
has "$(tail -n 1 "$work/files")" 'n = 29999'
rmdir "$s" || fail rmdir

# The daemon is killed. (Now and then that tears the end of a file which is not padded; the next
# daemon cuts it off. How often depends on the machine.)
session killed 256K
round=0 rounds=6
[ -z "${SOAK-}" ] || rounds=60
while [ $round -lt $rounds ]; do
	round=$((round + 1))
	# (On the CPU whose files are counted.)
	taskset -c "$first_cpu" "$ticker" 0 5 2 >"$work/ticks" &
	ticks=$!
	sleep 0.3
	enough() { [ "$(files 2>/dev/null | wc -l)" = 3 ]; }
	within 20 enough || fail "no three files"
	sleep 0.7
	kill -9 $(daemon_pids)
	within 10 daemon_ended
	fusermount3 -u -z "$MNT" 2>/dev/null || umount -l "$MNT"
	TZ=UTC babeltrace2 "$out" >"$work/files" 2>"$work/warnings" || {
		whole_packets
		read_all "$work/cut" >"$work/files"
	}
	[ -s "$work/files" ] || fail "the files are empty"
	kill $ticks
	wait $ticks
	mount_tree -o tz=UTC
	# (What was left in the buffers may fill a file again that babeltrace2 has looked at and closed.)
	all_written "$s"
	read_all "$out" >"$work/files"
done
put stop "$s/control"
read_all "$out" >"$work/files"
cat "$s/text" >"$work/text"
cmp "$work/files" "$work/text" || fail "text is not what the files have, after a kill"
rmdir "$s" || fail rmdir
echo "$checks checks"
