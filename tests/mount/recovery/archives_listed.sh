#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A program lists archives/ of a session that records, and has the directory open while the daemon
# is killed: with the next daemon it lists the same archives. Once there is another archive, it gets
# ESTALE for the directory that it has open, and no list of both.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/next_daemon.sh"
command -v python3 >/dev/null || skip "there is no python3"
lister=
trap 'code=$?; kill $lister 2>/dev/null; (exit $code); clean_up' EXIT

mount_first
mkdir "$S/s" || fail mkdir
put "$work/out" "$S/s/output"
put 'tick:*' "$S/s/user/events"
put start "$S/s/control"
# (A rotation may end after its archive is there.)
archives() {
	[ "$(key rotation "$S/s/status")" = idle ] && [ "$(ls "$S/s/archives" | wc -l)" = "$1" ]
}
rotate() { # HOW MANY archives there are then
	"$BUILD/tests/lib/ticker" 10 0 >/dev/null || fail ticker
	put rotate "$S/s/control"
	within 20 archives "$1" || fail "no archive"
}
rotate 1
rotate 2
cat >"$work/lister.py" <<'END'
import os, sys
path, asks, answers = sys.argv[1:]
asks, answers = open(asks, "w"), open(answers)
first = sorted(os.listdir(path))
fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
for what in ("replace", "rotate"):
    print(what, file=asks, flush=True)
    answers.readline()
    try:
        print(what, "same" if sorted(os.listdir(fd)) == first else "other", flush=True)
    except OSError as e:
        print(what, e.strerror, flush=True)
END
mkfifo "$work/asks" "$work/answers"
# (A daemon that is killed just after a rotation may leave work on the newest archive to the next
# one, which changes it: then there is another try.)
n=3
for try in 1 2 3 4 5; do
	python3 "$work/lister.py" "$S/s/archives" "$work/asks" "$work/answers" >"$work/listed" 2>&1 &
	lister=$!
	exec 7<"$work/asks" 8>"$work/answers"
	while read -r what <&7; do
		[ "$what" = replace ] || rotate "$n"
		replace
		echo go >&8
	done
	wait "$lister" || fail "the program: $(cat "$work/listed")"
	exec 7<&- 8<&-
	n=$((n + 1))
	! grep -q '^replace same$' "$work/listed" || break
done
is "what it lists" "replace same
rotate Stale file handle" "$(cat "$work/listed")"
echo "$checks checks"
