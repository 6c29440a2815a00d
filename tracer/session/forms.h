/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The forms in which views and exports show a session, for which it keeps what they know. */
#ifndef TRACER_SESSION_FORMS_H
#define TRACER_SESSION_FORMS_H

#include <stdbool.h>

/*
 * The forms of a session's text: as babeltrace2 prints it (`text`), JSON (`export/json`), and both
 * with the names of code addresses (`text.symbols`, `export/json.symbols`).
 */
enum text_form { TEXT_PLAIN, TEXT_JSON, TEXT_SYMBOLS, TEXT_JSON_SYMBOLS, TEXT_FORMS };

static inline bool text_has_symbols(enum text_form form)
{
	return form == TEXT_SYMBOLS || form == TEXT_JSON_SYMBOLS;
}

#if __has_include(<sqlite3.h>)
#define EXPORT_HAS_SQLITE 1     /* else no file has the form EXPORT_SQLITE */
#endif

#define EXPORT_LIVE_BYTES (2u << 20)    /* the size of a file of the form EXPORT_LIVE */

enum export_form {
#define EXPORT(form, file, make, help) EXPORT_##form,
#include "tracer/session/exports.def"
	EXPORT_FORMS
};

/* Pages that browsers open. */
static inline bool export_is_page(enum export_form form)
{
	static const bool pages[EXPORT_FORMS] = {
#define PAGE(form, file, make, help) [EXPORT_##form] = true,
#include "tracer/session/exports.def"
	};

	return pages[form];
}

#endif
