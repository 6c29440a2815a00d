#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tools/lket-table.sh: prints the tables of docs/lket.md from data/groups/*.ini. Without arguments it
# prints the whole page, with the text of docs/lket.md that precedes the first table.
cd "$(dirname "$0")/.." || exit 2

sed '/^## /,$d' docs/lket.md
for f in $(grep -H '^group = ' data/groups/*.ini | sed 's/:group = / /' | sort -k2n | cut -d' ' -f1); do
	awk '
	# One hook, when all its lines were read
	function flush(kind,    suffix) {
		if (!(kind in ways)) return
		suffix = kind == "record" ? "" : "." kind
		printf "| `@%s%s` | %d.%d | %s | %s |\n", name, suffix, group,
			id + (kind == "return"), kind == "return" ? "return:" result : fields,
			gone != "" ? gone : ways[kind]
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
	function patterns(text) { gsub(/[^ ]+/, "`&`", text); return text }
	/^; LKET group/ {
		sub(/^; LKET group /, "")
		printf "## %s\n\n| hook | number | fields | recorded by |\n|---|---|---|---|\n", $0
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
done | sed '$d'
