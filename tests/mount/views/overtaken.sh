#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Readers whose rings are overwritten completely after their open and before their first read: they
# get the events held when they read, not an empty file. A copy of trace/ that is overtaken has no
# wrong byte: packets that were overwritten are empty, and a reader says that they are lost.
. "$(dirname "$0")/../../lib/mount.sh"

TICKER=${TICKER:-$BUILD/tests/lib/ticker}
[ -x "$TICKER" ] || skip "there is no ticker"
command -v taskset >/dev/null || skip "there is no taskset"
cpu=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
mount_tree
s=$S/fast

# One ring of 256 KiB, whose text is longer than the piece that the daemon keeps
mkdir "$s" "$s/user/channels/channel0" && echo 65536 >"$s/user/channels/channel0/subbuf_size" &&
	echo 4 >"$s/user/channels/channel0/subbuf_count" &&
	echo 'tick:*' >"$s/user/events" && put start "$s/control" || fail "session"

tick() { taskset -c "$cpu" "$TICKER" "$1" 0 || fail "ticker"; }

for form in text text.symbols export/json export/json.symbols export/csv; do
	tick 40000
	exec 3<"$s/$form"
	tick 60000
	cat <&3 >"$work/read" || fail "$form: cat"
	exec 3<&-
	[ -s "$work/read" ] || fail "$form is empty"
	# csv is made at the open
	case $form in *csv) last=39999 ;; *) last=59999 ;; esac
	tail -n 1 "$work/read" | grep -q "[^0-9]$last[^0-9]*\$" ||
		fail "$form: $(tail -n 1 "$work/read")"
	is "$form: no line twice" "" "$(sort "$work/read" | uniq -d)"
done

# overtaken NUMBER DIRECTORY: a copy of trace/ by one process, which opens all files, lets that many
# events be recorded, and reads then
overtaken() {
	python3 - "$s/trace" "$2" "$1" taskset -c "$cpu" "$TICKER" "$1" 0 <<'END' || fail "a copy of trace/"
import os, subprocess, sys
top, to, more, *ticker = sys.argv[1:]
files = {d + "/" + f: open(d + "/" + f, "rb") for d, _, names in os.walk(top) for f in names}
if int(more):
    subprocess.run(ticker, check=True)
for path, f in files.items():
    path = to + path[len(top):]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(f.read())
END
	babeltrace2 "$2" >"$work/bt" 2>"$work/bt.err" || fail "babeltrace2: $(cat "$work/bt.err")"
}
# The events that were recorded last, in a row
last_ones() {
	sed 's/.* n = \([0-9]*\) }$/\1/' "$work/bt" | awk -v n="$(wc -l <"$work/bt")" '
		$1 != 40000 - n + NR - 1 { print "line " NR ": " $1; exit }'
}
if command -v babeltrace2 >/dev/null && command -v python3 >/dev/null; then
	for more in 0 6000 60000; do
		tick 40000
		overtaken $more "$work/copy.$more"
		is "a copy after $more" '' "$(last_ones)"
		count=$(wc -l <"$work/bt")
		case $more in
		0) is "losses" '' "$(cat "$work/bt.err")" ;;
		*) has "$(cat "$work/bt.err")" 'Tracer discarded [0-9]* packet' ;;
		esac
	done
	is "events after 60000 others" 0 "$count"
fi
put stop "$s/control" && rmdir "$s" || fail "rmdir"
echo "$checks checks"
