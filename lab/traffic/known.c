/* Streams of addresses whose traffic is arithmetic, through the model that the plugin uses.
 *
 *   gcc -O2 -o known known.c && ./known
 */
#include "model.h"

static int wrong;

static void same(const char *what, uint64_t got, uint64_t wanted)
{
    if (got == wanted)
        return;
    printf("wrong: %s: %llu, and arithmetic says %llu\n", what, (unsigned long long)got,
           (unsigned long long)wanted);
    wrong++;
}

static struct model *of(const char *shape, unsigned hosts)
{
    struct shape parsed;
    struct model *model = calloc(1, sizeof *model);
    model->hosts = hosts;
    if (!shape_of(shape, &parsed) || !model_add(model, &parsed)) {
        printf("wrong: %s is no shape\n", shape);
        exit(1);
    }
    return model;
}

static struct counts *counted(struct model *model)
{
    model_settle(model);
    return &model->cache[0][0].counts;
}

static void pass(struct model *model, uint64_t from, uint64_t lines, bool store)
{
    for (uint64_t line = from; line < from + lines; line++)
        model_access(model, 0, line, store);
}

static void sequential(void)
{
    /* 1 MiB is 16384 lines; a span of twice that never finds a line again with least-recent. */
    const uint64_t span = 32768, rounds = 4;
    struct model *reads = of("1M:16", 1), *writes = of("1M:16", 1);
    for (uint64_t i = 0; i < rounds; i++) {
        pass(reads, 0, span, false);
        pass(writes, 0, span, true);
    }
    same("reads of twice the cache: each fills", counted(reads)->fills, rounds * span);
    same("reads of twice the cache: none written", counted(reads)->write_backs, 0);
    same("writes of twice the cache: each fills", counted(writes)->fills, rounds * span);
    same("writes of twice the cache: all but what stays", counted(writes)->write_backs,
         rounds * span - 16384);
}

static void hot(void)
{
    struct model *model = of("1M:16", 1);
    for (int i = 0; i < 10; i++)
        pass(model, 7, 16384, true);
    same("a span as large as the cache: filled once", counted(model)->fills, 16384);
    same("a span as large as the cache: stays", counted(model)->write_backs, 0);
    pass(model, 1 << 20, 16384, false);
    same("then pushed out: each written back once", counted(model)->write_backs, 16384);
}

static void copies(void)
{
    struct model *model = of("512K:8", 1);
    const uint64_t lines = 65536;
    for (uint64_t i = 0; i < lines; i++) {
        model_access(model, 0, i, false);
        model_access(model, 0, (1 << 20) + i, true);
    }
    same("a copy fills what it reads and what it writes", counted(model)->fills, 2 * lines);
    /* Half of what stays, 8192 lines, is of the destination. */
    same("and writes back the destination", counted(model)->write_backs, lines - 4096);
}

static void conflicts(void)
{
    struct model *model = of("512K:8", 1);
    const uint64_t sets = 1024;
    for (int round = 0; round < 5; round++)
        for (uint64_t i = 0; i < 8; i++)
            model_access(model, 0, i * sets, false);
    same("as many lines of one set as ways", counted(model)->fills, 8);
    for (int round = 0; round < 5; round++)
        for (uint64_t i = 100; i < 109; i++)
            model_access(model, 0, i * sets, false);
    same("one more than ways: none is found again", counted(model)->fills, 8 + 45);
}

static void device_to_memory(void)
{
    struct model *model = of("512K:8", 1);
    pass(model, 0, 1000, true);
    model_device(model, 0, 0, 1000 * 64, false);
    same("what is dirty is written on its way to a device", counted(model)->device_flushes, 1000);
    same("and not read", counted(model)->device_reads, 0);
    model_device(model, 0, 0, 1000 * 64, false);
    same("clean then: read from memory", counted(model)->device_reads, 1000);
    pass(model, 0, 1000, true);
    model_device(model, 0, 0, 1000 * 64, true);
    same("a device's writes go to memory", counted(model)->device_writes, 1000);
    same("whole lines over dirty ones: those are void", counted(model)->device_flushes, 1000);
    pass(model, 0, 1000, false);
    same("and the processor fetches them anew", counted(model)->fills, 2000);
    model_access(model, 0, 0, true);
    model_device(model, 0, 8, 16, true);
    same("a part of a dirty line: the rest is written first", counted(model)->device_flushes, 1001);
}

static void device_in_pieces(void)
{
    struct model *model = of("512K:8", 1);
    for (uint64_t at = 10; at < 10 + 1500; at += 100)
        model_device(model, 0, at, 100, true);
    same("1500 bytes in pieces from byte 10 on lie in 24 lines", counted(model)->device_writes, 24);
    model_device(model, 0, 0, 30, true);
    model_access(model, 0, 1000, false);
    model_device(model, 0, 30, 34, true);
    same("with a processor between them they are two", counted(model)->device_writes, 26);
    model_access(model, 0, 128, false);
    uint64_t fills = counted(model)->fills;
    model_device(model, 0, 4096, 64, true);
    model_device(model, 0, 128 * 64, 64, true);
    model_access(model, 0, 128, false);
    same("apart they are two, each in its place", counted(model)->fills, fills + 1);
}

static void device_to_ways(void)
{
    /* 512 KiB of 8 ways: 2 ways hold 128 KiB, 2048 lines. */
    struct model *model = of("512K:8:io2", 1);
    model_device(model, 0, 0, 2048 * 64, true);
    same("what fits into a device's ways stays there", lines_written(counted(model)), 0);
    same("all of it", counted(model)->device_allocs, 2048);
    pass(model, 0, 2048, false);
    same("where the processor finds it", counted(model)->fills, 0);
    model_device(model, 0, 0, 2048 * 64, true);
    same("and the device again", counted(model)->device_hits, 2048);
    model_device(model, 0, 1 << 20, 2048 * 64, true);
    same("more than those ways: the old is written", counted(model)->write_backs, 2048);
    pass(model, 1 << 20, 6144, true);
    model_device(model, 0, 1 << 20, 2048 * 64, false);
    same("it reads from the cache", counted(model)->device_hits, 2 * 2048);
    same("or memory", counted(model)->device_reads, 0);
    model_device(model, 0, 1 << 28, 64 * 100, false);
    model_device(model, 0, 1 << 28, 64 * 100, false);
    same("and puts in nothing that it reads", counted(model)->device_reads, 200);
    model_device(model, 0, 1 << 29, 16, true);
    same("a part of a line: the rest is fetched", counted(model)->device_reads, 201);
}

static void streams(void)
{
    struct model *model = of("512K:8", 1);
    for (uint64_t i = 0; i < 4096; i++)
        for (unsigned at = 0; at < 64; at += 8)
            model_stream(model, 0, i, at, 8);
    same("stores past the cache: a line each", lines_written(counted(model)), 4096);
    same("none is fetched", lines_read(counted(model)), 0);
    model_access(model, 0, 9, true);
    model_stream(model, 0, 9, 0, 8);
    same("a dirty line is written before", counted(model)->write_backs, 1);
    uint64_t fills = counted(model)->fills;
    model_access(model, 0, 9, false);
    same("and is not in the cache any more", counted(model)->fills, fills + 1);
    for (uint64_t i = 0; i < COMBINING; i++)
        model_stream(model, 0, 5000 + i, 0, 8);
    same("a part of a line is one line when its buffer is needed", counted(model)->streamed, 4097);
}

static void hosts(void)
{
    struct model *model = of("512K:8", 2);
    struct counts *second = &model->cache[0][1].counts;
    model_access(model, 0, 5, true);
    model_access(model, 1, 5, false);
    same("dirty elsewhere: fetched from there", second->between, 1);
    same("and not from memory", second->fills, 0);
    model_access(model, 0, 5, true);
    same("it comes back", counted(model)->between, 1);
    model_access(model, 0, 6, false);
    model_access(model, 1, 6, false);
    same("clean: each reads its own", second->fills, 1);
    model_access(model, 0, 6, true);
    model_access(model, 1, 6, false);
    same("and loses it when the other writes", second->between, 2);
    model_device(model, 1, 7 * 64, 64, true);
    model_settle(model);
    same("a device writes into its own host", second->device_writes, 1);
}

/* A stream from a fixed seed: processors of both hosts, devices and stores past the cache. */
static void mixed(struct model *model)
{
    uint64_t dice = 4101842887655102017ull;
    for (int i = 0; i < 2000000; i++) {
        dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
        uint64_t line = dice % 20000 / (1 + dice % 5), kind = dice >> 40 & 63;
        unsigned host = dice >> 50 & 1;
        if (kind < 2)
            model_device(model, host, line * 64 + (dice >> 20 & 63), dice >> 30 & 255, kind);
        else if (kind == 2)
            model_stream(model, host, line, 8 * (dice >> 33 & 7), 8);
        else
            model_access(model, host, line, kind < 20);
        if (kind > 40)
            model_access(model, host, line, kind > 50);
    }
}

static void front_changes_nothing(void)
{
    static const char *shapes[] = { "64K:16", "512K:8", "512K:8:io2", "256K:4:random" };
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct model *with = of(shapes[i], 2), *without = of(shapes[i], 2);
        without->no_front = true;
        mixed(with);
        mixed(without);
        model_settle(with);
        model_settle(without);
        for (unsigned host = 0; host < 2; host++)
            same(shapes[i], memcmp(&with->cache[0][host].counts, &without->cache[0][host].counts,
                                   sizeof(struct counts)) != 0, 0);
        same("traffic there was", counted(with)->fills > 1000, 1);
    }
}

static void shapes(void)
{
    static const char *bad[] = { "", "1M", "1M:0", "1M:3", "1M:16:io17", "2K:1", "1M:16:soon", "1M:16:io2x" };
    struct shape shape;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        same(bad[i], shape_of(bad[i], &shape), false);
    same("11 ways", shape_of("1408K:11:io2:random", &shape), true);
    same("of 2048 sets", shape.size_bytes / shape.ways / LINE_BYTES, 2048);
}

int main(void)
{
    sequential();
    hot();
    copies();
    conflicts();
    device_to_memory();
    device_in_pieces();
    device_to_ways();
    streams();
    hosts();
    front_changes_nothing();
    shapes();
    printf(wrong ? "%d wrong\n" : "the model gives what arithmetic does\n", wrong);
    return wrong != 0;
}
