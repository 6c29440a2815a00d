#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# docs/lttng-commands.md, row by row: the last column names a check below, or another test. Where
# lttng is installed, its commands and options are all in the table.
. "$(dirname "$0")/../../lib/mount.sh"
table=$top/docs/lttng-commands.md
ticker=$BUILD/tests/lib/ticker
mount_tree -o tz=UTC

. "$top/tests/lib/lttng_checks.sh"

fresh() {
	cd /
	for d in "$S"/*; do [ ! -d "$d" ] || rmdir "$d" || fail "rmdir $d"; done
	mkdir "$S/s" && cd "$S/s" || fail "mkdir"
}

recorded() {
	grep -c "$1" "$S/s/text"
}

# tick N: that many events tick:tock, of level debug_line (13)
tick() {
	"$ticker" "$1" 0
}

check_create() {
	name=auto-$(date +%Y%m%d-%H%M%S)
	mkdir "$S/web" "$S/$name" || fail "create"
	is "sessions" "$name s web" "$(ls "$S" | tr '\n' ' ' | sed 's/ $//')"
	cd "$S/web" || fail "set-session"
	echo 'tick:*' >user/events
	is "the session of the path" "tick:*" "$(cat "$S/web/user/events")"
	is "and no other" "" "$(cat "$S/s/user/events")"
}

check_log() {
	echo 'trail:log' >user/events
	echo start >control
	echo 'a line of text' >"$MNT/log" || fail "log"
	printf 'two\nlines\n' >"$MNT/log" || fail "lines of the log"
	echo stop >control
	is "lines of the log" 3 "$(recorded 'trail:log')"
	is "its text" 1 "$(recorded 'msg = "a line of text"')"
}

check_url() {
	echo "file://$work/by_url" >output || fail "output: $(cat error)"
	is "the path" "$work/by_url" "$(cat output)"
	echo "file://relative" >output 2>/dev/null && fail "a relative path"
	echo "file://$work/copies" >snapshot_outputs || fail "snapshot_outputs: $(cat error)"
	is "the place of copies" "$work/copies" "$(cat snapshot_outputs)"
}

check_help() {
	has "$(cat "$MNT/README")" 'mkdir sessions'
	has "$(cat control)" '^start$'
}

check_version() {
	has "$(cat "$MNT/version")" '^trailfs [0-9]'
}

check_no_output() {
	echo 'tick:*' >user/events
	echo start >control
	tick 10
	is "in the buffers" 10 "$(recorded tick:tock)"
}

check_snapshot_mode() {
	mkdir user/channels/channel0
	echo 4k >user/channels/channel0/subbuf_size
	echo 2 >user/channels/channel0/subbuf_count
	check_no_output
	tick 5000
	[ "$(key events_overwritten status)" -gt 0 ] || fail "it does not overwrite"
	mkdir snapshots/x || fail "snapshot"
	checks=$((checks + 1))
}

check_live() {
	echo 'tick:*' >user/events
	exec 5<pipe     # (opened before the start, however busy the machine is)
	timeout 200 cat <&5 >"$work/pipe" &
	reader=$!
	exec 5<&-
	echo start >control
	tick 20
	echo stop >control
	wait $reader || fail "the pipe does not end"
	is "as it happens" 20 "$(grep -c tick:tock "$work/pipe")"
}

check_destroy() {
	mkdir "$S/t"
	check_no_output
	cd /
	rmdir "$S/s" || fail "destroy of an active session"
	is "it is gone" t "$(ls "$S")"
	mkdir "$S/u"
	rmdir "$S"/* || fail "destroy --all"
	is "all are gone" "" "$(ls "$S")"
}

check_start() {
	echo 'tick:*' >user/events
	tick 1
	echo start >control
	tick 2
	echo stop >control
	tick 4
	echo start >control
	tick 8
	echo stop >control
	tick 16
	is "what was recorded while it was active" 10 "$(recorded tick:tock)"
	is "status" inactive "$(key state status)"
	is "stop twice" EBUSY "$(tool open control w write 'stop\n')"
}

check_channel() {
	mkdir user/channels/a user/channels/b
	echo 'tick:*' >user/channels/a/events
	echo 'tick:*' >user/channels/b/events
	echo 'tick:tock' >user/events
	is "the shortcut" 'tick:tock' "$(cat user/channels/channel0/events)"
	rmdir user/channels/channel0
	echo start >control
	tick 1
	echo 0 >user/channels/b/enabled
	tick 2
	echo 1 >user/channels/b/enabled
	tick 4
	is "enabled all the time" 7 "$(key events_recorded user/channels/a/status)"
	is "disabled in between" 5 "$(key events_recorded user/channels/b/status)"
	rmdir user/channels/b || fail "remove a channel"
	is "left" a "$(ls user/channels)"
}

check_loss_mode() {
	for mode in discard overwrite; do
		mkdir user/channels/$mode
		echo 4k >user/channels/$mode/subbuf_size
		echo 2 >user/channels/$mode/subbuf_count
		echo $mode >user/channels/$mode/loss_mode
		echo 'tick:*' >user/channels/$mode/events
	done
	echo start >control
	tick 5000
	[ "$(key events_discarded user/channels/discard/status)" -gt 1000 ] ||
		fail "nothing is discarded"
	[ "$(key events_overwritten user/channels/overwrite/status)" -gt 1000 ] ||
		fail "nothing is overwritten"
	is "not both" 0 "$(key events_overwritten user/channels/discard/status)"
}

check_buffering() {
	for mode in user process; do
		mkdir user/channels/$mode
		echo $mode >user/channels/$mode/buffering
		echo 'tick:*' >user/channels/$mode/events
	done
	echo start >control
	tick 1
	tick 1
	is "one owner" "$(id -u)" "$(ls user/channels/user/streams)"
	is "two processes" 2 "$(ls user/channels/process/streams | wc -l | tr -d ' ')"
}

check_geometry() {
	mkdir user/channels/c
	echo 64k >user/channels/c/subbuf_size
	echo 8 >user/channels/c/subbuf_count
	is "size" 65536 "$(cat user/channels/c/subbuf_size)"
	is "count" 8 "$(cat user/channels/c/subbuf_count)"
	echo 'tick:*' >user/channels/c/events
	echo start >control
	is "fixed after the start" EBUSY "$(tool open user/channels/c/subbuf_size w write '4k\n')"
}

check_event() {
	printf 'tick:tock\nnone:such\n' >>user/events
	echo start >control
	tick 3
	is "by name" 3 "$(recorded tick:tock)"
	echo '*' >user/events
	tick 4
	echo "all of them" >"$MNT/log"
	is "all" 7 "$(recorded tick:tock)"
	is "all" 1 "$(recorded trail:log)"
}

check_filter() {
	echo 'tick:* if n >= 3 && n < 5' >user/events
	echo start >control
	tick 10
	is "filter" 2 "$(recorded tick:tock)"
}

check_exclude() {
	printf '* except tick:*,other:x\n' >user/events
	echo start >control
	tick 10
	echo hello >"$MNT/log"
	is "excluded" 0 "$(recorded tick:tock)"
	is "not excluded" 1 "$(recorded trail:log)"
}

check_loglevel() {
	level=$("$ticker" 0 10000 >/dev/null & p=$!
		within 10 grep -q '^tick:tock ' "$MNT/available/user/tracepoints"
		sed -n 's/^tick:tock //p' "$MNT/available/user/tracepoints"
		kill $p
		wait $p)
	for rule in "<= $level" "$level" "<= emerg" "emerg"; do
		echo "tick:* loglevel $rule" >user/events
		echo start >control
		tick 5
		echo stop >control
		case $rule in *emerg) expected=0 ;; *) expected=5 ;; esac
		is "loglevel $rule" $expected "$(recorded tick:tock)"
		echo clear >control
	done
}

check_disable_event() {
	printf 'tick:*\ntick:tock if n == 0\n' >user/events
	echo start >control
	tick 3
	printf '!tick:*\n~tick:*\n' >>user/events
	is "reads back" '~tick:*' "$(grep '^~' user/events)"
	tick 5
	is "one rule is off, the other is not" 4 "$(recorded tick:tock)"
	echo '!tick:tock' >>user/events
	tick 5
	is "removed" 4 "$(recorded tick:tock)"
	echo 'tick:*' >>user/events
	echo >user/events
	tick 5
	is "all" 4 "$(recorded tick:tock)"
	is "none is left" "" "$(cat user/events)"
}

check_context() {
	grep -v '^perf:' "$MNT/available/user/contexts" >user/contexts ||
		fail "some context is refused"
	grep -v '^perf:' "$MNT/available/user/contexts" | cmp - user/contexts ||
		fail "contexts do not read back"
	echo 'vpid procname' >user/contexts
	echo 'tick:*' >user/events
	echo start >control
	tick 1
	has "$(cat text)" 'vpid = [0-9]*, procname = "ticker"'
	is "fixed after the start" EBUSY "$(tool open user/contexts w write 'vtid\n')"
}

check_track() {
	echo 'tick:*' >user/events
	echo start >control
	tick 1
	echo '1 2' >user/track/vpid
	tick 2
	echo '*' >user/track/vpid
	tick 4
	echo >user/track/vpid
	tick 8
	echo '*' >user/track/vpid
	id -un >user/track/vuid
	is "by name" "$(id -u)" "$(cat user/track/vuid)"
	tick 16
	echo "!$(id -u)" >>user/track/vuid
	tick 32
	id -g >user/track/vgid
	is "tracked, all, by user" 21 "$(recorded tick:tock)"
	printf '1\n2\n' >user/track/vpid
	echo '!1' >>user/track/vpid
	is "untrack" 2 "$(cat user/track/vpid)"
}

check_snapshot() {
	check_no_output
	echo snapshot >control
	mkdir snapshots/mine
	is "two" 2 "$(ls snapshots | wc -l | tr -d ' ')"
	cp -r snapshots/mine "$work/mine" || fail "cp"
	find "$work/mine" -name metadata | grep -q . || fail "no metadata in the copy"
	rm -rf "$work/mine"
	echo 1M >snapshot_max_size
	is "max_size" 1048576 "$(cat snapshot_max_size)"
	cd / && rmdir "$S/s" && mkdir "$S/s" && cd "$S/s" || fail "another session"
	echo "$work/snapshot_output" >output
	is "output" "$work/snapshot_output" "$(cat output)"
	echo 'tick:*' >user/events
	echo start >control
	"$BUILD/tests/lib/ticker" 10 0
	mkdir snapshots/there
	there() { [ -d "$(echo "$work"/snapshot_output/snapshots/there-*)" ]; }
	within 20 there || fail "no copy in the output: $(cat status)"
}

check_clear() {
	check_no_output
	for s in "$S"/*; do echo clear >"$s/control"; done
	is "cleared" "" "$(cat text)"
	tick 3
	is "continues" 3 "$(recorded tick:tock)"
}

check_list() {
	mkdir "$S/t" user/channels/c
	echo 'tick:*' >user/channels/c/events
	is "sessions" "s t" "$(ls "$S" | tr '\n' ' ' | sed 's/ $//')"
	has "$(ls)" '^user$'
	has "$(cat config)" '^name = c$'
	has "$(cat config)" '^events = tick:\*$'
	"$ticker" 0 10000 >"$work/ticks" &
	p=$!
	within 10 grep -q '^tick:tock ' "$MNT/available/user/tracepoints" ||
		fail "no tracepoint is listed"
	has "$(cat "$MNT/available/user/fields")" '^tick:tock { int32 thread; int64 n }'
	kill $p
	wait $p || fail "ticker: $?"
}

check_status() {
	check_no_output
	has "$(cat status)" '^state active$'
	has "$(cat user/channels/channel0/status)" '^events_recorded 10$'
	awk 'NF < 2 { bad = 1 } END { exit bad }' status || fail "not key value"
}

check_view() {
	check_no_output
	is "text" 10 "$(grep -c tick:tock text)"
	command -v babeltrace2 >/dev/null || return 0
	babeltrace2 trace >"$work/seen" || fail babeltrace2
	is "a viewer" 10 "$(grep -c tick:tock "$work/seen")"
	copy_image trace "$work/saved"
	babeltrace2 "$work/saved" >"$work/seen" || fail "babeltrace2 of a copy"
	is "a saved trace" 10 "$(grep -c tick:tock "$work/seen")"
	rm -rf "$work/saved"
}

check_kernel() {
	[ -d kernel ] ||
		{ no_kernel=$(grep ^kernel "$MNT/version"); return 0; }
	[ -s "$MNT/available/kernel/tracepoints" ] || fail "no tracepoints are listed"
	mkdir kernel/channels/calls
	echo tid >kernel/contexts
	echo cpu_id >>kernel/contexts
	is "a context that tracefs does not have" EOPNOTSUPP \
		"$(tool open kernel/contexts w write 'preemptible\n')"
	echo sched_switch >>kernel/events
	call=$(grep -x 'openat\|open' "$MNT/available/kernel/syscalls" | head -n 1)
	[ -z "$call" ] || echo "syscall:entry:$call" >>kernel/channels/calls/events
	echo $$ >>kernel/track/pid
	echo start >control
	cat /dev/null
	sleep 0.05
	echo stop >control
	[ "$(recorded sched_switch)" -gt 0 ] || fail "no event of the kernel"
	[ -z "$call" ] || [ "$(recorded syscall_entry_)" -gt 0 ] || fail "no system call"
	echo 1 >>kernel/track/pid
	echo "!$$" >>kernel/track/pid
	is "untrack" 1 "$(cat kernel/track/pid)"
	checks=$((checks + 1))
}

# --- the table
rows() {
	awk -F ' *[|] *' '/^## / { command = substr($0, 4) }
		/^[|]/ && $2 != "LTTng" && $2 !~ /^-/ {
			gsub(/\\[|]/, " ")
			print command "\t" $(NF - 1)
		}' "$table"
}

[ "$(rows | wc -l)" -gt 100 ] || fail "no table: $(rows | wc -l) rows"
missing=$(rows | grep -c '	missing$')
for name in $(rows | cut -f 2 | sort -u); do
	case $name in
	missing | none) ;;
	vm/*.sh)
		[ -x "$top/tests/$name" ] || fail "there is no tests/$name"
		;;
	*.sh)
		[ -n "$(find "$top/tests/mount" -name "$name" -perm -u+x)" ] ||
			fail "there is no tests/mount/*/$name"
		;;
	*)
		command -v "check_$name" >/dev/null ||
			fail "the table names a check '$name', which there is not"
		before=$checks
		fresh
		"check_$name"
		[ $checks -gt $before ] || [ "$name" = kernel ] || fail "'$name' checked nothing"
		;;
	esac
done
for name in $(sed -n 's/^check_\([a-z_]*\)() {$/\1/p' "$here/lttng_commands.sh" \
	"$top/tests/lib/lttng_checks.sh"); do
	rows | grep -q "	$name\$" || fail "no row of the table names the check '$name'"
done
cd /

# Every command and option is in it, if lttng is here to say which there are.
if command -v lttng >/dev/null && lttng --list-commands >/dev/null 2>&1; then
	for command in $(lttng --list-commands); do
		grep -q "^## $command\$" "$table" || fail "lttng $command is not in the table"
		for option in $(lttng "$command" --list-options); do
			checks=$((checks + 1))
			awk -v c="## $command" -v o="\`$option[^a-z-]" '
				/^## / { in_it = $0 == c || $0 == "## All commands" }
				in_it && $0 ~ o { found = 1 }
				END { exit !found }
			' "$table" || fail "lttng $command $option is not in the table"
		done
	done
fi
echo "# $missing rows are missing"
[ -z "${no_kernel-}" ] || skip "all but the rows of the kernel are right: $no_kernel"
echo "$checks checks"
