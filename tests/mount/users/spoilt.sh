#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A program that writes over the header or the switches of its buffer harms no later program of its
# user, also not over the death of the daemon. Counters that cannot be true do not become the
# session's.
. "$(dirname "$0")/../../lib/mount.sh"
spoiler=$BUILD/tests/mount/users/spoiler
[ -x "$spoiler" ] || skip "there is no test program"
mount_tree

# session NAME [WORD FILE]…: it records spoil:*
session() {
	s=$S/$1
	mkdir "$s" && mkdir "$s/user/channels/channel0" || fail "session $1"
	put 65536 "$s/user/channels/channel0/subbuf_size"
	put 2 "$s/user/channels/channel0/subbuf_count"
	shift
	while [ $# -gt 0 ]; do
		put "$1" "$s/$2"
		shift 2
	done
	put 'spoil:*' "$s/user/channels/channel0/events"
	put start "$s/control"
}
recorded() { key events_recorded "$s/status"; }
discarded() { key events_discarded "$s/status"; }

# --- a store by mistake is a fault, as it is without tracing
session stray
is "stray stores" "fault fault" "$("$spoiler" 3 stray | xargs)"
is "recorded" 3 "$(recorded)"
is "problems" "" "$(grep '^problem' "$s/status")"
rmdir "$s"

# --- intended ones: later programs record all the same, and the status says what happened
for what in header page switches values; do
	session $what
	"$spoiler" 3 $what || fail "$what: $?"
	"$spoiler" 5 || fail "after $what: $?"
	is "$what: recorded" 8 "$(recorded)"
	is "$what: discarded" 0 "$(discarded)"
	is "$what: shown" 8 "$(wc -l <"$s/text")"
	has "$(cat "$s/status")" "^problem channel0: a program of user $(id -u) wrote over"
	has "$(cat "$s/error")" "wrote over the header or the switches"
	put clear "$s/control"
	is "$what: problems after clear" "" "$(grep '^problem' "$s/status")"
	rmdir "$s"
done

# --- a program that records meanwhile goes on
session both
"$spoiler" 3 none "$work/go" >"$work/said" &
pid=$!
within 20 grep -q spoilt "$work/said" || fail "the healthy program"
for what in header page; do
	"$spoiler" 1 $what && "$spoiler" 1 || fail "$what: $?"
done
touch "$work/go"
wait $pid || fail "the healthy program: $?"
is "recorded" 10 "$(recorded)"
is "discarded" 0 "$(discarded)"
rmdir "$s"

# --- buffers per process
session process pid user/channels/channel0/buffering
"$spoiler" 3 page && "$spoiler" 5 || fail "per process: $?"
is "per process" 8 "$(recorded)"
rmdir "$s"

# --- the next daemon knows the buffer, although it has no header
session killed
"$spoiler" 3 page || fail "page: $?"
kill -9 $(daemon_pids)
within 20 daemon_ended || fail "the daemon lives"
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
mount_tree
is "buffers lost" 0 "$(key buffers_lost "$s/status")"
is "recorded after the death of the daemon" 3 "$(recorded)"
"$spoiler" 5 || fail "after the death of the daemon: $?"
is "recorded by the next daemon" 8 "$(recorded)"
is "shown by the next daemon" 8 "$(wc -l <"$s/text")"
rmdir "$s"

# --- counters that cannot be true
for what in tallies heads losses sources; do
	session $what
	"$spoiler" 3 $what || fail "$what: $?"
	# 2 CPUs and more, of 128 KiB: no more events than fit
	most=$((32768 * $(getconf _NPROCESSORS_CONF) + 3))
	[ "$(recorded)" -le $most ] || fail "$what: $(recorded) events recorded"
	[ "$(discarded)" -le $most ] || fail "$what: $(discarded) events discarded"
	n=$(awk '$3 == "*" { print $4 }' "$s/counts")
	[ "$n" -le $most ] || fail "$what: $n in counts"
	n=$(key events_recorded "$MNT/status")
	[ "$n" -le $most ] || fail "$what: $n events recorded by the daemon"
	[ $what = sources ] || has "$(cat "$s/status")" \
		"^problem channel0: a program of user $(id -u) wrote over the counters"
	checks=$((checks + 4))
	rmdir "$s"
done

# --- rings with which nothing could be recorded: later programs get others, and so does one that
# recorded before, with the next start
shown() { grep -c spoil:tick "$s/text"; }
for mode in discard overwrite; do
	for what in heads front ones rings losses; do
		session $what $mode user/channels/channel0/loss_mode
		"$spoiler" 3 $what || fail "$what: $?"
		before=$(shown)
		for cpu in 0 1; do
			taskset -c $cpu "$spoiler" 5 2>/dev/null || "$spoiler" 5 || fail "after $what: $?"
		done
		is "$mode, $what: shown of later programs" $((before + 10)) "$(shown)"
		has "$(cat "$s/error")" "wrote over the counters of its buffer"
		is "$mode, $what: babeltrace2" $((before + 10)) \
			"$(babeltrace2 "$s/trace" 2>/dev/null | grep -c spoil:tick)"
		rmdir "$s"
	done
done
session going
# (This shell may look before the program is there: it must not find what the first one said.)
: >"$work/said"
"$spoiler" 2 none "$work/again" >"$work/said" &
pid=$!
within 20 grep -q spoilt "$work/said" || fail "the healthy program"
"$spoiler" 3 front || fail "front: $?"
put stop "$s/control"
put clear "$s/control"
put start "$s/control"
touch "$work/again"
wait $pid || fail "the healthy program: $?"
is "shown after the next start" 2 "$(shown)"
rmdir "$s"

# --- bytes that are no events, in many small sub-buffers: a look at the last second of a stopped
# session does not walk over them once for each sub-buffer
look() { # WHAT: sets cpu, the time that the daemon needs for `top`
	session "look-$1" 4096 user/channels/channel0/subbuf_size \
		2048 user/channels/channel0/subbuf_count
	"$spoiler" 600000 "$1" || fail "$1: $?"
	put stop "$s/control"
	before=$(key cpu_us "$MNT/status")
	cat "$s/top" >"$work/top" || fail "top: $1"
	cpu=$(($(key cpu_us "$MNT/status") - before))
	rmdir "$s"
}
look none
sound=$cpu
look data
[ "$cpu" -lt $((10 * sound + 100000)) ] || fail "top: $cpu us, $sound us of events"
checks=$((checks + 1))

# --- a trigger on amounts is not hit by them
session amounts discard user/channels/channel0/loss_mode
mkdir "$MNT/triggers/a" "$MNT/triggers/b" || fail triggers
put 'discarded amounts > 1000000' "$MNT/triggers/a/condition"
put 'consumed amounts > 1G' "$MNT/triggers/b/condition"
put notify "$MNT/triggers/a/actions"
put notify "$MNT/triggers/b/actions"
"$spoiler" 1 losses && "$spoiler" 1 heads || fail "$?"
sleep 1
is "hits of discarded" 0 "$(key hits "$MNT/triggers/a/status")"
is "hits of consumed" 0 "$(key hits "$MNT/triggers/b/status")"
rmdir "$s" "$MNT"/triggers/*

# --- counts: whose numbers they are. The other user's may be nonsense.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid 65534 --regid 65534 \
	--clear-groups "$spoiler" 0; then
	session owners
	"$spoiler" 4 || fail "$?"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$spoiler" 3 tallies || fail "$?"
	is "root's" "user channel0 */0 4 0 0 -" "$(grep -F ' */0 ' "$s/counts")"
	is "the sum" "$(awk '$3 == "*" { print $4 }' "$s/counts")" \
		"$(awk '$3 ~ /^\*\// { n += $4 } END { print n }' "$s/counts")"
	has "$(cat "$s/status")" "^problem channel0: a program of user 65534 wrote over the counters"
	rmdir "$s"
fi
echo "$checks checks"
