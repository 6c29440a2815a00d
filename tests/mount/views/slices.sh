#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# `export/chrome.json` and `export/perfetto` have the slices that pairs of events make, and all
# other events as instants and counters; `export/flame.svg` has the times of the slices. Parsers
# that share nothing with the daemon read them, and find the pairs anew in `export/json`. Of
# programs and, where it can be traced, of the kernel. Where Chromium is installed and starts, it
# opens `export/timeline.html` from the mount, and browse_page.py searches, zooms and selects there,
# and looks at `export/flame.svg`.
# SHOTS: a directory for pictures of the page (those of docs/ are made so).
. "$(dirname "$0")/../../lib/mount.sh"

python3 -c 'import json' 2>/dev/null || skip "there is no python3"
SLICES=${SLICES:-$BUILD/tests/lib/slices}
[ -x "$SLICES" ] || skip "there is no slices"
mount_tree

# same_slices SESSION [times]
same_slices() {
	cat "$1/export/json" >"$work/json" && cat "$1/export/chrome.json" >"$work/chrome.json" &&
		cat "$1/export/perfetto" >"$work/perfetto" &&
		cat "$1/export/timeline.html" >"$work/timeline.html" &&
		cat "$1/export/flame.svg" >"$work/flame.svg" && cat "$1/stats" >"$work/stats" &&
		cat "$1/export/flame.folded" >"$work/flame.folded" || fail "cannot read"
	python3 "$top/tests/lib/judge_slices.py" "$work/json" "$work/chrome.json" \
		"$work/perfetto" "$work/timeline.html" "$work/flame.svg" "$work/stats" \
		"$work/flame.folded" $2 >"$work/judged" 2>&1 ||
		fail "$1: $(tail -c 3000 "$work/judged")"
	for f in chrome.json perfetto timeline.html flame.svg flame.folded; do
		is "the size of $f" "$(wc -c <"$work/$f")" "$(stat -c %s "$1/export/$f")"
	done
	if command -v protoc >/dev/null; then
		protoc --decode_raw <"$work/perfetto" >"$work/raw" || fail "protoc cannot read export/perfetto"
	fi
}

s=$S/slices
mkdir "$s"
echo 'work:*' >"$s/user/events"
printf '%s\n' vpid vtid procname >"$s/user/contexts"
same_slices "$s"
put start "$s/control"
"$SLICES" 100 || fail "slices"
put stop "$s/control"
same_slices "$s" times
is "slices, instants, counters, switches, flows" "806 204 600 0 0" "$(cat "$work/judged")"

# A browser asks for the size before it opens a file, and after a start nothing has made it.
put start "$s/control" && put stop "$s/control"
for f in timeline.html flame.svg; do
	[ "$(stat -c %s "$s/export/$f")" -ge "$(wc -c <"$work/$f")" ] || fail "$f seems to be empty"
done

if command -v chromium >/dev/null; then
	# (A start forgets the sizes: nothing has read the page when the browser opens it.)
	put start "$s/control" && put stop "$s/control"
	python3 "$top/tests/lib/browse_page.py" "file://$s/export/timeline.html" 2212 806 2 \
		>"$work/page" 2>&1
	case $? in
	0) checks=$((checks + 1)) ;;
	77) echo "# chromium does not work here: $(tail -n 1 "$work/page")" ;;
	*) fail "the page: $(tail -n 12 "$work/page")" ;;
	esac
fi
# `status` has how far a file is that is being made: percents that do not fall in one opening.
progress() {
	cat "$s/export/csv" >/dev/null &
	making=$!
	while kill -0 $making 2>/dev/null; do
		sed -n 's,^pending export/csv \([0-9]*\)%$,\1,p' "$s/status"
	done >"$work/percents"
	wait $making && [ "$(sort -u "$work/percents" | wc -l)" -gt 1 ]
}
put start "$s/control"
"$SLICES" 8000 || fail "slices"
put stop "$s/control"
within 60 progress || fail "no progress: $(cat "$work/percents")"
sort -n -c "$work/percents" || fail "percents fall: $(echo $(cat "$work/percents"))"
[ "$(sort -n "$work/percents" | tail -n 1)" -le 100 ] || fail "more than 100 percent"
is "no file is being made" "" "$(grep '^pending' "$s/status")"
rmdir "$s"

# Without contexts, the events of a CPU share its track.
mkdir "$s"
echo 'work:*' >"$s/user/events"
put start "$s/control"
"$SLICES" 3 || fail "slices"
put stop "$s/control"
cat "$s/export/chrome.json" >"$work/chrome.json"
is "begins on tracks of CPUs" 30 "$(grep -c '"ph":"B","pid":4194304,' "$work/chrome.json")"
rmdir "$s"

if [ -d "$MNT/available/kernel" ] && ! grep -q '^kernel none' "$MNT/version"; then
	mkdir "$s"
	printf '%s\n' sched_switch sched_waking 'irq_*' 'softirq_*' 'block_rq_*' rss_stat \
		cpu_frequency syscall:openat syscall:execve >"$s/kernel/events" || fail "kernel rules"
	echo 'pid tid procname' >"$s/kernel/contexts"
	echo 'work:*' >"$s/user/events"
	printf '%s\n' vpid vtid procname >"$s/user/contexts"
	put start "$s/control"
	for i in 1 2 3; do
		ls /proc/self >/dev/null
	done
	[ -z "${SHOTS-}" ] || "$SLICES" 300
	dd if=/dev/zero of="$work/disk" bs=64k count=4 oflag=direct 2>/dev/null
	put stop "$s/control"
	same_slices "$s"
	[ -z "${SHOTS-}" ] || python3 "$top/tests/lib/browser.py" \
		"file://$s/export/timeline.html" "$SHOTS" || fail "no pictures"
	read -r slices instants counters switches flows <"$work/judged"
	echo "# kernel: $slices slices, $counters values of counters, $flows flows"
	[ "$slices" -gt 50 ] && [ "$counters" -gt 0 ] && [ "$switches" -gt 0 ] && [ "$flows" -gt 0 ] ||
		fail "few slices, counters, switches or flows: $(cat "$work/judged")"
	rmdir "$s"

	# A signal's handler ends by a call that does not return: calls are never in one another.
	mkdir "$s" && mkfifo "$work/go"
	echo 'syscall:*' >"$s/kernel/events"
	echo 'pid tid procname' >"$s/kernel/contexts"
	sh -c 'trap : USR1; read x <"$1"; for i in 1 2 3 4 5 6 7 8 9 10; do kill -USR1 $$; done' \
		sh "$work/go" &
	p=$!
	tid=$(kernel_pid $p)
	echo $p >"$s/kernel/track/pid"
	put start "$s/control"
	echo >"$work/go"
	wait $p
	put stop "$s/control"
	same_slices "$s"
	is "depth of calls" 1 "$(awk -v tid="\"tid\":$tid[,}]" '
		$0 ~ tid && /"ph":"B"/ { if (++depth > most) most = depth }
		$0 ~ tid && /"ph":"E"/ { depth-- }
		END { print most }' "$work/chrome.json")"
	grep -q rt_sigreturn "$work/json" || fail "no signal was handled"
	rmdir "$s"
fi
echo "$checks checks"
