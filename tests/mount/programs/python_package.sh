#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 100
#
# ustlib/python/pyproject.toml: pip builds a package of it without a network, which has the module
# and, in an environment of its own, records an event. docs/examples/events.py runs with it.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
python=
for p in /usr/bin/python3 python3; do
	"$p" -c 'import setuptools, pip; assert int(setuptools.__version__.split(".")[0]) >= 61' \
		2>/dev/null && python=$p && break
done
[ -n "$python" ] || skip "there is no Python with pip and setuptools"
"$python" -c 'import wheel' 2>/dev/null ||
	"$python" -c 'import setuptools.command.bdist_wheel' 2>/dev/null || skip "there is no wheel"
mkdir "$work/source" "$work/wheels" && cp "$top"/ustlib/python/pyproject.toml \
	"$top"/ustlib/python/trail.py "$work/source/" || fail copy
HOME=$work "$python" -m pip wheel -q --no-index --no-deps --no-build-isolation \
	--disable-pip-version-check -w "$work/wheels" "$work/source" >"$work/out" 2>&1 ||
	fail "pip: $(tail -n 5 "$work/out")"
version=$(sed -n 's/^VERSION = //p' "$top/Makefile")
is "the package" "trail-$version-py3-none-any.whl" "$(ls "$work/wheels")"
HOME=$work "$python" -m pip install -q --no-index --no-deps --disable-pip-version-check \
	--target "$work/there" "$work"/wheels/*.whl >"$work/out" 2>&1 ||
	fail "pip install: $(tail -n 5 "$work/out")"
mount_tree
mkdir "$S/s" && printf '%s\n' 'wheel:*' 'my_app:*' 'python:*' >"$S/s/user/events" && echo start >"$S/s/control" || fail "session"
LD_LIBRARY_PATH=$BUILD PYTHONPATH=$work/there "$python" -c '
import trail
trail.Event("wheel", "turn", {"n": int, "s": str})(7, "x")' || fail "the program"
LD_LIBRARY_PATH=$BUILD PYTHONPATH=$work/there "$python" "$top/docs/examples/events.py" ||
	fail "docs/examples/events.py"
has "$(cat "$S/s/text")" 'my_app:request: .*{ id = 42, path = "/index.html", ms = 1.5 }$'
has "$(cat "$S/s/text")" 'python:my_app: .*message = "slow: /index.html" }$'
has "$(cat "$S/s/text")" 'wheel:turn: .*{ n = 7, s = "x" }$'
echo "$checks checks"
