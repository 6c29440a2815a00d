#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What programs do to themselves while they are traced (rude.c): they behave as if they were not,
# and their events are recorded.
. "$(dirname "$0")/../../lib/mount.sh"
rude=$BUILD/tests/mount/programs/rude
mount_tree
mkdir "$S/s" "$S/s/user/channels/c" || fail mkdir
echo 4M >"$S/s/user/channels/c/subbuf_size"
echo 'rude:*' >"$S/s/user/channels/c/events"
echo start >"$S/s/control"

count() {
	grep -c "rude:$1: " "$S/s/text"
}

# run MODE: false if it cannot be done here
run() {
	echo clear >"$S/s/control"
	"$rude" "$1" >"$work/out"
	status=$?
	[ $status = 77 ] && return 1
	is "exit status of rude $1" 0 $status
}

# No file may be written to: the registration file has no place, and the program does not get the
# signal
is "a program that may write no files" alive "$( (ulimit -f 0 && "$rude" fsize) 2>&1)"

if run strict; then
	is "events before SECCOMP_MODE_STRICT" 100 "$(count before)"
	is "events after SECCOMP_MODE_STRICT" 100 "$(count after)"
fi
for rseq in 1 0; do
	export TRAIL_RSEQ=$rseq
	if run tsc; then
		is "events before PR_SET_TSC (rseq $rseq)" 100 "$(count before)"
		is "events without TSC (rseq $rseq)" 100 "$(count after)"
		is "events with TSC again (rseq $rseq)" 100 "$(count last)"
		is "their order (rseq $rseq)" "before after last" \
			"$(echo $(sed 's/.*rude:\([a-z]*\): .*/\1/' "$S/s/text" | uniq))"
	fi
done
# (With rseq a signal sends the writer back to its beginning, and nothing is taken.)
if run jump; then
	n=$(cat "$work/out")
	is "events from above" "$n" "$(count after)"
	is "events from below" "$n" "$(count deep)"
fi
echo "$checks checks; ${n:-no} jumps"
