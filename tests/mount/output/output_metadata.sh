#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The metadata of an output is there before its first packet: babeltrace2 reads the directory of a
# session that no program has recorded to, and of one with less than a sub-buffer. Where the file
# system refuses to replace metadata, or to write a new file, `status` shows its error.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
session() { # NAME DIRECTORY [PER_PROCESS]
	s=$S/$1
	out=$2
	mkdir "$s" "$s/user/channels/c" || fail "mkdir $1"
	put "$out" "$s/output"
	[ -z "${3-}" ] || put process "$s/user/channels/c/buffering"
	put 'tick:*' "$s/user/channels/c/events"
	put start "$s/control"
}
metadata() { find "$out" -name metadata | grep -q .; }
empty() { # WHAT: a trace without events
	within 20 metadata || fail "$1: no metadata: $(find "$out")"
	timeout 200 babeltrace2 "$out" >"$work/all" 2>"$work/err" ||
		fail "$1: babeltrace2: $(cat "$work/err")"
	is "$1: events in the files" '' "$(cat "$work/all")"
	is "$1: what babeltrace2 says" '' "$(cat "$work/err")"
}

mount_tree -o tz=UTC

# --- no program; then less than a sub-buffer; then all of it
session none "$work/none"
empty "no program"
is "the trace" "$work/none/ust/uid/$(id -u)/64-bit/metadata" "$(find "$out" -name metadata)"
"$ticker" 10 0 || fail ticker
empty "less than a sub-buffer"
put stop "$s/control"
is "events after stop" 10 "$(babeltrace2 "$out" | wc -l | tr -d ' ')"
rmdir "$s" || fail rmdir

# --- stopped and removed without an event
session unused "$work/unused"
put stop "$s/control"
rmdir "$s" || fail rmdir
empty "removed without an event"

# --- buffers per process: the trace is there with the first event of the process
session process "$work/process" process
"$ticker" 10 0 || fail ticker
empty "a process"
put rotate "$s/control"
is "events of the first chunk" 10 "$(babeltrace2 "$out"/archives/* | wc -l | tr -d ' ')"
rmdir "$s" || fail rmdir

# --- the kernel's trace, where the kernel can be traced
if ! grep -q '^kernel none' "$MNT/version"; then
	s=$S/k$(date +%s)$$
	out=$work/kernel
	mkdir "$s" || fail "mkdir of a session of the kernel"
	put "$out" "$s/output"
	put sched_process_exec "$s/kernel/events"
	put start "$s/control"
	within 20 test -s "$out/kernel/metadata" || fail "kernel: no metadata: $(find "$out")"
	put stop "$s/control"
	timeout 200 babeltrace2 "$out" >/dev/null 2>"$work/err" ||
		fail "kernel: babeltrace2: $(cat "$work/err")"
	checks=$((checks + 1))
	rmdir "$s" || fail "rmdir of a session of the kernel"
fi

# --- a file system that neither removes nor renames; and then does
faulty_disk
echo 'rename EIO' >"$control"
session faulty "$disk/faulty"
"$ticker" 10 0 || fail ticker
# A pass that has nothing to write takes the error back for a moment.
ill() { : <"$s/text" && grep -q '^output_error Input/output error' "$s/status"; }
within 20 ill || fail "a failed rename is not reported: $(cat "$s/status")"
for attempt in 1 2 3; do
	within 20 ill || fail "attempt $attempt: $(cat "$s/status")"
done
: >"$control"
well() { ! grep -q '^output_error' "$s/status"; }
within 20 well || fail "it does not recover: $(cat "$s/status")"
put stop "$s/control"
is "events after recovery" 10 "$(babeltrace2 "$out" | wc -l | tr -d ' ')"
is "temporary files" '' "$(find "$out" -name .metadata)"

# … and one that refuses the first write to a new file, after the metadata was written
put start "$s/control"
put clear "$s/control"
echo 'write EIO' >"$control"
"$ticker" 10 0 || fail ticker
within 20 ill || fail "a failed write is not reported: $(cat "$s/status")"
: >"$control"
within 20 well || fail "it does not recover: $(cat "$s/status")"
put stop "$s/control"
is "events after a failed write" 10 "$(babeltrace2 "$out" | wc -l | tr -d ' ')"
rmdir "$s" || fail rmdir
echo "$checks checks"
