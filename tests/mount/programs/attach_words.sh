#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# State words of programs that register while a session is active: the library stores those of the
# answer, so the daemon writes none. It writes them for an application that does not ask, and
# corrects them for one that asks and does not store them.
. "$(dirname "$0")/../../lib/mount.sh"
many=$BUILD/tests/mount/programs/many
asker=$BUILD/tests/mount/rules/asker
[ -x "$asker" ] && [ -x "$many" ] || skip "there are no test programs"
mkdir -p "$TRAIL_RUNTIME_DIR/apps" "$work/answers"
[ "$(id -u)" != 0 ] || chmod 1777 "$TRAIL_RUNTIME_DIR/apps"
mount_tree
pid=$(daemon_pids)
[ -r "/proc/$pid/io" ] || skip "/proc/PID/io is not there: it counts system calls"
calls() { sed -n 's/^syscw: //p' "/proc/$pid/io"; }
session() { # NAME RULE
	mkdir "$S/$1" "$S/$1/user/channels/c" && echo "$2" >"$S/$1/user/channels/c/events" &&
		echo start >"$S/$1/control" || fail "session $1"
}

# The least of a few starts: other threads of the daemon write, too.
session all 'many:*'
"$many" >"$work/out" || fail "many: $?"
least=100000
for i in 1 2 3 4 5; do
	before=$(calls)
	"$many" >"$work/out" || fail "many: $?"
	n=$(($(calls) - before))
	[ "$n" -ge "$least" ] || least=$n
done
[ "$least" -lt 100 ] ||
	fail "the daemon writes $least times to attach a program with 512 tracepoints"
is "discarded" 0 "$(key events_discarded "$S/all/status")"
rmdir "$S/all" || fail rmdir

# An application of its own: events 0 and 1 are wanted, 2 is not
start_asker() {
	rm -f "$work/answers"/* "$work/ask"
	mkfifo "$work/ask" || fail mkfifo
	ASKER_WORD=254 "$asker" "$work/answers" <"$work/ask" &
	app=$!
	exec 9>"$work/ask"
}
end_asker() {
	exec 9>&-
	wait $app
	gone() { [ ! -e "$MNT/apps/$app" ]; }
	within 10 gone || fail "the application has ended, and is in apps"
}
ask() { # words or plan
	asked=$(($(ls "$work/answers" | wc -l) + 1))
	echo "$1" >&9
	within 10 test -e "$work/answers/$asked" || fail "no answer from asker"
	answer=$work/answers/$asked
}
word() {
	ask words
	sed -n "s/^word $1 //p" "$answer"
}
written() { # the daemon has written the words
	on=$(word 0)
	[ "$on" != 0 ] && [ "$on" != 254 ] && [ "$(word 1)" = "$on" ] && [ "$(word 2)" = 0 ]
}

session some 'my_app:request
my_app:other'
start_asker
within 20 written || fail "it did not ask, and its words are $(word 0) $(word 1) $(word 2)"
end_asker

start_asker
ask plan
is "slots" 2 "$(grep -c '^slot' "$answer")"
value=$(sed -n 's/^slot event 0 .* word \([0-9]*\) .*/\1/p' "$answer")
within 20 written || fail "it did not store its words: $(word 0) $(word 1) $(word 2)"
is "the word of the answer, or of a later one" yes "$([ "$(word 0)" -ge "$value" ] && echo yes)"
# A later change is written at once.
echo stop >"$S/some/control" || fail stop
off() { [ "$(word 0)" = 0 ] && [ "$(word 1)" = 0 ]; }
within 10 off || fail "stopped, and the words are $(word 0) $(word 1)"
end_asker
rmdir "$S/some" || fail rmdir
echo "$checks checks"
