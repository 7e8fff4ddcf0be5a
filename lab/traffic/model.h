/* A last-level cache and the memory behind it, by lines: what processors and devices ask for goes
 * in, the lines that cross the memory bus are counted. Write-back, write-allocate, indexed by
 * physical address. One file for the plugin (plugin.c) and for the test of known answers (known.c).
 *
 * Several hosts can share one address space, as two nodes of one guest that stand for two hosts:
 * each has its own cache, and a line that is dirty in one cache is in no other. */
#ifndef TRAFFIC_MODEL_H
#define TRAFFIC_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_BYTES = 64,
    /* Hosts at most, and caches that are modelled beside each other. */
    HOSTS = 2,
    CACHES = 16,
    /* Lines that the front remembers; the least number of sets, see front_answers. */
    FRONT = 64,
    /* Write-combining buffers for stores that go past the cache: Intel's cores have 10 to 12. */
    COMBINING = 10,
    NAME_BYTES = 48,
};

enum replacement { LEAST_RECENT, RANDOM };

/* What a cache is. */
struct shape {
    char name[NAME_BYTES];
    uint64_t size_bytes;
    unsigned ways;
    enum replacement replacement;
    /* Ways that a device's writes may take; 0: devices go to memory, and caches give up the line. */
    unsigned device_ways;
};

/* Lines that crossed the memory bus, by who asked, and what did not cross it. */
struct counts {
    uint64_t fills;          /* read because a processor missed */
    uint64_t write_backs;    /* written because a dirty line had to go */
    uint64_t device_reads;   /* read by a device, from memory */
    uint64_t device_writes;  /* written by a device, to memory */
    uint64_t device_flushes; /* written because a device read what was dirty, or wrote a part of it */
    uint64_t streamed;       /* written past the cache */
    uint64_t device_hits;    /* of a device and answered by the cache: no traffic */
    uint64_t device_allocs;  /* of these lines that a device put into the cache: no traffic yet */
    uint64_t between;        /* dirty lines fetched from another host's cache: no memory's traffic */
};

static inline uint64_t lines_read(const struct counts *c) { return c->fills + c->device_reads; }
static inline uint64_t lines_written(const struct counts *c)
{
    return c->write_backs + c->device_writes + c->device_flushes + c->streamed;
}

/* A line in a way; `used` is 0 where there is none. */
struct way {
    uint64_t line;
    uint64_t used;
    bool dirty;
};

struct combining {
    uint64_t line;
    uint64_t bytes; /* a bit each */
};

struct cache {
    struct shape shape;
    uint64_t sets;
    struct way *ways;
    uint64_t now;
    uint64_t dice;
    struct combining buffers[COMBINING];
    unsigned next_buffer;
    struct counts counts;
};

/* What the front of a host remembers of a line. */
struct front {
    uint64_t line;
    bool known;
    bool dirty;
};

/* Bytes that a device moves, as far as they were told: see model_device. */
struct moving {
    unsigned host;
    uint64_t address;
    uint64_t bytes;
};

/* All caches that are modelled, each for every host. */
struct model {
    unsigned caches;
    unsigned hosts;
    struct moving moving[2]; /* reads, writes */
    bool no_front; /* for the test that it changes nothing */
    struct cache cache[CACHES][HOSTS];
    struct front front[HOSTS][FRONT];
};

/* Bytes from `512K`, `1M`; 0 where it is no size. */
static inline uint64_t size_of(const char *text, char **end)
{
    uint64_t size = strtoull(text, end, 10);
    if (**end == 'K')
        size <<= 10, ++*end;
    else if (**end == 'M')
        size <<= 20, ++*end;
    return size;
}

/* SIZE:WAYS[:ioN][:random], as `512K:8:io2`. False where it is none, or has too few sets. */
static inline bool shape_of(const char *text, struct shape *shape)
{
    char *at;
    memset(shape, 0, sizeof *shape);
    snprintf(shape->name, sizeof shape->name, "%s", text);
    shape->size_bytes = size_of(text, &at);
    if (*at++ != ':')
        return false;
    shape->ways = (unsigned)strtoul(at, &at, 10);
    if (!strncmp(at, ":io", 3))
        shape->device_ways = (unsigned)strtoul(at + 3, &at, 10);
    if (!strcmp(at, ":random")) {
        shape->replacement = RANDOM;
        at += strlen(at);
    }
    if (*at || !shape->ways || shape->device_ways > shape->ways)
        return false;
    uint64_t way_bytes = shape->size_bytes / shape->ways;
    bool power = way_bytes && (way_bytes & (way_bytes - 1)) == 0;
    return power && way_bytes * shape->ways == shape->size_bytes
        && way_bytes / LINE_BYTES >= FRONT;
}

/* Adds a cache of this shape to every host; false where there is no room. */
static inline bool model_add(struct model *model, const struct shape *shape)
{
    if (model->caches == CACHES)
        return false;
    for (unsigned host = 0; host < HOSTS; host++) {
        struct cache *cache = &model->cache[model->caches][host];
        memset(cache, 0, sizeof *cache);
        cache->shape = *shape;
        cache->sets = shape->size_bytes / shape->ways / LINE_BYTES;
        cache->dice = 88172645463325252ull;
        cache->ways = calloc(cache->sets * shape->ways, sizeof *cache->ways);
        if (!cache->ways)
            return false;
    }
    model->caches++;
    return true;
}

static inline struct way *set_of(struct cache *cache, uint64_t line)
{
    return cache->ways + (line & (cache->sets - 1)) * cache->shape.ways;
}

static inline struct way *find(struct cache *cache, uint64_t line)
{
    struct way *set = set_of(cache, line);
    for (unsigned i = 0; i < cache->shape.ways; i++)
        if (set[i].line == line && set[i].used)
            return &set[i];
    return NULL;
}

/* Xorshift with a fixed seed: the same stream gives the same counts. */
static inline uint64_t roll(struct cache *cache)
{
    cache->dice ^= cache->dice << 13;
    cache->dice ^= cache->dice >> 7;
    return cache->dice ^= cache->dice << 17;
}

/* The way of the first `ways` of the set that a new line takes: an empty one, or the victim. */
static inline struct way *victim_of(struct cache *cache, uint64_t line, unsigned ways)
{
    struct way *set = set_of(cache, line), *found = set;
    for (unsigned i = 0; i < ways; i++) {
        if (!set[i].used)
            return &set[i];
        if (set[i].used < found->used)
            found = &set[i];
    }
    return cache->shape.replacement == RANDOM ? &set[roll(cache) % ways] : found;
}

static inline void put(struct cache *cache, uint64_t line, unsigned ways, bool dirty)
{
    struct way *way = victim_of(cache, line, ways);
    if (way->used && way->dirty)
        cache->counts.write_backs++;
    *way = (struct way){ .line = line, .used = ++cache->now, .dirty = dirty };
}

/* What a processor's access does to one cache of its host; `others` are the other hosts'. */
static inline void cache_access(struct cache *all, unsigned hosts, unsigned host, uint64_t line,
                                bool store)
{
    struct cache *cache = &all[host];
    struct way *way = find(cache, line);
    bool fetched = false, owned = way && way->dirty;
    for (unsigned other = 0; other < hosts && !owned; other++) {
        struct way *there = other == host ? NULL : find(&all[other], line);
        if (!there || (!there->dirty && !store))
            continue;
        fetched |= there->dirty;
        there->used = 0;
    }
    cache->counts.between += fetched;
    if (way) {
        way->used = ++cache->now;
        way->dirty |= store || fetched;
        return;
    }
    cache->counts.fills += !fetched;
    put(cache, line, cache->shape.ways, store || fetched);
}

/* Whether the front knows what this access does: nothing. Lines of one set of any cache have the
 * same place in it, for caches have 64 sets or a multiple; so the line that is there was the last
 * one used in its set, in every cache, and asking for it once more changes nothing. */
static inline bool front_answers(struct model *model, unsigned host, uint64_t line, bool store)
{
    struct front *front = &model->front[host][line % FRONT];
    if (!model->no_front && front->known && front->line == line && (front->dirty || !store))
        return true;
    bool dirty = store || (front->known && front->line == line && front->dirty);
    *front = (struct front){ .line = line, .known = true, .dirty = dirty };
    for (unsigned other = 0; other < model->hosts; other++)
        if (other != host)
            model->front[other][line % FRONT].known = false;
    return false;
}

static inline void model_settle(struct model *model);

/* A processor of `host` loads from a line, or stores into it. */
static inline void model_access(struct model *model, unsigned host, uint64_t line, bool store)
{
    model_settle(model);
    if (front_answers(model, host, line, store))
        return;
    for (unsigned i = 0; i < model->caches; i++)
        cache_access(model->cache[i], model->hosts, host, line, store);
}

static inline void forget(struct model *model, uint64_t line)
{
    for (unsigned host = 0; host < model->hosts; host++)
        model->front[host][line % FRONT].known = false;
}

/* The line leaves all caches; whether it was dirty in one of them. */
static inline bool give_up(struct cache *all, unsigned hosts, uint64_t line)
{
    bool dirty = false;
    for (unsigned host = 0; host < hosts; host++) {
        struct way *way = find(&all[host], line);
        if (!way)
            continue;
        dirty |= way->dirty;
        way->used = 0;
    }
    return dirty;
}

/* Bits of a line's bytes. */
static inline uint64_t mask_of(unsigned offset, unsigned bytes)
{
    return (bytes >= LINE_BYTES ? ~0ull : (1ull << bytes) - 1) << offset;
}

/* A store past the cache of `bytes` at `offset`: gathered in a buffer until the line is whole, or
 * until another line needs the buffer; either is one line on the bus. */
static inline void cache_stream(struct cache *all, unsigned hosts, unsigned host, uint64_t line,
                                uint64_t mask)
{
    struct cache *cache = &all[host];
    struct combining *buffer = NULL;
    cache->counts.write_backs += give_up(all, hosts, line);
    for (unsigned i = 0; i < COMBINING; i++)
        if (cache->buffers[i].bytes && cache->buffers[i].line == line)
            buffer = &cache->buffers[i];
    if (!buffer) {
        buffer = &cache->buffers[cache->next_buffer++ % COMBINING];
        cache->counts.streamed += buffer->bytes != 0;
        *buffer = (struct combining){ .line = line };
    }
    buffer->bytes |= mask;
    if (buffer->bytes == ~0ull) {
        cache->counts.streamed++;
        buffer->bytes = 0;
    }
}

static inline void model_stream(struct model *model, unsigned host, uint64_t line, unsigned offset,
                                unsigned bytes)
{
    model_settle(model);
    forget(model, line);
    for (unsigned i = 0; i < model->caches; i++)
        cache_stream(model->cache[i], model->hosts, host, line, mask_of(offset, bytes));
}

/* A device of `host` reads a line. With ways of its own it is answered by the cache where that has
 * the line, and never puts one in; without, a dirty line is written to memory on its way. */
static inline void cache_device_read(struct cache *all, unsigned hosts, unsigned host, uint64_t line)
{
    struct cache *cache = &all[host];
    struct way *way = NULL;
    for (unsigned other = 0; other < hosts && !way; other++)
        way = find(&all[other], line);
    if (way && cache->shape.device_ways) {
        cache->counts.device_hits++;
    } else if (way && way->dirty) {
        cache->counts.device_flushes++;
        way->dirty = false;
    } else {
        cache->counts.device_reads++;
    }
}

/* A device writes a line, or a part of it. With ways of its own the line stays in the cache: where
 * it is, or in one of those ways. Without, memory gets it and the caches lose theirs. */
static inline void cache_device_write(struct cache *all, unsigned hosts, unsigned host,
                                      uint64_t line, bool whole)
{
    struct cache *cache = &all[host];
    struct way *way = find(cache, line);
    if (!cache->shape.device_ways) {
        /* What is dirty around the part that is written must not be lost. */
        cache->counts.device_flushes += give_up(all, hosts, line) && !whole;
        cache->counts.device_writes++;
        return;
    }
    if (way) {
        cache->counts.device_hits++;
        way->dirty = true;
        way->used = ++cache->now;
        for (unsigned other = 0; other < hosts; other++)
            if (other != host)
                give_up(&all[other], 1, line);
        return;
    }
    bool fetched = give_up(all, hosts, line);
    cache->counts.between += fetched;
    cache->counts.device_reads += !whole && !fetched;
    cache->counts.device_allocs++;
    put(cache, line, cache->shape.device_ways, true);
}

/* A device reads or writes what it was told to, line by line. */
static inline void move_now(struct model *model, const struct moving *moving, bool writes)
{
    uint64_t from = moving->address, end = from + moving->bytes;
    for (uint64_t line = from / LINE_BYTES; line * LINE_BYTES < end; line++) {
        uint64_t first = line * LINE_BYTES;
        bool whole = first >= from && first + LINE_BYTES <= end;
        forget(model, line);
        for (unsigned i = 0; i < model->caches; i++) {
            if (writes)
                cache_device_write(model->cache[i], model->hosts, moving->host, line, whole);
            else
                cache_device_read(model->cache[i], model->hosts, moving->host, line);
        }
    }
}

/* What devices were told so far takes place. */
static inline void model_settle(struct model *model)
{
    for (unsigned writes = 0; writes < 2; writes++) {
        if (!model->moving[writes].bytes)
            continue;
        move_now(model, &model->moving[writes], writes);
        model->moving[writes].bytes = 0;
    }
}

/* A device of `host` reads or writes so many bytes from an address on. Pieces that follow on each
 * other are one transfer: a device has them as one, though QEMU copies them piece by piece. */
static inline void model_device(struct model *model, unsigned host, uint64_t address,
                                uint64_t bytes, bool writes)
{
    struct moving *moving = &model->moving[writes];
    if (moving->bytes && moving->host == host && moving->address + moving->bytes == address) {
        moving->bytes += bytes;
        return;
    }
    if (moving->bytes)
        move_now(model, moving, writes);
    *moving = (struct moving){ .host = host, .address = address, .bytes = bytes };
}

#endif
