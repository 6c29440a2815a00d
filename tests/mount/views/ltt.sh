#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# `export/ltt/` is an LTT 0.7 trace that has the events of `export/json`: fields of all types, an
# event larger than 64 KiB, two channels with other contexts, heartbeats in a long silence.
. "$(dirname "$0")/../../lib/mount.sh"

command -v python3 >/dev/null || skip "there is no python3"
for p in "$BUILD/tests/lib/ticker" "$BUILD/tests/mount/views/words" "$BUILD/tests/mount/programs/types"; do
	[ -x "$p" ] || skip "there is no $p"
done

# judge SESSION COUNT: copies the trace as `cp -r` does, and compares
judge() {
	rm -rf "$work/ltt"
	cp -r "$1/export/ltt" "$work/ltt" || fail "cp -r"
	cat "$1/export/json" >"$work/json" || fail "json"
	python3 "$top/tests/lib/judge_ltt.py" "$work/ltt" "$work/json" >"$work/judged" 2>&1 ||
		fail "$(head -c 3000 "$work/judged")"
	read -r events beats <"$work/judged"
	is "events" "$2" "$events"
}

mount_tree -o tz=UTC
s=$S/ltt
mkdir "$s" "$s/user/channels/two"
is "without events" "" "$(ls "$s/export/ltt")"
echo 1M >"$s/user/channels/two/subbuf_size" || fail "subbuf_size"
echo '*' >"$s/user/events"
printf '%s\n' 'tick:*' 'long:*' >"$s/user/channels/two/events"
printf '%s\n' vpid vtid procname '$app.none:such' >"$s/user/channels/two/contexts"
put start "$s/control"
cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
"$BUILD/tests/lib/ticker" 300 0 2 || fail "ticker"
taskset -c "$cpu" "$BUILD/tests/mount/views/words" 40 100000 || fail "words"
"$BUILD/tests/mount/programs/types" || fail "types"
put stop "$s/control"
since=$(date +%s%N)
judge "$s" "$(wc -l <"$s/text")"
[ "$events" -gt 1200 ] || fail "$events events"
is "files" "$(cd "$work/ltt" && find . -type f | wc -l)" "$(find "$s/export/ltt" -type f | wc -l)"
(cd "$work/ltt" && find . -type f -exec stat -c '%s %n' {} + | sort) >"$work/sizes"
(cd "$s/export/ltt" && find . -type f -exec stat -c '%s %n' {} + | sort) >"$work/honest"
cmp -s "$work/sizes" "$work/honest" || fail "sizes: $(diff "$work/sizes" "$work/honest")"
has "$(cat "$work/ltt/system.xml")" "node=\"$(uname -n)\".* endian=\"little\""
# A trace image lasts for two seconds after its last use, then its memory is free.
within 20 grep -q '^frozen_bytes 0$' "$s/status" || fail "$(grep frozen_bytes "$s/status")"
# Stamps have 32 bits: a heartbeat after 2.15 s tells a reader that they overflowed.
silent() { [ $(($(date +%s%N) - since)) -gt 2300000000 ]; }
within 20 silent
put start "$s/control"
taskset -c "$cpu" "$BUILD/tests/mount/views/words" 1 || fail "words"
put stop "$s/control"
judge "$s" "$(wc -l <"$s/text")"
[ "$beats" -gt 0 ] || fail "no heartbeat"
echo "$checks checks"
