#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A daemon that may write small files only (RLIMIT_FSIZE): a buffer, the state directory and an
# output fail with a sentence, not by SIGXFSZ; without the limit, all are written again.
. "$(dirname "$0")/../../lib/mount.sh"
ticker=$BUILD/tests/lib/ticker
command -v prlimit >/dev/null || skip "there is no prlimit"
session() {
	mkdir "$S/$1" "$S/$1/user/channels/c" &&
		echo "$2" >"$S/$1/user/channels/c/subbuf_size" &&
		echo 'tick:*' >"$S/$1/user/channels/c/events" || fail "session $1"
}
alive() { kill -0 "$pid" 2>/dev/null || fail "the daemon ended: $(cat "$work/daemon.log")"; }

mount_tree
pid=$(daemon_pids)
prlimit --pid "$pid" --fsize=65536: || skip "prlimit may not change the daemon's limit"

# A buffer that is too large
session large 1M
echo start >"$S/large/control" || fail start
one_cpu "$ticker" 100 0 || fail "ticker: status $?"
alive
[ "$(key buffers_refused "$S/large/status")" -gt 0 ] || fail "a large buffer was made"
has "$(cat "$S/large/error")" 'no buffer.*File too large'
has "$(cat "$S/large/status")" '^problem c: a buffer could not be made: File too large; what .* not counted$'
rmdir "$S/large" || fail rmdir

# Rules that are saved in one file
session rules 4k
seq -f 'tick:* if n == %g || n == 12345678 || n == 23456789 || n == 34567890' 1000 >"$work/rules"
tool open "$S/rules/user/channels/c/events" wt file "$work/rules" >"$work/result"
alive
is "unsaved" "unsaved File too large" "$(grep '^unsaved' "$S/rules/status")"
has "$(cat "$S/rules/error")" 'cannot be saved in the state directory: File too large'

# An output's file
mkdir "$work/out"
session out 4k
echo "$work/out" >"$S/out/output" && echo start >"$S/out/control" || fail "output"
one_cpu "$ticker" 10000 50 || fail "ticker: status $?"
is_said() { grep -q '^output_error File too large' "$S/out/status"; }
within 20 is_said || fail "$(cat "$S/out/status")"
alive
has "$(cat "$S/out/error")" 'File too large'

prlimit --pid "$pid" --fsize=unlimited: || fail prlimit
is_saved() { ! grep -q '^unsaved' "$S/rules/status"; }
within 20 is_saved || fail "$(cat "$S/rules/status")"
echo stop >"$S/out/control" || fail "stop"
all_written "$S/out"
recorded=$(key events_recorded "$S/out/status")
is "events" 10000 $((recorded + $(key events_discarded "$S/out/status")))
is "lines" "$recorded" "$(grep -vc "^WARNING: Tracer " "$S/out/text")"
kill -9 "$pid"
wait_end() { ! kill -0 "$pid" 2>/dev/null; }
within 20 wait_end
mount_tree
is "rules that were saved" 1000 "$(wc -l <"$S/rules/user/channels/c/events")"
echo "$checks checks"
