# SPDX-License-Identifier: GPL-2.0-or-later
#
# The load of tests in which the daemon is killed, or replaced by another program, again and again:
# programs that record, and readers of all kinds, none of which may notice. After mount.sh:
#
#   begin_load   on a tree that is mounted. Then TRAILFS starts with `4<&- 5<&- 6<&-`: a daemon
#                that had files of its own mount open would keep the mount
#   check_load   fails if a reader or writer has ended
#   end_load     ends all, and compares what each got
#   kill_load    for the test's exit
#
#   mark         before each kill or upgrade: pauses are counted from there
#
#   LOAD         which parts beside sessions and their text: "output relay fast trigger copy"

kernel_since 6.9 ||
	skip "before Linux 6.9 reads that wait may fail with EINTR: vm/undying.sh has what holds there"

. "$top/tests/lib/relay.sh"
ticker=$BUILD/tests/lib/ticker
: "${LOAD=output relay fast trigger copy}"
background=

# In seconds since the boot, as the program pauses has it.
mark() { read -r up rest </proc/uptime && echo "$up" >>"$work/marks"; }

with() { case " $LOAD " in *" $1 "*) ;; *) false ;; esac; }

# in_background NAME COMMAND…: its standard output and error are $work/NAME and $work/NAME.err
in_background() {
	name=$1
	shift
	"$@" >"$work/$name" 2>"$work/$name.err" &
	background="$background $!"
	eval "pid_$name=$!"
}
# over_and_over NAME COMMAND…: until end_load; it ends earlier only if the command fails
over_and_over() {
	name=$1
	shift
	(while [ -e "$work/loops" ]; do "$@" || exit 1; done) >"$work/$name.out" 2>"$work/$name.err" &
	background="$background $!"
	loops="$loops $!"
}

kill_load() {
	kill $background 2>/dev/null
	stop_relay
}

# stopped COMMAND…: in the background; does nothing until SIGCONT, so that sessions can be set up
# for its pid
stopped() {
	exec sh -c 'kill -STOP $$; exec "$@"' sh "$@"
}

# record SESSION SIZE COUNT LOSS_MODE [OUTPUT]: the events of the program $pid_ticks
record() {
	mkdir "$S/$1" "$S/$1/user/channels/c" || fail mkdir
	put "$2" "$S/$1/user/channels/c/subbuf_size"
	put "$3" "$S/$1/user/channels/c/subbuf_count"
	put "$4" "$S/$1/user/channels/c/loss_mode"
	[ -z "${5-}" ] || put "$5" "$S/$1/output"
	put 'tick:*' "$S/$1/user/channels/c/events"
	put "$pid_ticks" "$S/$1/user/track/vpid"
	put start "$S/$1/control"
}

in_the_mount() {
	ls -l channels/c >/dev/null && [ "$(cat channels/c/events)" = 'tick:*' ] &&
		[ "$(pwd -P)" = "$S/s/user" ]
}
# (Of a session that records, what export/ltt/ and export/lket/ show ends with the daemon, and so does
# an image of trace/ that the keeper does not have: "Recovery" in trailfs(8).)
list_all() {
	ls -lR "$S/s" "$S/idle" >/dev/null 2>"$work/list" ||
		! grep -v '/s/\(trace\|export/l\)[^ ]*: Stale file handle$' "$work/list" >&2
}
# remove_copy DIRECTORY: of trace/, whose directories are not to be written
remove_copy() {
	[ ! -d "$1" ] || chmod -R u+w "$1"
	rm -rf "$1"
}
copy_idle() {
	remove_copy "$work/copy"
	copy_image "$S/idle/trace" "$work/copy" && diff -r "$work/copy" "$work/idle"
}
# Made and removed: each takes effect once
make_and_remove() {
	mkdir "$S/once" && echo 'tick:*' >"$S/once/user/events" &&
		echo start >"$S/once/control" && echo stop >"$S/once/control" && rmdir "$S/once"
}
# A trace of a session that records: a copy of it has events from the first one on, each once. (The
# marks of CPUs are not taken at one instant: an event near its end may be after that of its CPU, and
# later ones before that of another CPU.) The image may be replaced only because cp had to wait for longer than it lasts, and cp says that.
copies=0
copy_live() {
	remove_copy "$work/live"
	if cp -r "$S/s/trace" "$work/live" 2>"$work/live.cp"; then
		echo whole
		copies=$((copies + 1))
		[ $((copies % 10)) != 1 ] || in_order "$work/live"
	else
		grep -v 'Stale file handle\|replaced while being copied' "$work/live.cp" >&2 &&
			return 1
		echo stale
	fi
}
in_order() {
	[ -n "$babeltrace" ] || return 0
	babeltrace2 "$1" 2>"$work/live.bt" | sed -n 's/.* n = \([0-9]*\) .*/\1/p' |
		awk 'NR == 1 ? $1 != 0 : $1 <= n { print "after " n " comes " $1; exit 1 } { n = $1 }' >&2
}
# is_whole TRACE: it has the numbers from 0 on, in order, each once
is_whole() {
	[ -n "$babeltrace" ] || return 0
	babeltrace2 "$1" 2>"$work/live.bt" | sed -n 's/.* n = \([0-9]*\) .*/\1/p' |
		awk '$1 != NR - 1 { print "after " NR - 1 " comes " $1; exit 1 }' >&2
}

begin_load() {
	babeltrace=$(command -v babeltrace2)
	: >"$work/marks"
	# A session that does not record any more: what is open of its trace continues, too
	mkdir "$S/idle" || fail mkdir
	put 'tick:*' "$S/idle/user/events"
	put start "$S/idle/control"
	"$ticker" 2000 0 >/dev/null || fail ticker
	put stop "$S/idle/control"
	copy_image "$S/idle/trace" "$work/idle"
	mkdir "$S/idle/snapshots/one"

	in_background ticks stopped "$ticker" 0 300
	within 20 grep -q '^State:.T' "/proc/$pid_ticks/status" || fail "a program does not stop"
	record s 8M 16 discard
	! with output || record written 256K 8 discard "$work/written"
	if with relay && command -v lttng-relayd >/dev/null && command -v babeltrace2 >/dev/null; then
		start_relay
		record relayed 256K 8 discard "$relay_url"
	else
		LOAD=$(echo "$LOAD" | sed s/relay//)
	fi
	if with trigger; then
		mkdir "$MNT/triggers/t" || fail mkdir
		put "event user tick:tock if \$ctx.vpid == $pid_ticks capture n" \
			"$MNT/triggers/t/condition"
		put notify "$MNT/triggers/t/actions"
		in_background notices cat "$MNT/triggers/t/notifications"
		within 20 grep -q '^readers 1$' "$MNT/triggers/t/status" || fail "no reader"
	fi
	kill -CONT "$pid_ticks"
	! with fast || {
		mkdir "$S/fast" "$S/fast/user/channels/c" || fail mkdir
		put overwrite "$S/fast/user/channels/c/loss_mode"
		put 'tick:*' "$S/fast/user/channels/c/events"
		for i in 1 2 3 4; do
			in_background "fast$i" stopped nice "$ticker" 0 0
		done
		fast="$pid_fast1 $pid_fast2 $pid_fast3 $pid_fast4"
		for p in $fast; do
			within 20 grep -q '^State:.T' "/proc/$p/status" ||
				fail "a program does not stop"
		done
		put "$(printf '%s\n' $fast)" "$S/fast/user/track/vpid"
		put start "$S/fast/control"
		kill -CONT $fast
	}

	# ---- readers ----
	in_background tail tail -c +1 -f ---disable-inotify -s 0.05 "$S/s/text"
	in_background pipe cat "$S/s/pipe"
	in_background json cat "$S/s/pipe.json"
	# A stream is there once its CPU has had an event: the program visits each.
	allowed=$(taskset -cp "$pid_ticks" | sed 's/.*: //')
	has_stream() { ls "$S"/s/user/channels/c/streams/*/cpu"$cpu" >>"$work/streams" 2>/dev/null; }
	for cpu in $(seq 0 $(($(nproc --all) - 1))); do
		taskset -cp "$cpu" "$pid_ticks" >"$work/taskset" 2>&1 || continue
		within 20 has_stream || fail "no stream of CPU $cpu"
	done
	taskset -cp "$allowed" "$pid_ticks" >"$work/taskset" || fail taskset
	streams=
	for cpu in $(cat "$work/streams"); do
		in_background "stream_${cpu##*/}" dd bs=1000 status=none if="$cpu"
		eval "streams=\"\$streams \$pid_stream_${cpu##*/}\""
	done
	in_background pauses "$BUILD/tests/lib/pauses" "$S/s/status"
	: >"$work/loops"
	loops=
	here=$PWD
	cd "$S/s/user" || fail cd
	over_and_over shell in_the_mount
	cd "$here" || fail cd
	over_and_over ls list_all
	over_and_over copy copy_idle
	over_and_over once make_and_remove
	! with copy || over_and_over live copy_live
	# Files that stay open: a read now, the rest at the end
	exec 4<"$S/idle/text" 5<"$(find "$S/idle/snapshots/one" -name metadata)" 6<"$S/s/config"
	dd bs=1000 count=3 <&4 >"$work/text.open" 2>/dev/null
	dd bs=100 count=1 <&5 >"$work/metadata.open" 2>/dev/null
	dd bs=100 count=1 <&6 >"$work/config.open" 2>/dev/null
	cat "$S/s/config" >"$work/config.text"
}

check_load() {
	for p in $background; do
		kill -0 "$p" 2>/dev/null ||
			fail "$1: a reader has ended: $(head -n 3 "$work"/*.err "$work"/*.out)"
	done
}

# numbers DIRECTORY…: the numbers n of all events in traces, each once
numbers() {
	for trace; do
		"$BUILD/tools/trail-recover" -c "$trace" >>"$work/cut" || fail "trail-recover -c $trace"
		[ -z "$(find "$trace" -name metadata)" ] || read_relay "$trace"
	done | sed 's/.* n = \([0-9]*\) .*/\1/' | sort -un | wc -l
}

# Each number at most once. (What was not read when a daemon was killed is lost. Hits on two CPUs
# at about the same time may be in another order.)
check_notices() {
	sed -n 's/.* n = \([0-9]*\) .*/\1/p' "$work/notices" >"$work/heard"
	sort -n "$work/heard" | uniq -d | head -n 3 | grep . && fail "notifications are doubled"
	grep -v '^\[.*\] t { n = [0-9]* }$\|^# t: ' "$work/notices" | head -n 3 | grep . &&
		fail "such lines are no notifications"
	[ -s "$work/heard" ] || fail "no notifications"
	[ $((heard + said)) -ge "$told" ] ||
		fail "$heard notifications, $said said to be lost, but $told sent"
	checks=$((checks + 1))
}
# What was not read when a daemon was killed is lost, and lines say how many that were. (A reader may
# get a hit that is not in the state directory yet: then the next daemon does not know of it.)
all_heard() {
	heard=$(grep -c '^\[.*n = ' "$work/notices")
	said=$(sed -n 's/^# t: \([0-9]*\) notifications lost$/\1/p' "$work/notices" |
		awk '{ n += $1 } END { printf "%.0f", n }')
	told=$(sed -n 's/^action .*executed \([0-9]*\).*/\1/p' "$MNT/triggers/t/status")
	[ $((heard + said)) -ge "$told" ]
}

end_load() {
	rm "$work/loops"
	for p in $loops; do
		wait "$p" || fail "a loop had an error: $(head -n 3 "$work"/*.err "$work"/*.out)"
	done
	kill "$pid_ticks"
	wait "$pid_ticks"
	emitted=$(tr -dc 0-9 <"$work/ticks")
	! with fast || {
		kill $fast
		wait $fast
	}
	for s in s written relayed fast; do
		[ ! -d "$S/$s" ] || put stop "$S/$s/control"
	done
	wait "$pid_pipe" || fail "cat pipe: $(cat "$work/pipe.err")"
	wait "$pid_json" || fail "cat pipe.json: $(cat "$work/json.err")"
	for p in $streams; do
		wait "$p" || fail "a reader of streams/: $(cat "$work"/stream_*.err)"
	done
	cat "$S/s/text" >"$work/text" || fail "cat text"
	caught_up() { [ "$(wc -c <"$work/tail")" -ge "$(wc -c <"$work/text")" ]; }
	within 60 caught_up ||
		fail "tail -f has $(wc -c <"$work/tail") of $(wc -c <"$work/text") bytes"
	! with trigger || within 60 all_heard
	kill "$pid_tail" "$pid_pauses" ${pid_notices-}
	background=

	is "discarded" 0 "$(key events_discarded "$S/s/status")"
	is "lines of text" "$emitted" "$(grep -vc '^WARNING: Tracer ' "$work/text")"
	is "numbers in text, in order" "$emitted" "$(sed -n 's/.* n = \([0-9]*\) .*/\1/p' \
		"$work/text" | awk '$1 != NR - 1 { bad = 1 } END { print bad ? "no" : NR }')"
	mkdir "$work/packets" && cp "$(find "$S/s/trace" -name metadata)" "$work/packets" ||
		fail "metadata of trace/"
	for f in "$work"/stream_cpu?; do
		cp "$f" "$work/packets/c_${f##*cpu}"
	done
	is_whole "$work/packets" || fail "streams/ has other events than text"
	[ -z "$babeltrace" ] || is "events of streams/" "$emitted" \
		"$(babeltrace2 "$work/packets" 2>/dev/null | wc -l)"
	cmp "$work/tail" "$work/text" || fail "tail -f text has other bytes than text"
	cmp "$work/pipe" "$work/text" || fail "pipe has other bytes than text"
	cat "$S/s/export/json" | cmp - "$work/json" || fail "pipe.json has other bytes than export/json"
	cat <&4 >>"$work/text.open" || fail "an open text"
	cmp "$S/idle/text" "$work/text.open" || fail "a text that stayed open"
	cat <&5 >>"$work/metadata.open" || fail "a snapshot that is open"
	cmp "$(find "$S/idle/snapshots/one" -name metadata)" "$work/metadata.open" ||
		fail "a snapshot that stayed open"
	cat <&6 >>"$work/config.open" || fail "a config that is open"
	sed '/^active = yes$/d' "$work/config.text" >"$work/config.inactive"
	cmp "$work/config.text" "$work/config.open" || fail "a config that stayed open"
	exec 4<&- 5<&- 6<&-

	! with trigger || check_notices
	! with fast || {
		over=$(key events_overwritten "$S/fast/status")
		lost=$(key events_discarded "$S/fast/status")
		is "events at full speed, overwritten ($over) and discarded ones ($lost)" \
			"$(cat "$work"/fast? | tr -dc '0-9\n' | awk '{ n += $1 } END { printf "%.0f", n }')" \
			$(($(grep -vc '^WARNING: Tracer ' "$S/fast/text") + over + lost))
	}
	! with output || {
		all_written "$S/written"
		lost=$(key events_discarded "$S/written/status")
		got=$(numbers "$work/written")
		is "events of the output, and discarded ones ($lost)" "$emitted" $((got + lost))
		is "… each once" "$got" "$(read_relay "$work/written" | wc -l)"
	}
	! with relay || {
		drained() { grep -q '^pending_bytes 0$' "$S/relayed/status"; }
		within 60 drained || fail "not all is on the relay: $(cat "$S/relayed/status")"
		lost=$(key events_discarded "$S/relayed/status")
		resent=$(key relay_resent_packets "$S/relayed/status")
		rmdir "$S/relayed"
		got=$(numbers "$relay_out/$(hostname)"/relayed-*/)
		is "events on the relay, and discarded ones ($lost)" "$emitted" $((got + lost))
	}
	for f in "$work"/*.err; do
		[ ! -s "$f" ] || fail "$f: $(head -n 3 "$f")"
	done
	stop_relay
}

# The longest read of a reader of `status` after each mark: `p50 p99 max` in ms
longest_reads() {
	awk 'FILENAME ~ /marks$/ { mark[++n] = $1 * 1000; most[n] = 2; next }
		{
			end = $1 + $2
			# /proc/uptime has 1/100 s.
			while (at < n && mark[at + 1] - 10 <= end)
				at++
			if (at && $2 > most[at])
				most[at] = $2
		}
		END { for (i = 1; i <= n; i++) print most[i] }' "$work/marks" "$work/pauses" |
		sort -n | awk '{ v[NR] = $1 } END {
			if (NR)
				printf "p50 %.0f p99 %.0f max %.0f ms", v[int((NR + 1) / 2)],
					v[int(NR * 0.99 + 0.99)], v[NR]
		}'
}

# What cannot be compared, and is counted in place of that
summary() {
	printf ', pauses %s' "$(longest_reads)"
	! with trigger || printf ', %d notifications and %d said to be lost, of %d events' \
		"$(wc -l <"$work/heard")" "$said" "$emitted"
	! with relay || printf ', %d packets sent to the relay again' "$resent"
	! with copy || printf ', %d copies of a trace in progress are whole, %d ended with ESTALE' \
		"$(grep -c whole "$work/live.out")" "$(grep -c stale "$work/live.out")"
}
