/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "fs/tree/errors.h"
#include "fs/tree/rows.h"
#include "fs/tree/tree.h"
#include "tracer/face/tracer.h"
#include "tracer/trigger/trigger_files.h"

#define PERMISSIONS 07777

bool tree_gone(const struct node *n)
{
	struct session_info info;

	if (!n->session)
		return false;
	session_info(n->session, &info);
	return info.gone;
}

static const struct tree_row *fixed_row(const struct tree_row *rows, const char *name)
{
	for (; rows && rows->mode; rows++)
		if (!strcmp(rows->name, name))
			return rows;
	return NULL;
}

int tree_find(const struct node *dir, const char *name, const struct who *who, struct found *found)
{
	int rc;

	*found = (struct found){ .row = fixed_row(dir->row->rows, name) };
	if (tree_gone(dir))
		return -ENOENT;
	if (found->row)
		return 0;
	rc = dir->row->find ? dir->row->find(dir, name, who, found) : -ENOENT;
	if (rc)
		errors_refused(dir, who, rc);
	return rc;
}

int tree_list(const struct node *dir, const struct who *who, struct listing *out)
{
	int rc = 0;

	*out = (struct listing){ .dir = dir };
	if (tree_gone(dir))
		return 0;
	for (const struct tree_row *r = dir->row->rows; r && r->mode; r++)
		listing_add(out, r->name, r, 0);
	if (dir->row->list)
		dir->row->list(dir, who, out);
	if (out->names.failed || out->entries.failed)
		rc = -ENOMEM;
	else if (out->err == -ESTALE || (out->err && errors_refused(dir, who, out->err)))
		rc = out->err;
	if (rc)
		listing_deinit(out);
	else
		listing_sort(out);
	return rc;
}

bool tree_write_done(const struct node *n, uint64_t request)
{
	struct trigger *trigger = n->session ? NULL : trigger_of(n);
	bool done = n->session ? session_write_done(n->session, request)
			       : trigger && trigger_write_done(trigger, request);

	trigger_put(trigger);
	return done;
}

static void stamp(struct stat *st, int64_t ns)
{
	st->st_mtim.tv_sec = ns / 1000000000;
	st->st_mtim.tv_nsec = ns % 1000000000;
	st->st_atim = st->st_ctim = st->st_mtim;
}

/*
 * Files of text have their true size, made for each stat(2). `test -s` and `wc -c` are right then;
 * and sendfile(2), which some programs try first, reads nothing from a file of size 0.
 */
static off_t shown_size(const struct node *n, const struct who *who)
{
	struct md_buf text = MD_BUF_INIT;
	off_t size = n->row->show(n, who, &text) ? 0 : (off_t)text.len;

	md_buf_deinit(&text);
	return size;
}

int tree_attr(const struct node *n, const struct who *who, struct stat *st)
{
	struct session_info info;
	int rc = 0;

	memset(st, 0, sizeof(*st));
	st->st_ino = n->ino;
	st->st_mode = n->row->mode;
	/*
	 * One link for directories, too: then find(1) does not derive the number of subdirectories
	 * from it.
	 */
	st->st_nlink = 1;
	st->st_uid = fs.uid;
	st->st_gid = fs.gid;
	st->st_blksize = 4096;
	stamp(st, fs.born);
	if (n->session) {
		session_info(n->session, &info);
		st->st_uid = info.uid;
		st->st_gid = info.gid;
		st->st_mode &= S_IFMT | (info.mode & PERMISSIONS);
		stamp(st, info.created);
	}
	if (n->row->show)
		st->st_size = shown_size(n, who);
	if (n->row->attr)
		rc = n->row->attr(n, who, st);
	/*
	 * cp takes a file with fewer blocks than its size needs for a sparse one, and looks for
	 * holes.
	 */
	st->st_blocks = (st->st_size + 511) / 512;
	return rc;
}

int tree_make(const struct node *dir, const char *name, const struct who *who, bool again)
{
	struct tr_err err = TR_ERR_INIT;
	uint64_t since = errors_count();
	int rc;

	if (tree_gone(dir))
		rc = -ENOENT;
	else if (dir->row->make)
		rc = dir->row->make(dir, name, who, &err);
	else
		rc = tr_fail_at(&err, -EPERM, name, 0,
				"no directory can be made here; mkdir works in sessions/, "
				"triggers/ and, in a session, snapshots/, channels/ and maps/");
	if (rc == -EEXIST && again)
		rc = 0;
	errors_result(dir, "mkdir", who, since, rc, &err);
	return rc;
}

/*
 * The sentence has no name: `rm -r SESSION` comes here for each file and directory, and a sentence
 * that comes again replaces itself.
 */
static int refuse_part(const struct node *dir, const struct who *who)
{
	struct tr_err err = TR_ERR_INIT;
	int rc = tr_fail(&err, -EPERM,
			 "parts of this tree cannot be removed alone; use rmdir on the directory "
			 "of the session, channel, map, snapshot or trigger, which removes it "
			 "whole");

	errors_result(dir, "remove", who, errors_count(), rc, &err);
	return rc;
}

/* Another user may have something else under this name. */
static uint64_t tag_of(const struct node *dir, const char *name, const struct who *who)
{
	struct found found = { 0 };
	uint64_t tag = 0;

	if (dir->row->find && !dir->row->find(dir, name, who, &found))
		tag = found.tag;
	found_drop(&found);
	return tag;
}

int tree_remove(const struct node *dir, const char *name, const struct who *who, bool again)
{
	struct tr_err err = TR_ERR_INIT;
	uint64_t since = errors_count(), tag = 0;
	int rc;

	if (tree_gone(dir)) {
		rc = -ENOENT;
	} else if (dir->row->remove && !fixed_row(dir->row->rows, name)) {
		tag = tag_of(dir, name, who);
		rc = dir->row->remove(dir, name, who, &err);
	} else {
		return refuse_part(dir, who);
	}
	if (rc == -ENOENT && again)
		rc = 0;
	if (!rc) {
		node_unname(dir, name, tag);
		trim_later();
	}
	errors_result(dir, "rmdir", who, since, rc, &err);
	return rc;
}

int tree_refuse(const struct node *dir, const char *what, const char *name, const struct who *who)
{
	struct tr_err err = TR_ERR_INIT;
	uint64_t since = errors_count();
	int rc;

	if (!strcmp(what, "unlink"))
		return refuse_part(dir, who);
	rc = tr_fail_at(&err, -EPERM, name, 0,
			"files of this tree are not made, removed or renamed; mkdir and rmdir "
			"work on sessions, channels, maps, snapshots and triggers");
	errors_result(dir, what, who, since, rc, &err);
	return rc;
}

int tree_chmod(const struct node *n, mode_t mode, const struct who *who)
{
	struct tr_err err = TR_ERR_INIT;
	uint64_t since = errors_count();
	int rc = n->row->chmod ? n->row->chmod(n, mode & PERMISSIONS)
			       : tr_fail_at(&err, -EPERM, n->name, 0,
					    "only the directory of a session or trigger has a "
					    "mode of its own");

	errors_result(n, "chmod", who, since, rc, &err);
	return rc;
}

int tree_chown(const struct node *n, uid_t uid, gid_t gid, const struct who *who)
{
	struct tr_err err = TR_ERR_INIT;
	uint64_t since = errors_count();
	int rc = n->row->chown ? n->row->chown(n, uid, gid)
			       : tr_fail_at(&err, -EPERM, n->name, 0,
					    "only the directory of a session or trigger has an "
					    "owner of its own");

	errors_result(n, "chown", who, since, rc, &err);
	return rc;
}

bool tree_unannounced(const struct node *n)
{
	struct session_info info;

	if (!n->row->view || n->row->view->silent)
		return false;
	session_info(n->session, &info);
	return info.active;
}
