/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#ifndef FUSE_USE_VERSION
#define FUSE_USE_VERSION 314
#endif
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>

#include "fs/fuse/channel.h"
#include "fs/fuse/file.h"
#include "fs/fuse/fuse.h"
#include "fs/fuse/reply.h"
#include "fs/tree/errors.h"
#include "fs/tree/tree.h"

/*
 * For how long the kernel may keep a name, in seconds: names of rows, and names of sessions, which
 * only an rmdir(2) through this mount removes. All other names it looks up each time.
 */
#define NAME_LASTS 1.0
#define ATTR_LASTS 1.0

static struct who who_of(fuse_req_t req)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	return (struct who){ .uid = ctx->uid, .gid = ctx->gid, .pid = ctx->pid };
}

/* NULL: it was open with an earlier daemon, and cannot continue; the request was answered. */
static struct file *file_of(fuse_req_t req, const struct fuse_file_info *fi)
{
	struct file *f = file_by_handle(fi->fh);

	if (!f)
		fuse_reply_err(req, ESTALE);
	return f;
}

/*
 * The kernel only names nodes that it has looked up. If it is wrong, only this request fails.
 */
static struct node *node_of(fuse_req_t req, fuse_ino_t ino)
{
	struct node *n = node_by_id(ino);

	if (!n)
		fuse_reply_err(req, ESTALE);
	return n;
}

/*
 * Attributes of directories change only with the rights of their session, which forget_attrs
 * announces. Those of the root are not kept: stat(2) of it fails when the daemon is dead.
 */
static double attr_lasts(const struct node *n)
{
	const struct tree_row *r = n->row;

	if (!n->parent)
		return 0;
	return n->slot || ((!r->attr || r->lasting) &&
			   (S_ISDIR(r->mode) || (!n->session && r->name && !r->show)))
		       ? ATTR_LASTS
		       : 0;
}

/* ---- names ---- */

static void init_connection(void *unused, struct fuse_conn_info *conn)
{
	(void)unused;
	/*
	 * Pipes between kernel and daemon cost descriptors and memory and gain nothing for small
	 * requests.
	 */
	conn->want &=
		~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
	/* Files whose contents change have no cached pages, those of trace/ never change. */
	conn->want &= ~(unsigned)FUSE_CAP_AUTO_INVAL_DATA;
	if (conn->max_write > CHANNEL_WRITE)
		conn->max_write = CHANNEL_WRITE;
}

/* Replies with the node of what was found under the name. */
static void reply_entry(fuse_req_t req, struct node *dir, const char *name, const struct who *who)
{
	const struct looker by = { .who = who, .unique = channel_unique() };
	struct fuse_entry_param e = { 0 };
	struct found found;
	struct node *n;
	int rc = tree_find(dir, name, who, &found);

	if (!rc)
		rc = node_enter(dir, name, &found, &by, &n);
	if (rc) {
		fuse_reply_err(req, -rc);
		return;
	}
	e.ino = n->id;
	e.entry_timeout = n->row->name || n->row == &session_row ? NAME_LASTS : 0;
	e.attr_timeout = attr_lasts(n);
	file_recall_node(n->id);
	rc = tree_attr(n, who, &e.attr);
	if (rc) {
		fuse_reply_err(req, -rc);
		node_forgotten(e.ino, 1);
	} else if (fuse_reply_entry(req, &e) == -ENOENT) {
		/* the request was interrupted: the kernel does not know the node */
		node_forgotten(e.ino, 1);
	}
}

static void lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct node *dir = node_of(req, parent);
	struct who who = who_of(req);

	if (dir)
		reply_entry(req, dir, name, &who);
}

static void forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
	node_forgotten(ino, lookups);
	fuse_reply_none(req);
}

static void forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		node_forgotten(forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

static void make_dir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct node *dir = node_of(req, parent);
	struct who who = who_of(req);
	struct dir_change change;
	int rc;

	(void)mode;     /* sessions are private until chmod says otherwise */
	if (!dir)
		return;
	dir_change_begin(&change);
	rc = tree_make(dir, name, &who, channel_again());
	if (rc)
		fuse_reply_err(req, -rc);
	else
		reply_entry(req, dir, name, &who);
	dir_change_end(&change);
}

static void remove_dir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct node *dir = node_of(req, parent);
	struct who who = who_of(req);
	struct dir_change change;
	int rc;

	if (!dir)
		return;
	dir_change_begin(&change);
	rc = tree_remove(dir, name, &who, channel_again());
	fuse_reply_err(req, -rc);
	dir_change_end(&change);
	if (!rc)
		prune_later();
}

static void refuse_change(fuse_req_t req, fuse_ino_t parent, const char *what, const char *name)
{
	struct node *dir = node_of(req, parent);
	struct who who = who_of(req);

	if (dir)
		fuse_reply_err(req, -tree_refuse(dir, what, name, &who));
}

static void make_node(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
	(void)mode, (void)dev;
	refuse_change(req, parent, "create", name);
}

static void create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		   struct fuse_file_info *fi)
{
	(void)mode, (void)fi;
	refuse_change(req, parent, "create", name);
}

static void remove_file(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	refuse_change(req, parent, "unlink", name);
}

static void make_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	refuse_change(req, parent, "symlink", name);
}

static void rename_entry(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to,
		 const char *new, unsigned flags)
{
	(void)to, (void)new, (void)flags;
	refuse_change(req, parent, "rename", name);
}

static void make_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	(void)ino;
	refuse_change(req, parent, "link", name);
}

/* ---- attributes ---- */

static void reply_attr(fuse_req_t req, const struct node *n)
{
	struct who who = who_of(req);
	struct stat st;
	int rc;

	file_recall_node(n->id);
	rc = tree_attr(n, &who, &st);
	if (!rc && n->row->sized && file_opened_size(n, &who, &st.st_size))
		st.st_blocks = (st.st_size + 511) / 512;
	if (rc)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_attr(req, &st, attr_lasts(n));
}

static void get_attr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct node *n = node_of(req, ino);

	(void)fi;
	if (n)
		reply_attr(req, n);
}

/* The rights of a session are those of all files in it. */
static void forget_attrs(const struct session *s)
{
	struct md_buf ids = MD_BUF_INIT;
	uint64_t id;

	node_ids(s, &ids);
	for (size_t at = 0; at + sizeof(id) <= ids.len; at += sizeof(id)) {
		memcpy(&id, ids.data + at, sizeof(id));
		notify_forget_attr(id);
	}
	md_buf_deinit(&ids);
}

/*
 * Changes of size and times are accepted and have no effect. The kernel has checked the permission.
 */
static void set_attr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int what,
		     struct fuse_file_info *fi)
{
	struct node *n = node_of(req, ino);
	struct who who = who_of(req);
	int rc = 0;

	(void)fi;
	if (!n)
		return;
	if (what & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		rc = tree_chown(n, what & FUSE_SET_ATTR_UID ? attr->st_uid : (uid_t)-1,
				what & FUSE_SET_ATTR_GID ? attr->st_gid : (gid_t)-1, &who);
	if (!rc && (what & FUSE_SET_ATTR_MODE))
		rc = tree_chmod(n, attr->st_mode, &who);
	if (n->session && (what & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID | FUSE_SET_ATTR_MODE)))
		forget_attrs(n->session);
	if (rc)
		fuse_reply_err(req, -rc);
	else
		reply_attr(req, n);
}

static void stat_fs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st = { .f_bsize = 4096, .f_frsize = 4096, .f_namemax = 255 };

	(void)ino;
	fuse_reply_statfs(req, &st);
}

/* ---- files ---- */

/* The node is opened: fi has the file. NULL: the request was answered with the reason. */
static struct node *open_node(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct node *n = node_of(req, ino);
	struct who who = who_of(req);
	struct file *f;
	int rc;

	if (!n)
		return NULL;
	rc = file_open(n, &who, fi->flags, channel_unique(), &f);
	if (rc) {
		errors_refused(n, &who, rc);
		fuse_reply_err(req, -rc);
		return NULL;
	}
	fi->fh = f->handle;
	return n;
}

static void reply_open(fuse_req_t req, struct fuse_file_info *fi)
{
	/* The opener was interrupted: it will send no release. */
	if (fuse_reply_open(req, fi) == -ENOENT)
		file_release(fi->fh);
}

static void open_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct node *n = open_node(req, ino, fi);

	if (!n)
		return;
	/*
	 * trace/ can be mapped and is cached: what a trace image holds never changes. Everything
	 * else is read as it is now.
	 */
	fi->keep_cache = n->slot != NULL;
	fi->direct_io = !n->slot;
	/*
	 * A pipe or stream ignores the offset, but lseek(2) must succeed: its mode is that of a
	 * regular file, and head(1) moves back in regular files.
	 */
	fi->noflush = (fi->flags & O_ACCMODE) == O_RDONLY;
	if (n->row->view)
		notify_size(n->id);
	reply_open(req, fi);
}

static void read_file(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		      struct fuse_file_info *fi)
{
	struct file *f = file_of(req, fi);

	(void)ino;
	/* Reads of a process have a lock owner; reads for the page cache have none. */
	if (f)
		file_read(f, req, (uint64_t)offset, size, fi->flags & O_NONBLOCK, !fi->lock_owner);
}

static void write_file(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t offset,
		       struct fuse_file_info *fi)
{
	struct file *f = file_of(req, fi);
	ssize_t n;

	(void)ino, (void)offset;
	if (!f)
		return;
	n = control_write(f, buf, size);
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_write(req, (size_t)n);
}

static void flush_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct file *f = file_by_handle(fi->fh);

	(void)ino;
	fuse_reply_err(req, f ? -file_flush(f) : -file_flush_lost(fi->fh));
}

static void release_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	file_release(fi->fh);
	fuse_reply_err(req, 0);
}

static void poll_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		      struct fuse_pollhandle *ph)
{
	struct file *f = file_of(req, fi);

	(void)ino;
	if (f)
		fuse_reply_poll(req, file_poll(f, ph));
	else
		poll_free(ph);
}

/* ---- directories ---- */

static void open_dir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if (open_node(req, ino, fi))
		reply_open(req, fi);
}

struct page {
	fuse_req_t req;
	char *buf;
	size_t size, used;
};

static bool put_direntry(struct page *p, const char *name, uint64_t ino, mode_t mode, size_t next)
{
	struct stat st = { .st_ino = ino, .st_mode = mode };
	size_t n = fuse_add_direntry(p->req, p->buf + p->used, p->size - p->used, name, &st,
				     (off_t)next);

	if (n > p->size - p->used)
		return false;
	p->used += n;
	return true;
}

static bool put_entry(void *page, size_t i, const char *name, const struct entry *e)
{
	return put_direntry(page, name, e->ino, e->mode, i + 3);
}

/*
 * Offsets: 0 ".", 1 "..", then the entries from 2 on; each entry is given with the offset of the
 * next one.
 */
static void read_dir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		     struct fuse_file_info *fi)
{
	struct page page = { .req = req, .size = size };
	struct file *f = file_of(req, fi);
	const struct node *up;
	bool room = true;
	int rc;

	if (!f)
		return;
	page.buf = malloc(size);
	rc = page.buf ? 0 : -ENOMEM;
	up = f->node->parent ? f->node->parent : f->node;
	(void)ino;
	if (!rc && offset < 1)
		room = put_direntry(&page, ".", f->node->ino, S_IFDIR, 1);
	if (!rc && room && offset < 2)
		room = put_direntry(&page, "..", up->ino, S_IFDIR, 2);
	if (!rc && room)
		rc = file_list(f, channel_unique(), offset < 2 ? 0 : (size_t)offset - 2, put_entry,
			       &page);
	if (rc)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_buf(req, page.buf, page.used);
	free(page.buf);
}

const struct fuse_lowlevel_ops fuse_ops = {
	.init = init_connection,
	.lookup = lookup,
	.forget = forget,
	.forget_multi = forget_multi,
	.getattr = get_attr,
	.setattr = set_attr,
	.mknod = make_node,
	.mkdir = make_dir,
	.unlink = remove_file,
	.rmdir = remove_dir,
	.symlink = make_symlink,
	.rename = rename_entry,
	.link = make_link,
	.create = create,
	.open = open_file,
	.read = read_file,
	.write = write_file,
	.flush = flush_file,
	.release = release_file,
	.poll = poll_file,
	.copy_file_range = reply_no_copy,
	.opendir = open_dir,
	.readdir = read_dir,
	.releasedir = release_file,
	.statfs = stat_fs,
};
