#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 900
#
# `make static`: the daemon is one static file of at most 1 MiB. On a board that has nothing but a
# kernel, busybox and this file (an initial file system in QEMU), it records a program with libtrail
# and itself, which the serial console shows; idle, it has 4 threads at most, and 2 MB. The mount
# outlives a killed daemon. SOAK=1, or STATIC=1: it builds everything with musl. RELAY=1: the daemon
# knows relays, and is larger.
here=$(cd "$(dirname "$0")" && pwd) || exit 2
top=${here%/tests/*}
BUILD=${BUILD:-$top/build}
work=$(mktemp -d "${TMPDIR:-/tmp}/board.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
checks=0
skip() {
	echo "$*"
	exit 77
}
fail() {
	echo "FAILED: $*"
	exit 1
}
has() {
	checks=$((checks + 1))
	grep -q -- "$1" "$work/console" || fail "no '$1' on the console: $(tail -n 60 "$work/console")"
}
[ -n "${STATIC-}${SOAK-}" ] || skip "built with musl for SOAK=1, or with STATIC=1"
[ "$(uname -m)" = x86_64 ] || skip "this board is for x86_64"
for c in musl-gcc qemu-system-x86_64 busybox; do
	command -v $c >/dev/null || skip "there is no $c"
done
kernel=${VM_KERNEL:-6.12}
linux=$(BUILD=$BUILD "$here/kernel" "$kernel") || skip "$linux"
version=$(ls "$linux/lib/modules")

relay=${RELAY:+RELAY=1}
unset MAKEFLAGS MAKELEVEL MFLAGS CC STATIC RELAY
make -C "$top" static $relay >"$work/log" 2>&1 || fail "make static: $(tail -n 20 "$work/log")"
m=$top/build-musl-gcc${relay:+-relay}
readelf -l "$m/trailfs" | grep -q INTERP && fail "the daemon is not static"
size=$(stat -c %s "$m/trailfs")
[ "$size" -le $([ -n "$relay" ] && echo 1150000 || echo 1048576) ] || fail "the daemon has $size bytes"
checks=$((checks + 2))

# --- libtrail with musl, shared and static
cat >"$work/hello.c" <<'C'
#include <trail/trail.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 3; i++)
		TRAIL(hello, tick, i);
	return 0;
}
C
cc="musl-gcc -I$top/ustlib -idirafter $top/build-musl-libs/include $work/hello.c -L$m"
$cc -static -o "$work/hello" -ltrail >"$work/log" 2>&1 || fail "static: $(cat "$work/log")"
$cc -o "$work/shared" -ltrail >"$work/log" 2>&1 || fail "shared: $(cat "$work/log")"
readelf -d "$work/shared" | grep -q 'NEEDED.*libtrail.so.0' || fail "libtrail.so.0 is not needed"
readelf -l "$work/shared" | grep -q ld-musl || fail "no program of musl"
readelf -d "$m/libtrail.so.0" | grep NEEDED | grep -v 'libc.so\]' && fail "libtrail needs glibc"
checks=$((checks + 3))

# --- the board
root=$work/root
mkdir -p "$root/bin" "$root/lib" "$root/proc" "$root/sys" "$root/dev" "$root/run" "$root/trace" \
	"$root/tmp" "$root/etc"
busybox=$(command -v busybox)
for file in "$busybox" $(ldd "$busybox" 2>/dev/null | grep -o '/[^ ]*'); do
	mkdir -p "$root/${file%/*}"
	cp -L "$file" "$root/$file" || fail cp
done
[ -e "$root/bin/busybox" ] || cp -L "$busybox" "$root/bin/busybox"
cp "$m/trailfs" "$work/hello" "$work/shared" "$root/bin/"
cp "$m/libtrail.so.0" "$root/lib/"
musl=$(readlink -f /lib/ld-musl-x86_64.so.1) && cp "$musl" "$root/lib/ld-musl-x86_64.so.1"
for f in fuse.ko fuse.ko.xz; do
	at=$linux/lib/modules/$version/kernel/fs/fuse/$f
	case $f in
	*.xz) [ ! -e "$at" ] || busybox xzcat "$at" >"$root/fuse.ko" ;;
	*) [ ! -e "$at" ] || cp "$at" "$root/fuse.ko" ;;
	esac
done
cat >"$root/init" <<'SH'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin LD_LIBRARY_PATH=/lib TRAIL_ATTACH_TIMEOUT=60000
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tracefs tracefs /sys/kernel/tracing
[ ! -e /fuse.ko ] || insmod /fuse.ko
echo "board: files $(find /bin -type f | wc -l)"
trailfs /trace || echo "board: trailfs cannot mount"
sleep 3
for p in $(pidof trailfs); do
	echo "board: process $p $(grep -E '^(Name|Threads|VmRSS|RssAnon|RssFile)' /proc/$p/status | tr -s '\t\n' '  ')"
done
cat /trace/version
mkdir /trace/sessions/s && cd /trace/sessions/s
echo 'hello:*' >user/events
echo 'sched:sched_switch' >kernel/events
echo start >control
hello
shared
sleep 1
echo stop >control
grep hello:tick text
grep -m 3 'next_comm = "trailfs"' text
cat counts error
ip link set lo up
mkdir ../r
echo 'hello:*' >../r/user/events
# (A start that succeeds clears the sentence.)
echo net://127.0.0.1:7:8 >../r/output && echo start >../r/control
echo "board: output '$(cat ../r/output)', $(head -n 1 ../r/error)"
rmdir ../r
echo start >control
for p in $(pidof trailfs); do
	[ "$(ls /proc/$p/task | wc -l)" = 1 ] || kill -9 $p
done
# The next daemon answers it: programs that begin before it listens count their events as discarded.
cat /trace/version
hello
echo stop >control
grep events_discarded status
echo "board: after a kill, events $(grep -c hello:tick text), processes $(pidof trailfs | wc -w)"
cd /
umount /trace
echo "board: end"
reboot -f
SH
chmod 755 "$root/init"
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) >"$work/initial.cpio" || fail cpio
# (as tests/vm/boot)
timeout -k 5 900 qemu-system-x86_64 -accel tcg,thread=single -cpu max,-cx16 -smp 2 \
	-m 256M -nodefaults -no-user-config -display none -no-reboot \
	-kernel "$linux/boot/vmlinuz-$version" -initrd "$work/initial.cpio" \
	-append "console=ttyS0 loglevel=4 panic=-1 nowatchdog mitigations=off" \
	-serial "file:$work/console" </dev/null >"$work/qemu" 2>&1 ||
	fail "QEMU: $(cat "$work/qemu") $(tail -n 40 "$work/console")"
tr -d '\r' <"$work/console" >"$work/c" && mv "$work/c" "$work/console"
has '^board: end'
checks=$((checks + 1))
[ "$(grep -c 'hello:tick: .*{ i = [012] }$' "$work/console")" = 6 ] ||
	fail "not all events of both programs: $(tail -n 60 "$work/console")"
has 'sched_switch: .*next_comm = "trailfs"'
if [ -n "$relay" ]; then
	has "^board: output 'net://127.0.0.1:7:8', .*Connection refused"
else
	has "^board: output '', output: this build was made without relays"
fi
has '^board: after a kill, events 9, processes 2$'
line=$(grep '^board: process .*Name: trailfs' "$work/console" | head -n 1)
threads=$(echo "$line" | sed 's/.*Threads: \([0-9]*\).*/\1/')
rss=$(echo "$line" | sed 's/.*VmRSS: *\([0-9]*\) kB.*/\1/')
[ "$threads" -le 4 ] || fail "idle, the daemon has $threads threads"
[ "$rss" -le 2048 ] || fail "idle, the daemon has $rss kB"
echo "$checks checks: $size bytes, idle $rss kB and $threads threads"
