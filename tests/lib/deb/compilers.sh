# SPDX-License-Identifier: GPL-2.0-or-later
#
# With what the packages are built with: gcc and the newest clang find nothing to warn of in /source.
# With the newest musl, which Alpine has, too, the static daemon is built, of libraries whose sources
# are in /sources.
set -e
export DEBIAN_FRONTEND=noninteractive
clang=$(apt-cache pkgnames clang- | grep -x 'clang-[0-9]*' | sort -t - -k 2 -n | tail -n 1)
apt-get install -y -q --no-install-recommends "$clang"
for cc in gcc "$clang"; do
	$cc --version | sed -n '1s/^/compiler /p'
	make -C /source -j"$(nproc)" CC="$cc" WERROR=1 all
done
apt-get install -y -q --no-install-recommends musl-tools xz-utils
dpkg-query -W -f 'compiler musl ${Version}\n' musl
STATIC_SOURCES=/sources make -C /source static EXPORTS=1 IMPORTS=1 RELAY=1 WERROR=1
