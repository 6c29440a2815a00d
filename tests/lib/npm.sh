# SPDX-License-Identifier: GPL-2.0-or-later
#
# What tests of other readers take from the npm registry: `. "$top/tests/lib/npm.sh"` after mount.sh.

# need_npm PACKAGE@VERSION [FILE]: node finds the package, or a file of it, by NODE_PATH or in
# $BUILD/npm, where it is installed if the registry can be reached. False: there is none; the first
# line of $work/npm.log says why. One test at a time installs.
need_npm() {
	command -v node >/dev/null || { echo "there is no node" >"$work/npm.log"; return 1; }
	NODE_PATH=$BUILD/npm/node_modules${NODE_PATH:+:$NODE_PATH}
	export NODE_PATH
	have_npm "${1%@*}${2:+/$2}" && return 0
	command -v npm >/dev/null || { echo "there is no npm" >"$work/npm.log"; return 1; }
	mkdir -p "$BUILD/npm" || return 1
	(
		flock 9
		have_npm "${1%@*}${2:+/$2}" || timeout 120 npm install --prefix "$BUILD/npm" --no-audit \
			--no-fund --ignore-scripts --fetch-retries 0 "$1" >"$work/npm.log" 2>&1
	) 9>"$BUILD/npm/lock"
	have_npm "${1%@*}${2:+/$2}"
}

have_npm() {
	node -e 'require.resolve(process.argv[1])' "$1" 2>"$work/npm.log"
}
