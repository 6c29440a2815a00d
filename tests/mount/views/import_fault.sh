#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A trace that brings its reader down: the process that reads it has planted faults (a wild pointer,
# an endless loop, a wait without end, a system call that is not allowed, an exit, an answer that is
# no events), when the trace is opened and when its events are read. Each is a sentence in `error` of
# that session, with the path and what happened; the daemon and other sessions go on, and the trace
# is whole again when its fault is gone. The process has the owner's uid and no rights.
# TIMEOUT: 240
. "$(dirname "$0")/../../lib/mount.sh"

command -v python3 >/dev/null || skip "there is no python3"
# Of time the reader may use this many seconds.
TRAILFS_IMPORT_FAULT=1
export TRAILFS_IMPORT_FAULT
mount_tree -o tz=UTC
chmod 755 "$work"

PYTHONPATH=$top/tests/lib python3 -B - "$work" <<'PY' || fail "no traces were written"
from ctf_trace import *
for name in ("good", "other", "open") + tuple("segv spin sleep call exit lie".split()):
    trace(name, TYPES + "trace { major = 1; minor = 8; byte_order = le; };"
          "event { name = ev; fields := struct { uint8_t a; }; };", s0=bytes(range(100)))
PY

# expected WORDS of what ended the process
expected() {
	case $1 in
	segv) echo 'ended by signal 11' ;;
	spin) echo 'CPU time' ;;
	sleep) echo 'did not answer, and was ended' ;;
	call) echo 'ended by signal 31' ;;
	exit) echo 'ended with status 7' ;;
	lie) echo 'are not events; it was ended' ;;
	esac
}
case $BUILD in
*san*) faults='spin sleep exit lie' ;;  # a sanitizer has its own end, and no filter
*) faults='segv spin sleep call exit lie' ;;
esac

mkdir "$S/good" "$S/other"
put "$work/good" "$S/good/input"
put "$work/other" "$S/other/input"
is "events" 100 "$(wc -l <"$S/good/text")"
cat "$S/good/text" >"$work/text"
pid=$(daemon_pids | head -n 1)

# ---- faults when events are read ----

for what in $faults; do
	s=$S/$what
	: >"$work/$what/fault-read-$what"
	mkdir "$s"
	put "$work/$what" "$s/input"
	cat "$s/text" >"$work/out" 2>/dev/null
	[ ! -s "$work/out" ] || fail "$what: there is a text of a reader that failed"
	has "$(cat "$s/error")" "$work/$what: the process that reads the trace .*$(expected $what)"
	cmp "$S/good/text" "$work/text" || fail "$what: another session has lost its text"
	cmp "$S/other/text" "$work/text" || fail "$what: another session has lost its text"
	is "error of another session" "" "$(cat "$S/good/error" "$S/other/error")"
done
is "the daemon" "$pid" "$(daemon_pids | head -n 1)"

# ---- without the fault, the next process reads it ----

same() { cmp -s "$1/text" "$work/text"; }
for what in $faults; do
	rm "$work/$what/fault-read-$what"
	within 60 same "$S/$what" || fail "$what: the text does not come back: $(cat "$S/$what/error")"
done

# ---- faults when a trace is opened ----

mkdir "$S/open"
for what in $faults; do
	[ $what != lie ] || continue
	: >"$work/open/fault-open-$what"
	! printf '%s\n' "$work/open" 2>/dev/null >"$S/open/input" || fail "open, $what: it is accepted"
	has "$(cat "$S/open/error")" "$work/open: the process that reads the trace .*$(expected $what)"
	rm "$work/open/fault-open-$what"
done
put "$work/open" "$S/open/input"
same "$S/open" || fail "the trace is not read after its faults are gone"

# ---- what the process may do ----

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	setpriv --reuid=12345 --regid=12345 --clear-groups sh -c \
		"mkdir '$S/theirs' && echo '$work/good' >'$S/theirs/input'" || fail "another user"
	same "$S/theirs" || fail "the text of another user"
	reader=$(pgrep -P "$pid" -u 12345 -f trail-import) || fail "no process of the user reads the trace"
	cat "/proc/$reader/status" >"$work/status"
	is "uids" "12345 12345 12345 12345" "$(awk '$1 == "Uid:" { print $2, $3, $4, $5 }' "$work/status")"
	is "gids" "12345 12345 12345 12345" "$(awk '$1 == "Gid:" { print $2, $3, $4, $5 }' "$work/status")"
	is "groups" "" "$(awk '$1 == "Groups:" { print $2 }' "$work/status")"
	for set in CapInh CapPrm CapEff CapAmb; do
		is $set 0000000000000000 "$(awk -v set=$set: '$1 == set { print $2 }' "$work/status")"
	done
	is "the score of the memory killer" 500 "$(cat "/proc/$reader/oom_score_adj")"
	is "new privileges" 1 "$(awk '$1 == "NoNewPrivs:" { print $2 }' "$work/status")"
	case $BUILD in
	*san*) ;;
	*) is "filter" 2 "$(awk '$1 == "Seccomp:" { print $2 }' "$work/status")" ;;
	esac
	# A process that its user kills, or that was stopped for ever, is no fault of the daemon's.
	kill -9 "$reader"
	same "$S/theirs" || within 60 same "$S/theirs" || fail "after a kill of the process"
fi

# ---- they end with their sessions, and with the daemon ----

readers() { pgrep -P "$pid" -f trail-import | wc -l; }
[ "$(readers)" -ge 2 ] || fail "no process reads the traces"
rmdir "$S"/* || fail "rmdir"
gone() { [ "$(readers)" = 0 ]; }
within 60 gone || fail "processes remain without their sessions"
