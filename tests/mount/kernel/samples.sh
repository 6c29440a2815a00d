#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Samples: shares of functions as the program itself has counted its work, and as perf has it;
# page faults, each with its address; inclusion sets, names after the program's end, refusals, and
# the next daemon.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
[ -z "$(LC_ALL=C readlink /proc/self/ns/pid | grep -v 4026531836)" ] ||
	skip "samples need the initial PID namespace"

# hot spin SECONDS: uses that much CPU time, and prints how often it called each function, of which
# all do the same. (CPU time of a virtual machine goes on while its host runs something else, and no
# samples are taken then.) hot faults N: touches N pages, and prints their addresses.
cat >"$work/hot.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

volatile unsigned long sum;
#define WORK __attribute__((noinline, aligned(64)))
#define SPIN for (unsigned long i = 0; i < 50000; i++) sum += i * i
WORK void spin_most(void) { SPIN; __asm__ volatile(""); }
WORK void spin_some(void) { SPIN; __asm__ volatile(""); }
WORK void spin_few(void) { SPIN; __asm__ volatile(""); }
__attribute__((noinline)) void outer(void (*f)(void), double ms, long *calls)
{
	double begin = used();

	for (; used() - begin < ms; ++*calls)
		f();
}

__attribute__((noinline)) void touch(char *p, int n)
{
	for (int i = 0; i < n; i++)
		p[i * 4096L] = 1;
}

int main(int count, char **words)
{
	long calls[3] = { 0 };
	int n = count > 2 ? atoi(words[2]) : 1;

	if (!strcmp(words[1], "faults")) {
		char *p = mmap(NULL, n * 4096L, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		madvise(p, n * 4096L, MADV_NOHUGEPAGE);
		touch(p, n);
		for (int i = 0; i < n; i++)
			printf("%lX\n", (unsigned long)p + i * 4096L);
		return 0;
	}
	if (!strcmp(words[1], "child") && fork() > 0)
		return wait(NULL) < 0;
	for (int i = 0; i < n * 10; i++) {
		outer(spin_most, 60, &calls[0]);
		outer(spin_some, 30, &calls[1]);
		outer(spin_few, 10, &calls[2]);
	}
	printf("%ld %ld %ld\n", calls[0], calls[1], calls[2]);
	return 0;
}
END
${CC:-cc} -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id \
	-o "$work/hot" "$work/hot.c" || skip "cannot compile"

# shares FOLDED: the percentages of the three functions, by the lines of a folded flame graph, of the
# samples in them. (A function that calls none has no frame: its caller may be missing.)
shares() {
	awk '/;main;(outer;)?spin_/ { split($0, w, /;spin_/); split(w[2], f, /[; ]/); n[f[1]] += $NF; all += $NF }
		END { printf "%.1f %.1f %.1f %d\n", 100 * n["most"] / all,
			100 * n["some"] / all, 100 * n["few"] / all, all }'
}

# near WHAT SHARES OTHERS: none is more than 4 points away; 3000 samples differ by 0.9 (one sigma)
near() {
	checks=$((checks + 1))
	[ "$(echo "$3" | awk '{ print int($4) }')" -gt 500 ] || fail "$1: too few: $3"
	echo "$2 $3" | awk '{ for (i = 1; i <= 3; i++) { d = $i - $(i + 4); if (d > 4 || d < -4) exit 1 } }' ||
		fail "$1: $2, and not $3"
}

# --- refusals
s=$S/refused
mkdir "$s" "$s/kernel/channels/c"
refused() {
	if printf '%s\n' "$1" >"$s/kernel/channels/c/events" 2>/dev/null; then
		fail "'$1' was accepted"
	fi
	has "$(cat "$s/error")" "$2"
}
refused sample:cpus "did you mean 'cpu'"
refused 'sample:cpu 0hz' 'out of range'
refused 'sample:cpu 20000' 'out of range'
refused 'sample:cpu fast' 'a rate is expected'
refused 'sample:faults 99hz' 'a rate is expected'
refused 'sample:*' 'samples are'
refused 'sample:cpu except sample:faults' "no 'except'"
refused 'sample:cpu with prev_pid' 'no extra data'
refused 'sample:cpu if flags == 1' 'flags'
refused '* except sample:cpu' 'rule of their own'
printf '%s\n' sample:cpu 'sample:cpu 50hz' >"$work/two"
if cat "$work/two" >"$s/kernel/channels/c/events" 2>/dev/null; then fail "two rates were accepted"; fi
has "$(cat "$s/error")" 'at one rate'
put 'sample:cpu 99HZ' "$s/kernel/channels/c/events"
echo '!sample:cpu' >>"$s/kernel/channels/c/events"
is "removed" "" "$(cat "$s/kernel/channels/c/events")"
if ! echo 'sample:cycles 1000000' 2>/dev/null >"$s/kernel/channels/c/events"; then
	has "$(cat "$s/error")" 'counts no cycles'
fi
has "$(cat "$MNT/available/kernel/events/sample/faults")" '^uint64 address (hex)$\|address'
is "no tracepoint" "" "$(grep sample: "$MNT/available/kernel/tracepoints")"
rmdir "$s"

# --- shares
s=$S/shares
mkdir "$s"
echo 'sample:cpu 999hz' >"$s/kernel/events"
is "the rule" 'sample:cpu 999hz' "$(cat "$s/kernel/events")"
echo start >"$s/control"
perf=
if command -v perf >/dev/null &&
	perf record -N -o "$work/perf.data" -F 999 -e cpu-clock -g "$work/hot" spin 3 >"$work/used" 2>"$work/perf.err"; then
	perf=1
else
	"$work/hot" spin 3 >"$work/used"
fi
echo stop >"$s/control"
cat "$s/export/flame.folded" >"$work/folded"
ours=$(shares <"$work/folded")
own=$(awk '{ t = $1 + $2 + $3; print 100 * $1 / t, 100 * $2 / t, 100 * $3 / t, t }' "$work/used")
[ "$(echo "$ours" | awk '{ print $4 }')" -gt 1000 ] || fail "only $ours: $(grep "^hot" "$work/folded")"
near "beside the program's own calls" "$ours" "$own"
if [ -n "$perf" ]; then
	perf script -i "$work/perf.data" -F comm,ip,sym 2>/dev/null | awk '
		NF && !/^[ \t]/ { stack = $1; n = 0; next }
		NF { f[n++] = $2; next }
		n { line = stack; while (n) line = line ";" f[--n]; count[line]++ }
		END { for (l in count) print l, count[l] }' >"$work/perf.folded"
	theirs=$(shares <"$work/perf.folded")
	near "beside perf" "$ours" "$theirs"
	echo "shares: $ours; perf's: $theirs; the program's own: $own"
else
	echo "perf does not record here, not compared: $(tail -n 1 "$work/perf.err")"
fi
# All of it has names, although the program has ended
is "no unknown frame of it" "" "$(grep '^hot;' "$work/folded" | grep ';spin_' | grep -v ';main;.*spin_')"
same_text "$s"
has "$(grep -m 1 'trail:sample: .*procname = "hot"' "$work/text")" \
	'{ procname = "hot", pid = \([0-9]*\), tid = \1 }, { by = "cpu", pid = \1, tid = \1, _callstack_kernel_length = [0-9]*, callstack_kernel = '
has "$(cat "$s/text.symbols")" 'spin_most+0x[0-9a-f]* (hot)", \[1\] = "\(outer\|main\)+'
has "$(cat "$s/export/flame.svg")" 'spin_most'
has "$(cat "$s/stats")" 'spin_most'
has "$(cat "$s/stats")" 'trail:sample'
has "$(cat "$s/kernel/rules")" '^channel0 1 [1-9][0-9]* sample:cpu 999hz$'
is "a stream for samples" 1 "$(ls "$s/kernel/channels/channel0/streams" | grep -c '^samples0$')"
rmdir "$s"

# --- inclusion sets: one process with its child, and no other
s=$S/sets
mkdir "$s"
echo 'sample:cpu 500hz if by == "cpu" && pid > 1' >"$s/kernel/events"
mkfifo "$work/go"
sh -c 'read -r x <"$1"; exec "$2" child 1' sh "$work/go" "$work/hot" >"$work/child" &
child=$!
echo $child >"$s/kernel/track/pid"
echo start >"$s/control"
echo go >"$work/go"
"$work/hot" spin 1 >"$work/used"
wait $child
echo stop >"$s/control"
cat "$s/text" >"$work/text"
is "others" "" "$(grep trail:sample "$work/text" | grep -v 'procname = "\(hot\|sh\)"')"
pids=$(sed -n 's/.*procname = "hot", pid = \([0-9]*\).*/\1/p' "$work/text" | sort -u)
[ -n "$pids" ] || fail "no sample of the child"
for pid in $pids; do
	[ "$pid" = $child ] || is "one child" 1 "$(echo "$pids" | grep -vcx $child)"
done
has "$(cat "$s/export/flame.folded")" '^hot;\(.*;\)\{0,1\}main;.*spin_most'
rmdir "$s"

# --- a map has the same samples, and nothing that only names them
s=$S/maps
mkdir "$s" "$s/kernel/maps/m"
echo 'sample:faults by $ctx.procname, by' >"$s/kernel/maps/m/rules"
echo 'sample:faults if $ctx.procname == "hot"' >"$s/kernel/events"
echo start >"$s/control"
"$work/hot" faults 50 >/dev/null
echo stop >"$s/control"
n=$(grep -c 'by = "faults"' "$s/text")
[ "$n" -ge 50 ] || fail "$n faults"
is "the map's count" "$n" "$(awk '$2 == "hot" && $3 == "faults" { print $1 }' "$s/kernel/maps/m/values")"
has "$(cat "$s/kernel/maps/m/values")" '^missing 0$'
rmdir "$s"

# --- page faults: each page once
s=$S/faults
mkdir "$s"
echo sample:faults >"$s/kernel/events"
echo start >"$s/control"
"$work/hot" faults 300 | sort >"$work/pages"
echo stop >"$s/control"
sed -n 's/.*procname = "hot".*by = "faults", .*address = 0x\([0-9A-F]*\),.*/\1/p' "$s/text" | sort >"$work/sampled"
is "faults of these pages" 300 "$(comm -12 "$work/pages" "$work/sampled" | wc -l)"
cat "$s/export/flame.folded" >"$work/folded"
has "$(cat "$work/folded")" ';touch '
# The first samples come before the C library is mapped.
is "addresses without a file" "" "$(grep '^hot;.*;\[unknown\] [0-9]*$' "$work/folded")"
has "$(cat "$work/folded")" '^hot;.*\(printf\|_IO_\|malloc\)'

# --- a rule that is removed takes no more; another one goes on
echo 'sample:cpu 400hz' >>"$s/kernel/events"
echo start >"$s/control"
echo '!sample:faults' >>"$s/kernel/events"
grep -c 'by = "faults"' "$s/text" >"$work/before"
"$work/hot" spin 1 >"$work/used"
is "no more faults" "$(cat "$work/before")" "$(grep -c 'by = "faults"' "$s/text")"
[ "$(grep -c 'by = "cpu"' "$s/text")" -gt 100 ] || fail "no samples of the CPU"

# --- a killed daemon
echo recorded >"$work/marker"
before=$(grep -c 'by = "cpu"' "$s/text")
kill -9 $(daemon_pids)
within 20 daemon_ended
end_dead_mount "$MNT"
mount_tree
"$work/hot" spin 1 >"$work/used"
[ "$(grep -c 'by = "cpu"' "$s/text")" -gt $((before + 100)) ] || fail "the next daemon takes no samples"
echo stop >"$s/control"
same_text "$s"
pid=$(daemon_pids)
is "no event is left" 0 "$(ls -l /proc/"$pid"/fd | grep -c perf_event)"
rmdir "$s"
echo "$checks checks"
