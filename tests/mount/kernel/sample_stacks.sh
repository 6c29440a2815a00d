#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Stacks of samples in programs without frame pointers: each has all the functions that the program
# was in, by the program's source and as gdb has them; also of a program that has ended, of a child,
# and through a library that is loaded later, a signal's handler, and code without rules.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
[ -z "$(LC_ALL=C readlink /proc/self/ns/pid | grep -v 4026531836)" ] ||
	skip "samples need the initial PID namespace"
[ "$(uname -m)" = x86_64 ] || skip "rules are followed on x86-64"

cat >"$work/late.c" <<'END'
__attribute__((noinline)) void late(void (*f)(void))
{
	f();
	__asm__ volatile("");
}
END
cat >"$work/deep.c" <<'END'
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define END __asm__ volatile("")        /* no call is the last thing that a function does */
#define NOINLINE __attribute__((noinline, noclone))

static double limit = 0.5;

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

volatile unsigned long sum;
NOINLINE void spin(void) { for (unsigned long i = 0; i < 2000000; i++) sum += i; }
NOINLINE void leaf(void) { double begin = used(); while (used() - begin < limit) spin(); END; }
NOINLINE int compare(const void *a, const void *b)
{
	if (*(const int *)a == 1)
		leaf();
	END;
	return *(const int *)a - *(const int *)b;
}
NOINLINE void sort(void) { int v[] = { 1, 2 }; qsort(v, 2, sizeof(v[0]), compare); END; }
NOINLINE void third(int n) { volatile char room[3000]; room[n] = 1; sort(); END; }
NOINLINE void second(int n) { if (n) second(n - 1); else third(5); END; }
NOINLINE void first(void) { second(2); END; }
void on_user(int n) { (void)n; leaf(); END; }
NOINLINE void raiser(void) { raise(SIGUSR1); END; }
/* Code without rules, with a frame pointer. */
void plain(void (*f)(void));
__asm__(".text\n.globl plain\n.type plain, @function\nplain:\n\tpush %rbp\n\tmov %rsp, %rbp\n"
	"\tcall *%rdi\n\tpop %rbp\n\tret\n.size plain, . - plain");
NOINLINE void unruled(void) { plain(leaf); END; }

int main(int count, char **words)
{
	const char *what = words[1];

	if (!strcmp(what, "sort")) {
		first();
	} else if (!strcmp(what, "child")) {
		if (!fork()) {
			first();
			_exit(0);
		}
		wait(NULL);
	} else if (!strcmp(what, "late")) {
		void *l = dlopen(words[2], RTLD_NOW);
		void (*f)(void (*)(void)) = l ? (void (*)(void (*)(void)))dlsym(l, "late") : NULL;

		leaf();
		if (f)
			f(leaf);
	} else if (!strcmp(what, "signal")) {
		signal(SIGUSR1, on_user);
		raiser();
	} else {
		unruled();
	}
	raise(SIGSTOP);
	return count < 2;
}
END
flags="-O2 -fomit-frame-pointer -fno-optimize-sibling-calls -fno-inline -Wl,--build-id"
${CC:-cc} $flags -shared -fPIC -o "$work/late.so" "$work/late.c" &&
	${CC:-cc} $flags -rdynamic -o "$work/deep" "$work/deep.c" -ldl || skip "cannot compile"
# Rules are read from local file systems only, and the C library may be on another one: the program
# has copies of its libraries.
mkdir "$work/lib"
cp -L $(ldd "$work/deep" | grep -o '/[^ ]*') "$work/lib" || fail "no copies of libraries"
flags="$flags -Wl,-rpath,$work/lib -Wl,--dynamic-linker,$(echo "$work"/lib/ld-*)"
${CC:-cc} $flags -rdynamic -o "$work/deep" "$work/deep.c" -ldl || fail "cannot link"

s=$S/stacks
mkdir "$s"
echo 'sample:cpu 499hz if $ctx.procname == "deep"' >"$s/kernel/events"
# once WORD…: runs the program while samples are taken. All stacks so far are then in $work/stacks, each
# a line `PID FUNCTION;…`, in order. (The program exists until all samples are read, as the daemon
# reads rules from what it maps.)
once() {
	"$work/deep" "$@" &
	deep=$!
	within 60 stands $deep || fail "deep $*"
	cat "$s/text" >"$work/text" || fail "no text"
	kill -CONT $deep
	wait $deep || fail "deep $*"
	cp "$s/text.symbols" "$work/symbols" || fail "no text.symbols"
	sed -n 's/.*trail:sample: .* pid = \([0-9]*\), .*callstack_user = \[ \(\[0\] = ".*"\) \].*/\1 \2/p' \
		"$work/symbols" | awk '{
		pid = $1
		sub(/^[0-9]* /, "")
		chain = ""
		for (i = split($0, frame, /, /); i > 0; i--) {
			sub(/^[^"]*"/, "", frame[i])
			sub(/(\+0x|").*/, "", frame[i])
			chain = chain ";" frame[i]
		}
		print pid " " chain
	}' >"$work/stacks"
}
# having CHAIN: how many samples in spin() have this chain of functions from main on, and how many
# there are between the first and the last one of a process that has
having() {
	awk -v chain=";main;$1;spin\$" '
		!/;spin$/ { next }
		{ n[$1]++ }
		$0 ~ chain {
			these++
			if (!($1 in from))
				from[$1] = n[$1]
			to[$1] = n[$1]
		}
		END {
			for (pid in from)
				all += to[pid] - from[pid] + 1
			print these + 0, all + 0
		}' "$work/stacks"
}
# most WHAT CHAIN WORD…: nearly all samples of the program have this chain, from the first that has
# on. On a slow machine samples are lost, and many come before the daemon has read the program's
# files: then it runs again. Folded, the stacks are in $work/folded.
most() {
	checks=$((checks + 1))
	what=$1 chain=$2 runs=0 these=0
	shift 2
	echo start >"$s/control"
	while [ $these -lt 50 ] && [ $runs -lt 20 ]; do
		runs=$((runs + 1))
		once "$@"
		read -r these all <<END
$(having "$chain")
END
	done
	echo stop >"$s/control"
	grep '^deep;' "$s/export/flame.folded" >"$work/folded"
	echo clear >"$s/control"
	[ $these -ge 50 ] && [ $((these * 100)) -ge $((all * 95)) ] ||
		fail "$what: $these of $all have $chain: $(cut -d ' ' -f 2 "$work/stacks" | sort | uniq -c)"
}
# (A C library without a symbol table names its static functions by its own name, gdb by `??`.)
most sort 'first;second;second;second;third;sort;(qsort|qsort_r);((msort_with_tmp|libc[.])[^;]*;)*compare;leaf' sort
cp "$work/folded" "$work/sorted"
most child 'first;second;second;second;third;sort;qsort[^ ]*;compare;leaf' child
most "a signal's handler" 'raiser;[^ ]*on_user;leaf' signal
most "code without rules" 'unruled;plain;leaf' plain
most "before a library is loaded" leaf late "$work/late.so"
most "in a library that is loaded later" 'late;leaf' late "$work/late.so"

# --- as gdb has it
if command -v gdb >/dev/null && gdb -nx -batch -ex 'break spin' -ex run -ex bt -ex 'kill' \
	--args "$work/deep" sort >"$work/gdb" 2>&1 </dev/null && grep -q '^#1 .*leaf' "$work/gdb"; then
	theirs=$(awk '/^#[0-9]/ { n = $0; sub(/^#[0-9]+ +/, "", n); sub(/^0x[0-9a-f]+ in /, "", n)
		sub(/ .*/, "", n); gsub(/^__GI_*/, "", n); if (n !~ /^_*libc_start|^_start/) line = n (line == "" ? "" : ";" line) } END { print line }' "$work/gdb")
	ours=$(sort -k 2 "$work/sorted" | awk '/;main;.*;spin / && $NF > best { best = $NF; line = $1 } END { print line }' | sed 's/.*;main;/main;/')
	same() { echo "$1" | sed 's/??;//g; s/\[*libc[.]so[.]6\]*;//g; s/\(__\)*qsort_r/qsort/; s/;msort_with_tmp[^;]*//g; s/__qsort/qsort/; s/;qsort;qsort/;qsort/'; }
	is "gdb's stack" "$(same "$theirs")" "$(same "$ours")"
else
	echo "there is no gdb that runs programs, not compared"
fi
rmdir "$s"
echo "$checks checks"
