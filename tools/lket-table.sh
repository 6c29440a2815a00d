#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tools/lket-table.sh: prints docs/lket.md: its text before the first table, and the tables, from
# data/groups/*.ini and from what tests/vm/hook_values found on kernels (data/lket-kernels.txt).
cd "$(dirname "$0")/.." || exit 2

sed '/^## /,$d' docs/lket.md
# How many hooks each kernel records, tests fire, and have values that are compared
awk '
/^#/ || /^(unfired|empty|passes)/ { next }
$1 == "kernel" {
	for (n = 2; n <= NF; n++) title[n] = $n
	next
}
{
	for (k = 2; k < n; k++) {
		recorded[k] += $k != "-"
		fired[k] += $k ~ "/"
		compared[k] += $k ~ "/v"
	}
}
function row(name, of,    k, text) {
	text = "| " name " |"
	for (k = 2; k < n; k++) text = text " " of[k] " |"
	print text
}
END {
	printf "## Counts of hooks\n\n"
	row("kernel", title)
	line = "|---|"
	for (k = 2; k < n; k++) line = line "---|"
	print line
	row("recorded", recorded)
	row("of these fired by a test", fired)
	row("of these with values compared", compared)
	print ""
}' data/lket-kernels.txt
for f in $(grep -H '^group = ' data/groups/*.ini | sed 's/:group = / /' | sort -k2n | cut -d' ' -f1); do
	awk '
	BEGIN {
		while ((getline line <"data/lket-kernels.txt") > 0) {
			n = split(line, word, " ")
			if (word[1] == "kernel") for (kernels = n - 1; n > 1; n--) title[n] = word[n]
			else if (word[1] == "unfired") {
				sub(/^unfired [^ ]* /, "", line)
				prefix[++prefixes] = word[2]
				because[prefixes] = line
			} else if (line !~ /^#/) found[word[1]] = line
		}
	}
	# What each kernel has of the alternatives: their numbers; a star for those that are fired and
	# their values compared, a plus for those that are fired
	function on_kernels(hook, alternatives,    word, way, part, k, i, n, text) {
		split(found[hook], word, " ")
		n = split(alternatives, way, ", else ")
		for (k = 2; k <= kernels + 1; k++) {
			split(word[k], part, "/")
			text = text " | "
			for (i = 1; i <= n; i++)
				if (index(way[i], "`" part[1] "`")) break
			text = text (i > n ? "-" : i (part[2] == "v" ? "*" : part[2] == "f" ? "+" : ""))
		}
		return text
	}
	# Why no test fires the hook on some kernel that has it
	function reason(hook,    i) {
		if (found[hook] !~ / [^- ][^ /]*( |$)/) return ""
		for (i = 1; i <= prefixes; i++)
			if (index(hook, prefix[i]) == 1) return because[i]
		return "?"
	}
	# One hook, when all its lines were read
	function flush(kind,    suffix) {
		if (!(kind in ways)) return
		suffix = kind == "record" ? "" : "." kind
		printf "| `@%s%s` | %d.%d | %s | %s%s | %s |\n", name, suffix, group,
			id + (kind == "return"), kind == "return" ? "return:" result : fields,
			gone != "" ? gone : ways[kind], on_kernels(name suffix, ways[kind]),
			reason(name suffix)
	}
	function flush_all() {
		if (gone != "" && !("record" in ways) && !("entry" in ways) && !("return" in ways))
			ways["record"] = ""
		flush("record")
		flush("entry")
		flush("return")
		split("", ways)
		gone = key = fields = ""
	}
	function value() { sub(/^[^=]*= ?/, ""); return $0 }
	# Patterns, and perhaps `with` extra data, and `as` what fills the fields
	function patterns(text,    at, with, as, rest) {
		if (match(text, / as [A-Za-z0-9_]+=/)) {
			as = " as `" substr(text, RSTART + 4) "`"
			text = substr(text, 1, RSTART - 1)
		}
		if (at = index(text, " and ")) {
			rest = patterns(substr(text, at + 5))
			return patterns(substr(text, 1, at - 1)) " and " rest as
		}
		at = index(text, " with ")
		with = at ? " with `" substr(text, at + 6) "`" : ""
		text = at ? substr(text, 1, at - 1) : text
		gsub(/[^ ]+/, "`&`", text)
		return text with as
	}
	/^; LKET group/ {
		sub(/^; LKET group /, "")
		printf "## %s\n\n| hook | number | fields | recorded by", $0
		for (k = 2; k <= kernels + 1; k++) printf " | %s", title[k]
		printf " | not fired because |\n|---|---|---|---"
		for (k = 2; k <= kernels + 1; k++) printf "|---"
		printf "|---|\n"
		result = "INT64"
	}
	/^\[/ { flush_all(); name = substr($0, 2, length($0) - 2) }
	/^group =/ { group = value() }
	/^id =/ { id = value() }
	/^fields =/ { fields = value() }
	/^result =/ { result = value() }
	/^gone =/ { gone = value() }
	/^(record|entry|return) =/ { key = $1; ways[key] = patterns(value()) }
	/^ / { sub(/^ */, ""); ways[key] = ways[key] ", else " patterns($0) }
	END { flush_all(); print "" }' "$f"
done
cat <<'END'
## Fields that are empty

No record of these hooks has another value than 0 or the empty string in these
fields of LKET: of all kernels, or of the kernel that the reason begins with.
`*` is any name. All other fields are filled; `tests/mount/kernel/hooks.sh` and
`tests/vm/hook_values` decode the records and check it.

| hooks | fields | reason |
|---|---|---|
END
sed -n 's/^empty \([^ ]*\) \([^:]*\): \(.*\)/| `@\1` | \2 | \3 |/p' data/lket-kernels.txt
cat <<'END'

## What passes the hooks

M is a directory of an NFS server on the same machine, M3 and M4 the same by NFS
3 and 4; D is a SCSI disk, as `modprobe scsi_debug` makes one. `PY` is short for
`python3 -c 'import fcntl, mmap, os, signal, socket, threading; f =
os.open("M/f", os.O_RDWR); …'`. `tests/lib/hook_calls.c` and
`tests/vm/nfs_calls.py` do all of it.

| hooks | command |
|---|---|
END
awk '/^passes / {
	at = index($0, ": ")
	n = split(substr($0, 8, at - 8), hook, " ")
	text = ""
	for (i = 1; i <= n; i++) text = text (i > 1 ? ", " : "") "`@" hook[i] "`"
	print "| " text " | " substr($0, at + 2) " |"
}' data/lket-kernels.txt
