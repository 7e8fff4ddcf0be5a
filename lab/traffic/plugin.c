/* Counts the lines that a guest's processors and devices move over a memory bus, with the caches of
 * model.h. QEMU loads it twice, as one object:
 *
 *   LD_PRELOAD=./traffic.so qemu-system-x86_64 -plugin file=./traffic.so,out=FILE,cache=512K:8...
 *
 * As a plugin it sees each load and store of each virtual processor, in the kernel and outside.
 * A plugin is not told of device accesses; but QEMU's devices reach the guest's memory by memcpy
 * and memmove, which the preloaded object stands in for. What they copy from or to the files that
 * are the guest's memory (ram=FILE, one for each host) is what a device reads or writes.
 *
 * narrows says by instructions that do nothing where an end's load begins and where its window
 * opens and closes (crates/workloads/src/harness/mark.rs). The caches work only from the first
 * end's beginning to the last one's closing. Before the first load blocks have no calls, so that
 * the boot is not slowed; then all are translated anew, once. To take the calls out again between
 * loads is not safe: QEMU 7.2 may still hold those of an instruction that a device interrupted.
 */
#define _GNU_SOURCE
#include "model.h"
#include "qemu_api.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdatomic.h>

EXPORTED int qemu_plugin_version = 1;

/* A host's memory: where QEMU has it, and where the guest does. */
struct ram {
    char file[256];
    uintptr_t at;
    uint64_t guest;
    uint64_t bytes;
};

/* What did not go into the model's counts, or did and is asked for beside them. */
struct seen {
    uint64_t loads, stores, streamed, device, split;
    uint64_t device_read_bytes[HOSTS], device_written_bytes[HOSTS];
};

static struct model model;
static struct ram rams[HOSTS];
static unsigned ram_files, marks, ends;
static struct seen seen;
static FILE *out;
static qemu_plugin_id_t self;
static atomic_bool counting;
static bool calling;
static atomic_flag busy = ATOMIC_FLAG_INIT;

enum mark { BEGINS, OPENS_RECEIVER, CLOSES_RECEIVER, OPENS_SENDER, CLOSES_SENDER, NO_MARK };
static const char *const MARKS[] = { "begins", "opens-receiver", "closes-receiver", "opens-sender",
                                     "closes-sender" };
/* The last byte of xchg of r9w, r11w, r12w, r13w and r14w with itself. */
static const uint8_t REGISTERS[] = { 0xc9, 0xdb, 0xe4, 0xed, 0xf6 };

/* Devices work in QEMU's main thread too. */
static void hold(void)
{
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
        ;
}

static void let_go(void) { atomic_flag_clear_explicit(&busy, memory_order_release); }

/* The guest's own address. QEMU 7.2 adds to it where the block lies among all blocks, which is the
 * same again for the second of two nodes; that a receiver fetches what its NIC wrote shows it. */
static uint64_t own_address(uint64_t told)
{
    for (unsigned host = 1; host < ram_files; host++)
        if (told - 2 * rams[host].guest < rams[host].bytes)
            return told - rams[host].guest;
    return told;
}

static void on_memory(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *streams)
{
    if (!atomic_load_explicit(&counting, memory_order_relaxed))
        return;
    struct qemu_plugin_hwaddr *where = qemu_plugin_get_hwaddr(info, address);
    if (!where || qemu_plugin_hwaddr_is_io(where))
        return;
    uint64_t guest = own_address(qemu_plugin_hwaddr_phys_addr(where));
    unsigned bytes = 1u << qemu_plugin_mem_size_shift(info), host = cpu % model.hosts;
    bool store = qemu_plugin_mem_is_store(info);
    uint64_t first = guest / LINE_BYTES, last = (guest + bytes - 1) / LINE_BYTES;
    hold();
    *(store ? &seen.stores : &seen.loads) += 1;
    if (first != last && guest >> 12 != (guest + bytes - 1) >> 12) {
        /* Over the edge of a page: where the second half lies is not told. */
        seen.split++;
        last = first;
    }
    if (streams && store && first == last) {
        seen.streamed++;
        model_stream(&model, host, first, guest % LINE_BYTES, bytes);
    } else {
        model_access(&model, host, first, store);
        if (first != last)
            model_access(&model, host, last, store);
    }
    let_go();
}

/* Finds where QEMU mapped the files that are the guest's memory. */
static void find_rams(void)
{
    char line[1024];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long begin, end, offset;
        if (sscanf(line, "%lx-%lx %*s %lx", &begin, &end, &offset) != 3)
            continue;
        for (unsigned host = 0; host < ram_files; host++) {
            struct ram *ram = &rams[host];
            if (!strstr(line, ram->file))
                continue;
            if (!ram->at)
                ram->at = begin - offset;
            if (offset + (end - begin) > ram->bytes)
                ram->bytes = offset + (end - begin);
        }
    }
    if (maps)
        fclose(maps);
    uint64_t guest = 0;
    for (unsigned host = 0; host < ram_files; host++) {
        rams[host].guest = guest;
        guest += rams[host].bytes;
        fprintf(out, "ram host=%u bytes=%" PRIu64 "\n", host, rams[host].bytes);
    }
}

/* One side of a copy within QEMU: a device's access where it is in a guest's memory. Reads of eight
 * bytes and fewer are QEMU's own, of code to translate; a descriptor has 16. */
static void copied(const void *at, size_t bytes, bool writes)
{
    if (!writes && bytes <= 8)
        return;
    for (unsigned host = 0; host < ram_files; host++) {
        uint64_t offset = (uintptr_t)at - rams[host].at;
        if (!rams[host].at || offset >= rams[host].bytes)
            continue;
        hold();
        seen.device++;
        (writes ? seen.device_written_bytes : seen.device_read_bytes)[host] += bytes;
        model_device(&model, host, rams[host].guest + offset, bytes, writes);
        let_go();
    }
}

/* A copy of bytes that needs nothing of the C library, which asks for these before it is there. */
static void *move(void *to, const void *from, size_t bytes)
{
    static void *(*real)(void *, const void *, size_t);
    static atomic_bool looking;
    if (!real && !atomic_exchange(&looking, true))
        real = (void *(*)(void *, const void *, size_t))dlsym(RTLD_NEXT, "memmove");
    if (real)
        real(to, from, bytes);
    else if (to <= from)
        for (size_t i = 0; i < bytes; i++)
            ((volatile char *)to)[i] = ((const volatile char *)from)[i];
    else
        for (size_t i = bytes; i-- > 0;)
            ((volatile char *)to)[i] = ((const volatile char *)from)[i];
    if (atomic_load_explicit(&counting, memory_order_relaxed) && bytes) {
        copied(from, bytes, false);
        copied(to, bytes, true);
    }
    return to;
}

EXPORTED void *memmove(void *to, const void *from, size_t bytes) { return move(to, from, bytes); }
EXPORTED void *memcpy(void *to, const void *from, size_t bytes) { return move(to, from, bytes); }
EXPORTED void *__memcpy_chk(void *to, const void *from, size_t bytes, size_t room)
{
    if (bytes > room)
        abort();
    return move(to, from, bytes);
}
EXPORTED void *__memmove_chk(void *to, const void *from, size_t bytes, size_t room)
{
    return __memcpy_chk(to, from, bytes, room);
}

static void write_counts(const struct cache *cache, unsigned host)
{
    const struct counts *c = &cache->counts;
    fprintf(out,
            "cache name=%s host=%u fills=%" PRIu64 " write_backs=%" PRIu64 " device_reads=%" PRIu64
            " device_writes=%" PRIu64 " device_flushes=%" PRIu64 " streamed=%" PRIu64
            " device_hits=%" PRIu64 " device_allocs=%" PRIu64 " between=%" PRIu64 "\n",
            cache->shape.name, host, c->fills, c->write_backs, c->device_reads, c->device_writes,
            c->device_flushes, c->streamed, c->device_hits, c->device_allocs, c->between);
}

/* Everything as it stands, at a mark. */
static void snapshot(const char *mark, unsigned cpu)
{
    model_settle(&model);
    fprintf(out, "mark number=%u what=%s cpu=%u loads=%" PRIu64 " stores=%" PRIu64 " streamed=%" PRIu64
                 " device=%" PRIu64 " split=%" PRIu64,
            marks++, mark, cpu, seen.loads, seen.stores, seen.streamed, seen.device, seen.split);
    for (unsigned host = 0; host < model.hosts; host++)
        fprintf(out, " device_read_bytes_%u=%" PRIu64 " device_written_bytes_%u=%" PRIu64, host,
                seen.device_read_bytes[host], host, seen.device_written_bytes[host]);
    fputc('\n', out);
    for (unsigned i = 0; i < model.caches; i++)
        for (unsigned host = 0; host < model.hosts; host++)
            write_counts(&model.cache[i][host], host);
    fflush(out);
}

static void on_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
static void on_the_end(qemu_plugin_id_t id, void *mine);

/* All blocks are gone; those to come call for each access. */
static void anew(qemu_plugin_id_t id)
{
    calling = true;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
    qemu_plugin_register_atexit_cb(id, on_the_end, NULL);
}

static void on_mark(unsigned cpu, void *which)
{
    enum mark mark = (enum mark)(uintptr_t)which;
    hold();
    if (!rams[0].bytes)
        find_rams();
    ends += mark == BEGINS;
    ends -= ends && (mark == CLOSES_RECEIVER || mark == CLOSES_SENDER);
    snapshot(MARKS[mark], cpu);
    atomic_store(&counting, ends > 0);
    let_go();
    if (!calling)
        qemu_plugin_reset(self, anew);
}

static enum mark mark_of(const uint8_t *code, size_t bytes)
{
    unsigned mark = NO_MARK;
    if (bytes == 4 && code[0] == 0x66 && code[1] == 0x45 && code[2] == 0x87)
        for (mark = 0; mark < NO_MARK && code[3] != REGISTERS[mark];)
            mark++;
    return mark;
}

/* Whether an instruction stores past the cache: movnti, movntq, movntps, movntpd, movntdq and their
 * VEX forms. They are 0f c3, 0f e7 and 0f 2b, after prefixes. */
static bool streams(const uint8_t *code, size_t bytes)
{
    size_t at = 0;
    uint8_t opcode;
    while (at < bytes && (code[at] == 0x66 || code[at] == 0xf2 || code[at] == 0xf3
                          || (code[at] & 0xf0) == 0x40))
        at++;
    if (at + 2 < bytes && code[at] == 0x0f)
        opcode = code[at + 1];
    else if (at + 3 < bytes && code[at] == 0xc5)
        opcode = code[at + 2];
    else if (at + 4 < bytes && code[at] == 0xc4 && (code[at + 1] & 0x1f) == 1)
        opcode = code[at + 3];
    else
        return false;
    return (opcode == 0xc3 && code[at] == 0x0f) || opcode == 0xe7 || opcode == 0x2b;
}

static void on_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    size_t many = qemu_plugin_tb_n_insns(block);
    for (size_t i = 0; i < many; i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        const uint8_t *code = qemu_plugin_insn_data(instruction);
        size_t bytes = qemu_plugin_insn_size(instruction);
        enum mark mark = mark_of(code, bytes);
        if (mark != NO_MARK)
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_mark, QEMU_NO_REGISTERS,
                                                   (void *)(uintptr_t)mark);
        if (calling)
            qemu_plugin_register_vcpu_mem_cb(instruction, on_memory, QEMU_NO_REGISTERS,
                                             QEMU_READS_AND_WRITES,
                                             streams(code, bytes) ? &model : NULL);
    }
}

static void on_the_end(qemu_plugin_id_t id, void *mine)
{
    (void)id, (void)mine;
    atomic_store(&counting, false);
    fputs("end\n", out);
    fclose(out);
}

static bool take(const char *word)
{
    struct shape shape;
    if (!strncmp(word, "cache=", 6))
        return shape_of(word + 6, &shape) && model_add(&model, &shape);
    if (!strncmp(word, "hosts=", 6))
        return (model.hosts = (unsigned)atoi(word + 6)) >= 1 && model.hosts <= HOSTS;
    if (!strncmp(word, "out=", 4))
        return (out = fopen(word + 4, "w")) != NULL;
    if (!strncmp(word, "ram=", 4) && ram_files < HOSTS)
        return snprintf(rams[ram_files++].file, sizeof rams->file, "%s", word + 4) > 0;
    return false;
}

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int words, char **word)
{
    (void)info;
    self = id;
    model.hosts = 1;
    for (int i = 0; i < words; i++)
        if (!take(word[i])) {
            fprintf(stderr, "traffic: %s: not known, or not possible\n", word[i]);
            return -1;
        }
    if (!out || !model.caches) {
        fprintf(stderr, "traffic: out=FILE and cache=SIZE:WAYS are needed\n");
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
    qemu_plugin_register_atexit_cb(id, on_the_end, NULL);
    return 0;
}
