/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * export/trace.sqlite: a database of SQLite with the tables and rows of export/sql. SQLite executes
 * that text statement by statement on a database in memory, which is the file when all is done.
 * While it grows it counts as frozen memory, as the file does then.
 */
#include "tracer/format/export/exports.h"

#ifdef EXPORT_HAS_SQLITE
#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "tracer/format/export/export.h"
#include "tracer/session/session.h"

struct database {
	sqlite3 *db;
	uint64_t counted;       /* bytes of frozen memory for it */
};

static int error_of(int code)
{
	switch (code & 0xff) {
	case SQLITE_OK: return 0;
	case SQLITE_NOMEM: return -ENOMEM;
	case SQLITE_FULL: return -EDQUOT;       /* SQLite's own limit: 1 GB */
	case SQLITE_TOOBIG: return -EFBIG;
	default: return -EIO;
	}
}

static int open_database(struct database *d)
{
	int code = sqlite3_open_v2(":memory:", &d->db,
				   SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY |
					   SQLITE_OPEN_NOMUTEX, NULL);

	/* One piece of memory, which can be read without a copy. */
	if (code == SQLITE_OK)
		code = sqlite3_deserialize(d->db, "main", NULL, 0, 0,
					   SQLITE_DESERIALIZE_RESIZEABLE |
						   SQLITE_DESERIALIZE_FREEONCLOSE);
	if (code == SQLITE_OK)
		code = sqlite3_exec(d->db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF",
				    NULL, NULL, NULL);
	return error_of(code);
}

/* The database as bytes, valid until the next statement. */
static const void *bytes_of(const struct database *d, size_t *size)
{
	sqlite3_int64 n = 0;
	const void *p = sqlite3_serialize(d->db, "main", &n, SQLITE_SERIALIZE_NOCOPY);

	*size = p ? (size_t)n : 0;
	return p;
}

/* Executes the statements of m->out that are complete. */
static void execute(struct maker *m)
{
	struct database *d = m->writer;
	size_t n = m->whole, size;
	char next;

	if (m->out.failed || !md_buf_room(&m->out, 1))
		m->err = -ENOMEM;
	if (m->err || !n)
		return;
	next = m->out.data[n];
	m->out.data[n] = '\0';
	m->err = error_of(sqlite3_exec(d->db, m->out.data, NULL, NULL, NULL));
	m->out.data[n] = next;
	memmove(m->out.data, m->out.data + n, m->out.len - n);
	m->out.len -= n;
	m->whole = 0;
	bytes_of(d, &size);
	if (!m->err && size > d->counted)
		m->err = session_frozen(m->s, (int64_t)(size - d->counted));
	if (!m->err && size > d->counted)
		d->counted = size;
}

/* Makes the file of the database, from its own memory. */
static void write_database(struct maker *m, const struct database *d)
{
	struct md_buf text = m->out;
	size_t size;
	const void *bytes = bytes_of(d, &size);

	if (!bytes) {
		m->err = -EIO;
		return;
	}
	m->out = (struct md_buf){ .data = (char *)bytes, .len = size, .size = size };
	maker_write(m);
	m->out = text;
}

void sqlite_make(struct maker *m)
{
	struct database d = { 0 };

	m->err = open_database(&d);
	m->writer = &d;
	m->write = execute;
	if (!m->err)
		sql_make(m);
	maker_write(m);
	m->write = NULL;
	session_frozen(m->s, -(int64_t)d.counted);
	md_buf_reset(&m->out);
	if (!m->err)
		write_database(m, &d);
	sqlite3_close(d.db);
}
#endif
