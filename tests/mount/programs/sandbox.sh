#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Applications that may do little: sandboxes that deny or kill, AddressSanitizer, process 1 of
# containers that share nothing but the state directory. They behave as if they were not traced, and
# are traced as far as they can be.
. "$(dirname "$0")/../../lib/mount.sh"
sandbox=$BUILD/tests/mount/programs/sandbox
mount_tree

count() { grep -c " box:$1: " "$S/$session/text"; }
begin() {
	session=$1
	mkdir "$S/$1" && mkdir "$S/$1/user/channels/c" &&
		echo 64 >"$S/$1/user/channels/c/subbuf_count" &&
		echo 32k >"$S/$1/user/channels/c/subbuf_size" &&
			echo "${2:-box:*}" >"$S/$1/user/channels/c/events" &&
		echo start >"$S/$1/control" || fail "session $1"
}

# run HOW: standard input is a pipe that gets a byte when the program is ready
run() {
	mkfifo "$work/in" "$work/out"
	"$sandbox" "$1" <"$work/in" >"$work/out" &
	pid=$!
	exec 8>"$work/in" 9<"$work/out"
	read -r line <&9
	[ "$line" = ready ] || { wait $pid; status=$?; exec 8>&- 9<&-; rm "$work/in" "$work/out"
				 [ $status = 77 ] &&
					skip "no seccomp here"; fail "$1: status $status"; }
	${2:-:}
	echo >&8
	read -r line <&9
	wait $pid || fail "$1: exit status $?"
	[ "$line" = done ] || fail "$1: not done"
	exec 8>&- 9<&-
	rm "$work/in" "$work/out"
}

# Attached before: continues being traced.
begin early
run early
[ "$(count before)" = 2000 ] || fail "early: $(count before) events before"
[ "$(count after)" -gt 1 ] || fail "early: $(count after) events after"

# Not attached: cannot be traced, does not mind. What it could not record is counted.
begin late
run late
[ "$(count after)" = 0 ] || fail "late: traced?"

# Everything made ready before; afterwards no system call, whatever is switched on.
begin sealed 'box:before
box:after'
more() { echo 'box:*' >>"$S/sealed/user/channels/c/events" || fail "one more rule"; }
run sealed more
[ "$(count before)" = 2000 ] || fail "sealed: $(count before) events before"
[ "$(count after)" = 2000 ] || fail "sealed: $(count after) events after: $(cat "$S/sealed/status")"
[ "$(count other)" = 0 ] || fail "sealed: more than it was ready for"

# A child of a sealed process lives in the same sandbox. It has no ring of its own where rings belong
# to threads: its events are counted.
begin forked
run forked
case ${TRAIL_RSEQ-1}-$(uname -m) in
1-x86_64 | 1-aarch64 | 1-riscv64)
	[ "$(count child)" = 2000 ] || fail "forked: $(count child) events"
	;;
*)
	[ $(($(count child) + $(key events_discarded "$S/forked/status"))) = 2000 ] ||
		fail "forked: $(cat "$S/forked/status")"
	;;
esac

# A library that is unloaded after that, and then a child
cat >"$work/plugin.c" <<'C'
#include <trail/trail.h>
void hit(void) { TRAIL(box, plugin, TRAIL_FIELD(n, 1)); }
C
cat >"$work/unload.c" <<'C'
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <trail/trail.h>
int main(int argc, char **argv)
{
	void *plugin = dlopen(argv[argc - 1], RTLD_NOW);
	int status = 1;

	if (!plugin || trail_seal() || dlclose(plugin))
		return 2;
	if (!fork())
		_exit(0);
	return wait(&status) < 0 || status;
}
C
cc=${CC:-gcc}
if command -v "${cc%% *}" >/dev/null; then
	$cc -I"$top/ustlib" -shared -fPIC -o "$work/plugin.so" "$work/plugin.c" -L"$BUILD" -ltrail &&
		$cc -I"$top/ustlib" -o "$work/unload" "$work/unload.c" -L"$BUILD" -ltrail -ldl ||
			fail "unload: not built"
	LD_LIBRARY_PATH=$BUILD "$work/unload" "$work/plugin.so" ||
		fail "a child after the library was unloaded: $?"
fi

# AddressSanitizer's program and our library
cat >"$work/asan.c" <<'C'
#include <stdlib.h>
#include <trail/trail.h>
int main(void)
{
	char *s = malloc(4);
	s[0] = 'a', s[1] = 0;
	for (int n = 0; n < 1000; n++)
		TRAIL(box, asan, n, s);
	free(s);
	return 0;
}
C
if $cc -fsanitize=address,undefined -I"$top/ustlib" -o "$work/asan" "$work/asan.c" \
	-L"$BUILD" -ltrail 2>"$work/cc.log"; then
	begin asan
	ASAN_OPTIONS= LD_LIBRARY_PATH=$BUILD "$work/asan" >"$work/asan.log" 2>&1 ||
		fail "asan: $(cat "$work/asan.log")"
	[ "$(count asan)" = 1000 ] || fail "asan: $(count asan) events"
else
	echo "no AddressSanitizer here: $(head -n 1 "$work/cc.log")"
fi

# Process 1, many times, all with the same number.
if [ "$(id -u)" = 0 ] && unshare -p -f true 2>/dev/null; then
	begin containers
	# Four that have hit their tracepoint before the rule is there, and end after it
	begin ticked 'tick:*'
	pids=
	for i in 1 2 3 4; do
		unshare -p -f --kill-child "$BUILD/tests/lib/ticker" 0 1000 >"$work/ticks$i" &
		pids="$pids $!"
	done
	all_tick() { [ "$(grep -c 'tick:tock: .* n = 1 ' "$S/ticked/text")" = 4 ]; }
	within 20 all_tick || fail "not all of process 1 tick: $(cat "$S/ticked/status")"
	echo 'tick:*' >>"$S/containers/user/channels/c/events"
	rmdir "$S/ticked" || fail rmdir
	for i in 1 2 3 4; do
		unshare -p -f --kill-child "$BUILD/tests/lib/ticker" 500 0 || fail "as process 1"
	done
	for pid in $pids; do
		kill $(pgrep -P "$pid")
		wait "$pid" || fail "process 1 ended with status $?"
	done
	for i in 1 2 3 4; do
		grep -q "tick:tock: .* n = $(($(cat "$work/ticks$i") - 1)) " "$S/containers/text" ||
			fail "containers: $(cat "$S/containers/status")"
	done
	[ "$(grep -c 'tick:tock: .* n = 0 ' "$S/containers/text")" = 4 ] ||
		fail "containers: $(cat "$S/containers/status")"
	none() { [ -z "$(ls "$TRAIL_RUNTIME_DIR/apps")" ]; }
	within 20 none || fail "left: $(ls "$TRAIL_RUNTIME_DIR/apps" | wc -l)"
else
	echo "no PID namespaces here"
fi
