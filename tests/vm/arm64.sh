#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 3000
#
# All of trailfs for aarch64: clang builds it without a warning with Debian's libraries, and a guest
# of QEMU runs it on Debian's kernel for that processor, with four CPUs. There the unit tests pass,
# and tests of programs, of the kernel, and of the restartable sections with every owner of the
# threads' areas: rings of CPUs, threads that are moved, signals that trace, processes that are
# killed. (QEMU's CPUs have the memory order of this machine; unit/ring/test_order.c has a weaker
# one.) SOAK=1, or AARCH64=1. CPU: QEMU's name of the processor, a first one of Armv8 by default;
# TESTS: files below tests/mount/ and tests/adversarial/ in place of the list.
here=$(cd "$(dirname "$0")" && pwd) || exit 2
top=${here%/tests/*}
BUILD=${BUILD:-$top/build}
export BUILD
skip() {
	echo "$*"
	exit 77
}
fail() {
	echo "FAILED: $*"
	exit 1
}
[ -n "${AARCH64-}${SOAK-}" ] || skip "a guest with aarch64 is for SOAK=1, or AARCH64=1"
for c in clang ld.lld dpkg-deb busybox qemu-system-aarch64; do
	command -v $c >/dev/null || skip "there is no $c"
done
root=$("$here/arm64_root") || skip "$root"
version=$(ls "$root/lib/modules")
modules=$root/lib/modules/$version
work=$(mktemp -d "${TMPDIR:-/tmp}/arm64.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

# --- the programs
b=$BUILD/arm64
target="--target=aarch64-linux-gnu --sysroot=$root --gcc-toolchain=$root/usr -fuse-ld=lld
	-Wno-unused-command-line-argument"
units=$(cd "$top" && ls tests/unit/*/test_*.c | sed "s,^,$b/,; s/\.c\$//")
others="lib/tool lib/ticker lib/calls vm/rseq_load vm/rseq_load_own adversarial/torture_ring"
more="mount/programs/types mount/programs/chroot mount/programs/process"
unset MAKEFLAGS MAKELEVEL MFLAGS
PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/usr/lib/aarch64-linux-gnu/pkgconfig
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR
# (Without export/trace.sqlite)
(cd "$top" && make -k -j2 CC="clang $(echo $target)" CXX="clang++ $(echo $target)" B="$b" SAN= \
	SQLITE_LIBS= WERROR=1 all $units $(printf "$b/tests/%s " $others $more)) >"$work/log" 2>&1
for p in trailfs libtrail.so $(printf 'tests/%s ' $others); do
	[ -e "$b/$p" ] ||
		fail "$p is not built: $(grep -A 3 'error:' "$work/log" | head -n 20)"
done

# --- the initial file system
initial=$work/initial
for d in bin lib modules proc sys dev host memory root; do
	mkdir -p "$initial/$d"
done
cp -L "$root/bin/busybox" "$initial/bin/"
for lib in ld-linux-aarch64.so.1 aarch64-linux-gnu/libresolv.so.2 aarch64-linux-gnu/libc.so.6; do
	cp -L "$root/usr/lib/$lib" "$initial/lib/" || fail "copy"
done
n=10
for m in $(awk -v wanted="virtio_pci 9pnet_virtio 9p overlay fuse" '
	{ file = $1; sub(/:$/, "", file); name = file; sub(/.*\//, "", name); sub(/\.ko.*/, "", name)
	  path[name] = file; $1 = ""; needs[file] = $0 }
	function load(file,    n, i, dep) {
		if (done[file]++) return
		n = split(needs[file], dep, " ")
		for (i = 1; i <= n; i++) load(dep[i])
		print file
	}
	END { n = split(wanted, w, " "); for (i = 1; i <= n; i++) if (w[i] in path) load(path[w[i]]) }
	' "$modules/modules.dep"); do
	cp "$modules/$m" "$initial/modules/$n.ko"
	n=$((n + 1))
done
cat >"$initial/init" <<'END'
#!/bin/busybox sh
/bin/busybox --install -s /bin
PATH=/bin
mount -t devtmpfs dev /dev
for m in /modules/*; do
	insmod $m
done
attach() { # TAG DIRECTORY OPTIONS
	mkdir -p "$2" && mount -t 9p -o "trans=virtio,version=9p2000.L,msize=512000,access=any$3" "$1" "$2"
}
attach root /host ,ro,cache=loose
mount -t tmpfs -o size=80% memory /memory && mkdir /memory/upper /memory/work
mount -t overlay -o lowerdir=/host,upperdir=/memory/upper,workdir=/memory/work root /root
attach out /root/out ''
. /root/out/paths
attach top "/root$top" ,ro,cache=loose
attach build "/root$BUILD" ,ro,cache=loose
umount /dev
exec switch_root /root /bin/bash /out/job
END
chmod 755 "$initial/init"
(cd "$initial" && find . | busybox cpio -o -H newc 2>/dev/null) >"$work/initial.cpio" || fail cpio

# --- what the guest does: a line "NAME STATUS LAST_LINE" for each test
mkdir "$work/out"
echo "top='$top' BUILD='$b'" >"$work/out/paths"
tests=${TESTS-programs/types programs/api programs/chroot programs/rude programs/sandbox
	views/counts rules/filters output/output kernel/kernel kernel/kernel_filter kernel/probes}
echo "tests='$(echo $tests)' seconds=$([ -n "${SOAK-}" ] && echo 60 || echo 8)" >>"$work/out/paths"
cat >"$work/out/job" <<'END'
. /out/paths
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C TMPDIR=/run/tmp
export BUILD OUT=/out VM=arm64
for m in proc:/proc sysfs:/sys devtmpfs:/dev tracefs:/sys/kernel/tracing tmpfs:/run tmpfs:/tmp; do
	mount -t ${m%:*} none ${m#*:}
done
mkdir -p -m 1777 /run/tmp /dev/shm /dev/pts
mount -t tmpfs none /dev/shm && mount -t devpts none /dev/pts
chmod 666 /dev/fuse
export CALLS=50000        # of test_bpf_nesting
busybox ip link set lo up
cd "$top"
try() { # NAME COMMAND…
	name=$1
	shift
	timeout -k 5 900 "$@" >/run/log 2>&1 </dev/null
	status=$?
	echo "$name $status $(tail -n 1 /run/log)" >>/out/results
	case $status in 0 | 77) ;; *) cp /run/log "/out/failed-$(echo "$name" | tr / -)" ;; esac
}
try torture "$BUILD/tests/adversarial/torture_ring" $seconds
try rseq tests/vm/rseq.sh
for t in $tests; do
	try "$t" "tests/mount/$t.sh"
done
for u in "$BUILD"/tests/unit/*/test_*; do
	case $u in *.o | *.d | *.so) ;; *) try "${u#"$BUILD/tests/"}" "$u" ;; esac
done
echo end >>/out/results
sync
busybox poweroff -f
END
share() { # TAG DIRECTORY OPTIONS
	echo "-virtfs local,path=$2,mount_tag=$1,security_model=none,multidevs=remap$3"
}
: >"$work/out/results"
timeout -k 5 2800 qemu-system-aarch64 -M virt,gic-version=3 -accel tcg,thread=multi \
	-cpu "${CPU:-cortex-a72}" -smp 4 -m 2G -nodefaults -no-user-config -display none -no-reboot \
	-kernel "$root/boot/vmlinuz-$version" -initrd "$work/initial.cpio" \
	-append "console=ttyAMA0 loglevel=5 panic=-1 oops=panic rcupdate.rcu_cpu_stall_suppress=1" \
	-serial "file:$work/console" $(share root "$root" ,readonly=on) \
	$(share top "$top" ,readonly=on) $(share build "$b" ,readonly=on) \
	$(share out "$work/out" "") </dev/null >"$work/qemu" 2>&1
ended=$?
cat "$work/out/results"
grep -q '^end$' "$work/out/results" ||
	fail "the guest ended early (QEMU: $ended): $(cat "$work/qemu"; tail -n 30 "$work/console")"
for d in "$work/out/same."*; do
	[ -d "$d" ] || continue
	differ=$("$top/tests/lib/same_text" "$d/trace" "$d/text" "$d") ||
		fail "a text is not what babeltrace2 says: $differ"
done
failed=$(awk '$2 != 0 && $2 != 77 && $1 != "end" { print $1 }' "$work/out/results")
[ -z "$failed" ] || fail "$(echo $failed): $(tail -n 20 "$work"/out/failed-*)"
awk '$2 == 0 { ok++ } $2 == 77 { left++ } END { print ok " tests passed, " left + 0 " skipped" }' \
	"$work/out/results"
