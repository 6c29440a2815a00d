// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What processes map that may be executed, with the build ids of the files, so that callstacks have
 * names after a process has ended. LTTng's state dump has no such event.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tracer/base/hash.h"
#include "tracer/kernel/statedump/internal.h"
#include "tracer/kernel/symbol/symbol.h"

#define FILES_MAX 4096u         /* a power of two; of further files the build id is read again */
#define ID_TEXT (2 * SYMBOL_ID_MAX + 1)

struct file {
	uint64_t key;           /* of device and inode; 0: free */
	char id[ID_TEXT];
};

struct kdump_files {
	struct local_devices *devices;
	struct file files[FILES_MAX];
};

struct kdump_files *kdump_files_create(void)
{
	struct kdump_files *k = calloc(1, sizeof(*k));

	if (k && !(k->devices = local_devices_read())) {
		free(k);
		return NULL;
	}
	return k;
}

void kdump_files_free(struct kdump_files *k)
{
	if (k)
		free(k->devices);
	free(k);
}

/* The build id of the file as text, valid until the next call; "": not known. */
static const char *find_id(struct kdump_files *k, int process, const struct code_mapping *m)
{
	uint64_t key = hash_step(hash_step(HASH_START, (uint64_t)m->major << 32 | m->minor),
				 m->inode);
	struct file *f = &k->files[(key >> 20) & (FILES_MAX - 1)];
	uint8_t id[SYMBOL_ID_MAX];
	size_t n;
	int fd;

	if (f->key == key)
		return f->id;
	fd = code_map_open(k->devices, process, m);
	if (fd < 0)
		return "";
	f->key = key;
	n = symbol_build_id(fd, id);
	f->id[0] = '\0';
	for (size_t i = 0; i < n; i++)
		sprintf(f->id + 2 * i, "%02x", id[i]);
	close(fd);
	return f->id;
}

int kdump_mapping(struct kdump_sink *sink, struct kdump_files *k, int process, int32_t pid,
		  const struct code_mapping *m)
{
	/* The vDSO has no file. */
	return kdump_emit(sink, KDUMP_PROCESS_MAPPING, pid, (uint64_t)pid, m->start, m->size,
			  m->offset, k && *m->path == '/' ? find_id(k, process, m) : "",
			  m->path);
}

struct dumped {
	struct kdump_sink *sink;
	struct kdump_files *files;
	int process;
	int32_t pid;
};

static int emit_mapping(void *arg, const struct code_mapping *m)
{
	const struct dumped *d = arg;

	return kdump_mapping(d->sink, d->files, d->process, d->pid, m);
}

int kdump_mappings(struct kdump_sink *sink, struct kdump_files *k, int process, int32_t pid)
{
	struct dumped d = { sink, k, process, pid };

	return code_maps_read(process, emit_mapping, &d);
}
