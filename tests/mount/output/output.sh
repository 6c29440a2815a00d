#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# output: recording to a directory. What is in its files, as babeltrace2 reads it, in trace/ and in
# text is the same, and all that was emitted but what was counted as discarded; file_size and
# file_count; loss modes; clear; what is refused.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
out=$work/out
umask 022

refused() { # VALUE FILE ERRNO PATTERN
	is "echo '$1' > $2" "$3" "$(tool open "$2" wt write "$1\n")"
	has "$(cat "$S"/*/error)" "$4"
}
session() { # NAME [OUTPUT]
	mkdir "$S/$1" "$S/$1/user/channels/channel0" || fail mkdir
	put "${2-$out/$1}" "$S/$1/output"
	put 'tick:*' "$S/$1/user/events"
	c=$S/$1/user/channels/channel0
}
read_all() { TZ=UTC babeltrace2 "$1" 2>"$work/warnings" ||
	fail "babeltrace2 does not accept $1: $(cat "$work/warnings")" >&2; }
discarded() { sed -n 's/.*Tracer discarded \([0-9]*\) event.*/\1/p' "$work/warnings" |
	awk '{ s += $1 } END { print s + 0 }'; }
same_as_text() { # SESSION DIRECTORY
	read_all "$2" >"$work/files"
	grep -v "^WARNING: Tracer " "$S/$1/text" >"$work/text"
	cmp "$work/files" "$work/text" || fail "$1: text is not what the files have"
	read_all "$S/$1/trace" >"$work/moment"
	cmp "$work/files" "$work/moment" || fail "$1: trace/ is not what the files have"
}

# Of a word of programs here, by the class of an ELF file (1: 32)
bits=$(($(od -An -tu1 -j4 -N1 "$BUILD/trailfs") * 32))
mount_tree -o tz=UTC

# What is not accepted
mkdir "$S/bad"
refused relative "$S/bad/output" EINVAL 'absolute path.*net://'
refused '/a b' "$S/bad/output" EINVAL 'quote it'
refused "$out/../x" "$S/bad/output" EINVAL "without '..'"
refused net:// "$S/bad/output" EINVAL 'host name'
refused "$MNT/version/x" "$S/bad/output" ENOTDIR 'cannot be used'
mkdir -p "$out/used/ust"
is "output at first" '' "$(cat "$S/bad/output")"
refused rotate "$S/bad/control" EINVAL 'no output'
put 'tick:*' "$S/bad/user/events"
put "$out/used" "$S/bad/output"
case $(cat "$S/bad/control") in *rotate*) fail "rotate is no verb before the first start" ;; esac
refused rotate "$S/bad/control" EINVAL 'never started'
refused start "$S/bad/control" EEXIST 'a trace in this directory'
is "not started" inactive "$(key state "$S/bad/status")"
rmdir "$S/bad"

# All that was emitted, less what was discarded
session plain
is "output" "$out/plain" "$(cat "$S/plain/output")"
is "the default becomes discard" '[default] overwrite discard' "$(cat "$c/loss_mode")"
refused many "$c/subbuf_count" EINVAL 'a whole number'
refused many "$c/file_count" EINVAL 'a whole number'
put 16 "$c/subbuf_count"
put start "$S/plain/control"
has "$(cat "$S/plain/control")" '^rotate$'
refused "$out/other" "$S/plain/output" EBUSY 'first started'
refused 1M "$c/file_size" EBUSY 'first started'
"$ticker" 50000 0 3 || fail ticker
put stop "$S/plain/control"
is "nothing is pending" 0 "$(key pending_bytes "$S/plain/status")"
is "no error" '' "$(cat "$S/plain/error")"
lost=$(key events_discarded "$S/plain/status")
same_as_text plain "$out/plain"
is "events and losses" 150000 "$(($(wc -l <"$work/files") + lost))"
is "recorded" "$(key events_recorded "$S/plain/status")" "$(wc -l <"$work/files")"
is "overwritten" 0 "$(key events_overwritten "$S/plain/status")"
# `text` grew by itself while it went on: the same again, and more of it, over stop and start
put start "$S/plain/control"
"$ticker" 1000 0 || fail ticker
put stop "$S/plain/control"
same_as_text plain "$out/plain"
is "events after the second start" 151000 \
	"$(($(wc -l <"$work/files") + $(key events_discarded "$S/plain/status")))"
is "losses, as babeltrace2 finds them" "$(key events_discarded "$S/plain/status")" "$(discarded)"
is "mode of the directory" 700 "$(stat -c %a "$out/plain/ust")"
is "mode of a file" 600 "$(stat -c %a "$out/plain/ust/uid/$(id -u)/$bits-bit/metadata")"

# The index says what the packets say.
for f in "$out/plain/ust/uid/$(id -u)/$bits-bit"/channel0_*; do
	i=${f%/*}/index/${f##*/}.idx
	size=$(stat -c %s "$i")
	is "magic number of the index" c1f1dcc1000000010000000100000048 \
		"$(od -An -v -t x1 -N 16 "$i" | tr -d ' \n')"
	n=$(((size - 16) / 72)) at=0
	is "size of the index" $((16 + n * 72)) "$size"
	while [ $n -gt 0 ]; do
		n=$((n - 1))
		set -- $(od -An -v -t u8 --endian=big -j $((16 + 72 * (n))) -N 72 "$i")
		is "content size" "$3" "$(od -An -v -t u8 -j $(($1 + 48)) -N 8 "$f" | tr -d ' ')"
		is "first time" "$4" "$(od -An -v -t u8 -j $(($1 + 32)) -N 8 "$f" | tr -d ' ')"
		is "number" "$9" "$(od -An -v -t u8 -j $(($1 + 64)) -N 8 "$f" | tr -d ' ')"
		at=$((at + $2 / 8))
	done
	is "all of the file is indexed" "$(stat -c %s "$f")" $at
done

# clear: the files are empty again; what comes then is all there is.
put start "$S/plain/control"
put clear "$S/plain/control"
is "text after clear" '' "$(cat "$S/plain/text")"
is "bytes after clear" 0 "$(key output_bytes "$S/plain/status")"
"$ticker" 500 100 || fail ticker
put 'regenerate metadata' "$S/plain/control"
put stop "$S/plain/control"
same_as_text plain "$out/plain"
is "events after clear" 500 "$(($(wc -l <"$work/files") + $(key events_discarded \
	"$S/plain/status")))"
rmdir "$S/plain" || fail rmdir
read_all "$out/plain" | cmp - "$work/text" || fail "rmdir changed what was recorded"

# text from any place on, where files of one CPU end and those of another continue
session places
put 64 "$c/subbuf_count"
put start "$S/places/control"
first=$(awk '/^Cpus_allowed_list/ { split($2, c, "[-,]"); print c[1] }' /proc/self/status)
last=$(awk '/^Cpus_allowed_list/ { n = split($2, c, "[-,]"); print c[n] }' /proc/self/status)
for cpu in $first $last $first $last $first $last $last $first; do
	taskset -c "$cpu" "$ticker" 3000 5 || fail ticker
	cat "$S/places/text" >"$work/text"
done
size=$(stat -c %s "$work/text")
i=0
while [ $i -lt 40 ]; do
	i=$((i + 1))
	at=$((size * i / 41))
	tail -c "+$at" "$S/places/text" | head -c 200000 >"$work/part"
	tail -c "+$at" "$work/text" | head -c 200000 | cmp - "$work/part" ||
		fail "text from $at on is something else"
done
checks=$((checks + 1))
rmdir "$S/places"

# An active session is removed: what it had is complete.
session active
put start "$S/active/control"
"$ticker" 1000 100 || fail ticker
rmdir "$S/active" || fail rmdir
is "events of a session that was removed while active" 1000 \
	"$(($(read_all "$out/active" | wc -l) + $(discarded)))"

# Files of a bounded size, all of them kept; and a bounded number of them
session files
put 16K "$c/file_size"
put 4K "$c/subbuf_size"
put 64 "$c/subbuf_count"
put start "$S/files/control"
"$ticker" 10000 20 || fail ticker
put stop "$S/files/control"
same_as_text files "$out/files"
is "events in all files" 10000 \
	"$(($(wc -l <"$work/files") + $(key events_discarded "$S/files/status")))"
n=$(ls "$out/files/ust/uid/$(id -u)/$bits-bit" | grep -c 'channel0_[0-9]*_[0-9]*$')
[ "$n" -ge 8 ] || fail "only $n files"
is "an index for each" "$n" "$(ls "$out/files/ust/uid/$(id -u)/$bits-bit/index" |
	grep -c 'channel0_[0-9]*_[0-9]*\.idx$')"
is "larger files than allowed" '' "$(find "$out/files" -name 'channel0_*' -size +16k)"
rmdir "$S/files"

session count
put 16K "$c/file_size"
put 3 "$c/file_count"
put 4K "$c/subbuf_size"
put 64 "$c/subbuf_count"
put start "$S/count/control"
"$ticker" 10000 20 || fail ticker
put stop "$S/count/control"
same_as_text count "$out/count"
for f in $(ls "$out/count/ust/uid/$(id -u)/$bits-bit" | sed -n 's/_[0-9]*$//p' | sort -u); do
	n=$(ls "$out/count/ust/uid/$(id -u)/$bits-bit" | grep -c "^${f}_")
	[ "$n" -le 3 ] || fail "$n files of $f"
done
has "$(tail -n 1 "$work/files")" 'n = 9999'
rmdir "$S/count"

# overwrite is possible, too, and counts what was overwritten before it was written.
session over
put overwrite "$c/loss_mode"
put 4K "$c/subbuf_size"
put 2 "$c/subbuf_count"
put start "$S/over/control"
"$ticker" 30000 0 2 || fail ticker
put stop "$S/over/control"
same_as_text over "$out/over"
is "events and those overwritten" 60000 \
	"$(($(wc -l <"$work/files") + $(key events_overwritten "$S/over/status") + $(key \
	events_discarded "$S/over/status")))"
rmdir "$S/over"

# Who may wait for room gets it.
TRAIL_ALLOW_BLOCKING=1
export TRAIL_ALLOW_BLOCKING
session block
put 4K "$c/subbuf_size"
put 2 "$c/subbuf_count"
put inf "$c/blocking_timeout"
put start "$S/block/control"
timeout 200 "$ticker" 20000 0 || fail "waits for ever"
put stop "$S/block/control"
read_all "$out/block" >"$work/files"
is "events of an application that waits for room" 20000 "$(wc -l <"$work/files")"
is "… none is discarded" 0 "$(key events_discarded "$S/block/status")"
rmdir "$S/block"
unset TRAIL_ALLOW_BLOCKING

# switch_period: what is in an unfinished sub-buffer comes in time.
session period
put 100ms "$c/switch_period"
put start "$S/period/control"
"$ticker" 10 0 || fail ticker
arrived() { [ "$(babeltrace2 "$out/period" 2>/dev/null | wc -l)" = 10 ]; }
within 10 arrived || fail "switch_period does not bring what was recorded"
rmdir "$S/period"

# Two sessions in one directory, and a channel that is removed and made again
session one
mkdir "$S/two"
put "$out/one" "$S/two/output"
put 'tick:*' "$S/two/user/events"
put start "$S/one/control"
refused start "$S/two/control" EEXIST "session 'one' writes\|a trace in this directory"
rmdir "$S/two"
"$ticker" 300 100 || fail ticker
rmdir "$c" || fail "rmdir of a channel"
is "events of a channel that was removed" 300 "$(($(read_all "$out/one" | wc -l) + $(discarded)))"
mkdir "$c" || fail "mkdir of a channel"
put 'tick:*' "$c/events"
"$ticker" 300 100 || fail ticker
rmdir "$S/one" || fail rmdir
is "events of both" 600 "$(($(read_all "$out/one" | wc -l) + $(discarded)))"

# A second start: files are written while the session records, and not only when it stops.
mkdir "$S/again"
put "$out/again" "$S/again/output"
put 'tick:*' "$S/again/user/events"
put 4096 "$S/again/user/channels/channel0/subbuf_size"
put start "$S/again/control"
"$ticker" 10 0 || fail ticker
put stop "$S/again/control"
before=$(key output_bytes "$S/again/status")
put start "$S/again/control"
"$ticker" 1000 0 || fail ticker
grown() { [ "$(key output_bytes "$S/again/status")" -gt "$before" ]; }
within 30 grown || fail "nothing is written after a second start: $(cat "$S/again/status")"
rmdir "$S/again" || fail rmdir

# A path with blanks reads back as it can be written.
mkdir "$S/blank"
put "\"$out/a \\\"b\\\" c\"" "$S/blank/output"
is "a path with blanks" "\"$out/a \\\"b\\\" c\"" "$(cat "$S/blank/output")"
read_back=$(cat "$S/blank/output")
printf '%s\n' "$read_back" >"$S/blank/output" || fail "what was read cannot be written"
[ -d "$out/a \"b\" c" ] || fail "no directory with blanks"
rmdir "$S/blank"

# The default place is in the owner's home.
home=$(getent passwd "$(id -u)" | cut -d : -f 6)
if [ -w "$home" ]; then
	mkdir "$S/home" && put default "$S/home/output"
	d=$(cat "$S/home/output")
	has "$d" "^$home/trailfs-traces/home-[0-9]\{8\}-[0-9]\{6\}$"
	[ -d "$d" ] || fail "no $d"
	put '' "$S/home/output"
	is "no output any more" '' "$(cat "$S/home/output")"
	rmdir "$S/home" "$d"
	rmdir "$home/trailfs-traces" 2>/dev/null
fi
echo "$checks checks"
