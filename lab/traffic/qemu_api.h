/* The part of QEMU's interface for plugins that plugin.c uses, written from its documentation
 * (docs/devel/tcg-plugins): Debian packages no header of QEMU 7.2. Version 1 of the interface; a
 * later QEMU that no longer takes it refuses the plugin and says so. */
#ifndef TRAFFIC_QEMU_API_H
#define TRAFFIC_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

enum { QEMU_NO_REGISTERS = 0, QEMU_READS_AND_WRITES = 3 };

typedef void (*on_simple)(qemu_plugin_id_t id);
typedef void (*at_the_end)(qemu_plugin_id_t id, void *mine);
typedef void (*on_translation)(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
typedef void (*on_execution)(unsigned cpu, void *mine);
typedef void (*on_access)(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *mine);

void qemu_plugin_reset(qemu_plugin_id_t id, on_simple when_done);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, on_translation call);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, at_the_end call, void *mine);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction, on_execution call,
                                            int registers, void *mine);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction, on_access call,
                                      int registers, int which, void *mine);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *address);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *address);
void qemu_plugin_outs(const char *text);

#endif
