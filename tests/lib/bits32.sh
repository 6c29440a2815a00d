# SPDX-License-Identifier: GPL-2.0-or-later
#
# Programs of 32 bits, for tests: sourced after mount.sh.

# build_bits32 PROGRAM…: libtrail.so for 32 bits, from its sources as they are, and
# tests/lib/PROGRAM.c with it, in $work. Skips the test where programs of 32 bits cannot be built or
# run.
build_bits32() {
	cc=${CC:-gcc}
	cd "$top" || fail "cd"
	# A compiler may build for 32 bits and lack some of the headers for it: all that the library
	# includes are asked for.
	{
		sed -n 's/^#[[:space:]]*include \(<.*>\).*/#include \1/p' ustlib/*.[ch] \
			ustlib/base/*.[ch] ustlib/context/*.[ch] ustlib/front/*.c tests/lib/ticker.c tests/lib/fields.c \
			tests/lib/process.c |
			grep -v '<trail/\|<lttng/' | sort -u
		echo 'int main(void) { return sizeof(void *) != 4; }'
	} >"$work/t.c"
	if ! $cc -m32 -D_GNU_SOURCE= -o "$work/t" "$work/t.c" -lpthread 2>"$work/cc.log" ||
		! "$work/t"; then
		skip "programs of 32 bits cannot be built or run here (gcc-multilib?): $(grep -m 1 \
			'error' "$work/cc.log" || head -n 1 "$work/cc.log")"
	fi
	for f in ustlib/*.c ustlib/base/*.c ustlib/context/*.c ustlib/front/*.c; do
		$cc -m32 -msse2 -std=gnu11 -D_GNU_SOURCE= -O2 -Wall -Wextra -Werror -fPIC \
			-fvisibility=hidden -I. -Iustlib -c \
			-o "$work/$(basename "$f" .c).o" "$f" || fail "$f"
	done
	$cc -m32 -shared -Wl,-soname,libtrail.so.0 -Wl,-z,nodelete -Wl,-z,defs -o \
		"$work/libtrail.so.0" "$work"/*.o -lpthread ||
		fail "libtrail.so"
	ln -s libtrail.so.0 "$work/libtrail.so"
	for t in "$@"; do
		$cc -m32 -std=gnu11 -D_GNU_SOURCE= -O2 -Wall -Wextra -Werror -I. -Iustlib -o \
			"$work/$t" "tests/lib/$t.c" -L"$work" -ltrail \
			-lpthread -Wl,-rpath,"$work" || fail "$t"
	done
}
