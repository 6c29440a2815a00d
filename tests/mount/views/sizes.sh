#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# st_size of the files of export/ is what a read gives, so that tar, rsync and cp copy them; st_ino
# of the files of trace/ stays the same in a stopped session.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree -o tz=UTC
mkdir "$S/s" && cd "$S/s" || fail mkdir
echo 'tick:*' >user/events
echo start >control
"$BUILD/tests/lib/ticker" 20 0 || fail ticker
files="flame.svg timeline.html chrome.json csv perfetto sql lket.txt"

copies() { # WHEN
	rm -rf "$work/a" "$work/t" && mkdir "$work/a" "$work/t"
	for f in $files; do
		size=$(stat -c %s "export/$f")
		is "$1: st_size of $f" "$size" "$(cat "export/$f" | wc -c)"
		cp "export/$f" "$work/a/" || fail "$1: cp $f"
		tar -C export -cf - "$f" 2>"$work/tar.err" | tar -C "$work/t" -xf - ||
			fail "$1: tar $f"
		is "$1: tar of $f" "" "$(cat "$work/tar.err")"
		case $f in perfetto | sql) ;;   # (they have the time of the copy)
		*) cmp "$work/a/$f" "$work/t/$f" || fail "$1: tar and cp of $f differ" ;;
		esac
		if command -v rsync >/dev/null; then
			rsync "export/$f" "$work/r" || fail "$1: rsync of $f"
			is "$1: rsync of $f" "$(wc -c <"$work/t/$f")" "$(wc -c <"$work/r")"
		fi
	done
}
copies active
echo stop >control
copies stopped
rm -f "$work/r"
tail -c 10 "$work/t/flame.svg" | grep -q '</svg>' || fail "flame.svg is cut"
tail -c 20 "$work/t/timeline.html" | grep -q '</' || fail "timeline.html is cut"

# Nothing of a removed session is kept by what stat(2) made
cd / && rmdir "$S/s" && mkdir "$S/s" && cd "$S/s" || fail "again"
before=$(stat -c %s export/csv)
echo 'tick:*' >user/events && echo start >control
"$BUILD/tests/lib/ticker" 20 0 || fail ticker
larger() { [ "$(stat -c %s export/csv)" -gt "$before" ]; }
within 10 larger || fail "export/csv keeps its size"
echo stop >control

inodes() { find trace -type f -printf '%P %i\n' | sort; }
first=$(inodes)
[ -n "$first" ] || fail "no files in trace"
# (another process has another image; the kernel has nothing of the first one)
sleep 2.1
[ "$(id -u)" != 0 ] || echo 2 >/proc/sys/vm/drop_caches 2>/dev/null
is "st_ino of trace/" "$first" "$(inodes)"
echo start >control
"$BUILD/tests/lib/ticker" 1 0 || fail ticker
[ "$first" != "$(inodes)" ] || fail "st_ino of another image is the same"
echo "$checks checks"
