/* A host that delays one verb: loaded into its programs, it waits before each buffer to receive in is given to the device
 * ("receive"), or each request to read or to write ("read", "write"). /tmp/slow-verb has the word, microseconds and, where
 * it is one device alone, its name. Verbs go through a table of the open device, which no symbol leads to; so the table is
 * changed where a completion queue is made, whose function narrows looks up by name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static char word[16], only[64];
static long delay_us;
static int (*post_send)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
static int (*post_recv)(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **);
static struct ibv_cq *(*create_cq)(struct ibv_context *, int, void *, struct ibv_comp_channel *, int);

__attribute__((constructor)) static void told(void) {
  FILE *file = fopen("/tmp/slow-verb", "r");
  if (!file) return;
  if (fscanf(file, "%15s %ld %63s", word, &delay_us, only) < 2) delay_us = 0;
  fclose(file);
}

static void late(void) {
  struct timespec rest = {delay_us / 1000000, delay_us % 1000000 * 1000};
  nanosleep(&rest, NULL);
}

static enum ibv_wr_opcode delayed(void) { return strcmp(word, "read") ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ; }

static int late_send(struct ibv_qp *pair, struct ibv_send_wr *first, struct ibv_send_wr **bad) {
  for (struct ibv_send_wr *one = first; one; one = one->next)
    if (one->opcode == delayed()) late();
  return post_send(pair, first, bad);
}

static int late_recv(struct ibv_qp *pair, struct ibv_recv_wr *first, struct ibv_recv_wr **bad) {
  for (struct ibv_recv_wr *one = first; one; one = one->next) late();
  return post_recv(pair, first, bad);
}

static struct ibv_cq *made_cq(struct ibv_context *device, int entries, void *with, struct ibv_comp_channel *channel,
                              int vector) {
  if (*only && strcmp(device->device->name, only)) {
    return create_cq(device, entries, with, channel, vector);
  }
  if ((!strcmp(word, "read") || !strcmp(word, "write")) && device->ops.post_send != late_send) {
    post_send = device->ops.post_send;
    device->ops.post_send = late_send;
  }
  if (!strcmp(word, "receive") && device->ops.post_recv != late_recv) {
    post_recv = device->ops.post_recv;
    device->ops.post_recv = late_recv;
  }
  return create_cq(device, entries, with, channel, vector);
}

void *dlsym(void *library, const char *name) {
  static void *(*real)(void *, const char *);
  if (!real) real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (!real) real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  void *found = real(library, name);
  if (!found || strcmp(name, "ibv_create_cq")) return found;
  create_cq = found;
  return made_cq;
}
