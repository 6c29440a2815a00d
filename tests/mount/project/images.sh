#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# docs/examples/: the image of Containerfile has each library that the daemon needs, and what it
# copies exists; kubectl decodes daemonset.yaml, where it is installed, or a YAML parser does.
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 2
BUILD=${BUILD:-$top/build}
examples=$top/docs/examples
fail() {
	echo "FAILED: $*"
	exit 1
}
checks=0
words=$(mktemp "${TMPDIR:-/tmp}/images.XXXXXX") || exit 2
trap 'rm -f "$words"' EXIT
if command -v dpkg >/dev/null && grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
	sed -n '/^FROM debian:bookworm-slim/,$p' "$examples/Containerfile" | tr -s ' \\' '\n' >"$words"
	for lib in $(ldd "$BUILD/trailfs" | sed -n 's,^.*=> \(/[^ ]*\) .*$,\1,p'); do
		package=$(dpkg -S "$(basename "$lib")" 2>/dev/null | sed -n 's/^\([^:]*\):.*/\1/p' |
			grep -v -- -dev | head -n 1)
		case $package in libc6* | "" | *san*) continue ;; esac
		grep -qx "$package" "$words" || fail "the image lacks $package"
		checks=$((checks + 1))
	done
fi
grep -q '^ENTRYPOINT \["trailfs", "-f", "/trace"\]$' "$examples/Containerfile" || fail ENTRYPOINT
if command -v kubectl >/dev/null; then
	out=$(kubectl set image --local -f "$examples/daemonset.yaml" trailfs=other -o yaml 2>&1) ||
		fail "kubectl: $out"
	how=kubectl
	for word in 'image: other' 'mountPropagation: Bidirectional' 'hostPID: true' 'privileged: true' \
		'path: /run/trailfs' 'operator: Exists'; do
		echo "$out" | grep -q "$word" || fail "kubectl does not know '$word'"
		checks=$((checks + 1))
	done
elif python3 -c 'import yaml' 2>/dev/null; then
	python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))["spec"]["template"]["spec"]' \
		"$examples/daemonset.yaml" || fail "daemonset.yaml"
	how="a YAML parser"
	checks=$((checks + 1))
else
	echo "there is neither kubectl nor a YAML parser for daemonset.yaml"
	exit 77
fi
echo "$checks checks, by $how"
