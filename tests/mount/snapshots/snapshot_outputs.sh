#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# snapshot_outputs: snapshots go to directories and to a real lttng-relayd, each with a limit of its
# own; nothing is recorded there otherwise; mistakes; a relay that is absent or silent; triggers; a
# daemon that is killed while a copy is pending.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/relay.sh"
ticker=$BUILD/tests/lib/ticker
need_relay

refused() { # VALUE FILE ERRNO PATTERN [COLUMN]: the caret is below that column
	is "echo '$1' >> $2" "$3" "$(tool open "$2" wa write "$1\n")"
	has "$(cat "$s/error")" "$4"
	[ -z "${5-}" ] ||
		is "the caret of '$1'" "$5" \
			"$(($(sed -n '3p' "$s/error" | awk '{ n = length($0) } END { print n }') - 3))"
}
copied() { [ "$(key snapshots_copied "$s/status")" = "$1" ]; }
snapshots() { ls "$s/snapshots" | tr '\n' ' '; }
one() { # DIRECTORY/PREFIX: the one directory whose name begins so
	set -- "$1"-[0-9]*
	[ $# = 1 ] && [ -d "$1" ] || fail "not one directory: $*" >&2
	echo "$1"
}
same() { # DIRECTORY FILE: what babeltrace2 reads there
	read_relay "$1" >"$work/files"
	cmp "$work/files" "$2" || fail "$1 is not what was recorded"
	checks=$((checks + 1))
}

start_relay
host=$(hostname)
mount_tree -o tz=UTC
s=$S/flight
f=$s/snapshot_outputs
mkdir "$s" "$s/user/channels/channel0" || fail mkdir
put 4096 "$s/user/channels/channel0/subbuf_size"
put 64 "$s/user/channels/channel0/subbuf_count"
put 'tick:*' "$s/user/events"

# The list
is "empty" '' "$(cat "$f")"
refused 'relative' "$f" EINVAL 'must be an absolute path' 0
refused 'net://h:0' "$f" EINVAL 'must be a port' 8
refused 'tcp://h:1' "$f" EINVAL 'the address for data, .*, is missing in this line'
refused 'tcp://h:1 tcp://h:x' "$f" EINVAL 'must be a port' 18
refused "$work/x max-size" "$f" EINVAL 'a size is missing'
refused 'net://h max-size 0' "$f" EINVAL 'from 1 byte' 17
refused 'net://h max-size 1 max-size 2' "$f" EINVAL 'comes once' 19
refused 'net://h size 1' "$f" EINVAL "only 'max-size'" 8
refused '!net://h' "$f" ENOENT 'no such snapshot output' 0
refused "net://h\nnet://h:0" "$f" EINVAL '^snapshot_outputs:2: '
is "nothing was stored" '' "$(cat "$f")"
put "net://h max-size=1M" "$f"
echo "\"$work/a b\" max-size 64k" >>"$f" || fail "add-output"
echo "tcp://a:1 tcp://b:2" >>"$f" || fail "add-output"
echo "net://h max-size 2M" >>"$f" || fail "a place again"
is "the list" "net://h:5342:5343 max-size 2097152
\"$work/a b\" max-size 65536
\"tcp://a:1 tcp://b:2\"" "$(cat "$f")"
[ -d "$work/a b" ] || fail "the directory is not made"
cat "$f" >"$work/list"
cat "$work/list" >"$f" || fail "what is shown cannot be written"
cmp "$work/list" "$f" || fail "it is another list then"
mkdir "$S/copy" && cat "$s/config" >"$work/ini" && cat "$work/ini" >"$S/copy/config" ||
	fail "config"
cmp "$work/list" "$S/copy/snapshot_outputs" || fail "config loses the list"
rmdir "$S/copy"
echo '!net://h' >>"$f" && echo '!tcp://a:1 tcp://b:2' >>"$f" && echo "!\"$work/a b\"" >>"$f" ||
	fail "del-output"
is "empty again" '' "$(cat "$f")"

# Directories and a relay: nothing but snapshots comes there.
put "$work/whole
$work/newest max-size 30000
$relay_url
$relay_url/named max-size 30000" "$f"
put start "$s/control"
"$ticker" 3000 0 || fail ticker
[ ! -e "$relay_out/$host" ] || fail "the relay has something before the snapshot"
mkdir "$s/snapshots/one" || fail "mkdir snapshots/one"
is "copies" 4 "$(key snapshots_copied "$s/status")"
is "mkdir keeps it" 'one ' "$(snapshots)"
read_relay "$s/snapshots/one" >"$work/recorded"
is "events" 3000 "$(wc -l <"$work/recorded")"
same "$(one "$work/whole/one")" "$work/recorded"
d=$(one "$relay_out/$host/flight")
same "$(one "$d/one")" "$work/recorded"

# A limit: the newest packets, whole; their index fits.
for d in "$(one "$work/newest/one")" "$(one "$relay_out/$host/named/one")"; do
	bytes=$(find "$d" -name 'channel0_[0-9]*' ! -name '*.idx' -exec stat -c %s {} + |
		awk '{ n += $1 } END { print n }')
	[ "$bytes" -le 30000 ] && [ "$bytes" -gt 10000 ] || fail "$bytes bytes in $d"
	read_relay "$d" >"$work/newest.text"
	n=$(wc -l <"$work/newest.text")
	[ "$n" -gt 100 ] && [ "$n" -lt 3000 ] || fail "$n events in $d"
	# (of each CPU the newest; the ticker may have run on several)
	tail -n 1 "$work/newest.text" >"$work/last"
	tail -n 1 "$work/recorded" | cmp - "$work/last" || fail "the newest event is missing in $d"
	# (but for the time since the event before)
	sed 's/(+[^)]*)//' "$work/recorded" | sort >"$work/all"
	sed 's/(+[^)]*)//' "$work/newest.text" | sort | comm -23 - "$work/all" | grep . &&
		fail "other events in $d"
	checks=$((checks + 2))
done
d=$(one "$work/newest/one")
for i in $(find "$d" -name '*.idx'); do
	stream=${i%/index/*}/$(basename "$i" .idx)
	[ "$(od -An -tx1 -N4 "$stream" | tr -d ' ')" = c11ffcc1 ] ||
		fail "$stream begins with no packet"
	# the last entry of the index: offset and size are those of the last packet
	tail -c 72 "$i" | od -An -v -tu8 --endian=big -w8 | awk -v n="$(stat -c %s "$stream")" \
		'NR == 1 { at = $1 } NR == 2 { exit at + $1 / 8 != n }' ||
			fail "$i does not fit its stream"
	checks=$((checks + 1))
done

# The verb: it does not stay in memory. A place of its own, and a name that is taken again.
"$ticker" 10 0
put 'snapshot two' "$s/control"
is "it has gone there" 'one ' "$(snapshots)"
is "the relay has it" 3010 "$(read_relay "$(one "$(one "$relay_out/$host/flight")/two")" | wc -l)"
put "snapshot three max-size 20k output tcp://127.0.0.1:$control_port/own tcp://127.0.0.1:$data_port" "$s/control"
[ "$(read_relay "$(one "$relay_out/$host/own/three")" | wc -l)" -lt 2000 ] ||
	fail "max-size of the verb"
is "in no other place" '' "$(ls "$work/whole" | grep three)"
refused 'snapshot x y' "$s/control" EINVAL "'y' is not expected here" 11
refused 'snapshot x output' "$s/control" EINVAL 'is missing here'
refused 'snapshot x output net:' "$s/control" EINVAL 'must be an absolute path' 18
refused 'snapshot x max-size much' "$s/control" EINVAL '' 20

# No relay: it fails, says why, and can be taken again.
kill_relay
is "mkdir without a relay" ECONNREFUSED "$(tool mkdir "$s/snapshots/four")"
has "$(cat "$s/error")" "not all 4 snapshot outputs have the snapshot; net://127.0.0.1:$control_port:$data_port.*: Connection refused"
is "the verb" ECONNREFUSED "$(tool open "$s/control" w write 'snapshot five\n')"
has "$(cat "$s/status")" '^snapshot_error Connection refused'
is "there is none" 'one ' "$(snapshots)"
same "$(one "$work/whole/four")" "$work/files"
start_relay
mkdir "$s/snapshots/four" || fail "again with a relay"
put 'snapshot five' "$s/control"
is "no error any more" '' "$(grep '^snapshot_error' "$s/status")"

# A relay that accepts and never answers; the mount works meanwhile.
stop_process "$relay_pid"
tool open "$s/control" w write 'snapshot six\n' >"$work/verb" &
verb=$!
"$ticker" 10 0 || fail ticker
is "recording continues" 3020 "$(wc -l <"$s/text")"
wait $verb
is "a silent relay" ETIMEDOUT "$(cat "$work/verb")"
has "$(cat "$s/error")" 'the relay does not answer'
kill -CONT "$relay_pid"
put 'snapshot six' "$s/control"

# Without an output it overwrites.
"$ticker" 50000 0 || fail ticker
is "discarded" 0 "$(key events_discarded "$s/status")"
[ "$(key events_overwritten "$s/status")" -gt 0 ] || fail "nothing is overwritten"
checks=$((checks + 1))

# A trigger does not wait for it; what did not go is kept.
put "$relay_url" "$f"
mkdir "$MNT/triggers/t" || fail "a trigger"
put 'event user tick:tock' "$MNT/triggers/t/condition"
put "snapshot flight seven once-after 1
snapshot flight eight output $work/eight once-after 1" "$MNT/triggers/t/actions"
"$ticker" 1 0
arrived() { set -- "$(one "$relay_out/$host/flight" 2>/dev/null)"/seven-*; [ -e "$1/ust" ]; }
within 30 arrived || fail "seven is not on the relay: $(cat "$MNT/triggers/t/status" "$s/status")"
arrived() { set -- "$work"/eight/eight-*; [ -e "$1/ust" ]; }
within 30 arrived || fail "eight is not there: $(cat "$MNT/triggers/t/status" "$s/status")"
gone() { case $(snapshots) in *seven* | *eight*) false ;; esac; }
within 30 gone || fail "they stay in memory: $(snapshots)"
kill_relay
put "snapshot flight nine once-after 1" "$MNT/triggers/t/actions"
"$ticker" 1 0
kept() { grep -q 'snapshot nine-.* could not be copied to net://127.0.0.1.*: Connection refused' \
	"$s/error"; }
within 30 kept || fail "it is not said: $(cat "$s/error")"
[ -d "$s/snapshots/nine" ] || fail "what the relay did not get is lost"
rmdir "$MNT/triggers/t" "$s/snapshots/nine" || fail rmdir

# The daemon is killed while a copy is pending: the next one makes it.
faulty_disk
trap 'code=$?; : >"$control"; umount -l "$disk" 2>/dev/null || fusermount3 -u -z "$disk"; stop_relay; (exit $code); clean_up' EXIT
put "$disk/late" "$f"
echo 'write hang' >"$control"
tool mkdir "$s/snapshots/ten" >/dev/null &
pending() { grep -q "^pending copy ten-[0-9-]* [0-9]*% $disk/late" "$s/status"; }
within 30 pending || fail "nothing is pending: $(cat "$s/status")"
kill -9 $(daemon_pids)
: >"$control"
within 10 daemon_ended
end_dead_mount "$MNT"
wait $!
mount_tree -o tz=UTC
is "the list" "$disk/late" "$(cat "$f")"
within 30 copied 1 || fail "it is not copied: $(cat "$s/status")"
read_relay "$s/snapshots/ten" >"$work/ten"
same "$(one "$disk/late/ten")" "$work/ten"
rmdir "$s" || fail rmdir
echo "$checks checks"
