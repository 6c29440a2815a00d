# SPDX-License-Identifier: GPL-2.0-or-later
#
# Checks of rows of docs/lttng-commands.md, for tests/mount/project/lttng_commands.sh, which has the
# rest and what these use.

metadata_offset() {
	sed -n 's/^[[:space:]]*offset = \([0-9]*\);/\1/p' "$(find trace -name metadata)"
}

check_long_names() {
	long=$(printf 'n%.0s' $(seq 200))
	mkdir "$S/$long" && echo "$long:*" >user/events || fail "a long name"
	is "sessions" "$long" "$(ls "$S" | grep nnn)"
	has "$(cat config)" "^events = $long:\*\$"
	has "$(cat status)" "^unmatched .*$long:"
}

# Of two who do not wait, neither loses anything.
check_no_wait() {
	check_no_output
	mkdir "$S/t" "$S/u"
	echo reclaim >control &
	a=$!
	rmdir "$S/t" &
	b=$!
	rmdir "$S/u" &
	wait $a && wait $b && wait $! || fail "a command in the background"
	is "sessions" s "$(ls "$S")"
	is "events" 10 "$(recorded tick:tock)"
}

# A program that is killed within an event leaves no sub-buffer that keeps the others.
check_killed() {
	mkdir user/channels/c
	echo 4k >user/channels/c/subbuf_size
	echo discard >user/channels/c/loss_mode
	echo 'tick:*' >user/channels/c/events
	echo "$work/killed" >output
	echo start >control
	for i in 1 2 3 4 5; do
		"$ticker" 100000000 0 >/dev/null &
		p=$!
		more() { [ "$(key events_recorded user/channels/c/status)" -gt $((i * 100)) ]; }
		within 20 more || fail "nothing is recorded"
		kill -9 $p
		wait $p 2>/dev/null
	done
	sleep 0.1
	so_far=$(key events_recorded user/channels/c/status)
	tick 10
	is "recorded afterwards" $((so_far + 10)) "$(key events_recorded user/channels/c/status)"
	echo stop >control
	is "all are in the files" "$(key events_recorded user/channels/c/status)" \
		"$(recorded tick:tock)"
}

# A sum that 32 bits do not hold
check_wide() {
	mkdir user/maps/m
	echo 'tick:* sum(n), max(n)' >user/maps/m/rules
	echo start >control
	tick 100000
	is "sum" "4999950000 99999" "$(awk '/^#/ { getline; print $1, $2 }' user/maps/m/values)"
}

check_snapshot_action() {
	check_no_output
	mkdir "$MNT/triggers/t" "$work/taken" && echo 'session s started' >"$MNT/triggers/t/condition" &&
		echo "snapshot s mine output $work/taken" >"$MNT/triggers/t/actions" ||
		fail "trigger: $(cat "$MNT/triggers/t/error")"
	echo stop >control
	echo start >control
	taken() { [ -n "$(find "$work/taken" -name metadata)" ]; }
	within 30 taken || fail "no snapshot: $(cat "$MNT/triggers/t/status")"
	has "$(cat "$MNT/triggers/t/status")" '^action 1 executed 1 failed 0'
	rmdir "$MNT/triggers/t"
}

check_map() {
	mkdir user/maps/m user/maps/p
	echo 'tick:* by $event topk(3)' >user/maps/m/rules
	echo 'tick:* by $provider' >>user/maps/m/rules
	echo 'tick:* by $ctx.vpid, $ctx.vuid, $ctx.cpu_id' >user/maps/p/rules
	echo 100 >user/maps/p/max_keys
	echo start >control
	tick 10
	tick 20
	is "by name and by provider" "30 tick:tock 30 tick" \
		"$(awk '/^#/ { getline; print $1, $2 }' user/maps/m/values | tr '\n' ' ' | sed 's/ $//')"
	is "of two programs" 30 "$(awk '/^#/ { on = 1; next } on { n += $1; id[$2] = 1 }
		END { for (i in id) k++; print k == 2 ? n : "programs: " k }' user/maps/p/values)"
	has "$(cat user/maps/m/values.json)" '"key":{"$provider":"tick"},"events":30'
	has "$(cat user/maps/m/values.sql)" "tick:tock"
	is "by key" "$(awk '/^#/ { on = 1; next } on { print $2 }' user/maps/p/values | sort -n)" \
		"$(awk '/^#/ { on = 1; next } on { print }' user/maps/p/values | sort -n -k2 | awk '{ print $2 }')"
}

check_glob() {
	mkdir "$S/web1" "$S/web2"
	for s in "$S"/*; do echo 'tick:*' >"$s/user/events"; done
	for s in "$S"/web*; do echo start >"$s/control"; done
	is "started" 2 "$(cat "$S"/*/status | grep -c '^state active')"
	for s in "$S"/web*; do echo stop >"$s/control"; done
	is "stopped" 3 "$(cat "$S"/*/status | grep -c '^state inactive')"
	rmdir "$S"/web* || fail "destroy --glob"
	is "left" s "$(ls "$S")"
}

check_trace_format() {
	echo 2 >ctf_version || fail "ctf_version: $(cat error)"
	check_no_output
	has "$(head -c 300 "$(find trace -name metadata)")" '"type":"preamble"'
	has "$(cat config)" '^ctf_version = 2$'
}

check_save() {
	echo 'tick:* if n > 1' >user/events
	echo vpid >user/contexts
	for s in "$S"/*; do cat "$s/config" >"$work/${s##*/}.ini" || fail save; done
	mkdir "$S/new-name" && cat "$work/s.ini" >"$S/new-name/config" || fail load
	cmp "$work/s.ini" "$S/new-name/config" || fail "another session was loaded"
	cd / && rmdir "$S/s" && mkdir "$S/s" && cat "$work/s.ini" >"$S/s/config" ||
		fail "load --force"
	is "rules" 'tick:* if n > 1' "$(cat "$S/s/user/events")"
	mkdir "$MNT/triggers/t" && echo 'session s started' >"$MNT/triggers/t/condition"
	set -C
	cat "$S/s/config" >|"$work/s.ini" || fail "save --force"
	set +C
	! grep -q 'trigger\|started' "$work/s.ini" || fail "a trigger in the session's file"
	rmdir "$MNT/triggers/t"
}

# The system's clock is an hour ahead of what it was when the session began: so it looks to a daemon
# that finds the session with an offset of an hour ago. (A new measurement may well come out the
# same to the nanosecond.)
check_regenerate() {
	check_no_output
	cd /
	kill -9 $(daemon_pids)
	within 10 daemon_ended
	kept=$work/state/sessions/s/session
	offset=$(sed -n 's/^clock_offset //p' "$kept")
	past=$((offset - 3600000000000))
	sed -i "s/^clock_offset .*/clock_offset $past/" "$kept"
	mount_tree -o tz=UTC
	cd "$S/s" || fail "the session is gone"
	is "as kept" "$past" "$(metadata_offset)"
	echo 'regenerate metadata' >control || fail "regenerate metadata"
	moved=$(($(metadata_offset) - offset))
	# (The clock may be set, or slewed, while this runs; not by a minute.)
	[ "${moved#-}" -lt 60000000000 ] ||
		fail "the offset was not measured again: $moved ns from the first"
	if command -v babeltrace2 >/dev/null; then
		TZ=UTC babeltrace2 trace | cmp - text || fail "text and trace have other times"
	fi
	echo 'regenerate statedump' >control || fail "regenerate statedump"
	echo stop >control
	is "needs an active session" EBUSY "$(tool open control w write 'regenerate statedump\n')"
	echo 'regenerate metadata' >control || fail "regenerate metadata of an inactive session"
}
