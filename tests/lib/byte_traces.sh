# SPDX-License-Identifier: GPL-2.0-or-later
# After mount.sh: traces of a few bytes, and the text that an imported session has of them.
TZ=UTC
export TZ
mount_tree -o tz=UTC
n=0

# trace NAME BYTES <METADATA: the bytes as printf has them, in the file `stream`
trace() {
	dir=$work/$1
	mkdir "$dir"
	{ echo '/* CTF 1.8 */'; cat; } >"$dir/metadata"
	printf "$2" >"$dir/stream"
}

# shows TEXT: the session of $dir, $s, has this text, and babeltrace2 agrees
shows() {
	n=$((n + 1))
	s=$S/t$n
	mkdir "$s"
	put "$dir" "$s/input"
	is "text of ${dir##*/}" "$1" "$(grep -v ^WARNING "$s/text")"
	is "pipe of ${dir##*/}" "$1" "$(timeout 60 grep -v ^WARNING "$s/pipe")"
	is "size of ${dir##*/}" "$(cat "$s/text" | wc -c)" "$(stat -c %s "$s/text")"
	has_babeltrace_2_0 || return 0
	is "babeltrace2 ${dir##*/}" "$1" "$(babeltrace2 --clock-gmt "$dir" 2>/dev/null)"
}

# refused PATTERN: the trace of $dir is not taken, and the session says why
refused() {
	mkdir "$S/bad"
	! echo "$dir" 2>/dev/null >"$S/bad/input" || fail "${dir##*/} is accepted"
	has "$(cat "$S/bad/error")" "$1"
	rmdir "$S/bad"
}
