/* SPDX-License-Identifier: MIT */
/*
 * site.h - call sites and probes of trace points that are described in a header of their own
 * (LTTng-UST's way): the two may be in different shared objects, and either may come and go. The
 * library connects them by name. Nothing here is for use in programs; see lttng/tracepoint.h.
 *
 * A site is off as long as the word that `state` points to is zero. The word is the trace point's
 * own or, when there is none, the site's `off`; it can be read at any time, even while the probe's
 * object is being unloaded. A hit then takes `probe`, and if `calls` is set, enters and leaves, so
 * that the probe's object stays until the hit is over. While there are several probes of one name,
 * the word is never zero, and a hit calls each that is on.
 */
#ifndef TRAIL_SITE_H
#define TRAIL_SITE_H

#pragma GCC system_header

#include <stddef.h>

#define TRAIL__SITE_VERSION 2   /* 1: without calls->next */
#define TRAIL__PROBE_VERSION 1
#define TRAIL__SONAME "libtrail.so.0"

struct trail__tp;
struct trail__piece;
struct trail__site;
struct trail_value;

struct trail__probe {           /* of a provider; in section trail_probes is a pointer to it */
	unsigned int version, hash;
	const char *provider, *name;
	/* types and names as spelled: a site with others is not connected */
	const char *args;
	struct trail__tp *tp;
	void (*call)(void);     /* really (struct trail__tp *, arguments) */
};

struct trail__calls {
	/*
	 * The probe of the site, or null. What is returned through phase goes to leave, which must
	 * follow if there is one.
	 */
	const struct trail__probe *(*enter)(struct trail__site *site, unsigned int *phase);
	void (*leave)(unsigned int phase);
	/*
	 * After a probe that enter or next returned: the one that is to be called after it, or
	 * null; then it has left.
	 */
	const struct trail__probe *(*next)(struct trail__site *site,
					   const struct trail__probe *probe, unsigned int phase);
};

struct trail__site {            /* in section trail_sites is a pointer to it */
	const unsigned int *state;
	const struct trail__probe *probe;
	const struct trail__calls *calls;
	const char *provider, *name, *args;
	const void *needs;      /* makes the linker take the provider out of an archive */
	unsigned int off;       /* stays 0 */
	unsigned int version, hash;
};

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The sites and the probes of one object; from its constructor and destructor, the probes while
 * their trace points are registered. `object` is an address that tells objects apart. Calling again
 * is no error.
 */
void trail__sites_register(struct trail__site *const *begin, struct trail__site *const *end,
			   const void *object);
void trail__sites_unregister(struct trail__site *const *begin);
void trail__probes_register(struct trail__probe *const *begin, struct trail__probe *const *end,
			    const void *object);
void trail__probes_unregister(struct trail__probe *const *begin);

/*
 * trail__record_pieces_at for what may be malformed: text (TRAIL__TEXT) ends at a NUL and is filled
 * up with NULs, and what is too large for any sub-buffer counts as lost before it is read.
 */
void trail__record_values(struct trail__tp *tp, const struct trail__piece *pieces,
			  unsigned int count, unsigned int unwritten, const void *ip);

/* As trail__register(), for trace points of the object that has the address `within`. */
void trail__register_within(struct trail__tp *const *begin, struct trail__tp *const *end,
			    const void *within);
/*
 * Adds a watch to the inotify(7) descriptor for each file whose state words the daemon may change.
 * True: for all. An event other than IN_MODIFY says that there may be other files now.
 */
int trail__watch_words(int inotify);
/* The calling thread has a table of descriptors of its own: it leaves none for other threads. */
void trail__files_are_private(void);
/*
 * Who has the values of all contexts `name`:NAME that are not registered by trail_context_register.
 * get and put are called as that one's function, with "name:NAME"; put writes an enum trail_dynamic
 * and the value, TRAIL__CONTEXT_SIZE bytes at most, and returns their size, or 0 if there is no
 * value. The structure must stay until unregister has returned. 0, -EINVAL, -EEXIST, -ENOSPC (64
 * names in the process's life); -ENOENT.
 */
#define TRAIL__CONTEXT_SIZE 257         /* a tag, and a string of 255 bytes with its NUL */

struct trail__context_provider {
	const char *name;
	void *arg;
	void (*get)(void *arg, const char *name, struct trail_value *value);
	size_t (*put)(void *arg, const char *name, unsigned char *at);
};
int trail__context_provider_register(const struct trail__context_provider *provider);
int trail__context_provider_unregister(const struct trail__context_provider *provider);
/* The user or the name of the process may have changed. */
void trail__identity_changed(void);

#ifdef __cplusplus
}
#endif

#endif
