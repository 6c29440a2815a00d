#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tools/seeds-table.sh: prints docs/seeds.md from data/seeds. Its exit status is 1, and its errors
# say which row is wrong, if a row names no test, a test that tests/run does not have, or words that
# the test does not contain.
cd "$(dirname "$0")/.." || exit 2
LC_ALL=C
export LC_ALL

tests/run -l | awk -F ' *[|] *' '
function wrong(text) {
	print "data/seeds:" FNR ": " text >"/dev/stderr"
	bad = 1
}
function read_all(command,    line, text) {
	while ((command | getline line) > 0) if (!comment(line)) text = text code(line) "\n"
	close(command)
	return text
}
# Whether a line is a comment: what it says proves nothing.
function comment(line) {
	return line ~ /^[ \t]*(#[^i]|\/?\*)/
}
# A line without the comments beside its code; what stands in quotes is code
function code(line,    n) {
	gsub(/[ \t]\/\*([^*]|\*+[^*\/])*\*+\//, "", line)
	n = match(line, /[ \t](#|\/\/|\/\*) /)
	return n && !quoted(substr(line, 1, n)) ? substr(line, 1, n) : line
}
function quoted(begin,    copy) {
	copy = begin
	return gsub(/"/, "", copy) % 2 || gsub(/\047/, "", copy) % 2
}
# The text of a test, without comments, read once
function source(name,    file, line, text) {
	if (name in sources) return sources[name]
	file = "tests/" name
	if (file !~ /\.sh$/) file = file ".c"
	while ((getline line <file) > 0) if (!comment(line)) text = text code(line) "\n"
	close(file)
	return sources[name] = text
}
# The texts of what stands beside the test under its name, and of the files that it names, in
# tests/lib, tests/vm or its own directory; and of those that they name. Read once
function beside(name,    base, dir, text, rest, file, seen) {
	if (name in others) return others[name]
	base = dir = "tests/" name
	sub(/\.sh$/, "", base)
	sub(/\/[^\/]*$/, "", dir)
	rest = text = source(name) read_all("cat " base ".* " base "/* 2>/dev/null")
	while (match(rest, /(lib|vm)\/[a-z0-9_]+(\.(py|h|sh))?|"\$0"\)\/[a-z0-9_]+(\.sh)?/)) {
		file = substr(rest, RSTART, RLENGTH)
		rest = substr(rest, RSTART + RLENGTH)
		file = file ~ /^"/ ? dir substr(file, 6) : "tests/" file
		if (file in seen || file ~ /lib\/(mount|test|tool)(\.|$)/) continue
		seen[file] = 1
		if (!(file in files)) files[file] = read_all("cat " file " " file ".c 2>/dev/null")
		text = text files[file]
		rest = rest files[file]
	}
	return others[name] = text
}
# The names of the tests in a row, for the table: each is `NAME: WORDS`, with && between them.
function named(field,    n, i, part, name, words, at, list) {
	n = split(field, part, / *&& */)
	for (i = 1; i <= n; i++) {
		at = index(part[i], ": ")
		name = at ? substr(part[i], 1, at - 1) : part[i]
		words = at ? substr(part[i], at + 2) : ""
		if (!(name in known)) wrong("tests/run has no test \047" name "\047")
		else if (words == "") wrong("no words of the test " name)
		else if (!index(source(name), words) && !index(beside(name), words))
			wrong("the test " name " does not have the words \047" words "\047")
		if (!index(list ", ", name ", ")) list = list (list == "" ? "" : ", ") name
	}
	return list
}
function escaped(text) {
	gsub(/[_*<>]/, "\\\\&", text)
	return text
}
NR == FNR { known[$0] = 1; next }
/^#/ || /^$/ { next }
/^= / { title[++documents] = substr($0, 3); next }
{
	if (NF < 3 || NF > 4 || $1 == "" || $2 == "") wrong("not SECTION | STATEMENT | TEST | REASON")
	else if ($3 == "") wrong("a row without a test")
	kind = NF < 4 || $4 == "" ? "shown" : $4 ~ /^no: / ? "not" : "otherwise"
	rows[documents]++
	count[documents, kind]++
	reasons += kind != "shown"
	table[documents] = table[documents] "| " $1 " | " escaped($2) " | " escaped(named($3)) \
		" | " escaped(NF < 4 ? "" : $4) " |\n"
}
function counts(name, n, d,    k) {
	return "| " name " | " n " | " count[d, "shown"] + 0 " | " count[d, "otherwise"] + 0 \
		" | " count[d, "not"] + 0 " |\n"
}
END {
	while ((getline line <"docs/seeds.md") > 0 && line !~ /^## /) print line
	print "## Counts\n\n| document | statements | shown | done otherwise | not done |"
	print "|---|---|---|---|---|"
	for (d = 1; d <= documents; d++) {
		printf "%s", counts(title[d], rows[d] + 0, d)
		all += rows[d]
		for (k in count) {
			split(k, part, SUBSEP)
			if (part[1] == d) count["all", part[2]] += count[k]
		}
	}
	printf "%s", counts("all", all + 0, "all")
	for (d = 1; d <= documents; d++) {
		print "\n## " title[d] "\n\n| section | statement | test | otherwise, or not: why |"
		printf "|---|---|---|---|\n%s", table[d]
	}
	exit bad
}' - data/seeds
