# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the adversarial tests share. They need only the tree, and the programs beside them.

cd "$(dirname "$0")/../.." || exit 2
. tests/lib/within.sh
BUILD=${BUILD:-$PWD/build}
TMPDIR=${TMPDIR:-/tmp}
bin=$BUILD/tests/adversarial
mnt=$TMPDIR/mnt
slots=$TMPDIR/slots
TRAIL_RUNTIME_DIR=$TMPDIR/state
# Programs wait for the answer of a daemon that is slow because its machine is.
TRAIL_ATTACH_TIMEOUT=60000
export TRAIL_RUNTIME_DIR TRAIL_ATTACH_TIMEOUT
daemon=

skip() {
	echo "$*"
	exit 77
}

fail() {
	echo "FAILED: $*"
	for f in "$mnt/error" "$mnt"/sessions/*/error; do
		[ -s "$f" ] && { echo "$f:"; timeout 20 cat "$f"; }
	done
	[ -s "$TMPDIR/daemon.log" ] && { echo "daemon:"; tail -n 40 "$TMPDIR/daemon.log"; }
	exit 1
}

# have FILE: waits until a file exists (and answers)
answers() { timeout 200 cat "$1" >/dev/null 2>&1; }
have() { within 90 answers "$1"; }

mounted() {
	grep -qs " $mnt fuse" /proc/self/mounts
}

up_or_dead() { answers "$mnt/version" || daemon_ended; }

# Starts the daemon in the foreground, so that its pid is known. Verbs wait until they are done.
mount_tree() {
	[ -c /dev/fuse ] || skip "there is no /dev/fuse"
	command -v fusermount3 >/dev/null || skip "there is no fusermount3"
	mkdir -p "$mnt" "$TRAIL_RUNTIME_DIR"
	if [ ! -d "$TRAIL_RUNTIME_DIR/apps" ]; then
		mkdir "$TRAIL_RUNTIME_DIR/apps"
		[ "$(id -u)" != 0 ] || chmod 1777 "$TRAIL_RUNTIME_DIR/apps"
	fi
	"$BUILD/trailfs" "$mnt" -f -o tz=UTC,wait=100000 >>"$TMPDIR/daemon.log" 2>&1 &
	daemon=$!
	within 90 up_or_dead
	answers "$mnt/version" && return
	grep -qi 'permi\|not permitted' "$TMPDIR/daemon.log" &&
		skip "may not mount here: $(tail -n 1 "$TMPDIR/daemon.log")"
	fail "the daemon did not mount"
}

daemon_ended() {
	! kill -0 "$daemon" 2>/dev/null
}

umount_tree() {
	cd / || exit 2
	fusermount3 -u "$mnt" || fail "cannot unmount"
	# (It waits for the disk, if there was an output.)
	within 90 daemon_ended || fail "the daemon does not end after an unmount"
	wait "$daemon" || fail "the daemon ended with status $?"
	! grep -q 'ERROR: .*Sanitizer\|runtime error:' "$TMPDIR/daemon.log" ||
		fail "the sanitizer complained"
}

# As a crash; what it served is unmounted, and requests that wait for the next daemon fail.
kill_daemon() {
	kill -9 "$daemon"
	wait "$daemon" 2>/dev/null
	umount -f -l "$mnt" 2>/dev/null || fusermount3 -u -z "$mnt" 2>/dev/null
	! mounted || fail "the dead mount stays"
}

# What the writers have counted so far, all together
sum() {
	od -An -v -t u8 "$slots" 2>/dev/null |
		awk '{ for (i = 1; i <= NF; i++) s += $i } END { printf "%d", s }'
}

# have_counted NUMBER: more than that
have_counted() { [ "$(sum)" -gt "$1" ]; }
herd_writes() { within 90 have_counted 1000 || fail "nothing is traced"; }

alive() {
	kill -0 "$daemon" 2>/dev/null || fail "the daemon is dead"
	timeout 200 cat "$mnt/version" >/dev/null || fail "the daemon does not answer"
}

# copy_image FROM TO: cp -r of a trace image. An image lasts for two seconds after the last look of
# the process: a cp that had to wait longer for its CPU finds another one, says so, and begins
# again.
copy_image() {
	until cp -r "$1" "$2" 2>"$TMPDIR/cp.err"; do
		grep -q 'replaced while being copied' "$TMPDIR/cp.err" ||
			fail "cp -r $1: $(cat "$TMPDIR/cp.err")"
		rm -rf "$2"
	done
}

# put VALUE FILE: echo VALUE > FILE, or fail
put() {
	timeout 200 sh -c 'printf "%s\n" "$1" > "$2"' sh "$1" "$2" ||
		fail "writing '$1' to ${2#"$mnt"/}"
}

# make_session NAME LOSS_MODE SUBBUF_SIZE SUBBUF_COUNT: with all storm events, not started
make_session() {
	s=$mnt/sessions/$1
	mkdir "$s" || fail "mkdir $1"
	mkdir "$s/user/channels/channel0" || fail "mkdir channel0"
	put "$2" "$s/user/channels/channel0/loss_mode"
	put "$3" "$s/user/channels/channel0/subbuf_size"
	put "$4" "$s/user/channels/channel0/subbuf_count"
	put 'storm:*' "$s/user/events"
}

# key NAME FILE: the value of a `key value` line
key() {
	timeout 200 awk -v k="$1" '$1 == k { print $2; found = 1 } END { exit !found }' "$2" ||
		fail "no '$1' in $2"
}

# same_text SESSION_DIR: the events of text are what babeltrace2 prints, and nothing is left to be
# told by it but losses, which it says on standard error; leaves the events in $TMPDIR/text
same_text() {
	timeout 1000 cat "$1/text" >"$TMPDIR/text.all" || fail "cannot read text"
	grep -v '^WARNING: Tracer ' "$TMPDIR/text.all" >"$TMPDIR/text"
	rm -f "$TMPDIR/text.all"
	TZ=UTC timeout 1000 babeltrace2 "$1/trace" >"$TMPDIR/bt" 2>"$TMPDIR/bt.err" || {
		tail -n 20 "$TMPDIR/bt.err"
		fail "babeltrace2 does not accept the trace"
	}
	grep -v discarded "$TMPDIR/bt.err" | grep . && fail "babeltrace2 complains"
	cmp "$TMPDIR/text" "$TMPDIR/bt" || {
		line=$(cmp "$TMPDIR/text" "$TMPDIR/bt" | sed -n 's/.*line \([0-9]*\).*/\1/p')
		for f in text bt; do
			echo "$f:"
			sed -n "$((${line:-2} - 1)),$((${line:-1} + 1))p;$((${line:-1} + 1))q" \
				"$TMPDIR/$f"
		done
		fail "text is not what babeltrace2 prints"
	}
	rm -f "$TMPDIR/bt"
}

# tally: leaves `key value` lines in $TMPDIR/tally
tally() {
	"$bin/tally" "$slots" <"$TMPDIR/text" >"$TMPDIR/tally" ||
		{ cat "$TMPDIR/tally"; fail "the trace is wrong"; }
	tr '\n' ' ' <"$TMPDIR/tally"
	echo
}

# nothing_lost: all that is missing was counted, and that is little: what came while a process was
# attaching
nothing_lost() {
	lost=$(key events_discarded "$1/status")
	missing=$(($(key before "$TMPDIR/tally") + $(key holes "$TMPDIR/tally") + $(key behind \
		"$TMPDIR/tally") - ${2:-0}))
	expect "missing and not counted as discarded" "$missing" -le "$lost"
	expect "discarded" "$lost" -le $(($(key events "$TMPDIR/tally") / 10))
}

# expect "WHAT" NUMBER TEST-OPERATOR NUMBER
expect() {
	test "$2" "$3" "$4" || fail "$1: $2 $3 $4 does not hold"
}
