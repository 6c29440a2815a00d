// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The journal of a map: the file sessions/SESSION/values-DOMAIN-MAP in the state directory, of
 * records, each written by one write(2). The first record has all values, each later one what a
 * look changed. A killed daemon may leave a part of the last record, which counts for nothing. When
 * the changes have more bytes than the values, the file is written again.
 *
 *	record  magic, length; entries
 *	H       identity of the rules, since, cleared, clear_ts
 *	S       rule, events, lost, missing, left_out, unpaired, reason
 *	R       rule, index, hex, single, real, wide, count, key, slots
 *	P       rule, side, a, b, time, the values of a first event or nothing
 *	C       key of a region, ring, position, time, events, losses up to there
 *
 * The values of rules whose hits applications or the kernel count are not here: their counters are
 * the values.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/hash.h"
#include "tracer/base/os/state_file.h"
#include "tracer/base/pack.h"
#include "tracer/base/ring/reader.h"
#include "tracer/view/map/map.h"

#define SLACK ((size_t)1 << 20)         /* bytes of changes, in any file */
#define RETRY UINT64_C(1000000000)      /* ns after a failure */

/* ---- entries ---- */

static void put_bytes(struct md_buf *out, const void *bytes, size_t n)
{
	md_pack_number(out, n, 4);
	md_buf_put(out, bytes, n);
}

static void begin_entry(struct md_buf *out, enum map_entry entry, size_t rule)
{
	md_pack_number(out, (uint64_t)entry, 1);
	md_pack_number(out, rule, 1);
}

static void put_head(const struct map *m, struct md_buf *out)
{
	begin_entry(out, MAP_ENTRY_HEAD, 0);
	md_pack_number(out, map_journal_identity(m), 8);
	md_pack_number(out, (uint64_t)m->since, 8);
	md_pack_number(out, m->cleared, 8);
	md_pack_number(out, m->clear_ts, 8);
}

static void put_state(size_t rule, const struct map_state *st, struct md_buf *out)
{
	begin_entry(out, MAP_ENTRY_STATE, rule);
	md_pack_number(out, st->events, 8);
	md_pack_number(out, st->lost, 8);
	md_pack_number(out, st->missing, 8);
	md_pack_number(out, st->left_out, 8);
	md_pack_number(out, st->unpaired, 8);
	put_bytes(out, st->reason, strlen(st->reason));
}

static void put_row(size_t rule, const struct map_rule *r, const struct map_row *row,
		    struct md_buf *out)
{
	const union map_slot *end = map_row_slots(row, r, r->op_count);

	begin_entry(out, MAP_ENTRY_ROW, rule);
	md_pack_number(out, row->index, 4);
	md_pack_number(out, row->hex, 1);
	md_pack_number(out, row->single, 1);
	md_pack_number(out, row->real, 1);
	md_pack_number(out, row->wide, 1);
	md_pack_number(out, row->count, 8);
	put_bytes(out, row->key, row->key_len);
	put_bytes(out, row->slots, (size_t)(end - row->slots) * sizeof(*end));
}

static void put_pair(size_t rule, enum map_side side, const struct pair_open *key,
		     const struct map_first *first, struct md_buf *out)
{
	begin_entry(out, MAP_ENTRY_PAIR, rule);
	md_pack_number(out, (uint64_t)side, 1);
	md_pack_number(out, key->a, 8);
	md_pack_number(out, key->b, 8);
	md_pack_number(out, key->ts, 8);
	put_bytes(out, first, first ? sizeof(*first) + first->len : 0);
}

void map_journal_pair(struct map *m, const struct map_rule *r, enum map_side side,
		      const struct pair_open *key, const struct map_first *first)
{
	if (m->journal.open)    /* else the first record will have all that waits */
		put_pair((size_t)(r - m->rules.rules), side, key, first, &m->journal.pairs);
}

void map_journal_pass(struct map *m, const struct stream *s, const struct ring_mark *mark)
{
	struct md_buf *out = &m->journal.passes;

	if (m->journal.left)
		return;
	begin_entry(out, MAP_ENTRY_PASS, 0);
	md_pack_number(out, s->region->key, 8);
	md_pack_number(out, s->ring, 4);
	md_pack_number(out, mark->head, 8);
	md_pack_number(out, mark->last_ts, 8);
	md_pack_number(out, mark->events, 8);
	md_pack_number(out, ring_cleared_lost(s) + mark->lost, 8);
}

/* ---- records ---- */

static void put_waiting(size_t rule, const struct map_state *st, struct md_buf *out)
{
	/* The oldest one first, so that they wait in the same order again. */
	for (uint32_t n = 0; n < PAIR_WAITING && st->waiting; n++) {
		uint32_t i = (st->waiting->next_open + n) % PAIR_WAITING;

		if (st->waiting->all[i].trace)
			put_pair(rule, MAP_SIDE_FIRST, &st->waiting->all[i],
				 st->firsts ? st->firsts[i] : NULL, out);
	}
}

/* all: the values; else what has changed of them. */
static void put_values(struct map *m, bool all, struct md_buf *out)
{
	put_head(m, out);
	for (size_t i = 0; i < m->rules.count; i++) {
		const struct map_rule *r = &m->rules.rules[i];
		struct map_state *st = &m->states[i];

		if (r->counts || r->in_kernel)
			continue;
		put_state(i, st, out);
		if (all) {
			for (uint32_t n = 0; n < st->table.count; n++)
				put_row(i, r, st->table.rows[n], out);
			put_waiting(i, st, out);
		} else {
			for (struct map_row *row = st->table.changed; row; row = row->later)
				put_row(i, r, row, out);
		}
	}
	if (!all)
		md_buf_put(out, m->journal.pairs.data, m->journal.pairs.len);
	md_buf_put(out, m->journal.passes.data, m->journal.passes.len);
	out->failed |= m->journal.passes.failed || (!all && m->journal.pairs.failed);
}

/* What was put is in the file, or not of use any more. */
static void forget_changes(struct map *m)
{
	for (size_t i = 0; i < m->rules.count; i++)
		map_table_written(&m->states[i].table);
	m->journal.changed = false;
	m->journal.pairs.failed = m->journal.passes.failed = false;
	md_buf_reset(&m->journal.pairs);
	md_buf_reset(&m->journal.passes);
}

static int make_record(struct map *m, bool all, struct md_buf *out)
{
	uint32_t length;

	md_pack_number(out, MAP_JOURNAL_MAGIC, 4);
	md_pack_number(out, 0, 4);
	put_values(m, all, out);
	if (out->failed || out->len > UINT32_MAX)
		return out->failed ? -ENOMEM : -EFBIG;
	length = htole32((uint32_t)(out->len - 8));
	memcpy(out->data + 4, &length, sizeof(length));
	return 0;
}

static void close_file(struct map_journal *j)
{
	if (j->open)
		close(j->fd);
	j->open = false;
}

/* Replaces the file. 0 or -errno. */
static int begin_file(struct map *m, const struct md_buf *record)
{
	struct map_journal *j = &m->journal;
	char name[MAP_JOURNAL_NAME_MAX];
	int ret = map_journal_dir(m);

	close_file(j);
	map_journal_name(m, name, sizeof(name));
	if (!ret)
		ret = state_file_write(j->dir, name, record->data, record->len);
	if (ret)
		return ret;
	j->fd = openat(j->dir, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (j->fd < 0)
		return -errno;
	j->open = true;
	j->first = j->length = record->len;
	return 0;
}

void map_journal_write(struct map *m)
{
	struct map_journal *j = &m->journal;
	bool all = !j->open || j->length > 2 * j->first + SLACK;
	struct md_buf record = MD_BUF_INIT;
	int ret = 0;

	if (j->left || !m->session || !m->states)
		return;
	if (!j->changed || (j->failed && monotonic_now() - j->failed < RETRY)) {
		md_buf_reset(&j->passes);
		return;
	}
	ret = make_record(m, all, &record);
	if (!ret && all) {
		ret = begin_file(m, &record);
	} else if (!ret) {
		ret = write_all(j->fd, record.data, record.len);
		j->length += record.len;
	}
	md_buf_deinit(&record);
	forget_changes(m);
	j->failed = ret ? monotonic_now() : 0;
	/* The rings are read further all the same, so the file would have old values. */
	if (ret)
		map_journal_drop(m);
}

/* ---- the file ---- */

uint64_t map_journal_identity(const struct map *m)
{
	struct md_buf rules = MD_BUF_INIT;
	uint64_t h;

	map_rules_print(&m->rules, &rules);
	h = hash_bytes(HASH_START, rules.data, rules.len);
	md_buf_deinit(&rules);
	return hash_step(hash_step(h, m->max_keys), sizeof(union map_slot));
}

void map_journal_name(const struct map *m, char *out, size_t size)
{
	snprintf(out, size, "values-%s-%s", m->domain == DOMAIN_KERNEL ? "kernel" : "user",
		 m->name);
}

int map_journal_dir(struct map *m)
{
	struct map_journal *j = &m->journal;
	struct session *s = m->session;
	struct tracer *t = m->tracer;
	int ret = 0;

	if (j->known)
		return 0;
	/* With the lock, a session of the same name cannot have taken its place. */
	pthread_mutex_lock(&t->lock);
	j->dir = s->gone ? -1
			 : openat(t->sessions_fd, s->name,
				  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (j->dir < 0)
		ret = s->gone ? -ENOENT : -errno;
	pthread_mutex_unlock(&t->lock);
	j->known = !ret;
	return ret;
}

void map_journal_close(struct map *m)
{
	struct map_journal *j = &m->journal;

	close_file(j);
	if (j->known)
		close(j->dir);
	j->known = false;
	md_buf_deinit(&j->pairs);
	md_buf_deinit(&j->passes);
}

void map_journal_drop(struct map *m)
{
	struct map_journal *j = &m->journal;
	char name[MAP_JOURNAL_NAME_MAX];

	close_file(j);
	md_buf_reset(&j->pairs);
	md_buf_reset(&j->passes);
	if (!j->known || j->left)
		return;
	map_journal_name(m, name, sizeof(name));
	unlinkat(j->dir, name, 0);
	close(j->dir);
	j->known = false;
}
