#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The kernel's state dump at the start of a session, and when it is asked for. Skips where the
# daemon finds no backend.
. "$(dirname "$0")/../../lib/mount.sh"

mount_tree
grep -q '^kernel none' "$MNT/version" &&
	skip "the kernel cannot be traced here: $(grep '^kernel' "$MNT/version")"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"

# count EVENT [PATTERN]: in the text as it was last looked at
count() {
	grep " lttng_statedump_$1: " "$work/text" | grep -c -- "${2-}"
}

# finished SESSION NUMBER [FILE]: this number of dumps has been written; the write that asks waits
# for a while only
ended() {
	[ "$(grep -c " lttng_statedump_$3: " "$1/text")" = "$2" ]
}
finished() {
	within 30 ended "$1" "$2" "${3-end}" || fail "$1: the dump does not end"
}

lost() {
	[ "$(key events_discarded "$1/status")" -gt 0 ]
}

# A process to be found: with a name, a parent, an open file
cp "$(command -v sleep)" "$work/dumped-one"
"$work/dumped-one" 1000 3<"$work/daemon.log" &
pid=$!
know_pids
number=$(kernel_pid $pid)
here=$(kernel_pid $$)
within 10 grep -q dumped-one "/proc/$pid/comm"
file=$(readlink "/proc/$pid/fd/3")

is "they are listed" 17 "$(grep -c '^lttng_statedump:lttng_statedump_' \
	"$MNT/available/kernel/tracepoints")"
has "$(cat "$MNT/available/kernel/events/lttng_statedump/lttng_statedump_process_state")" \
	'^int32 ppid$'

# --- all
s=$S/all
mkdir "$s" "$s/kernel/channels/channel0"
echo 'lttng_statedump_*' >"$s/kernel/events"
echo 'pid procname' >"$s/kernel/contexts"
echo start >"$s/control"
finished "$s" 1
echo stop >"$s/control"
same_text "$s"
is "one dump" "1 1" "$(count start) $(count end)"
is "the process" 1 "$(count process_state "{ pid = $number, procname = \"dumped-one\" }, { tid = $number, pid = $number, ppid = $here, name = \"dumped-one\", type = 0, mode = 5, submode = 1, status = 5, ")"
is "its file" 1 "$(count file_descriptor "file_table_address = 0x$(printf %X \
	"$number"), fd = 3, flags = 0[0-7]*, fmode = 0x1, filename = \"$file\"")"
# What it may execute, by its own account; the build id is that of the file.
awk '$2 ~ /x/ && $6 ~ /^\// { split($1, range, "-"); print toupper(range[1]), $6 }' "/proc/$pid/maps" >"$work/mapped"
[ -s "$work/mapped" ] || fail "no mappings"
id=
command -v readelf >/dev/null && id=$(readelf -n "$work/dumped-one" | sed -n 's/.*Build ID: //p')
while read -r start path; do
	is "its mapping of $path" 1 "$(count process_mapping "pid = $number, start = 0x0*$start, .* path = \"$path\"")"
	case $path in */dumped-one)
		[ -z "$id" ] || stat -f -c %T "$path" | grep -qv 'ext\|xfs\|btrfs\|tmpfs\|overlay' ||
			is "its build id" 1 "$(count process_mapping "pid = $number, .* build_id = \"$id\", path = \"$path\"")" ;;
	esac
done <"$work/mapped"
[ "$(count cpu_topology)" -ge 1 ] || [ "$(uname -m)" != x86_64 ] || fail "no CPUs"
[ "$(count interrupt)" -ge 1 ] || fail "no interrupts"
[ "$(count network_interface 'name = "lo", address_ipv4 = 0x7F000001')" = 1 ] ||
	! grep -q '127.0.0.1' /proc/net/fib_trie ||
	fail "no loopback interface"
d=$(daemon_pids)
has "$(grep ' lttng_statedump_start: ' "$work/text")" \
	"{ pid = $(kernel_pid $d), procname = \"trailfs[^\"]*\" }, { }\$"
is "in a stream of its own" 1 "$(ls "$s/trace/kernel" | grep -c '^channel0_65536$')"
echo start >"$s/control"
finished "$s" 2
echo 'regenerate statedump' >"$s/control"
finished "$s" 3
echo stop >"$s/control"
same_text "$s"
is "two more" "3 3" "$(count start) $(count end)"
rmdir "$s"

# --- only what the rules take, with filters; other channels have nothing of it
s=$S/some
mkdir "$s" "$s/kernel/channels/a" "$s/kernel/channels/b" "$s/kernel/channels/c"
echo "lttng_statedump_process_state if tid == $number" >"$s/kernel/channels/a/events"
echo "lttng_statedump:*file_descriptor if \$ctx.procname == \"dumped-*\" && fd == 3" \
	>"$s/kernel/channels/b/events"
echo 'syscall:entry:getppid' >"$s/kernel/channels/c/events"
is "fields are checked" EINVAL \
	"$(tool open "$s/kernel/channels/c/events" w write \
	'lttng_statedump_start\nlttng_statedump_process_state if name == 1\n')"
is "names are checked" ENOENT "$(tool open "$s/kernel/channels/c/events" w write \
	'lttng_statedump_proces_state\n')"
echo start >"$s/control"
finished "$s" 1 file_descriptor
echo stop >"$s/control"
same_text "$s"
is "of one process" "2 1 1" "$(grep -c " lttng_statedump_" "$work/text") $(count \
	process_state) $(count file_descriptor "fd = 3")"
rmdir "$s"

# --- of whom is tracked
s=$S/track
mkdir "$s"
echo 'lttng_statedump_*' >"$s/kernel/events"
echo "$pid" >"$s/kernel/track/pid"
echo start >"$s/control"
finished "$s" 1
echo stop >"$s/control"
same_text "$s"
is "no other process" "1 1" "$(count process_state "tid = $number, ") $(count process_state)"
is "and the rest" 1 "$(count start)"
echo >"$s/kernel/track/pid"
printf 'clear\nstart\nstop\n' >"$s/control"
is "no process at all" 0 "$(wc -l <"$s/text")"
rmdir "$s"

# --- a small ring: what does not fit is counted
s=$S/small
mkdir "$s" "$s/kernel/channels/channel0"
echo 4k >"$s/kernel/channels/channel0/subbuf_size"
echo 2 >"$s/kernel/channels/channel0/subbuf_count"
echo discard >"$s/kernel/channels/channel0/loss_mode"
echo 'lttng_statedump_*' >"$s/kernel/events"
echo start >"$s/control"
within 30 lost "$s" || fail "nothing was lost"
echo stop >"$s/control"
same_text "$s"
is "begins" 1 "$(count start)"
rmdir "$s"

# --- the next daemon has it, and makes no other one
s=$S/kill
mkdir "$s"
echo 'lttng_statedump_*' >"$s/kernel/events"
echo start >"$s/control"
finished "$s" 1
kill -9 $(daemon_pids)
within 10 daemon_ended
umount -l "$MNT"
mount_tree
same_text "$s"
is "still one" "1 1" "$(count start) $(count process_state "tid = $number, ")"
echo 'regenerate statedump' >"$s/control"
finished "$s" 2
same_text "$s"
is "now two" "2 2" "$(count start) $(count process_state "tid = $number, ")"
rmdir "$s"
kill $pid

# --- what is written to `log`, made in the same way
s=$S/logger
mkdir "$s" "$s/kernel/channels/a" "$s/kernel/channels/b"
echo 'lttng_logger if $ctx.procname == "sh"' >"$s/kernel/channels/a/events"
echo 'tid procname' >"$s/kernel/channels/a/contexts"
echo 'lttng_logger:* if msg == "two*"' >"$s/kernel/channels/b/events"
is "fields" "char msg[]" "$(cat "$MNT/available/kernel/events/lttng_logger/lttng_logger")"
echo 'before' >"$MNT/log"
echo start >"$s/control"
line=$(printf '%4096s' x | tr ' ' '\303')
writer=$(sh -c '"$3" $$; printf "one\ntwo words\n%s\n" "$1" >"$2"; exec true' sh "$line" "$MNT/log" "$BUILD/tests/lib/kernel_pid")
echo stop >"$s/control"
same_text "$s"
is "lines, in one and in both" "3 2" \
	"$(grep -c \
	"lttng_logger: .*{ tid = $writer, procname = \"sh\" }, { _msg_length = [0-9]*, msg = " \
	"$work/text") $(grep -c "msg = \"two words\"" "$work/text")"
is "whole" 1 "$(grep -c "_msg_length = 4096, " "$work/text")"
is "no state dump" 0 "$(grep -c lttng_statedump "$work/text")"
rmdir "$s"
echo "$checks checks"
