# SPDX-License-Identifier: GPL-2.0-or-later
#
# How far tests/run is: `57/183 ~9 min`. Files: `NAME HUNDREDTHS CPU_HUNDREDTHS` of the tests that have ended, the same of earlier runs, and the names of
# all tests. Variables: jobs (how many run at once), total, slow (a factor for tests that were never run), first (1: a sentence before the first test).
#
FNR == 1 { file = FILENAME }

# (An empty file has no first line: files are distinguished by their names.)
file == ARGV[1] { done[$1] = 1; ended++; next }
file == ARGV[2] { known[$1] = $2; next }

!($1 in done) { left += $1 in known ? known[$1] : guess($1) }

END {
	left /= jobs
	if (first)
		printf "%d tests, %s: result, time, CPU time, number of %d, time left, name\n", total, words(left), total
	else
		printf "%" length(total) "d/%d %-7s", ended, total, ended < total ? "~" words(left) : ""
}

# Hundredths of seconds, as measured on two CPUs
function guess(name) {
	if (name ~ /^vm\//)
		return 9000 * slow
	if (name ~ /^adversarial\//)
		return 1200 * slow
	return (name ~ /^unit\// ? 120 : 500) * slow
}

function words(hundredths) {
	return hundredths < 6000 ? int(hundredths / 100 + 0.99) " s" : int(hundredths / 6000 + 0.5) " min"
}
