#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# libtrail for aarch64: clang builds it without a warning with Debian's libraries for that
# processor. A program with it, run by QEMU, which has no rseq(2), records for the daemon here: one
# thread, then several with signal handlers that interrupt them. The metadata writer and the
# formatters, built for aarch64, print what babeltrace2 prints. (vm/arm64.sh has a kernel for it.)
# SOAK=1, or AARCH64=1.
. "$(dirname "$0")/../lib/mount.sh"
[ -n "${AARCH64-}${SOAK-}" ] || skip "built for aarch64 for SOAK=1, or with AARCH64=1"
for c in clang ld.lld dpkg-deb babeltrace2; do
	command -v $c >/dev/null || skip "there is no $c"
done
qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || skip "there is no qemu-aarch64"
cd "$top" || exit 2

root=$("$top/tests/vm/foreign_root" arm64) || skip "$root"
cc="clang --target=aarch64-linux-gnu --sysroot=$root --gcc-toolchain=$root/usr -fuse-ld=lld
	-Wno-unused-command-line-argument"
flags="-std=gnu11 -D_GNU_SOURCE= -O1 -Wall -Wextra -Wshadow -Werror -I. -Iustlib"

# build DIRECTORY FLAGS SOURCE…: objects
build() {
	mkdir "$work/$1"
	to=$work/$1 more=$2
	shift 2
	for f in "$@"; do
		echo "$f"
	done | xargs -P 2 -I{} sh -c "$(echo $cc $flags) $more -c -o '$to/'\$(echo {} | tr / _).o {}" \
		>"$work/log" 2>&1 || fail "$(head -n 20 "$work/log")"
}
build lib "-fPIC -fvisibility=hidden" ustlib/*.c ustlib/base/*.c ustlib/context/*.c ustlib/front/*.c
$cc -shared -Wl,-soname,libtrail.so.0 -Wl,-z,nodelete -Wl,-z,defs -o "$work/libtrail.so.0" \
	"$work"/lib/*.o -lpthread >"$work/log" 2>&1 || fail "$(cat "$work/log")"
ln -s libtrail.so.0 "$work/libtrail.so"

# --- a program
cat >"$work/program.c" <<'C'
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <trail/trail.h>

static void handle(int number)
{
	TRAIL(arm, signal, number);
}
static void *run(void *arg)
{
	const long thread = (long)arg;

	for (int i = 0; i < 5000; i++)
		TRAIL(arm, thread, thread, i);
	return 0;
}
int main(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	pthread_t threads[4];

	for (int i = 0; i < 3; i++) {
		const double half = i / 2.0;
		const char *text = "eight";
		TRAIL(arm, one, i, half, text);
	}
	signal(SIGALRM, handle);
	setitimer(ITIMER_REAL, &often, 0);
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], 0, run, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], 0);
	setitimer(ITIMER_REAL, &never, 0);
	return 0;
}
C
$cc $flags -o "$work/program" "$work/program.c" -L"$work" -ltrail -Wl,-rpath,"$work" -lpthread \
	>"$work/log" 2>&1 || fail "$(cat "$work/log")"
mount_tree
mkdir "$S/s" && put 'arm:*' "$S/s/user/events" && put start "$S/s/control" || fail "session"
timeout 300 $qemu -L "$root" "$work/program" || fail "the program: exit status $?"
put stop "$S/s/control"
cat "$S/s/text" >"$work/text"
is "one" "0 0 eight,1 0.5 eight,2 1 eight" "$(sed -n \
	's/.*arm:one: .*{ i = \(.*\), half = \(.*\), text = "\(.*\)" }$/\1 \2 \3/p' "$work/text" |
	paste -s -d ,)"
is "discarded" 0 "$(key events_discarded "$S/s/status")"
for t in 0 1 2 3; do
	# Each thread's events, all of them and in order
	sed -n "s/.*arm:thread: .*{ thread = $t, i = \(.*\) }\$/\1/p" "$work/text" >"$work/thread"
	seq 0 4999 | cmp -s - "$work/thread" || fail "thread $t: $(wc -l <"$work/thread") events"
	checks=$((checks + 1))
done
grep -q arm:signal: "$work/text" || fail "no signal"
same_text "$S/s"

# --- metadata/ and the headers of events
build metadata "" metadata/*.c tests/unit/metadata/test_babeltrace.c
$cc -o "$work/test_babeltrace" "$work"/metadata/*.o -lm >"$work/log" 2>&1 ||
	fail "$(cat "$work/log")"
$qemu -L "$root" "$work/test_babeltrace" >"$work/cases" 2>&1 || fail "$(cat "$work/cases")"
is "cases" "" "$(grep -v '^ok \|^#\|^1\.\.\|^$' "$work/cases")"
echo "$checks checks, $(grep -c arm:signal: "$work/text") signals"
