#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# More paths than a flame graph has frames: the time of those without a frame is in what is around
# them, which has no end here. No time is missing.
. "$(dirname "$0")/../../lib/mount.sh"
deep=$BUILD/tests/mount/views/deep
[ -x "$deep" ] || skip "there is no test program"
mount_tree

for of in "4 50 few" "60 300 many"; do
	set -- $of
	s=$S/$3
	mkdir "$s" "$s/user/channels/c"
	put 4M "$s/user/channels/c/subbuf_size"
	printf '%s\n' 'deep:*' 'lttng_ust_cyg_profile:*' >"$s/user/channels/c/events" || fail "events"
	printf '%s\n' vpid vtid procname >"$s/user/channels/c/contexts" || fail "contexts"
	put start "$s/control"
	"$deep" $1 $2 || fail "deep"
	put stop "$s/control"
	is "$3: lost" 0 "$(key events_discarded "$s/status")"
	# (Each short slice is complete, no other is.)
	cat "$s/text" >"$work/text"
	is "$3: slices" $(($1 * $2)) "$(awk '$1 == "pair" && $NF == "deep:work" { print $4 }' \
		"$s/stats" | head -n 1)"
	cat "$s/export/flame.folded" >"$work/folded" && cat "$s/export/flame.svg" >"$work/svg" ||
		fail "flame"
	# The time of the short slices, from their events
	want=$(sed 's/^\[\([0-9]*\):\([0-9]*\):\([0-9]*\)\.\([0-9]*\)\].*deep:\(work_[a-z]*\):.*/\1 \2 \3 \4 \5/; t; d' \
		"$work/text" | awk '{ t = (($1 * 60 + $2) * 60 + $3) * 1000000000 + $4 }
		$5 == "work_begin" { begun = t } $5 == "work_end" { sum += t - begun } END { printf "%d", sum }')
	is "$3: time in flame.folded" "$want" "$(awk '{ n += $NF } END { printf "%d", n }' "$work/folded")"
	is "$3: time in flame.svg, to four digits" "" "$(grep -ao 'of all threads: [0-9.]* [mun]*s' \
		"$work/svg" | awk -v want="$want" '{ unit["ns"] = 1; unit["us"] = 1000; unit["ms"] = 1000000
		unit["s"] = 1000000000; n = $(NF - 1) * unit[$NF]; seen = 1 }
		END { if (!seen || n > want * 1.001 || n < want * 0.999) print n " for " want }')"
	rmdir "$s"
done
echo "$checks checks"
