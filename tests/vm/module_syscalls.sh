#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 900
#
# System calls by trail.ko: what programs of 64 and of 32 bits pass is what is recorded, field by
# field: strings, addresses, what poll, select and epoll are given, results that pointers point to;
# calls that have no name. State dump and log with the module.
# For SOAK=1 only, as it takes a guest for minutes.
[ -n "${VM_KERNEL-}${SOAK-}${VM-}" ] || { echo "only when asked: VM_KERNEL=... or SOAK=1"; exit 77; }
prepare() {
	rm -f "$1/calls32"
	${CC:-cc} -static -D_GNU_SOURCE -o "$1/calls64" "${0%/*}/known_calls.c" || return
	# (clang for armhf and s390x takes -m32, and makes the same.)
	case ${CC-} in *arm-linux* | *s390x*) return 0 ;; esac
	${CC:-cc} -m32 -static -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -o "$1/calls32" \
		"${0%/*}/known_calls.c" 2>/dev/null || return 0
}
. "$(dirname "$0")/modlib.sh"

# A daemon by tracefs, to compare with
other=$(mktemp -d)      # not in $work, which is removed
TRAIL_RUNTIME_DIR=$work/other-state "$TRAILFS" "$other" || fail "no other mount"
has "$(cat "$other/version")" '^kernel tracefs'
busybox insmod "$modules/trail.ko" || fail "trail.ko cannot be loaded: $(dmesg | tail -n 5)"
mount_tree
has "$(cat "$MNT/version")" '^kernel module'

# --- what there is
has "$(cat "$MNT/available/kernel/syscalls")" '^openat$'
# (Those of 32-bit programs have names only on x86.)
! on_x86 || {
	has "$(cat "$MNT/available/kernel/syscalls")" '^socketcall$'
	is "fields" "uint32 fd,hex uint64 buf,uint64 count,uint32 pos_low,uint32 pos_high," \
		"$(tr '\n' ',' <"$MNT/available/kernel/events/syscalls/compat_sys_enter_pread64" |
			sed 's/uint64 count/uint64 count/; s/uint32 count/uint64 count/')"
}
is "each is named once" "" "$(sort "$MNT/available/kernel/syscalls" | uniq -d)"

# --- each field of each call
# known PROGRAM: runs it, and looks for each event that it says there must be
known() {
	s=$S/calls
	mkdir "$s" "$s/kernel/channels/channel0"
	echo 1M >"$s/kernel/channels/channel0/subbuf_size"
	echo 'syscall:*' >"$s/kernel/events" || fail "$(cat "$s/error")"
	echo tid >"$s/kernel/contexts"
	echo $$ >"$s/kernel/track/pid"
	echo start >"$s/control"
	"$1" "$work" >"$work/expected" || fail "$1 ended with $?"
	echo stop >"$s/control"
	is "nothing lost" 0 "$(key events_discarded "$s/status")"
	same_text "$s"
	pid=$(sed -n 's/^pid //p' "$work/expected")
	sed -n "s/^\[[^]]*\] ([^)]*) [^ ]* \([^:]*\): { cpu_id = [0-9]* }, { tid = $pid }, /\1: /p" "$work/text" >"$work/got"
	sed '/^pid /d' "$work/expected" | sort | uniq -c | sed 's/^ *//' | while read -r n line; do
		[ "$(grep -cxF -e "$line" "$work/got")" = "$n" ] || {
			event=${line%%:*}
			echo "not $n times: $line" | cut -c 1-600
			echo "but:"
			grep "^$event:" "$work/got" | cut -c 1-600 | head -n 12
			return 1
		}
	done || fail "$1"
	checks=$((checks + $(wc -l <"$work/expected")))
	is "entries" 300 "$(grep -c "^$2syscall_entry_getppid: { }$" "$work/got")"
	is "results" 300 "$(grep -c "^$2syscall_exit_getppid: " "$work/got")"
	# Each call returns, but for exit_group; a child begins with a return, except on ARM.
	case $(uname -m) in x86_64 | riscv64 | s390x) begun=0 ;; *) begun=1 ;; esac
	is "pairs" "$(grep -c '^[a-z_]*syscall_entry_' "$work/got")" \
		$(($(grep -c '^[a-z_]*syscall_exit_' "$work/got") + begun))
}
cp "$prepared"/calls* "$work/" || fail "no programs"
known "$work/calls64" ''
is "none of 32 bits" 0 "$(grep -c '^compat_' "$work/got")"
rmdir "$s"
if [ -x "$work/calls32" ]; then
	known "$work/calls32" compat_
	# Before it, the shell's child was a program of 64 bits.
	is "none of 64 bits" 0 "$(sed '1,/syscall_exit_execve/d' "$work/got" | grep -vc '^compat_')"
	rmdir "$s"
else
	echo "no programs of 32 bits can be built here"
fi

# --- filters know these fields
s=$S/filters
mkdir "$s"
cat >"$s/kernel/events" <<'EOF' || fail "$(cat "$s/error")"
syscall:entry:connect if dport == 4660 && family == 2 && v4addr[3] == 1
syscall:entry:openat if filename == "/no su*"
syscall:exit:pipe2 if fildes[0] < fildes[1]
syscall:entry:unknown if id == 500
EOF
echo $$ >"$s/kernel/track/pid"
echo start >"$s/control"
"$work/calls64" "$work" >/dev/null
echo stop >"$s/control"
is "filtered" "1 syscall_entry_connect: 1 syscall_entry_openat: 1 syscall_entry_unknown: 1 syscall_exit_pipe2:" \
	"$(awk '{ print $4 }' "$s/text" | sort | uniq -c | xargs)"
rmdir "$s"
clean

# --- the state dump is the same by both; lines of `log` are the writer's
sleep 1000 <"$work/calls64" &
sleeper=$!
for n in 1 2; do
	m=$other
	[ $n = 1 ] || m=$MNT
	mkdir "$m/sessions/dump"
	printf '%s\n' 'lttng_statedump_*' 'lttng_logger if msg != "not this*"' \
		>"$m/sessions/dump/kernel/events" || fail "$(cat "$m/sessions/dump/error")"
	echo 'pid tid procname' >"$m/sessions/dump/kernel/contexts"
	echo start >"$m/sessions/dump/control"
	within 60 grep -q lttng_statedump_end "$m/sessions/dump/text" ||
		fail "the dump does not end"
	sh -c 'echo $$; echo "a line of text" >"$1"; echo "not this one" >"$1"; exec true' sh \
		"$m/log" >"$work/writer"
	writer=$(cat "$work/writer")
	echo stop >"$m/sessions/dump/control"
	same_text "$m/sessions/dump"
	is "a line of the log" 1 "$(grep -c "lttng_logger: { cpu_id = [0-9]* }, { pid = $writer, tid = $writer, procname = \"sh\" }, { _msg_length = 14, msg = \"a line of text\" }" "$work/text")"
	is "no other" 1 "$(grep -c lttng_logger "$work/text")"
	sed 's/^[^)]*) [^ ]* //' "$work/text" |
		grep -e "statedump_\(interrupt\|block\|network\|cpu\)" -e "{ tid = $sleeper, " \
		-e "pid = $sleeper, .*fd = 0" | sed 's/statedump_\(interrupt\|block\|network\|cpu\)\([^:]*\): .*}, { /\1\2: { /' >"$work/dump.$n"
	rmdir "$m/sessions/dump"
done
kill $sleeper
[ "$(wc -l <"$work/dump.1")" -ge 20 ] || fail "only $(wc -l <"$work/dump.1") events"
cmp -s "$work/dump.1" "$work/dump.2" ||
	fail "the dumps differ: $(diff "$work/dump.1" "$work/dump.2" | head -n 8)"
has "$(cat "$work/dump.2")" "statedump_process_mnt_ns: .*{ tid = $sleeper, ns_inum = $(stat -L -c \
	%i /proc/self/ns/mnt) }"
has "$(cat "$work/dump.2")" "statedump_file_descriptor: .*fd = 0, .*filename = \"$work/calls64\""
fusermount3 -u "$other" 2>/dev/null || umount "$other"
clean

echo "$checks checks"
