#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 900
#
# tools/packaging/: each recipe has this version; rpmspec, nix-instantiate, make and the shell read
# theirs, where they are installed, and each sets what its package manager demands. With SOAK=1 or
# RPM=1, rpmbuild builds the packages from `make dist`: each installed file is in one.
cd "$(dirname "$0")/../../.." || exit 2
top=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/recipes.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
checks=0 tools=
fail() {
	echo "FAILED: $*"
	exit 1
}
is() {
	checks=$((checks + 1))
	[ "$2" = "$3" ] || fail "$1: expected '$2', got '$3'"
}
unset MAKEFLAGS MAKELEVEL MFLAGS
recipes=tools/packaging
version=$(sed -n 's/^VERSION = //p' Makefile)
is "RPM" "$version" "$(sed -n 's/^Version: *//p' $recipes/trailfs.spec)"
is "Alpine" "$version" "$(sed -n 's/^pkgver=//p' $recipes/APKBUILD)"
is "Nix" "$version" "$(sed -n 's/^ *version = "\(.*\)";/\1/p' $recipes/default.nix)"
is "Buildroot" "$version" "$(sed -n 's/^TRAILFS_VERSION = //p' $recipes/buildroot/trailfs.mk)"
is "Yocto" "trailfs_$version.bb" "$(cd $recipes/yocto && echo *.bb)"

# (A build finds other files that no package has; these grow most.)
for d in $(sed -n 's,.*(INSTALL) .*(DESTDIR)$(DATADIR)/\([a-z]*\).*,\1,p' Makefile | sort -u); do
	grep -q "^%{_datadir}/trailfs/$d\$" $recipes/trailfs.spec || fail "RPM: no package has $d"
	grep -q "^usr/share/trailfs/$d\$" tools/debian/*.install || fail "Debian: no package has $d"
	checks=$((checks + 1))
done

# ---- the shell: Alpine, and what scripts of packages do ----

for f in APKBUILD service trailfs.post-upgrade trailfs.pre-deinstall; do
	sh -n "$recipes/$f" || fail "sh -n $f"
done
(
	. "./$recipes/APKBUILD"
	for v in pkgname pkgver pkgrel pkgdesc url arch license source; do
		eval "[ -n \"\$$v\" ]" || fail "APKBUILD has no $v"
	done
	for s in $install; do
		[ -e "$recipes/$s" ] || fail "APKBUILD: there is no $s"
	done
	for f in build package lib; do
		command -v $f >/dev/null || fail "APKBUILD has no function $f"
	done
) || exit 1
checks=$((checks + 1))
sh $recipes/service 2>/dev/null
is "service, without a word" 2 $?

# ---- Yocto: the checksum that bitbake demands ----

is "the checksum of LICENSE" "$(md5sum <LICENSE | cut -d ' ' -f 1)" \
	"$(sed -n 's/^LIC_FILES_CHKSUM = "file:\/\/LICENSE;md5=\(.*\)"/\1/p' $recipes/yocto/*.bb)"

# ---- Buildroot: its functions as make sees them, with a package of its own kind in their place ----

cat >"$work/buildroot.mk" <<'END'
generic-package = $(eval known := $(TRAILFS_SOURCE))
TRAILFS_PKGDIR = package/trailfs
TARGET_CONFIGURE_OPTS = CC=target-gcc
MAKE = make
include recipe.mk
.PHONY: build/stamp
build/stamp:
	$(TRAILFS_BUILD_CMDS)
	$(TRAILFS_INSTALL_TARGET_CMDS)
	$(TRAILFS_INSTALL_INIT_SYSV)
	# $(known)
END
cp $recipes/buildroot/trailfs.mk "$work/recipe.mk"
out=$(cd "$work" && make -n -f buildroot.mk build/stamp TARGET_DIR=/target INSTALL=install 2>&1) || fail "Buildroot: $out"
for word in 'CC=target-gcc PREFIX=/usr -C build all' 'DESTDIR=/target install' 'S50trailfs' \
	"# trailfs-$version.tar.xz"; do
	case $out in *"$word"*) ;; *) fail "Buildroot: no '$word' in $out" ;; esac
	checks=$((checks + 1))
done

# ---- Nix: evaluated with stand-ins for its packages ----

if command -v nix-instantiate >/dev/null; then
	tools="$tools nix"
	cat >"$work/try.nix" <<-END
		let recipe = import $top/$recipes/default.nix; names = builtins.functionArgs recipe;
		in recipe (builtins.mapAttrs (n: o: n) names // {
		  lib.licenses = { mit = 1; gpl2Only = 2; gpl2Plus = 3; };
		  stdenv = { mkDerivation = a: "\${a.pname}-\${a.version} \${toString a.buildInputs}"; cc.targetPrefix = ""; };
		})
	END
	is "Nix" "\"trailfs-$version fuse3 liburcu libuuid sqlite xz zlib\"" \
		"$(NIX_STATE_DIR=$work/nix NIX_STORE_DIR=$work/store NIX_LOCALSTATE_DIR=$work/nix \
			HOME=$work nix-instantiate --eval "$work/try.nix" 2>"$work/nix.err")"
else
	echo "# Nix is left out: there is no nix-instantiate"
fi

# ---- RPM ----

if command -v rpmspec >/dev/null; then
	tools="$tools rpm"
	rpmspec -P $recipes/trailfs.spec >"$work/spec" 2>"$work/log" || fail "rpmspec: $(cat "$work/log")"
	is "packages of the RPM" 3 "$(rpmspec -q $recipes/trailfs.spec 2>/dev/null | wc -l)"
else
	echo "# the RPM's description is left out: there is no rpmspec"
fi
if [ -z "${SOAK-}${RPM-}" ]; then
	echo "# the RPM is not built: it is for SOAK=1, or RPM=1"
elif ! command -v rpmbuild >/dev/null; then
	echo "# the RPM is not built: there is no rpmbuild"
else
	make -s B="$work/b" dist >/dev/null || fail "make dist"
	# (The names of other packages are those of Fedora.)
	rpmbuild -ta --nodeps --define "_topdir $work/rpm" "$work/b/trailfs-$version.tar.xz" \
		>"$work/log" 2>&1 || fail "rpmbuild: $(tail -n 20 "$work/log")"
	is "built packages" 3 "$(find "$work/rpm/RPMS" -name '*.rpm' | wc -l)"
	rpm -qlp "$work"/rpm/RPMS/*/trailfs-*.rpm | grep -qx /usr/bin/trailfs || fail "RPM: no daemon"
	tools="$tools (built)"
fi
echo "$checks checks, by the shell, make$tools"
