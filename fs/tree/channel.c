/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channels/CHANNEL/ of both domains, and the streams below. */
#include <errno.h>

#include "fs/base/process.h"
#include "fs/base/words.h"
#include "fs/tree/rows.h"
#include "tracer/face/tracer.h"

#define CHANNEL_NAME_MOST 128

/* NULL: n is not below a channel. Then `events` of the domain itself means channel0. */
static const char *channel_of(const struct node *n)
{
	const struct node *channel = node_up(n, &channel_row);

	if (!channel)
		channel = node_up(n, &kernel_channel_row);
	return channel ? channel->name : agent_channel_of(n);
}

enum domain domain_of(const struct node *n)
{
	return node_up(n, &kernel_row) ? DOMAIN_KERNEL : DOMAIN_USER;
}

int domain_refuses(const struct node *n, const struct who *who, struct tr_err *err)
{
	struct owner owner;

	if (domain_of(n) != DOMAIN_KERNEL)
		return 0;
	owner = process_owner(who);
	return kernel_refuses(fs.tracer, &owner, err);
}

int events_read(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	return events_show(n->session, domain_of(n), channel_of(n), out);
}

int events_check_writer(const struct node *n, const struct who *who, const char *text,
			struct tr_err *err)
{
	if (domain_of(n) != DOMAIN_KERNEL || !events_name_files(text) || !process_elsewhere(who))
		return 0;
	return tr_fail(err, -EACCES,
		       "a rule has a path, and the process that opened this file has ended, or "
		       "has another root or mount namespace than trailfs");
}

int events_write(const struct node *n, const struct who *who, const char *text, bool replace,
		 struct tr_err *err)
{
	int rc = domain_refuses(n, who, err);

	if (!rc)
		rc = events_check_writer(n, who, text, err);
	return rc ? rc : events_store(n->session, domain_of(n), channel_of(n), text, replace, err);
}

int contexts_read(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	return contexts_show(n->session, domain_of(n), channel_of(n), out);
}

int contexts_write(const struct node *n, const struct who *who, const char *text, bool replace,
		   struct tr_err *err)
{
	int rc = domain_refuses(n, who, err);

	return rc ? rc
		  : contexts_store(n->session, domain_of(n), channel_of(n), text, replace, err);
}

static int show_setting(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	return channel_show(n->session, domain_of(n), channel_of(n), n->row->name, out);
}

static int store_setting(const struct node *n, const struct who *who, const char *text,
			 bool replace, struct tr_err *err)
{
	int rc = domain_refuses(n, who, err);

	(void)replace;
	return rc ? rc
		  : channel_store(n->session, domain_of(n), channel_of(n), n->row->name, text,
				  err);
}

static int show_status(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	return channel_status(n->session, domain_of(n), channel_of(n), n->row->arg == FORM_JSON,
			      out);
}

/* ---- streams/OWNER/cpuN ---- */

/* Below streams/OWNER, or streams/ itself in the kernel domain. */
static const char *owner_of(const struct node *dir)
{
	return domain_of(dir) == DOMAIN_KERNEL ? OWNER_KERNEL : dir->name;
}

static int stream_open(const struct node *n, void **state)
{
	return packet_stream_open(n->session, channel_of(n), owner_of(n->parent), n->name,
				  (struct packet_stream **)state);
}

static ssize_t stream_read(void *state, uint64_t offset, void *buf, size_t size)
{
	(void)offset;
	return packet_stream_read(state, buf, size);
}

static void stream_close(void *state)
{
	packet_stream_close(state);
}

static size_t stream_place(void *state, size_t unread, void *buf, size_t size)
{
	return packet_stream_place(state, unread, buf, size);
}

static int stream_resume(void *state, const struct view_place *place)
{
	return packet_stream_resume(state, place->bytes, place->len);
}

static const struct view stream_view = {
	.open = stream_open, .read = stream_read, .close = stream_close, .streams = true,
	.place = stream_place, .resume = stream_resume,
};

static const struct tree_row stream_row = { .mode = S_IFREG | 0444, .view = &stream_view };

static int find_stream(const struct node *dir, const char *name, const struct who *who,
		       struct found *found)
{
	struct md_buf names = MD_BUF_INIT;
	int rc = owner_streams(dir->session, channel_of(dir), owner_of(dir), &names);

	(void)who;
	if (!rc && !names_have(&names, name))
		rc = -ENOENT;
	md_buf_deinit(&names);
	found->row = &stream_row;
	return rc;
}

static void list_streams(const struct node *dir, const struct who *who, struct listing *out)
{
	struct md_buf names = MD_BUF_INIT;

	(void)who;
	if (!owner_streams(dir->session, channel_of(dir), owner_of(dir), &names))
		listing_add_all(out, &names, &stream_row);
	md_buf_deinit(&names);
}

static const struct tree_row owner_row = { .mode = S_IFDIR | 0555,
				      .find = find_stream,
				      .list = list_streams };

static int find_owner(const struct node *dir, const char *name, const struct who *who,
		      struct found *found)
{
	struct md_buf names = MD_BUF_INIT;
	int rc = owners_list(dir->session, channel_of(dir), &names);

	(void)who;
	if (!rc && !names_have(&names, name))
		rc = -ENOENT;
	md_buf_deinit(&names);
	found->row = &owner_row;
	return rc;
}

static void list_owners(const struct node *dir, const struct who *who, struct listing *out)
{
	struct md_buf names = MD_BUF_INIT;

	(void)who;
	if (!owners_list(dir->session, channel_of(dir), &names))
		listing_add_all(out, &names, &owner_row);
	md_buf_deinit(&names);
}

/* ---- the channel ---- */

#define LIST(file, reader, writer) \
	{ .name = file, .mode = S_IFREG | 0666, .show = reader, .store = writer, \
		.how = STORE_LIST, .setting = true }

#define ROWS_OF_BOTH_DOMAINS \
	LIST("events", events_read, events_write), \
	LIST("contexts", contexts_read, contexts_write), \
	ERROR_ROW, \
	{ .name = "status", .mode = S_IFREG | 0444, .show = show_status, \
	  .change = session_change }, \
	{ .name = "status.json", .mode = S_IFREG | 0444, .show = show_status, .arg = FORM_JSON, \
	  .sized = true }

static const struct tree_row rows[] = {
	ROWS_OF_BOTH_DOMAINS,
#define SETTING(name, kind, ...) SETTING_FILE(name, kind, )
#define KERNEL_SETTING(name, kind, ...)
#include "tracer/session/channel_settings.def"
	{ .name = "streams", .mode = S_IFDIR | 0555, .find = find_owner, .list = list_owners },
	{ 0 }
};

const struct tree_row channel_row = { .mode = S_IFDIR | 0777, .rows = rows };

static const struct tree_row kernel_rows[] = {
	ROWS_OF_BOTH_DOMAINS,
#define SETTING(name, kind, ...) SETTING_FILE(name, kind, )
#define USER_SETTING(name, kind, ...)
#include "tracer/session/channel_settings.def"
	{ .name = "streams", .mode = S_IFDIR | 0555, .find = find_stream, .list = list_streams },
	{ 0 }
};

const struct tree_row kernel_channel_row = { .mode = S_IFDIR | 0777, .rows = kernel_rows };

static const struct tree_row *row_of(const struct node *dir)
{
	return domain_of(dir) == DOMAIN_KERNEL ? &kernel_channel_row : &channel_row;
}

int channels_find(const struct node *dir, const char *name, const struct who *who,
		  struct found *found)
{
	(void)who;
	found->row = row_of(dir);
	return channel_exists(dir->session, domain_of(dir), name) ? 0 : -ENOENT;
}

void channels_each(const struct node *dir, const struct who *who, struct listing *out)
{
	struct md_buf names = MD_BUF_INIT;

	(void)who;
	channels_list(dir->session, domain_of(dir), &names);
	listing_add_all(out, &names, row_of(dir));
	md_buf_deinit(&names);
}

int channels_make(const struct node *dir, const char *name, const struct who *who,
		  struct tr_err *err)
{
	int rc = words_name(name, CHANNEL_NAME_MOST, err);

	if (!rc)
		rc = domain_refuses(dir, who, err);
	return rc ? rc : channel_create(dir->session, domain_of(dir), name, err);
}

int channels_remove(const struct node *dir, const char *name, const struct who *who,
		    struct tr_err *err)
{
	int rc = domain_refuses(dir, who, err);

	return rc ? rc : channel_destroy(dir->session, domain_of(dir), name, err);
}
