#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A program copies trace/ of a session that records into an output, file by file, and the daemon is
# killed between two files. No such image continues, so the program gets ESTALE for the other files,
# and never files of another image. A copy by another process is whole. The same for a session that
# does not record when the daemon is killed: its image stays the same, so the copy is whole.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/next_daemon.sh"
for p in babeltrace2 python3; do
	command -v $p >/dev/null || skip "there is no $p"
done
writer=
trap 'code=$?; kill $writer 2>/dev/null; (exit $code); clean_up' EXIT

mount_first
mkdir "$S/s" "$S/s/user/channels/c" || fail mkdir
put 64K "$S/s/user/channels/c/subbuf_size"
put discard "$S/s/user/channels/c/loss_mode"
put "$work/out" "$S/s/output"
put 'tick:*' "$S/s/user/channels/c/events"
put start "$S/s/control"
"$BUILD/tests/lib/ticker" 0 200 >"$work/ticks" &
writer=$!
many() { [ "$(grep -c tick:tock "$S/s/text")" -ge 1000 ]; }
within 60 many || fail "nothing is recorded"

# Copies the metadata and one more file, waits for a line, and copies the others.
cat >"$work/copy.py" <<'END_COPY'
import errno, os, sys, time
trace, copy, asks, answers = sys.argv[1:]
files = sorted((os.path.join(d, f) for d, _, names in os.walk(trace) for f in names),
               key=lambda f: ("metadata" not in f, "index" in f, f))
asks, answers = open(asks, "w"), open(answers)
stale = 0
for i, f in enumerate(files):
    to = os.path.join(copy, os.path.relpath(f, trace))
    os.makedirs(os.path.dirname(to), exist_ok=True)
    try:
        with open(f, "rb") as a, open(to, "wb") as b:
            b.write(a.read())
    except OSError as e:
        if e.errno != errno.ESTALE:
            raise
        stale += 1
    if i == 1:
        print("killed?", file=asks, flush=True)
        answers.readline()
        began = time.monotonic()
try:
    lists = len(os.listdir(trace))
except OSError as e:
    lists = errno.errorcode[e.errno]
# After the process has waited for two seconds, also without a death, it may get a new image.
late = time.monotonic() - began
print(stale, len(files), lists, "late" if late > 2 else "in-time")
END_COPY
mkfifo "$work/asks" "$work/answers"

# copy NAME: as above, and kills the daemon in the middle. Sets stale, files, lists and late.
copy() {
	python3 "$work/copy.py" "$S/s/trace" "$work/$1" "$work/asks" "$work/answers" \
		>"$work/result" 2>"$work/copy.err" &
	reader=$!
	exec 7<"$work/asks" 8>"$work/answers"
	read -r line <&7 || fail "a copy: $(cat "$work/copy.err")"
	kill_daemon
	echo go >&8
	next_daemon
	wait "$reader" || fail "a copy: $(cat "$work/copy.err")"
	exec 7<&- 8<&-
	read -r stale files lists late <"$work/result"
}
whole() { # DIRECTORY
	babeltrace2 "$1" >"$work/bt" 2>"$work/bt.err" || fail "babeltrace2 $1: $(cat "$work/bt.err")"
	[ "$(grep -c tick:tock "$work/bt")" -ge 1000 ] || fail "$1 has few events"
	checks=$((checks + 1))
}

tries=0
while tries=$((tries + 1)); do
	copy "mixed$tries"
	# A copy by another process, at once.
	cp -r "$S/s/trace" "$work/other$tries" || fail "a copy after the death"
	whole "$work/other$tries"
	[ "$late" = late ] || break
	[ "$tries" -lt 5 ] || skip "the next daemon takes more than two seconds to answer"
done
[ "$files" -ge 3 ] || fail "trace/ has only $files files"
[ "$stale" = $((files - 2)) ] ||
	fail "of $files files, $stale ended with ESTALE: the others are of two images"
is "a list of trace/ by the same process" ESTALE "$lists"
checks=$((checks + 1))

# ---- a session that does not record ----
kill "$writer"
wait "$writer" 2>/dev/null
writer=
put stop "$S/s/control"
copy stopped
[ "$stale" = 0 ] || fail "$stale files of a session that does not record ended with ESTALE"
whole "$work/stopped"
echo "$files files, $checks checks, $tries tries"
