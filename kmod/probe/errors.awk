# SPDX-License-Identifier: GPL-2.0-only
# awk -v header=FILE -v types=FILE -f errors.awk ERRORS: what a trial's errors (of gcc or clang, LC_ALL=C) ask for, one action a line:
#	want KIND NAME		a type that BTF may know
#	want all		types of the header's, but the error does not say which
#	unwant KIND NAME	a type that there is already
#	empty PATH		an include file that is not shipped
#	class NAME WHY		left out, if nothing of the above helps
#	header WHY		the same for the whole header
BEGIN {
	while ((getline text <header) > 0) {
		n++
		if (match(text, /^[ \t]*(TRACE_EVENT|DECLARE_EVENT_CLASS|DEFINE_EVENT)[A-Z_]*\(/)) {
			rest = substr(text, RLENGTH + 1)
			begun = n
		} else if (begun)
			rest = text
		else
			continue
		sub(/[,)].*/, "", rest)
		gsub(/[ \t]/, "", rest)
		if (rest != "") {
			at[begun] = rest
			begun = 0
		}
	}
	while ((getline text <types) > 0)
		line_of_types[++lines] = text
	base = types
	sub(/.*\//, "", base)
}
# The class that line n of the header is in
function class_of(n) {
	for (; n > 0; n--)
		if (n in at) return at[n]
	return ""
}
function quoted(why,   s) {
	s = why
	if (!sub(/^[^']*'/, "", s)) return ""
	sub(/'.*/, "", s)
	return s
}
# `const struct X *` to `struct X`
function tag(s) {
	gsub(/const |volatile |\*|\[.*/, "", s)
	sub(/ +$/, "", s)
	return s
}
function ask(why,   s) {
	s = why
	if (s ~ /(undefined|incomplete|incomplete element|incomplete definition of) type '/) {
		sub(/.* type '/, "'", s)
		s = tag(quoted(s))
		if (s ~ /^(struct|union|enum) /) print "want " s
		else if (s != "") print "want any " s
	} else if (s ~ /unknown type name '/) print "want any " quoted(s)
	else if (s ~ /use of undeclared identifier '|'[A-Za-z_0-9]*' undeclared/) print "want constant " quoted(s)
	else if (s ~ /isn't known|has incomplete type|formal parameter/) print "want all"
}
# Something in the types that BTF gave
function ask_line(n, why,   s) {
	s = line_of_types[n]
	if (why ~ /redefinition of|redeclar|conflicting types/) {
		for (; n > 0; n--)
			if (line_of_types[n] ~ /^#define TRAIL_BTF_/) {
				s = line_of_types[n]
				sub(/^#define TRAIL_BTF_/, "", s)
				sub(/_/, " ", s)
				print "unwant " s
				return
			}
	}
	if (why ~ /unknown type name/) ask(why)
	else if (why ~ /incomplete/ && match(s, /(struct|union|enum) [A-Za-z_0-9]+/)) print "want " substr(s, RSTART, RLENGTH)
}
/: (fatal )?error: |: note: (originally defined|previous (definition|declaration))/ {
	why = $0
	sub(/.*: ((fatal )?error|note): /, "", why)
	where = $0
	sub(/: ((fatal )?error|note): .*/, "", where)
	split(where, place, ":")
	if (substr(place[1], length(place[1]) - length(base)) == "/" base) {
		if ($0 ~ /: note: /) why = "redefinition of"
		ask_line(place[2] + 0, why)
		print "header its types: " why
		next
	}
	if ($0 ~ /: note: /) next
	if (why ~ /No such file or directory/) {
		sub(/: No such file.*/, "", why)
		print "empty " why
		print "header has no " why
		next
	}
	ask(why)
	c = place[1] == header ? class_of(place[2] + 0) : ""
	if (c != "") print "class " c " " why
	else print "header " why
}
