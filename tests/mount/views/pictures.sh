#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# Pictures tell the truth: `stats`, chrome.json, perfetto, timeline.html, flame.svg and flame.folded
# have the slices that slice_oracle.py finds in `export/json`, with the same counts, totals and
# maxima, of slices in slices, of functions, of a ring that was cut, and of the kernel: of a hundred
# signals and of a program that does system calls alone. Where Chromium is installed and starts, it
# draws the pages at three zooms, and each column that one of these slices fills is filled; what
# threads do follows from the switches. Where flamegraph.pl is (Debian has it in
# libdevel-nytprof-perl), it makes the totals of flame.svg from flame.folded; speedscope, from npm
# where that can be reached, has the times of flame.folded.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/npm.sh"

python3 -c 'import json' 2>/dev/null || skip "there is no python3"
SLICES=$BUILD/tests/lib/slices
CUT=$BUILD/tests/mount/views/cut
[ -x "$SLICES" ] && [ -x "$CUT" ] || skip "there is no slices, or no cut"
mount_tree
s=$S/pictures
pages= folded=
nytprof=/usr/share/perl5/Devel/NYTProf/flamegraph.pl
FLAMEGRAPH=${FLAMEGRAPH:-$(command -v flamegraph.pl || { [ -r $nytprof ] && echo $nytprof; })}
[ -n "$FLAMEGRAPH" ] || echo "# there is no flamegraph.pl"
speedscope=
if ! command -v chromium >/dev/null; then
	:
elif need_npm speedscope@1.25.0 package.json; then
	speedscope=$(node -p 'path.dirname(require.resolve("speedscope/package.json"))')
else
	echo "# there is no speedscope: $(grep -v '^$' "$work/npm.log" | head -n 1)"
fi
# begin [RULE…]: of programs, with the contexts that pictures need
begin() {
	mkdir "$s" || fail "mkdir"
	printf '%s\n' "$@" >"$s/user/events"
	printf '%s\n' vpid vtid procname >"$s/user/contexts"
}
# end NAME [FORM [tracked]]: judges the session, keeps its page, and removes it. FORM: of json
end() {
	d=$work/$1
	mkdir "$d"
	cat "$s/export/${2:-json}" >"$d/json" || fail "$1: cannot read"
	for f in chrome.json perfetto timeline.html flame.svg flame.folded; do
		cat "$s/export/$f" >"$d/$f" || fail "$1: cannot read $f"
	done
	cat "$s/stats" >"$d/stats" || fail "$1: cannot read stats"
	python3 "$top/tests/lib/judge_slices.py" "$d/json" "$d/chrome.json" "$d/perfetto" \
		"$d/timeline.html" "$d/flame.svg" "$d/stats" "$d/flame.folded" $3 \
		>"$d/judged" 2>&1 ||
		fail "$1: $(tail -c 3000 "$d/judged")"
	checks=$((checks + 1))
	[ -z "$FLAMEGRAPH" ] || ! [ -s "$d/flame.folded" ] || {
		perl "$FLAMEGRAPH" --minwidth=0 "$d/flame.folded" >"$d/theirs.svg" 2>"$d/flamed" &&
			python3 "$top/tests/lib/judge_flame.py" "$d/theirs.svg" "$d/flame.svg" \
				>"$d/flamed" 2>&1 || fail "$1: $(tail -n 3 "$d/flamed")"
		checks=$((checks + 1))
	}
	# (Of a long table speedscope shows a part.)
	[ ! -s "$d/flame.folded" ] || [ "$(wc -l <"$d/flame.folded")" -gt 20 ] ||
		folded="$folded $d/flame.folded"
	echo "# $1: $(cat "$d/judged") slices, instants, counters, switches, flows"
	pages="$pages $d"
	rmdir "$s"
}

begin 'work:*'
put start "$s/control"
"$SLICES" 300 || fail "slices"
put stop "$s/control"
end own

# --- begins that a program forgets to end: nothing is nested in them for ever
begin 'work:*'
put start "$s/control"
"$SLICES" 3 forget || fail "slices"
put stop "$s/control"
cat "$s/export/chrome.json" >"$work/forgotten.json"
is "depth of slices" 4 "$(python3 - "$work/forgotten.json" <<'END'
import collections, json, sys
depth, most = collections.Counter(), 0
for e in json.load(open(sys.argv[1], encoding="utf-8"))["traceEvents"]:
    depth[e["pid"], e["tid"]] += {"B": 1, "E": -1}.get(e["ph"], 0)
    most = max(most, depth[e["pid"], e["tid"]])
print(most)
END
)"
end forgotten

# --- a ring that was cut: the ends of begins in another ring
mkdir "$s" "$s/user/channels/small" || fail "mkdir"
echo 4096 >"$s/user/channels/small/subbuf_size"
echo 2 >"$s/user/channels/small/subbuf_count"
printf '%s\n' vpid vtid procname >"$s/user/channels/small/contexts"
put 'cut:*' "$s/user/channels/small/events"
put start "$s/control"
"$CUT" 20 5000
cut=$?
[ $cut = 0 ] || [ $cut = 77 ] || fail "cut"
put stop "$s/control"
if [ $cut = 77 ]; then
	echo "# one CPU alone: no ring is cut"
	rmdir "$s"
else
	has "$(cat "$s/stats")" '^# 20 begins without an end because events were overwritten$'
	is "no phantom in stats" "" "$(grep 'pair.*cut:request' "$s/stats")"
	cat "$s/export/chrome.json" >"$work/chrome.json"
	is "no phantom in chrome.json" 20 "$(grep -c '"ph":"B"' "$work/chrome.json")"
	has "$(cat "$work/chrome.json")" 'begins without an end, which was overwritten":"20"'
	has "$(cat "$s/export/flame.svg")" 'without 20 begins whose ends were overwritten'
	is "no phantom in flame.folded" "cut;cut:whole cut;cut:whole;cut:inner" \
		"$(echo $(sed 's/ [0-9]*$//' "$s/export/flame.folded"))"
	end cut
fi

# --- functions
cc=$(command -v cc || command -v gcc)
cat >"$work/calls.c" <<'EOF'
__attribute__((noinline)) static int fall(int n) { return n < 2 ? n : fall(n - 1) + fall(n - 2); }
__attribute__((noinline)) static int turn(int n) { int sum = 0; while (n--) sum += fall(n % 7); return sum; }
int main(void) { return turn(200) == 1; }
EOF
if [ -n "$cc" ] && "$cc" -O1 -finstrument-functions -o "$work/calls" "$work/calls.c" 2>"$work/cc.log"; then
	begin 'lttng_ust_cyg_profile:*' 'lttng_ust_statedump:*'
	put start "$s/control"
	LD_PRELOAD=$BUILD/libtrail-dl.so:$BUILD/libtrail-cyg-profile.so "$work/calls" || fail "calls"
	put stop "$s/control"
	end functions json.symbols
	is "names of functions" "fall main turn" \
		"$(echo $(awk '$1 == "pair" { print $NF }' "$work/functions/stats" | sort))"
fi

# --- the kernel
if [ -d "$MNT/available/kernel" ] && ! grep -q '^kernel none' "$MNT/version"; then
	# calls COMMAND…: the system calls of a command
	calls() {
		mkdir "$s" && mkfifo "$work/go"
		echo 'syscall:*' >"$s/kernel/events"
		echo 'pid tid procname' >"$s/kernel/contexts"
		sh -c 'read x <"$0"; exec "$@"' "$work/go" "$@" 2>/dev/null &
		p=$!
		tid=$(kernel_pid $p)
		echo $p >"$s/kernel/track/pid"
		put start "$s/control"
		echo >"$work/go"
		wait $p
		put stop "$s/control"
		rm "$work/go"
	}
	calls sh -c 'trap : USR1; n=0; while [ $n -lt 100 ]; do kill -USR1 $$; n=$((n + 1)); done'
	end signals
	is "signals" 100 "$(grep -c '"event":"syscall_entry_rt_sigreturn"' "$work/signals/json")"
	is "depth of calls" 1 "$(awk -v tid="\"tid\":$tid[,}]" '
		$0 ~ tid && /"ph":"B"/ { if (++depth > most) most = depth }
		$0 ~ tid && /"ph":"E"/ { depth-- }
		END { print most }' "$work/signals/chrome.json")"
	calls dd if=/dev/zero of=/dev/null bs=1 count=3000
	end busy

	# Requests of a process: other threads have most of their ends.
	mkdir "$s" && mkfifo "$work/go"
	printf '%s\n' block_rq_issue block_rq_complete >"$s/kernel/events"
	echo 'pid tid procname' >"$s/kernel/contexts"
	sh -c 'read x <"$0"; exec dd if=/dev/zero of="$1" bs=64k count=300 oflag=direct' \
		"$work/go" "$work/disk" 2>/dev/null &
	p=$!
	echo $p >"$s/kernel/track/pid"
	put start "$s/control"
	echo >"$work/go"
	wait $p
	put stop "$s/control"
	rm -f "$work/go" "$work/disk"
	if [ "$(grep -c block_rq_issue "$s/export/json")" -gt 0 ]; then
		cat "$s/stats" "$s/export/report.html" >"$work/said"
		end tracked json tracked
		gone=$(sed -n 's/^# \([0-9]*\) begins without an end because of tracking$/\1/p' \
			"$work/said")
		echo "# tracked: ${gone:-0} requests without an end"
		[ -z "$gone" ] || has "$(cat "$work/said")" "\"tracked\":$gone,"
		is "stripes of requests" 0 "$(grep -c 'no end' "$work/tracked/chrome.json")"
	else
		echo "# no block device has requests of dd here"
		rmdir "$s"
	fi

	# What threads do.
	mkdir "$s"
	printf '%s\n' sched_switch sched_waking 'sched_wakeup*' syscall:read >"$s/kernel/events"
	echo 'pid tid procname' >"$s/kernel/contexts"
	put start "$s/control"
	for i in 1 2 3; do
		cat /proc/self/stat >/dev/null && sleep 0.01
	done
	put stop "$s/control"
	cat "$s/export/report.html" >"$work/report.html"
	sed -n '/"processes":\[/,/"processes_more"/p' "$work/report.html" | grep '^\[' >"$work/processes"
	is "processes in the report" 1 "$(($(wc -l <"$work/processes") > 1))"
	is "processes without events" "" "$(grep ',[0-9]*,0,[0-9]*,[0-9]*\]' "$work/processes")"
	end switches
fi

if [ -n "$speedscope" ]; then
	python3 "$top/tests/lib/browse_speedscope.py" "$speedscope" $folded >"$work/scoped" 2>&1
	case $? in
	0) checks=$((checks + 1)) && echo "# speedscope has the frames: $(echo $(cat "$work/scoped"))" ;;
	77) echo "# chromium does not work here: $(tail -n 1 "$work/scoped")" ;;
	*) fail "speedscope: $(tail -n 5 "$work/scoped")" ;;
	esac
fi
if command -v chromium >/dev/null; then
	python3 "$top/tests/lib/browse_slices.py" $pages >"$work/browsed" 2>&1
	case $? in
	0) checks=$((checks + 1)) ;;
	77) echo "# chromium does not work here: $(tail -n 1 "$work/browsed")" ;;
	*) fail "the pages: $(tail -n 5 "$work/browsed")" ;;
	esac
	echo "# columns, and changes of what threads do: $(echo $(cat "$work/browsed"))"
else
	echo "# there is no chromium: nothing is drawn"
fi
echo "$checks checks"
