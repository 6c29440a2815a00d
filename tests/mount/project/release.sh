#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 200
#
# A release: the version is the same everywhere and docs/CHANGES has its day; `make dist` makes the
# same bytes from git and from what it made; what is built of it in two directories is the same
# bytes: some objects, or with SOAK=1 all products and the Debian packages.
cd "$(dirname "$0")/../../.." || exit 2
CC=${CC:-gcc} CXX=${CXX:-g++}
work=$(mktemp -d "${TMPDIR:-/tmp}/release.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
checks=0
fail() {
	echo "FAILED: $*"
	exit 1
}
is() {
	checks=$((checks + 1))
	[ "$2" = "$3" ] || fail "$1: expected '$2', got '$3'"
}
unset MAKEFLAGS MAKELEVEL MFLAGS SOURCE_DATE_EPOCH
# Nothing may come from a cache.
CCACHE_DISABLE=1
export CCACHE_DISABLE
mk() { make CC="$CC" CXX="$CXX" SAN= "$@"; }

version=$(sed -n 's/^VERSION = //p' Makefile)
is "fs/base/base.h" "$version" "$(sed -n 's/^#define TRAILFS_VERSION "\(.*\)"/\1/p' fs/base/base.h)"
is "the crate" "$version" "$(sed -n 's/^version = "\(.*\)"/\1/p' ustlib/rust/Cargo.toml)"
is "the Python package" "$version" "$(sed -n 's/^version = "\(.*\)"/\1/p' ustlib/python/pyproject.toml)"
day=$(sed -n "s/^$version (\(.*\))\$/\1/p" docs/CHANGES)
is "the day in docs/CHANGES" "$day" "$(date -u -d "$day" +%Y-%m-%d 2>&1)"
is "the newest version in docs/CHANGES" "$version ($day)" \
	"$(grep '^[0-9][0-9.]* (' docs/CHANGES | head -n 1)"

# (Fast, not small: this is about the bytes that xz gets.)
[ -n "${SOAK-}" ] || export XZ_OPT=-0
name=trailfs-$version
mk B="$work/b" dist >"$work/log" 2>&1 || fail "make dist: $(cat "$work/log")"
mkdir "$work/one" "$work/another"
tar -C "$work/one" -xf "$work/b/$name.tar.xz" || fail "it cannot be unpacked"
one=$work/one/$name
is "times of files" "$(date -u -d "$day" +%s)" \
	"$(find "$one" -type f -printf '%Ts\n' | sort -u | tr '\n' ' ' | sed 's/ $//')"
mk -C "$one" dist >"$work/log" 2>&1 || fail "make dist, in what it made: $(cat "$work/log")"
cmp "$work/b/$name.tar.xz" "$one/build/$name.tar.xz" || fail "make dist makes other bytes"
checks=$((checks + 1))

# same FILE DIRECTORY DIRECTORY
same() {
	cmp "$2/$1" "$3/$1" || fail "two builds of $1 are not the same"
	checks=$((checks + 1))
}
# Another path, time zone and locale
tar -C "$work/another" -xf "$work/b/$name.tar.xz"
mv "$work/another/$name" "$work/another/longer-name"
another=$work/another/longer-name
build() {
	mk -C "$one" B=build "$@" >"$work/log" 2>&1 || fail "make: $(tail -n 20 "$work/log")"
	TZ=Asia/Tokyo LC_ALL=C.UTF-8 mk -C "$another" B=build "$@" >"$work/log" 2>&1 ||
		fail "make: $(tail -n 20 "$work/log")"
}
if [ -z "${SOAK-}" ]; then
	objects="fs/base/log.o metadata/buf.o tracer/format/picture/page.o tracer/base/err.o
		ustlib/slot.o ustlib/preload/libc.o"
	build $(printf 'build/%s ' $objects)
	for f in $objects; do
		same "$f" "$one/build" "$another/build"
	done
else
	build all
	for f in trailfs tools/trail-recover libtrail.so.0 libtrail.a $(cd "$one/build" &&
		ls libtrail-*.so lttng/*.so.1); do
		same "$f" "$one/build" "$another/build"
	done
	if command -v dh_dkms >/dev/null && command -v dh_python3 >/dev/null; then
		for d in "$one" "$another"; do
			mk -C "$d" B=build deb >"$work/log" 2>&1 || fail "make deb: $(tail -n 20 "$work/log")"
		done
		for f in $(cd "$one/build/deb" && ls *.deb); do
			same "deb/$f" "$one/build" "$another/build"
		done
	else
		echo "# packages are not compared: dh-dkms or dh-python is missing"
	fi
fi
echo "$checks checks"
