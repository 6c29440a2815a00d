#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What `make demo` shows: a mount, a real program traced live by mkdir and echo, and babeltrace2
# reading the same trace from the mount. Exit status 0: all agreed.
cd "$(dirname "$0")/.." || exit 2
BUILD=${BUILD:-$PWD/build}
LC_ALL=C
export LC_ALL

work=$(mktemp -d "${TMPDIR:-/tmp}/trailfs-demo.XXXXXX") || exit 2
mnt=$work/trace
TRAIL_RUNTIME_DIR=$work/state
export TRAIL_RUNTIME_DIR
app=

mounted() {
	grep -qs " $mnt fuse" /proc/self/mounts
}

clean_up() {
	[ -n "$app" ] && kill "$app" 2>/dev/null
	cd / && mounted && { fusermount3 -u -z "$mnt" 2>/dev/null || umount -l "$mnt"; }
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

die() {
	echo "demo: $*" >&2
	[ -s "$mnt/error" ] && cat "$mnt/error" >&2
	[ -s "$mnt/sessions/web/error" ] && cat "$mnt/sessions/web/error" >&2
	exit 1
}

# Bold, on a terminal
bold= plain=
[ -t 1 ] && [ "${TERM:-dumb}" != dumb ] && bold=$(printf '\033[1m') plain=$(printf '\033[0m')

# Shows a command as one would type it, and runs it.
show() {
	printf '\n%s# %s%s\n' "$bold" "$1" "$plain"
	timeout 300 sh -c "$1" || die "failed: $1"
}

say() {
	printf '\n%s\n' "$*"
}

[ -c /dev/fuse ] ||
	die "there is no /dev/fuse: load the module fuse, or give the container the device"
[ -x "$BUILD/trailfs" ] || die "nothing is built; try make demo"
PATH=$BUILD:$BUILD/tools:$PATH
mkdir -p "$mnt" "$TRAIL_RUNTIME_DIR/apps"

say "A program is running already, with tracepoints in it (tools/demo_app.c): four threads that serve requests."
# (On a machine that is busy the daemon may need more than 10 ms for the first answer.)
TRAIL_ATTACH_TIMEOUT=1000 "$BUILD/tools/demo_app" &
app=$!

show "trailfs $mnt"
i=0
until mounted || [ $i = 600 ]; do
	i=$((i + 1))
	sleep 0.1
done
mounted || die "the file system was not mounted"
cd "$mnt" || die "cannot enter the mount"
show 'cat version'
show 'ls'

say "Tracepoints of all programs that run now:"
i=0
until grep -q '^demo:' available/user/tracepoints || [ $i = 600 ]; do
	i=$((i + 1))
	sleep 0.1
done
show 'cat available/user/tracepoints'

say "A session is a directory. What is to be recorded is written into it."
show 'mkdir sessions/web'
cd sessions/web || die "there is no session"
show "echo 'demo:* except demo:idle' > user/events"
show 'cat user/events'
if [ -d kernel ]; then
	say "The running kernel too: each program that this demo starts, and no other. (What a tracked process starts is tracked, too.)"
	# A kernel may have neither event probes nor BPF, or no clock to sample by.
	names='' samples=''
	grep -q '^kernel.*no strings of system calls' ../../version || names=syscall:entry:openat
	! echo sample:cpu 999hz >kernel/events 2>/dev/null || samples="'sample:cpu 999hz'"
	show "printf '%s\\n' sched_process_exec $names $samples > kernel/events"
	show "printf '%s\\n' $$ $app > kernel/track/pid"
else
	say "Without events of the kernel. It cannot be traced here: $(sed -n 's/^kernel none //p' \
		../../version)"
fi
show 'echo start > control'

say "The trace as text, live, for three seconds at most:"
show 'timeout 3 tail -n 5 -f text | head -n 12'
if [ -d kernel ]; then
	# The shell of each command above was started by this one.
	show "grep sched_process_exec text | head -n 3"
	grep -q sched_process_exec text || die "no event of the kernel"
	[ -z "$names" ] || show "grep syscall_entry_openat text | tail -n 2"
	missing=$(sed -n 's/,* *strings of system calls by BPF//
		s/^kernel [a-z ]* (\(..*\))$/\1/p' ../../version)
	[ -z "$missing" ] ||
		say "Left out here, because this kernel does not have what it needs: $missing"
fi
show 'cat pipe | head -n 3'
show 'cat status'

say "babeltrace2 reads the trace from the mount, while the program runs:"
show 'babeltrace2 trace/ | tail -n 3'

show 'echo stop > control'
if [ -n "${samples-}" ] && grep -q ' trail:sample: ' text; then
	say "Where the CPU time went; export/flame.svg is the picture:"
	show 'sort -k 2 -n -r -t " " export/flame.folded | head -n 3 | cut -c 1-150'
fi
show 'find trace -name metadata'
text=$(wc -l <text)
bt=$(babeltrace2 trace/ | wc -l)
say "lines of text: $text; events that babeltrace2 reads: $bt"
babeltrace2 trace/ >"$work/babeltrace2.txt" || die "babeltrace2 does not read the trace"
cat text >"$work/text.txt"
[ "$text" -gt 0 ] || die "nothing was recorded"
[ "$text" = "$bt" ] || die "they do not agree"
# (After a string, babeltrace2 2.0.4 prints an empty one of the same field as that string.)
for f in text babeltrace2; do
	awk 'NR == FNR { skip[FNR] = /= ""/; next } !skip[FNR]' "$work/text.txt" "$work/$f.txt" \
		>"$work/$f.full"
done
cmp "$work/text.full" "$work/babeltrace2.full" || die "the text is not what babeltrace2 prints"
empty=$(grep -c '= ""' "$work/text.txt")
if [ "$empty" = 0 ]; then
	say "They agree, byte for byte."
else
	say "They agree, byte for byte; $empty lines that have an empty string are left out, which babeltrace2 2.0.4 misprints."
fi
lost=$(awk '/^events_(discarded|overwritten) / { n += $2 } END { print n + 0 }' status)
[ "$lost" = 0 ] || die "$lost events were lost"
say "No event was lost."

kill "$app" && wait "$app" 2>/dev/null
app=
cd "$mnt" || exit 1
show 'rmdir sessions/web'
cd /
show "fusermount3 -u $mnt"
mounted && die "still mounted"
say "The demo is over."
exit 0
