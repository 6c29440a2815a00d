#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tools/static/libs.sh DIRECTORY: makes there, with musl-gcc, what the static daemon is linked with,
# as Debian has no libraries for musl: libfuse3.a and libuuid.a, and include/. The sources are those
# of Debian's packages: apt gets them once into DIRECTORY/sources, or STATIC_SOURCES has them.
set -e
dir=$1
tools=$(cd "$(dirname "$0")/.." && pwd)
[ ! -e "$dir/done" ] || exit 0
mkdir -p "$dir/include/sys" "$dir/objects"
dir=$(cd "$dir" && pwd)
sources=${STATIC_SOURCES:-$dir/sources}
mkdir -p "$sources"
fail() {
	echo "make static: $*" >&2
	exit 1
}
command -v musl-gcc >/dev/null || fail "there is no musl-gcc (Debian: musl-tools)"
[ -e /usr/include/urcu/list.h ] || [ -e "/usr/include/$(gcc -print-multiarch)/urcu/list.h" ] ||
	fail "there is no urcu/list.h (Debian: liburcu-dev)"
[ -e /usr/include/zlib.h ] && [ -e /usr/include/lzma.h ] ||
	fail "there is no zlib.h or lzma.h (Debian: zlib1g-dev liblzma-dev)"

# get PACKAGE: its sources, unpacked; prints where
get() {
	if ! ls "$sources/$1"_*.orig.tar.* >/dev/null 2>&1; then
		(cd "$sources" && "$tools/apt_apart" "$dir/apt" deb-src own apt-get source \
			--download-only "$1" >&2) || fail "apt cannot get the sources of $1"
	fi
	mkdir -p "$dir/$1"
	tar -C "$dir/$1" --strip-components 1 -xf "$(ls "$sources/$1"_*.orig.tar.[gbx]z* | head -n 1)" >&2 ||
		fail "the sources of $1 cannot be unpacked"
	echo "$dir/$1"
}

include=/usr/include
arch=$include/$(gcc -print-multiarch)
# Headers that are the same for each C library. glibc's sys/queue.h has macros only.
for h in linux asm-generic mtd; do
	ln -sfn $include/$h "$dir/include/$h"
done
ln -sfn "$arch/asm" "$dir/include/asm"
for h in zlib.h zconf.h lzma.h lzma; do
	for d in "$arch" $include; do
		[ ! -e "$d/$h" ] || ln -sfn "$d/$h" "$dir/include/$h"
	done
done
for d in "$arch" $include; do
	[ ! -e "$d/urcu/list.h" ] || ln -sfn "$d/urcu" "$dir/include/urcu"
	[ ! -e "$d/sys/queue.h" ] || ln -sfn "$d/sys/queue.h" "$dir/include/sys/queue.h"
done
flags="-Os -fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections -w -D_GNU_SOURCE"

# library NAME "FLAGS" SOURCE…
library() {
	name=$1 more=$2
	shift 2
	rm -f "$dir/$name.a"
	for f in "$@"; do
		o=$dir/objects/$name-$(basename "$f" .c).o
		musl-gcc $flags $more -idirafter "$dir/include" -c -o "$o" "$f" || fail "$f"
		ar qcsD "$dir/$name.a" "$o"
	done
}

fuse=$(get fuse3)
version=$(sed -n "s/^project('libfuse3'.*version: '\([0-9.]*\)'.*/\1/p" "$fuse/meson.build")
mkdir -p "$dir/include/fuse3"
cp "$fuse"/include/*.h "$dir/include/fuse3/"
IFS=. read -r major minor rest <<END
${version:-3.14.0}
END
cat >"$dir/include/fuse3/libfuse_config.h" <<END
#define FUSE_MAJOR_VERSION $major
#define FUSE_MINOR_VERSION $minor
#define FUSE_HOTFIX_VERSION ${rest%%[!0-9]*}
END
{
	cat "$dir/include/fuse3/libfuse_config.h"
	echo "#define PACKAGE_VERSION \"${version:-3.14.0}\""
	for f in FORK FSTATAT OPENAT READLINKAT PIPE2 SPLICE VMSPLICE POSIX_FALLOCATE FDATASYNC \
		UTIMENSAT COPY_FILE_RANGE FALLOCATE SETXATTR STRUCT_STAT_ST_ATIM; do
		echo "#define HAVE_$f 1"
	done
} >"$dir/include/fuse3/fuse_config.h"
# (Of fuse.c, the high-level interface, this is all that is needed.)
cat >"$dir/version.c" <<END
int fuse_version(void);
int fuse_version(void) { return $major * 100 + $minor; }
END
# (The row of CUSE_INIT makes its table 64 KiB longer.)
sed -i '/\[CUSE_INIT\]/d' "$fuse/lib/fuse_lowlevel.c"
library libfuse3 "-D_REENTRANT -DHAVE_LIBFUSE_PRIVATE_CONFIG_H -D_FILE_OFFSET_BITS=64
	-DFUSE_USE_VERSION=312 -DFUSERMOUNT_DIR=\"/usr/bin\" -fno-strict-aliasing
	-I$dir/include/fuse3 -I$fuse/lib" \
	"$fuse"/lib/fuse_loop.c "$fuse"/lib/fuse_loop_mt.c "$fuse"/lib/fuse_lowlevel.c \
	"$fuse"/lib/fuse_opt.c "$fuse"/lib/fuse_signals.c "$fuse"/lib/buffer.c \
	"$fuse"/lib/mount_util.c "$fuse"/lib/fuse_log.c "$fuse"/lib/mount.c \
	"$fuse"/lib/cuse_lowlevel.c "$dir/version.c"

uuid=$(get util-linux)
mkdir -p "$dir/include/uuid"
cp "$uuid/libuuid/src/uuid.h" "$dir/include/uuid/"
library libuuid "-I$uuid/include -I$uuid/libuuid/src -I$dir/include/uuid
	-DHAVE_GETRANDOM -DHAVE_SYS_SYSCALL_H -DHAVE_SYS_RANDOM_H -DHAVE_NANOSLEEP -DHAVE_USLEEP
	-DHAVE_ERR -DHAVE_ERR_H -DHAVE_SYS_FILE_H -DHAVE_SYS_IOCTL_H -DHAVE_SYS_SOCKET_H
	-DHAVE_SYS_UN_H -DHAVE_SYS_TIME_H -DHAVE_NET_IF_H -DHAVE_NETINET_IN_H -DHAVE_LOFF_T
	-DHAVE_UNISTD_H -DHAVE_STDLIB_H -DHAVE_SECURE_GETENV -DHAVE_PROGRAM_INVOCATION_SHORT_NAME
	-DHAVE_TLS -DPACKAGE_STRING=\"util-linux\"" \
	"$uuid"/libuuid/src/clear.c "$uuid"/libuuid/src/copy.c "$uuid"/libuuid/src/gen_uuid.c \
	"$uuid"/libuuid/src/isnull.c "$uuid"/libuuid/src/pack.c "$uuid"/libuuid/src/parse.c \
	"$uuid"/libuuid/src/predefined.c "$uuid"/libuuid/src/unpack.c "$uuid"/libuuid/src/unparse.c \
	"$uuid"/libuuid/src/compare.c "$uuid"/lib/randutils.c "$uuid"/lib/md5.c "$uuid"/lib/sha1.c
: >"$dir/done"
