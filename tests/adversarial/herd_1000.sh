#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 240
#
# A thousand processes register at once, one rule is for all of them, and all come at once when they
# are first hit. Every event is recorded or counted as discarded, exactly; who got no answer the
# first time is asked again in time for its last event; and when they have gone, nothing of them is
# left.
. "$(dirname "$0")/lib.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
count=1000 early=8
[ -z "${SOAK-}" ] || early=20

descriptors() { ls "/proc/$daemon/fd" | wc -l; }
resident() { awk '$1 == "VmRSS:" { print $2 }' "/proc/$daemon/status"; }
registered() { key registrations "$mnt/status"; }

all_here() { [ "$(registered)" = $((count + 1)) ]; }
all_gone() { [ "$(registered)" = 0 ] && [ -z "$(ls "$TRAIL_RUNTIME_DIR/apps")" ] &&
	[ -z "$(ls "$mnt/apps")" ]; }
idle() { [ "$(descriptors)" -le $((fds + 2)) ]; }
# All events but the last one of each process are recorded or counted: so each has had its answer.
all_but_last() {
	[ $(($(key events_recorded "$s/status") + $(key events_discarded "$s/status"))) = $((count * ($1 - 1))) ]
}

one() { # name, events, pause
	rm -f "$TMPDIR/go" "$TMPDIR/last"
	s=$mnt/sessions/$1
	mkdir "$s" && mkdir "$s/user/channels/channel0" || fail "mkdir"
	put discard "$s/user/channels/channel0/loss_mode"
	put 4M "$s/user/channels/channel0/subbuf_size"
	put start "$s/control" 2>/dev/null || fail "start"
	cpu=$(key cpu_us "$mnt/status")
	"$bin/crowd" $count "$2" "$3" "$TMPDIR/go" "$TMPDIR/last" &
	crowd=$!
	within 90 all_here || fail "$(registered) registered"
	[ "$(ls "$mnt/apps" | wc -l)" = $((count + 1)) ] || fail "$(ls "$mnt/apps" | wc -l) in apps"
	put 'crowd:*' "$s/user/events"
	: >"$TMPDIR/go"
	within 90 all_but_last "$2" || fail "not all are counted: $(cat "$s/status")"
	: >"$TMPDIR/last"
	wait $crowd || fail "crowd ended with status $?"
	within 90 all_gone ||
		fail "left: $(registered) registrations, files: $(ls "$TRAIL_RUNTIME_DIR/apps" |
		wc -l)"
	put stop "$s/control"
	alive
	same_text "$s"
	sed -n 's/.* member = \([0-9]*\), n = \([0-9]*\) }$/\1 \2/p' "$TMPDIR/text" >"$TMPDIR/seen"
	expect "events that are no others" "$(sort -u "$TMPDIR/seen" | wc -l)" = \
		"$(wc -l <"$TMPDIR/text")"
	recorded=$(key events_recorded "$s/status") discarded=$(key events_discarded "$s/status")
	echo "$1: recorded $recorded, discarded $discarded, daemon $(($(key cpu_us \
		"$mnt/status") - cpu)) us," \
		"$(resident) kB, $(descriptors) descriptors"
	expect "recorded" "$recorded" = "$(wc -l <"$TMPDIR/text")"
	expect "recorded + discarded" $((recorded + discarded)) = $((count * $2))
	expect "processes whose last event is there" "$(grep -c " $2\$" "$TMPDIR/seen")" = $count
	rmdir "$s" || fail "rmdir"
}

mount_tree
fds=$(descriptors) rss=$(resident)
echo "at first: $rss kB, $fds descriptors"
# With all the time in the world for an answer nothing is lost
TRAIL_ATTACH_TIMEOUT=60000 one patient $early 0
expect "discarded by the patient" "$discarded" = 0
# As programs do: they wait 10 ms, then continue
unset TRAIL_ATTACH_TIMEOUT
one usual 80 100000
within 90 idle || fail "descriptors: $fds before, $(descriptors) after"
# A sanitizer keeps what was freed.
[ "${SAN:-0}" != 0 ] || expect "kB" "$(resident)" -le $((rss + 20000))
umount_tree
