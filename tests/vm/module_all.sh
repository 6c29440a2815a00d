#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 3600
#
# trail.ko with the probes of all trace headers: how many events they cover, that every tracepoint
# can be recorded, all of them at once under load; that each kind which fires has the fields that
# tracefs records; and that all modules can be unloaded at any time. On 5.10, for which no probes are
# compiled, counters record all.
if [ -z "${VM-}" ] && [ -z "${SOAK-}${VM_MODULE-}" ]; then
	echo "building the probes of all headers takes minutes: VM_MODULE=1 tests/run vm/module_all.sh, or make soak"
	exit 77
fi
VM_FULL=1 VM_SECONDS=${VM_SECONDS:-5000} VM_MEMORY=${VM_MEMORY:-2G}
export VM_FULL VM_SECONDS VM_MEMORY
. "$(dirname "$0")/modlib.sh"
cc=${CC:-cc}

# Something of everything that needs no hardware
cat >"$work/load.c" <<'C'
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nothing(int signal) { (void)signal; }

/* load CPU TIMES: between two calls of getppid */
int main(int argc, char **argv)
{
	struct timespec t = { 0, 1000000 };
	cpu_set_t cpu;
	char buf[4096] = "";
	int s[2], p[2];

	CPU_ZERO(&cpu);
	CPU_SET(atoi(argv[1]), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	signal(SIGUSR1, nothing);
	(void)argc;
	syscall(SYS_getppid);
	for (int i = 0; i < atoi(argv[2]); i++) {
		char *m = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);

		memset(m, 1, 65536);
		munmap(m, 65536);
		kill(getpid(), SIGUSR1);
		nanosleep(&t, NULL);
		if (write(fd, buf, sizeof(buf)) < 0 || fsync(fd))
			break;
		close(fd);
		unlink("file");
		if (!socketpair(AF_UNIX, SOCK_STREAM, 0, s) && !pipe(p)) {
			if (write(s[0], buf, 100) != 100 || read(s[1], buf, 100) != 100 || write(p[1], buf, 9) != 9)
				break;
			for (int k = 0; k < 2; k++)
				close(s[k]), close(p[k]);
		}
		if (i % 5 == 0) {
			if (!fork())
				_exit(0);
			wait(NULL);
		}
	}
	syscall(SYS_getppid);
	return 0;
}
C
$cc -D_GNU_SOURCE -o "$work/load" "$work/load.c" || skip "no compiler"
cd "$work" || exit 2

# Modules with probes that call into others: once those are there
load() {
	busybox insmod "$modules/trail.ko" || fail "trail.ko: $(dmesg | tail -n 5)"
	for ko in "$modules"/trail_*.ko; do
		for needed in $(strings "$ko" 2>/dev/null | sed -n 's/^depends=//p' | tr , ' '); do
			[ "$needed" = trail ] || modprobe "$needed" 2>/dev/null ||
				busybox modprobe "$needed" 2>/dev/null
		done
		if busybox insmod "$ko" 2>/dev/null; then
			loaded="$(basename "$ko" .ko) ${loaded-}"
		else
			case $ko in */trail_events.ko) fail \
				"trail_events.ko: $(dmesg | tail -n 5)" ;; esac
			echo "not loaded: $(basename "$ko") ($(dmesg | tail -n 1))"
		fi
	done
}

unload() {
	for m in ${loaded-}; do
		within 10 busybox rmmod "$m" ||
			fail "$m cannot be unloaded: $(busybox lsmod | grep trail)"
	done
	loaded=
	busybox rmmod trail || fail "trail cannot be unloaded: $(busybox lsmod | grep trail)"
}

clean() {
	dmesg | grep -E 'WARNING: |BUG: |Oops|general protection|possible circular|inconsistent lock|trail.*(error|invalid)' && fail "the kernel complained"
	checks=$((checks + 1))
}

# --- a module of another kernel: refused, and tracefs continues
for other in "$BUILD"/vm/modules-*/kmod/trail.ko; do
	case $other in */modules-$VM-full/* | */modules-$VM/*) continue ;; esac
	[ ! -e "$other" ] || ! busybox insmod "$other" 2>/dev/null ||
		fail "a module of another kernel was loaded: $other"
	[ ! -e "$other" ] ||
		has "$(dmesg | tail -n 3)" \
		'version magic\|section size must match\|disagrees about version'
done
TRAIL_RUNTIME_DIR=$work/other-state
export TRAIL_RUNTIME_DIR
other=$(mktemp -d)      # not in $work, which is removed
"$TRAILFS" "$other" || fail "no other mount"
unset TRAIL_RUNTIME_DIR
has "$(cat "$other/version")" '^kernel tracefs'
if [ -e "$other/available/kernel/probes" ]; then
	# By programs where it can, and else by tracefs
	is "without the module" "" "$(grep -v -e ' tracefs$' -e ' bpf$' -e ' daemon$' "$other/available/kernel/probes")"
fi

# --- how much is covered, and that it can all be recorded
for m in ext4 sunrpc; do
	modprobe $m 2>/dev/null || busybox modprobe $m 2>/dev/null || echo "without $m"
done
load
mount_tree
case $VM in 5.10) least=0 ;; 6.1) least=900 ;; *) least=1000 ;; esac
n=$(wc -l </dev/trail)
[ "$n" -ge $least ] || fail "only $n events have compiled probes, not $least"
has "$(cat "$MNT/version")" "^kernel module (.* $n events with compiled probes"
cp "$MNT/available/kernel/probes" "$work/probes"
# Not the daemon's own events, nor what tracefs itself makes: these have no tracepoint.
while IFS=: read -r system name; do
	[ "$system" = ftrace ] || [ ! -e "$T/events/$system/$name/id" ] || echo "$system:$name"
done <"$MNT/available/kernel/tracepoints" >"$work/tracepoints"
sed '/ daemon$/d; s/ .*//' "$work/probes" | grep -v '^ftrace:' | cmp -s - "$work/tracepoints" ||
	fail "not each tracepoint is there"
sed -n 's/ module$//p' "$work/probes" | sort >"$work/covered"
comm -23 "$work/covered" - <<-E >"$work/liars"
	$(sort /dev/trail)
E
[ ! -s "$work/liars" ] || fail "not compiled: $(cat "$work/liars")"
echo "$n events compiled; of the $(wc -l <"$work/probes") tracepoints here $(wc -l \
	<"$work/covered")"
"$BUILD/tests/vm/enable_each" <"$work/tracepoints" >"$work/each" || fail "no channel"
is "each was tried" "$(wc -l <"$work/tracepoints")" "$(wc -l <"$work/each")"
is "compiled, as the tree says" "$(cat "$work/covered")" \
	"$(sed -n 's/ compiled$//p' "$work/each" | sort)"
grep -v -e ' compiled$' -e ' counters$' "$work/each" >"$work/refused"
[ ! -s "$work/refused" ] || echo "refused: $(cat "$work/refused")"
[ "$(wc -l <"$work/refused")" -le 2 ] || fail "more than two cannot be recorded"
clean

# What fires often, where none are compiled
cp "$work/covered" "$work/chosen"
[ -s "$work/covered" ] || grep -e '^\(sched\|irq\|timer\|signal\|task\|exceptions\|filemap\):' \
	-e '^kmem:mm_' "$work/tracepoints" >"$work/chosen"
case $VM in 5.10) kinds=20 ;; *) kinds=40 ;; esac

# --- all compiled ones at once, by tracefs and the module, under load: each kind that fires is the same
for m in "$other" "$MNT"; do
	s=$m/sessions/same
	mkdir "$s" "$s/kernel/channels/channel0"
	[ "$m" = "$MNT" ] || put tracefs "$s/kernel/channels/channel0/backend"
	echo 4M >"$s/kernel/channels/channel0/subbuf_size"
	put discard "$s/kernel/channels/channel0/loss_mode"
	echo syscall:getppid | cat "$work/chosen" - >"$s/kernel/events" || fail "$(cat "$s/error")"
	echo tid >"$s/kernel/contexts"
done
# What CPU 0 did between the marks, without times. An interrupt may have come between the two probes
# of one event: order is not compared.
window() {
	awk -v mark="syscall_entry_getppid: { cpu_id = 0 }, { tid = $pid }" '
		!/: { cpu_id = 0 }, / { next }
		{ sub(/^\[[^]]*\] \([^)]*\) /, "") }
		index($0, mark) { marks++ }
		marks == 1 && !index($0, mark)' "$1/sessions/same/text" | sort
}
: >"$work/same"
for try in 1 2 3; do
	# To start and to stop a thousand events takes seconds: buffers may be full before the marks,
	# and after them.
	for verb in start clear; do
		for m in "$other" "$MNT"; do
			put $verb "$m/sessions/same/control"
		done
	done
	"$work/load" 0 20 &
	pid=$!
	wait $pid
	for m in "$other" "$MNT"; do
		put stop "$m/sessions/same/control"
	done
	window "$other" >"$work/by_tracefs"
	window "$MNT" >"$work/by_module"
	# Kinds whose records differ, though maybe only since an interrupt came between the two
	# probes of a mark: again.
	diff "$work/by_tracefs" "$work/by_module" |
		sed -n 's/^[<>] [^ ]* \([^:]*\): .*/\1/p; s/^[<>] \([^ :]*\): .*/\1/p' |
		sort -u >"$work/differ"
	awk '{ print $2 }' "$work/by_module" | tr -d : | sort -u | comm -23 - "$work/differ" |
		sort -u - "$work/same" >"$work/same.new"
	mv "$work/same.new" "$work/same"
	comm -23 "$work/differ" "$work/same" >"$work/never"
	cp "$work/by_tracefs" "$work/by_module" "$work/differ" "$OUT/" 2>/dev/null
	[ -s "$work/never" ] || break
done
echo "$(wc -l <"$work/by_module") events; $(wc -l <"$work/same") kinds are the same as by tracefs"
[ "$(wc -l <"$work/same")" -ge $kinds ] || fail "only $(cat "$work/same")"
[ "$(wc -l <"$work/never")" -le 3 ] || fail "never the same: $(cat "$work/never")
$(diff "$work/by_tracefs" "$work/by_module" | head -n 40)"
[ ! -s "$work/never" ] || echo "never the same: $(cat "$work/never")"
timeout 300 babeltrace2 --clock-gmt "$MNT/sessions/same/trace" >"$work/bt" 2>"$work/bt.err" ||
	fail "babeltrace2: $(tail -n 5 "$work/bt.err")"
[ "$(wc -l <"$work/bt")" -ge 1000 ] || fail "babeltrace2 reads only $(wc -l <"$work/bt") events"
rmdir "$other/sessions/same" "$S/same"
fusermount3 -u "$other" 2>/dev/null || umount "$other"
clean

# --- all there are, with counters, on both CPUs
s=$S/all
mkdir "$s"
echo '*' >"$s/kernel/events" || fail "$(cat "$s/error")"
echo start >"$s/control"
"$work/load" 0 20 &
one=$!
"$work/load" 1 20 || fail "the load fails"
wait $one
echo stop >"$s/control"
timeout 300 babeltrace2 --clock-gmt "$s/trace" >"$work/bt" 2>"$work/bt.err" ||
	fail "babeltrace2: $(tail -n 5 "$work/bt.err")"
echo "$(wc -l <"$work/bt") events of $(sed 's/^\[[^]]*\] ([^)]*) [^ ]* //; s/:.*//' "$work/bt" |
	sort -u | wc -l) kinds"
rmdir "$s"
clean

# --- probes go and come while they fire; the recording continues
s=$S/going
mkdir "$s"
cat "$work/chosen" >"$s/kernel/events"
echo start >"$s/control"
(while :; do "$work/load" 1 5; done) >/dev/null 2>&1 &
busy=$!
busybox rmmod trail 2>/dev/null && fail "unloaded though a daemon has it open"
for i in 1 2 3; do
	within 10 busybox rmmod trail_events ||
		fail "trail_events cannot be unloaded while it records"
	busybox insmod "$modules/trail_events.ko" || fail "trail_events cannot be loaded again"
done
echo clear >"$s/control"
"$work/load" 0 3
grep -q ' sched_switch: ' "$s/text" || fail "nothing is recorded by the probes that came again"
# No daemon is there to stop it.
kill -9 $(daemon_pids)
within 10 daemon_ended || fail "the daemon lives"
umount -l "$MNT"
unload
load
unload
kill $busy
wait $busy 2>/dev/null
clean
echo "$checks checks"
