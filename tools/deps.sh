#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tools/deps.sh [--try | --say | --announce] GROUP…: sees to the packages that building and testing need.
#
# Groups: build, test, multilib, vm (guests with other kernels), analyses (readers of kernel
# traces), bench (beside LTTng-UST, perf, trace-cmd, bpftrace), soak (databases, strace), cross
# (QEMU and a compiler for another processor), programs (a JDK, Rust, Go, programs that were
# compiled against LTTng-UST), clang. On Debian and Ubuntu root gets what is missing, and nothing
# else, installed, and nothing is removed; elsewhere it is said what to install, and the exit
# status is 1. --try: failing is no error; --say: install nothing; --announce: print what would be
# installed, in one line.
mode=install
case ${1-} in
--try) mode=try && shift ;;
--say) mode=say && shift ;;
--announce) mode=announce && shift ;;
esac
PATH=$PATH:/usr/sbin:/sbin

missing=
names=

# need DEBIAN FEDORA ALPINE ARCH TEST…: what it is called, and a command that succeeds where it is
# installed
need() {
	debian=$1 fedora=$2 alpine=$3 arch=$4
	shift 4
	"$@" >/dev/null 2>&1 && return
	missing="$missing $debian"
	names="$names$debian|$fedora|$alpine|$arch
"
}

has() {
	command -v "$1"
}

pc() {
	pkg-config --exists "$1"
}

for group in "$@"; do
	case $group in
	build)
		need gcc gcc gcc gcc has gcc
		need libc6-dev glibc-devel musl-dev glibc test -e /usr/include/stdio.h
		need make make make make has make
		need pkg-config pkgconf-pkg-config pkgconf pkgconf has pkg-config
		need libfuse3-dev fuse3-devel fuse3-dev fuse3 pc fuse3
		need fuse3 fuse3 fuse3 fuse3 has fusermount3
		need liburcu-dev userspace-rcu-devel userspace-rcu-dev liburcu pc liburcu
		need uuid-dev libuuid-devel util-linux-dev util-linux-libs pc uuid
		need zlib1g-dev zlib-devel zlib-dev zlib pc zlib
		need liblzma-dev xz-devel xz-dev xz pc liblzma
		;;
	test)
		# (what programs of LTTng-UST need to be built, and traced without being linked again)
		need liblttng-ust-dev lttng-ust-devel lttng-ust-dev lttng-ust pc lttng-ust
		# (without it, there is no export/trace.sqlite)
		need libsqlite3-dev sqlite-devel sqlite-dev sqlite pc sqlite3
		need babeltrace2 babeltrace2 babeltrace2 babeltrace2 has babeltrace2
		need lttng-tools lttng-tools lttng-tools lttng-tools has lttng-relayd
		need busybox busybox busybox busybox has busybox
		need xsltproc libxslt libxslt libxslt has xsltproc
		need g++ gcc-c++ g++ gcc has g++
		need util-linux util-linux util-linux util-linux has setpriv
		need procps procps-ng procps procps-ng has pgrep
		need coreutils coreutils coreutils coreutils has timeout
		need python3-lttngust lttng-ust python3-lttngust lttng-ust \
			/usr/bin/python3 -c 'import lttngust'
		;;
	analyses)
		# Readers of LTTng's kernel traces; Debian has them.
		need babeltrace babeltrace babeltrace babeltrace has babeltrace
		need python3-lttnganalyses lttng-analyses lttng-analyses lttng-analyses has \
			lttng-cputop-mi
		;;
	bench)
		need liblttng-ust-dev lttng-ust-devel lttng-ust-dev lttng-ust pc lttng-ust
		need lttng-tools lttng-tools lttng-tools lttng-tools has lttng
		need liblttng-ctl-dev lttng-tools-devel lttng-tools-dev lttng-tools pc lttng-ctl
		need linux-perf perf perf perf has perf
		need trace-cmd trace-cmd trace-cmd trace-cmd has trace-cmd
		need bpftrace bpftrace bpftrace bpftrace has bpftrace
		need kmod kmod kmod kmod has depmod
		;;
	soak)
		need strace strace strace strace has strace
		need mariadb-server mariadb-server mariadb mariadb has mariadbd
		need sqlite3 sqlite sqlite sqlite has sqlite3
		# (tests/vm/import_lttng.sh)
		need kmod kmod kmod kmod has depmod
		# (tests/vm/board.sh)
		need musl-tools musl-gcc musl-dev musl has musl-gcc
		# (programs/containers.sh and project/recipes.sh)
		need podman podman podman podman has podman
		need rpm rpm-build rpm rpm-tools has rpmbuild
		need nix-bin - nix nix has nix-instantiate
		;;
	cross)
		# (Debian's excludes gcc-multilib.)
		need qemu-user qemu-user-static-s390x qemu-s390x qemu-user has qemu-s390x
		# (tests/adversarial/aarch64.sh, tests/vm/arm64.sh)
		need qemu-system-arm qemu-system-aarch64-core qemu-system-aarch64 \
			qemu-system-aarch64 has qemu-system-aarch64
		# (tests/vm/riscv64.sh, tests/vm/s390x.sh)
		need qemu-system-misc qemu-system-riscv qemu-system-riscv64 qemu-system-riscv \
			has qemu-system-riscv64
		need opensbi - opensbi - test -e /usr/lib/riscv64-linux-gnu/opensbi
		need clang clang clang clang has clang
		need lld lld lld lld has ld.lld
		# (tests/vm/arm64.sh builds trail.ko with it, the other ones with those below.)
		need gcc-aarch64-linux-gnu gcc-aarch64-linux-gnu - aarch64-linux-gnu-gcc \
			has aarch64-linux-gnu-gcc
		need gcc-s390x-linux-gnu gcc-s390x-linux-gnu gcc-s390x-linux-gnu \
			s390x-linux-gnu-gcc has s390x-linux-gnu-gcc
		need libc6-dev-s390x-cross glibc-devel musl-dev glibc test -e \
			/usr/s390x-linux-gnu/include/stdio.h
		need gcc-riscv64-linux-gnu gcc-riscv64-linux-gnu - - has riscv64-linux-gnu-gcc
		need gcc-arm-linux-gnueabihf - - - has arm-linux-gnueabihf-gcc
		need libc6-dev-riscv64-cross - - - test -e /usr/riscv64-linux-gnu/include/stdio.h
		;;
	programs)
		# Unmodified programs with LTTng-UST's tracepoints, a JDK for its agents; Rust, Go
		need cargo cargo cargo rust has cargo
		need librust-tracing-subscriber-dev - - - \
			test -d /usr/share/cargo/registry/tracing-subscriber-*
		need librust-tracing-dev - - - test -d /usr/share/cargo/registry/tracing-[0-9]*
		need golang-go golang go go has go
		need default-jdk-headless java-17-openjdk-devel openjdk17-jdk jdk17-openjdk has javac
		need xvfb xorg-x11-server-Xvfb xvfb xorg-server-xvfb has Xvfb
		command -v apt-get >/dev/null || continue
		for p in liblttng-ust-python-agent1 liblttng-ust-java liblttng-ust-java-jni \
			liblttng-ust-agent-java liblog4j1.2-java liblog4j2-java \
			lomiri-app-launch-profiler \
			lomiri-app-launch-tools dbus-daemon lomiri-ui-toolkit-tools mir-test-tools \
			mir-platform-graphics-x20 libcamera0.0.3 qml-module-qtmir; do
			need $p - - - dpkg -s $p
		done
		;;
	multilib)
		# For building programs of 32 bits beside those of 64; tests that want them are
		# skipped without.
		[ "$(uname -m)" != x86_64 ] ||
			need gcc-multilib glibc-devel.i686 gcc-multilib lib32-glibc \
			gcc -m32 -E -include linux/errno.h -x c /dev/null
		;;
	vm)
		[ "$(uname -m)" != x86_64 ] ||
			need qemu-system-x86 qemu-system-x86-core qemu-system-x86_64 \
				qemu-system-x86 has qemu-system-x86_64
		need gcc-12 gcc gcc gcc has gcc-12
		need binutils binutils binutils binutils has objdump
		need e2fsprogs e2fsprogs e2fsprogs e2fsprogs has mkfs.ext4
		;;
	clang)
		need clang clang clang clang has clang
		;;
	*)
		echo "deps.sh: no such group: $group" >&2
		exit 2
		;;
	esac
done

# /dev/fuse, for what mounts. Not an error here: tests that cannot mount are skipped, and say so.
device() {
	[ -e /dev/fuse ] && return
	[ "$(id -u)" = 0 ] && modprobe fuse 2>/dev/null
	if [ ! -e /dev/fuse ] && [ "$(id -u)" = 0 ] && grep -qw fuse /proc/filesystems; then
		mknod -m 666 /dev/fuse c 10 229 2>/dev/null
	fi
	[ -e /dev/fuse ] || echo "deps.sh: there is no /dev/fuse: load the module fuse (modprobe fuse), or give the" \
		"container the device (--device /dev/fuse --cap-add SYS_ADMIN)" >&2
}

column() {
	printf '%s' "$names" | cut -d '|' -f "$1" | sort -u | tr '\n' ' '
}

say() {
	cat >&2 <<EOF
deps.sh: some packages are missing. Please install, on
  Debian, Ubuntu   $(column 1)
  Fedora           $(column 2)
  Alpine           $(column 3)
  Arch             $(column 4)
EOF
}

apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@"
}

if [ $mode = announce ]; then
	if [ -z "$missing" ]; then
		echo "deps.sh: nothing to install"
	elif [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		echo "deps.sh: apt-get will install these, and what they need: $(column 1)"
	else
		echo "deps.sh: these are missing: $(column 1)"
	fi
	exit 0
fi
case " $* " in *" test "*) device ;; esac
[ -n "$missing" ] || exit 0

if [ $mode != say ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	log=$(mktemp)
	echo "deps.sh: installing$missing"
	# Lists that are missing or too old are the usual reason for a failure.
	if apt install -y --no-remove --no-install-recommends $missing >"$log" 2>&1 ||
		{ apt update >"$log" 2>&1 &&
			apt install -y --no-remove --no-install-recommends $missing >>"$log" 2>&1; }; then
		rm -f "$log"
		exit 0
	fi
	cat "$log" >&2
	rm -f "$log"
fi
say
[ $mode = try ]
