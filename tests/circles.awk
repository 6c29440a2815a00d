# SPDX-License-Identifier: GPL-2.0-or-later
#
# awk -v build=BUILD/ -f tests/circles.awk tests/circles NM: files of one room that call each other
# in a circle. tests/circles has lines `ROOM N`: the most files that a circle of the room may have; 0
# where it has no line. NM is the output of nm -A -g.
function room_of(file) {
	sub(/\/[^\/]*$/, "", file)
	return file
}
FILENAME == "tests/circles" {
	if ($0 !~ /^#/ && NF == 2) {
		allowed[$1] = $2
		if ($2 > 6) print $1 ": tests/circles may not have more than 6 files in a circle"
	}
	next
}
{
	file = $1
	sub(/:.*/, "", file)
	sub("^.*" build, "", file)
	# Functions of libc, which other files do not call by that.
	if (file ~ /^ustlib\/(interpose|preload\/.*)\.o$/ && $NF !~ /^trail/ && $(NF - 1) != "U") next
	if ($(NF - 1) == "U") {
		use[++uses] = $NF
		by[uses] = file
	} else if ($(NF - 1) ~ /^[TDBRCVW]$/)
		where[$NF] = file
}
END {
	for (i = 1; i <= uses; i++) {
		from = by[i]
		if (!(use[i] in where)) continue
		to = where[use[i]]
		if (from == to || room_of(from) != room_of(to)) continue
		reach[from, to] = 1
		if (!(from in number)) { number[from] = ++n; name[n] = from }
		if (!(to in number)) { number[to] = ++n; name[n] = to }
	}
	for (k = 1; k <= n; k++)
		for (i = 1; i <= n; i++)
			if ((name[i], name[k]) in reach)
				for (j = 1; j <= n; j++)
					if ((name[k], name[j]) in reach) reach[name[i], name[j]] = 1
	for (i = 1; i <= n; i++) {
		room = room_of(name[i])
		size = 0
		members = ""
		for (j = 1; j <= n; j++)
			if (((name[i], name[j]) in reach) && ((name[j], name[i]) in reach)) {
				size++
				members = members " " substr(name[j], length(room) + 2)
			}
		if (size > largest[room]) { largest[room] = size; circle[room] = members }
	}
	for (room in largest)
		if (largest[room] != allowed[room] + 0)
			print room ": " largest[room] " files call each other in a circle, tests/circles has " allowed[room] + 0 ":" circle[room]
	for (room in allowed)
		if (!(room in largest) && allowed[room])
			print room ": no circle; remove its line from tests/circles"
}
