#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# The house rules that a grep can check:
#
#              fs ──────► tracer ──────► metadata            tools ──► metadata, tracer/face/{recover,tracer}.h
#          (libfuse3)     (liburcu)      (libuuid)
#                            │
#                            ▼
#                       tracer/abi/ ◄── ustlib, kmod
#
#   - who includes whom; fuse_lowlevel.h in three files at most
#   - files of at most 500 lines, functions of at most 60 (where Universal Ctags is installed)
#   - lines of at most 100 columns
#   - every file says its licence, and the right one
cd "$(dirname "$0")/.." || exit 2
LC_ALL=C
export LC_ALL
bad=0

complain() {
	echo "$*"
	bad=$((bad + 1))
}

# Lines `file:number:header`, header with its quotes or brackets
includes() {
	find "$@" -name '*.[chS]' -exec grep -Hn '^[[:space:]]*#[[:space:]]*include' {} + \
		2>/dev/null |
		sed 's/^\([^:]*:[0-9]*\):[^"<]*\(["<][^">]*[">]\).*/\1 \2/'
}

# rule ROOM "what may be included in quotes (ERE)" "what may not be included in brackets (ERE)"
rule() {
	[ -d "$1" ] || return 0
	refused=$(includes "$1" | room=$1 may="^($2)\$" may_not="^($3)" awk '{
		name = substr($2, 2, length($2) - 2)
		if (substr($2, 1, 1) == "<") {
			wrong = name ~ ENVIRON["may_not"]
		} else {
			if (!index(name, "/")) name = ENVIRON["room"] "/" name
			wrong = name !~ ENVIRON["may"]
		}
		if (wrong) print $1 ": " ENVIRON["room"] " may not include " $2
	}') || complain "$1: its includes were not checked"
	[ -z "$refused" ] || complain "$refused"
}

shared='tracer/abi/.*\.(h|def)'
foreign='fuse|urcu|uuid/|trail/|lttng/|babeltrace'

rule metadata 'metadata/.*' 'fuse|urcu|trail/|lttng/|babeltrace'
rule tracer '(tracer|metadata)/.*' 'fuse|trail/|lttng/|babeltrace'
rule fs '(fs|tracer|metadata)/.*' 'urcu|trail/|lttng/|babeltrace'
rule ustlib "(ustlib|trail)/.*|$shared" 'fuse|urcu|uuid/|lttng/|babeltrace'
rule kmod "kmod/.*|$shared" "$foreign"
# (tracer.h is what the daemon's front has of the tracer; recover.h, the same without a daemon:
# trail-recover. tools/static/left_out.c stands in for rooms.)
stands='tracer/(app/agent|format/(export|foreign)|kernel/(backend|count|sample)|output/relay|view/metrics)/[a-z_]*\.h|tracer/(kernel/kernel|output/sink)\.h'
rule tools "(tools|metadata)/.*|tracer/face/(recover|tracer)\\.h|$stands" 'fuse|urcu|lttng/|babeltrace'

# ---- rooms, in order: each may include and call itself and the rooms before it ----

# Every folder with sources is a room: it is in the list, and has a rank. "." is the house itself.
tracer_rooms='abi
	base base/os base/keeper base/ring base/context base/filter base/probe base/rule
	session
	app app/agent
	kernel/bpf kernel/task kernel/kevent kernel/count kernel/symbol kernel/statedump kernel/unwind kernel/sample kernel/backend kernel/programs kernel
	output output/relay
	view/slice view view/map view/metrics
	format/tsdl format/ctf2 format/import format/foreign format/parquet format/maker format/picture
	format/export
	output/snapshot
	verb
	trigger
	face'
fs_rooms='base config tree fuse daemon'
# (lttng/ and trail/ are headers that are installed.)
ustlib_rooms='trail lttng/lttng lttng/lttng/tp base context . front preload drop-in java'
# The files of kmod/: each calls only files before it.
kmod_files='callstack tracepoint counter context filter track syscall event channel main'

# check_rooms HOUSE ROOMS
check_rooms() {
	rooms=$(echo $2)
	for dir in $(find "$1" -mindepth 2 -name '*.[ch]' | sed "s,^$1/,,; s,/[^/]*\$,," | sort -u); do
		case " $rooms " in
		*" $dir "*) ;;
		*) complain "$1/$dir: no such room in tests/layers.sh" ;;
		esac
	done
	upward=$(includes "$1" | awk -v house="$1" -v rooms="$rooms" '
		# The folder of a file below the house; "." is the house itself
		function room(path) {
			sub("^" house "/", "", path)
			return sub("/[^/]*$", "", path) ? path : "."
		}
		BEGIN { n = split(rooms, name, " "); for (i = 1; i <= n; i++) rank[name[i]] = i }
		{
			from = $1
			sub(/:.*/, "", from)
			from = room(from)
			gsub(/"/, "", $2)
			if (index($2, house "/") != 1) next
			to = room($2)
			if (rank[to] > rank[from])
				print $1 ": " from "/ may not include " $2 ": that room is later"
		}')
	[ -z "$upward" ] || complain "$upward"
}

# The objects of sources that are built (and not those of sources that were moved or removed)
objects_of() { # FOLDER…
	find "$@" -name '*.c' -o -name '*.cc' | sed "s,^\\(.*\\)\\.[c]*$,${BUILD:-build}/\\1.o," |
		xargs ls 2>/dev/null
}

# check_calls HOUSE ROOMS: the same for calls, by the symbols of the objects, where they are built
check_calls() {
	objects=$(objects_of "$1")
	[ -n "$objects" ] && command -v nm >/dev/null || return 0
	calls=$(nm -A -g $objects 2>/dev/null | awk -v house="$1" -v rooms="$(echo $2)" '
		BEGIN { n = split(rooms, name, " "); for (i = 1; i <= n; i++) rank[name[i]] = i }
		{
			file = $1
			sub(/:.*/, "", file)
			sub(".*/" house "/", "", file)
			sub(/\.o$/, ".c", file)
			room = file
			if (!sub("/[^/]*$", "", room)) room = "."
			# (These files define functions of libc, which others do not call by that.)
			if (house == "ustlib" && file ~ /^(interpose|preload\/(libc|pthread|dl))\.c$/ && $NF !~ /^trail/ && $(NF - 1) != "U") next
			if ($(NF - 1) == "U") {
				use[++uses] = $NF
				by[uses] = file
				in_room[uses] = room
			} else if ($(NF - 1) ~ /^[TDBRC]$/) {
				where[$NF] = room
				file_of[$NF] = file
			}
		}
		END {
			for (i = 1; i <= uses; i++)
				if (use[i] in where && rank[where[use[i]]] > rank[in_room[i]])
					print house "/" by[i] ": calls " use[i] "() of a later room, " house "/" file_of[use[i]]
		}')
	[ -z "$calls" ] || complain "$calls"
}

for house in tracer fs ustlib; do
	eval "rooms=\$${house}_rooms"
	check_rooms $house "$rooms"
	check_calls $house "$rooms"
done

# The same for the files of kmod/, by their text: it is built elsewhere.
upward=$(for f in $kmod_files; do echo "kmod/$f.c"; done | xargs awk '
	FNR == 1 { order[FILENAME] = ++files; name[files] = FILENAME }
	{ gsub(/\/\*.*\*\//, "") }
	/^[a-z_].*[ *]trail_[a-z_]+\(/ && !/^static/ && !/;$/ {
		match($0, /trail_[a-z_]+\(/)
		where[substr($0, RSTART, RLENGTH - 1)] = files
	}
	/^[\t]/ { text[files] = text[files] $0 "\n" }
	END {
		for (f = 1; f <= files; f++)
			for (s in where)
				if (where[s] > f && text[f] ~ s "\\(")
					print name[f] ": calls " s "() of a later file, " name[where[s]]
	}')
[ -z "$upward" ] || complain "$upward"
for f in kmod/*.c; do
	f=${f#kmod/}
	case " $kmod_files " in
	*" ${f%.c} "*) ;;
	*) complain "kmod/$f: no such file in tests/layers.sh" ;;
	esac
done

# fs/ knows the face, what its header includes, and what has no room above it.
face=$(sed -n 's/^#include "\(.*\)"$/\1/p' tracer/face/tracer.h)
allowed=$(echo tracer/face/tracer.h tracer/trigger/trigger_files.h tracer/base/keeper/keeper.h \
	tracer/base/hash.h tracer/base/os/cred.h tracer/base/rule/hook.h tracer/session/session_settings.def \
	tracer/session/channel_settings.def tracer/session/exports.def $face)
many=$(includes fs | awk -v allowed="$allowed" '
	BEGIN { n = split(allowed, a, " "); for (i = 1; i <= n; i++) may[a[i]] = 1 }
	{ gsub(/"/, "", $2); if ($2 ~ /^tracer\// && !($2 in may)) print $1 ": fs/ may not include " $2 }')
[ -z "$many" ] || complain "$many"

# A function is declared in the room that defines it. The headers of ustlib/trail/ are for programs.
if [ -n "$(objects_of tracer fs metadata ustlib)" ] && command -v nm >/dev/null; then
	wrong=$({
		nm -A -g $(objects_of tracer fs metadata ustlib) 2>/dev/null |
			awk -v build="${BUILD:-build}/" '$(NF - 1) ~ /^[TDBRC]$/ {
				file = $1; sub(/:.*/, "", file); sub("^.*" build, "", file); sub(/\/[^\/]*$/, "", file)
				print "D", $NF, file }'
		find tracer fs metadata ustlib -name '*.h' ! -path 'ustlib/trail/*' ! -path 'ustlib/lttng/*' \
			! -path 'ustlib/drop-in/*' | xargs awk '
			/^[ \t]*(\/?\*|#)/ { next }
			/^[a-z].*[ *][a-z_0-9]+\(/ && !/^(static|typedef)/ {
				line = $0
				sub(/\(.*/, "", line)
				sub(/.*[ *]/, "", line)
				dir = FILENAME
				sub(/\/[^\/]*$/, "", dir)
				print "P", line, dir, FILENAME
			}'
	} | awk '
		$1 == "D" { where[$2, $3] = 1; known[$2] = $3 }
		$1 == "P" && ($2 in known) && !(($2, $3) in where) {
			print $4 ": declares " $2 "(), which " known[$2] "/ defines" }')
	[ -z "$wrong" ] || complain "$wrong"
fi

# Files of a room that call each other in a circle: as many as tests/circles says, and not more.
if [ -n "$(objects_of tracer fs metadata ustlib)" ] && command -v nm >/dev/null; then
	grown=$(nm -A -g $(objects_of tracer fs metadata ustlib) 2>/dev/null |
		awk -v build="${BUILD:-build}/" -f tests/circles.awk tests/circles -)
	[ -z "$grown" ] || complain "$grown"
fi

# A tag names one struct, union or enum of all headers.
same=$(find tracer fs metadata ustlib kmod -name '*.h' | sort | xargs awk '
	match($0, /^[ \t]*(typedef )?(struct|union|enum) [a-z_0-9]+ \{/) {
		tag = substr($0, RSTART, RLENGTH - 2)
		sub(/.* /, "", tag)
		if (tag in where && where[tag] != FILENAME)
			print FILENAME ":" FNR ": the tag " tag " is in " where[tag] " as well"
		where[tag] = FILENAME
	}')
[ -z "$same" ] || complain "$same"

# docs/design.md has a line for each room.
for dir in $(find tracer fs metadata ustlib kmod -name '*.c' | sed 's,/[^/]*$,,' | sort -u); do
	grep -q "^| \**\`\(tracer/\)\?${dir#tracer/}/\`" docs/design.md ||
		complain "docs/design.md: no line for the room $dir"
done

# What is exported is used by another file: of the daemon, of the tests, of the tools.
if command -v nm >/dev/null && [ -d "${BUILD:-build}/tests/unit" ]; then
	lonely=$(objects_of metadata tracer fs tests tools | xargs nm -A -g 2>/dev/null | awk '
		{
			file = $1
			sub(/:.*/, "", file)
			if ($NF ~ /^__/) next	# (of the compiler, of a sanitizer)
			if ($(NF - 1) == "U") used[$NF] = 1
			else if (file ~ /\/(tracer|metadata|fs)\// && file !~ /\/tests\// && $(NF - 1) ~ /^[TDBRC]$/) where[$NF] = file
		}
		# (md_escapes: only machines without SSE2 use it elsewhere.)
		END { for (s in where) if (!(s in used) && s != "main" && s != "md_escapes") print where[s] ": " s " is exported and used by no other file" }')
	[ -z "$lonely" ] || complain "$lonely"
fi

for dir in $(find tracer -type d) fs/ fs/*/ ustlib/ kmod/ metadata/; do
	n=$(find "$dir" -maxdepth 1 -name '*.c' 2>/dev/null | wc -l)
	[ "$n" -le 20 ] || complain "$dir: $n .c files, 20 are allowed"
done

# A test is in a folder: of the room that it tests, or of its subject.
for f in tests/unit/* tests/mount/*; do
	[ ! -f "$f" ] ||
		complain \
		"$f: a test goes into a folder below ${f%/*}/, and what tests share into tests/lib/"
done

# What is installed stands alone.
for header in ustlib/trail/*.h; do
	[ -f "$header" ] || continue
	grep -n '^[[:space:]]*#[[:space:]]*include' "$header" |
		grep -Ev '[<"](trail/)?[a-z_0-9]+(\.h)?[>"]' |
		grep -Ev '<(sys|linux|asm)/' | sed "s,^,$header:," | grep . && bad=$((bad + 1))
done

n=$(grep -rl 'fuse_lowlevel\.h' fs 2>/dev/null | wc -l)
[ "$n" -le 3 ] || complain "fs: fuse_lowlevel.h is included in $n files, 3 are allowed"

sources=$(find metadata tracer fs ustlib kmod tools tests -type f \( -name '*.[chS]' -o -name \
	'*.cc' -o -name '*.sh' \))
heads=$(echo "$sources" | xargs awk '
	function check_last() {
		if (lines > 500) print file ": " lines " lines, 500 are allowed"
		if (file != "" && !licensed) print file ": no line '"'SPDX-License-Identifier: "'" licence "'"'"' at its top"
	}
	FNR == 1 {
		check_last()
		file = FILENAME
		licensed = 0
		licence = "GPL-2.0-or-later"
		if (file ~ /^(ustlib|metadata)\// || file ~ /^tracer\/abi\// && file !~ /^tracer\/abi\/module/)
			licence = "MIT"
		else if (file ~ /^kmod\//)
			licence = "GPL-2.0-only"
		else if (file ~ /^tests\//)
			licence = "(GPL-2.0-or-later|MIT)"
	}
	FNR <= 3 && $0 ~ "SPDX-License-Identifier: " licence "( \\*/)?$" { licensed = 1 }
	{ lines = FNR }
	END { check_last() }') || complain 'tests/layers.sh: the first lines of sources were not checked'
[ -z "$heads" ] || complain "$heads"

# Lines of at most 100 columns, a tab being 8 of them. Bytes that continue a UTF-8 character do not
# count.
wide=$(find metadata tracer fs ustlib kmod tools tests -name '*.[chS]' -o -name '*.cc' | xargs awk '
	{
		gsub(/[\200-\277]/, "")
		n = split($0, part, "\t")
		column = length(part[n])
		for (i = 1; i < n; i++) column += (int(length(part[i]) / 8) + 1) * 8
		if (column > 100) print FILENAME ":" FNR ": " column " columns, 100 are allowed"
	}')
[ -z "$wide" ] || complain "$wide"

if ctags --version 2>/dev/null | grep -q 'Universal Ctags'; then
	long=$(find metadata tracer fs ustlib kmod tools tests -name '*.c' -o -name '*.h' -o -name '*.cc' |
		ctags -L - -f - --languages=C,C++ --langmap=C:+.h --kinds-C=f --kinds-C++=f --fields=+ne 2>/dev/null |
		awk -F '\t' '{
			line = end = 0
			for (i = 4; i <= NF; i++) {
				if ($i ~ /^line:/) line = substr($i, 6)
				if ($i ~ /^end:/) end = substr($i, 5)
			}
			if (end - line + 1 > 60) print $2 ":" line ": " $1 "() has " end - line + 1 " lines, 60 are allowed"
		}')
	[ -z "$long" ] || complain "$long"
fi

[ $bad = 0 ]
