# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the tests that ask DuckDB share: `. "$top/tests/lib/duckdb.sh"` after mount.sh.
. "$top/tests/lib/npm.sh"

# sql QUERY: DuckDB's answer, a line for each row, with commas; false: there is no DuckDB
sql() {
	if command -v duckdb >/dev/null; then
		duckdb -csv -noheader -c "$1"
	else
		node -e '
			require("@duckdb/node-api").DuckDBInstance.create().then(i => i.connect())
				.then(c => c.runAndReadAll(process.argv[1]))
				.then(r => r.getRows().forEach(row => console.log(row.join(","))))
				.catch(e => { console.error(e.message); process.exit(1) })' "$1"
	fi
}

have_duckdb() {
	command -v duckdb >/dev/null || need_npm @duckdb/node-api@1.5.6-r.1 || return 1
	sql 'select 42' >"$work/duckdb" 2>&1 && [ "$(cat "$work/duckdb")" = 42 ]
}
