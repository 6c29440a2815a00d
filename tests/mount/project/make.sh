#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# make: what it shows, when `make install` touches the system, what `make check` says first. tests/run: the number of each test.
. "$(dirname "$0")/../../lib/mount.sh"
cd "$top" || fail "cd"
unset MAKEFLAGS V
mk() { make CFLAGS=-O0 CC="${CC:-gcc}" CXX="${CXX:-g++}" SAN="${SAN-}" "$@"; }

# --- help has every target with a description
mk help >"$work/help"
for target in $(sed -n 's/^\([a-z][a-z0-9-]*\):.*## .*/\1/p' Makefile) install-dkms check-built; do
	grep -q "^  make $target  " "$work/help" || fail "make help leaves out $target"
	checks=$((checks + 1))
done

# --- a build shows no commands, but with V=1
mk B="$work/b" "$work/b/tests/reap" "$work/b/libtrail.so.0" >"$work/quiet" 2>&1 ||
	fail "make: $(cat "$work/quiet")"
is "lines of a quiet build" "  $work/b/libtrail.so.0" "$(cat "$work/quiet")"
rm "$work/b/tests/reap"
mk V=1 B="$work/b" "$work/b/tests/reap" >"$work/loud" 2>&1 || fail "make V=1: $(cat "$work/loud")"
has "$(cat "$work/loud")" "-o $work/b/tests/reap"

# --- make install touches what belongs to the system with a prefix of the system only, and never for
# a package (install.sh has the rest)
mk -n install PREFIX="$work/private" >"$work/private.log" 2>&1 ||
	fail "make -n install: $(cat "$work/private.log")"
has "$(cat "$work/private.log")" "^tools/installed.sh '$work/private/bin'"
grep -n 'ldconfig\|/run/\|--system' "$work/private.log" &&
	fail "make install PREFIX=$work/private touches the system"
for prefix in /usr /usr/local /usr/; do
	mk -n install PREFIX=$prefix >"$work/system.log" 2>&1 ||
		fail "make -n install: $(cat "$work/system.log")"
	has "$(cat "$work/system.log")" '^tools/installed.sh --system '
done
mk -n install PREFIX=/usr DESTDIR="$work/package" >"$work/package.log" 2>&1 ||
	fail "make -n install: $(cat "$work/package.log")"
grep -n 'ldconfig\|/run/\|installed.sh' "$work/package.log" &&
	fail "make install DESTDIR=$work/package touches the system"

# --- make check says first what it will install, and how long it takes; deps.sh installs nothing then
mk -n check >"$work/check" 2>&1 || fail "make -n check: $(cat "$work/check")"
has "$(sed -n 1p "$work/check")" '^tools/deps.sh --announce build test .*multilib vm analyses'
has "$(sed -n 2p "$work/check")" "^echo 'make check: all tests take about .* minutes"
mkdir "$work/few"
for c in sh id cut sort tr cat uname apt-get; do
	! command -v $c >/dev/null || ln -s "$(command -v $c)" "$work/few/$c"
done
PATH=$work/few tools/deps.sh --announce multilib vm >"$work/said" 2>&1 ||
	fail "deps.sh --announce: $(cat "$work/said")"
is "lines of deps.sh --announce" 1 "$(wc -l <"$work/said")"
[ "$(uname -m)" != x86_64 ] || has "$(cat "$work/said")" ': .*gcc-multilib .*qemu-system-x86'
is "nothing to install" "deps.sh: nothing to install" "$(tools/deps.sh --announce)"

# --- make deb says which packages it needs
mkdir "$work/no_deb"
(IFS=:
for d in $PATH; do
	ln -s "$d"/* "$work/no_deb/"
done) 2>/dev/null
rm -f "$work/no_deb/dpkg-buildpackage"
PATH=$work/no_deb mk B="$work/b" deb >"$work/deb" 2>&1 && fail "make deb without dpkg-buildpackage"
has "$(cat "$work/deb")" '^make deb: .* no dpkg-buildpackage: apt install dpkg-dev debhelper '

# --- tests/run: n of all, and how long the rest takes
mkdir -p "$work/b/tests/unit/metadata"
cp "$BUILD/tests/reap" "$work/b/tests/"
for t in buf ctf; do
	printf '#!/bin/sh\nexit 0\n' >"$work/b/tests/unit/metadata/test_$t"
	chmod +x "$work/b/tests/unit/metadata/test_$t"
done
# The CPU time of a test is that of orphans, too.
cat >"$work/b/tests/unit/metadata/test_ctf" <<'EOF'
#!/bin/sh
(awk 'BEGIN { while (i++ < 2e7); }' && : >"$TMPDIR/ended" &)
until [ -e "$TMPDIR/ended" ]; do sleep 0.1; done
EOF
echo 'unit/metadata/test_ctf 500' >"$work/b/tests/times"
TEST_JOBS=1 BUILD=$work/b tests/run 'unit/test_buf' 'unit/test_ctf' >"$work/run" 2>&1 ||
	fail "tests/run: $(cat "$work/run")"
has "$(sed -n 1p "$work/run")" '^2 tests, [0-9]* s: '
has "$(sed -n 2p "$work/run")" '^ok .* 1/2 ~5 s  *unit/metadata/test_buf$'
has "$(sed -n 3p "$work/run")" '^ok  *[0-9.]* s  *[0-9.]*[1-9][0-9.]* s '
has "$(sed -n 3p "$work/run")" '^ok .* 2/2  *unit/metadata/test_ctf$'
is "the summary" "2 passed, 0 failed, 0 skipped" "$(sed -n 4p "$work/run")"
grep -q '^unit/metadata/test_ctf 500$' "$work/b/tests/times" && fail "the times are not kept"
echo "$checks checks"
