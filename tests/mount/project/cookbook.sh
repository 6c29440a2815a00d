#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The commands of docs/cookbook.md, docs/tutorial.md and docs/troubleshooting.md run as they are
# written, but for the place of the mount, and print what each page says in comments after a block:
#
#   <!-- expect: ERE -->     a line of the block's output
#   <!-- needs: WORD… -->    the block is left out without it: kernel, the kernel can be traced;
#                            uprobes, it has them; root; x86_64, and other machines; else a command
#
# Blocks of the tutorial run one after the other in one shell's directory.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
command -v "${CC:-cc}" >/dev/null || skip "there is no compiler"
docs=$top/docs
TZ=UTC
HOME=$work/home
PATH=$work/bin:$BUILD:$PATH
CPATH=$top/ustlib
LIBRARY_PATH=$BUILD
LD_LIBRARY_PATH=$BUILD
export TZ HOME PATH CPATH LIBRARY_PATH LD_LIBRARY_PATH
mkdir "$HOME" "$work/bin"
printf '#!/bin/sh\nexec %s "$@"\n' "${CC:-gcc}" >"$work/bin/cc"
chmod +x "$work/bin/cc"

# split PAGE DIRECTORY: its blocks, as N.sh or N.c, with N.expect and N.needs
split() {
	mkdir "$2"
	awk -v dir="$2" '
		/^```(sh|c)$/ { n++; file = sprintf("%s/%02d.%s", dir, n, substr($0, 4)); inside = 1; next }
		/^```$/ { inside = 0; next }
		inside { print > file }
		/^<!-- (expect|needs): .* -->$/ {
			kind = $2; sub(/:$/, "", kind)
			line = $0; sub(/^<!-- [a-z]*: /, "", line); sub(/ -->$/, "", line)
			print line > sprintf("%s/%02d.%s", dir, n, kind)
		}' "$1"
	sed -i "s,/trace\\>,$MNT,g" "$2"/*.sh
}

has_it() {
	case $1 in
	kernel) [ -d "$S/probe/kernel" ] ;;
	uprobes) ! grep -q '^kernel .*no uprobes' "$MNT/version" ;;
	root) [ "$(id -u)" = 0 ] ;;
	x86_64) [ "$(uname -m)" = x86_64 ] ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

# shell_of FILE: bash for a block that writes several lines at once, which bash does line by line;
# the other blocks take turns with the shells that are here.
turn=0
shell_of() {
	shell=sh
	if grep -q 'printf\|<<' "$1"; then
		shell=bash
	else
		turn=$(((turn + 1) % 3))
		[ $turn != 1 ] || shell=bash
		[ $turn != 2 ] || shell="busybox sh"
	fi
	$shell -c : 2>/dev/null || shell=sh
}

# run_block FILE: in the current directory
run_block() {
	for need in $(cat "${1%.sh}.needs" 2>/dev/null); do
		has_it "$need" && continue
		echo "# left out, there is no $need here: ${1#"$work"/}"
		return
	done
	shell_of "$1"
	timeout 200 $shell -e "$1" >"$work/out" 2>"$work/err" ||
		fail "$shell ${1#"$work"/} ends with $?: $(cat "$1" "$work/out" "$work/err")"
	[ ! -e "${1%.sh}.expect" ] || while read -r line; do
		grep -Eq "$line" "$work/out" ||
			fail "${1#"$work"/} does not print '$line': $(cat "$work/out" "$work/err")"
		checks=$((checks + 1))
	done <"${1%.sh}.expect"
}

# A killed daemon is started again, as a chapter shows.
mount_tree -o keeper=1
mkdir "$S/probe"
split "$docs/cookbook.md" "$work/cookbook"
(cd "$HOME" && cp "$work/cookbook/01.c" app.c && cc app.c -o app -ltrail && mv app "$work/bin/") ||
	fail "app.c of the cookbook"
is "recipes" 53 "$(ls "$work"/cookbook/*.sh | wc -l)"
# Chapters 12 and 13 answer twenty questions and more, each by at most three lines (a line that ends
# with |, && or \ continues).
awk '/^## / { chapter = $2 + 0 }
	/^```sh$/ && chapter >= 12 && chapter <= 13 { lines = 0; inside = 1; next }
	/^```$/ { if (inside && lines > 3) { print "more than three lines before line " FNR; bad = 1 }
		n += inside; inside = 0 }
	inside && !/[|&\\\\]$/ { lines++ }
	END { if (n < 22) print n " blocks, with 2 recordings"; exit bad || n < 22 }' "$docs/cookbook.md" >"$work/short" ||
	fail "cookbook.md: $(cat "$work/short")"
for page in cookbook tutorial troubleshooting; do
	[ $page = cookbook ] || split "$docs/$page.md" "$work/$page"
	[ -d "$S/probe" ] || mkdir "$S/probe"
	cd "$HOME" || fail "cd"
	for source in "$work/$page"/*.c; do
		[ $page = tutorial ] && cp "$source" hello.c
	done
	for block in "$work/$page"/*.sh; do
		run_block "$block"
	done
	cd / && for s in "$S"/*; do
		case $s in
		*/probe) ;;
		*) rmdir "$s" || fail "rmdir $s" ;;
		esac
	done
done
echo "$checks checks"
