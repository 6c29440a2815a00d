# SPDX-License-Identifier: GPL-2.0-or-later
#
# How long small files take to read while 16 workers change everything
# (tests/adversarial/tree_storm), a part of run: `version`, `status`, and the `status` of a session
# that records. Milliseconds: median / p99 / max. Beside it, with BASE=DIRECTORY, the same of the
# version that was built there, with the same workers. LATENCY_SECONDS (20): how long. LATENCY_SEED
# (1): of the workers.

latency_user=54321

# A program that records, again and again; its owner removes what was written.
latency_record() { # UID DIRECTORY
	while [ -e "$2/going" ]; do
		TRAIL_ATTACH_TIMEOUT=10 setpriv --reuid "$1" --regid "$1" --clear-groups \
			env LD_LIBRARY_PATH="$2" "$2/ticker" 2000 200 2 >/dev/null
		rm -rf "$2/out/$1"/* 2>/dev/null
	done
}

# Everything of a round is in a directory of its own, so that a daemon that dies leaves nothing to
# the next one.
latency_run() { # BUILD DIRECTORY
	local dir=$2 at=$2/mnt state=$2/state one two storm u
	mkdir -p "$at" "$state" && chmod 755 "$work" "$dir" &&
		mount -t tmpfs -o mode=755 state "$state" || return 1
	cp "$BUILD/tests/lib/ticker" "$1/libtrail.so.0" "$dir/" || return 1
	for u in 0 $latency_user $((latency_user + 1)); do
		mkdir -p "$dir/out/$u" && chown $u "$dir/out/$u"
	done
	TRAIL_RUNTIME_DIR=$state "$1/trailfs" "$at" -o max_frozen=64M,user_buffers=256M || return 1
	mkdir "$at/sessions/bench" && echo '*' >"$at/sessions/bench/user/events" &&
		echo start >"$at/sessions/bench/control" || return 1
	: >"$dir/going"
	TRAIL_RUNTIME_DIR=$state latency_record 0 "$dir" &
	one=$!
	TRAIL_RUNTIME_DIR=$state latency_record $latency_user "$dir" &
	two=$!
	"$BUILD/tests/adversarial/tree_storm" "$at" "$seconds" "${LATENCY_SEED:-1}" "$dir/out" \
		$latency_user \
		$((latency_user + 1)) "latency$$" >"$dir/storm.log" 2>&1 &
	storm=$!
	"$bin/read_time" "$seconds" "$at/version" "$at/status" "$at/sessions/bench/status" \
		>"$dir/times" 2>"$dir/error"
	wait $storm
	rm -f "$dir/going"
	wait $one $two
	for u in "$at"/sessions/*; do
		rmdir "$u" || { echo clear >"$u/control" && rmdir "$u"; }
	done 2>/dev/null
	fusermount3 -u "$at" || umount -l "$at"
	umount -l "$state"
}

latency_value() { # DIRECTORY FILE
	awk -v f="$1/mnt/$2" \
		'$1 == f { printf "%.1f / %.1f / %.1f", $3 / 1e3, $4 / 1e3, $5 / 1e3 }' "$1/times" \
		2>/dev/null
}

latency_p99() { # DIRECTORY FILE
	awk -v f="$1/mnt/$2" '$1 == f { print $4 }' "$1/times" 2>/dev/null
}

latency() {
	local seconds=${LATENCY_SECONDS:-20} f
	heading "reads while 16 workers change everything: ms, median / p99 / max${BASE:+ (theirs is $BASE)}"
	if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
		echo "  left out: this needs root and setpriv"
		return
	fi
	note "reads beside a storm, $seconds s"
	latency_run "$BUILD" "$work/latency" || die "no daemon for the reads"
	if [ -n "${BASE-}" ]; then
		note "the same of $BASE"
		latency_run "$BASE/build" "$work/latency.base" 2>/dev/null
		[ -s "$work/latency.base/times" ] ||
			note "its daemon died: $(cat "$work/latency.base/error")"
	fi
	for f in version status sessions/bench/status; do
		row "  cat $f" "$(latency_value "$work/latency" $f)" \
			"$(latency_value "$work/latency.base" $f)" \
			"$(ratio "$(latency_p99 "$work/latency" $f)" "$(latency_p99 \
				"$work/latency.base" $f)")"
	done
}
