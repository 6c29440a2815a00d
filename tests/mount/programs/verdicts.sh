#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# 300 random filters, each on an event of its own (verdicts/filters.py): LTTng and trailfs record
# the same hits of one program, unmodified and built with our headers. SOAK=1: 20 seeds.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/lttng.sh"
command -v python3 >/dev/null || skip "there is no python3"
why=$(lttng_missing)
[ -z "$why" ] || skip "$why"
mount_tree

# hits TEXT: event and n of each hit
hits() {
	sed 's/.* verdict:e\([0-9]*\): .*{ n = \([0-9]*\),.*/\1 \2/' "$1" | sort
}

# ours NAME COMMAND…: what a session with the rules records of it is $work/NAME.hits
ours() {
	mkdir "$S/$1" "$S/$1/user/channels/c" || fail "session $1"
	cat "$dir/rules" >"$S/$1/user/channels/c/events" || fail "rules of $1"
	put start "$S/$1/control"
	session=$1
	shift
	"$@" || fail "$session: exit status $?"
	put stop "$S/$session/control"
	is "$session: discarded" 0 "$(key events_discarded "$S/$session/status")"
	cat "$S/$session/text" >"$work/text"
	hits "$work/text" >"$work/$session.hits"
	rmdir "$S/$session" || fail "rmdir $session"
	diff "$work/theirs.hits" "$work/$session.hits" >"$work/diff" || {
		sed -n 's/^[<>] \([0-9]*\) .*/\1/p' "$work/diff" | sort -un | while read -r k; do
			sed -n "$((k + 1))p" "$dir/filters"
		done >"$work/differ"
		fail "$session, seed $seed: $(cat "$work/differ") $(cat "$work/diff")"
	}
}

seeds=19
[ -z "${SOAK-}" ] || seeds=$(seq 20)
for seed in $seeds; do
	dir=$work/seed$seed
	mkdir "$dir" "$dir/theirs" "$dir/ours"
	python3 "$here/verdicts/filters.py" "$dir" 300 "$seed" || fail "filters.py"
	cp "$here"/verdicts/*.[ch] "$dir/"
	gcc -O0 -w -I"$dir" -o "$dir/theirs/verdict" "$dir/hits.c" -llttng-ust -ldl || fail "hits"
	gcc -O0 -w -I"$top/ustlib/lttng" -I"$top/ustlib" -I"$dir" -o "$dir/ours/verdict" \
		"$dir/hits.c" -L"$BUILD" -ltrail -Wl,-rpath,"$BUILD" || fail "hits with our headers"
	echo "$dir/theirs/verdict" >"$dir/run"
	record_lttng "$dir" "$dir/run" "$dir/session" ||
		skip "not compared with LTTng: $(tail -n 1 "$work/lttng.out")"
	hits "$dir/text" >"$work/theirs.hits"
	events=$(wc -l <"$work/theirs.hits")
	[ "$events" -gt 300 ] || fail "LTTng recorded $events hits"
	ours unmodified env LD_LIBRARY_PATH="$BUILD/lttng" "$dir/theirs/verdict"
	ours rebuilt "$dir/ours/verdict"
done
echo "$checks checks, $events hits with the last seed"
