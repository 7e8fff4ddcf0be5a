/* A link in the middle of a path: reads whole IP packets from a tun device, treats each direction as
 * told, and writes them back.
 *
 * usage: middle TUN FORWARD BACK      each a list such as rate=200,queue=256,delay=5000,loss=1
 *
 *   rate=MBIT    bits of IP packets a second     queue=KIB   room before that rate; 0 polices
 *   burst=KIB    bucket of a policer             delay=US    held for so long
 *   loss=PPM     dropped at random               bad=PPM     chance that a bad spell begins
 *   spell=US     how long a bad spell drops all  reorder=PPM held for `late` more
 *   late=US      see reorder                     dup=PPM     sent twice
 *   corrupt=PPM  one byte changed                ce=PPM      marked Congestion Experienced
 *   larger=N     packets larger than N dropped   dark=MS     dropped so long in each second
 *   frag=1       fragments dropped               jitter=US   held for up to so much more, in order
 *   syn=PPM      first packets of TCP dropped    from=SIZE   loss only of packets from this size
 *   slot=US     let go only at multiples of this time
 *   row=N       packets in a row that a bad spell drops, in place of a time
 *   port=N       neither dropped nor delayed if to or from this TCP port (the control connection)
 *
 * Packets to or from FORWARD's and BACK's addresses are told apart by their destination: MIDDLE_FAR
 * is the first byte that differs (third byte of IPv4, fourth of IPv6). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { RATE, QUEUE, BURST, DELAY, LOSS, BAD, SPELL, REORDER, LATE, DUP, CORRUPT, CE, LARGER, DARK, FRAG, JITTER,
       SYN, FROM, PORT, SLOT, ROW, WORDS };
static const char *words[] = {"rate", "queue", "burst", "delay", "loss", "bad", "spell", "reorder", "late", "dup",
    "corrupt", "ce", "larger", "dark", "frag", "jitter", "syn", "from", "port", "slot", "row"};

struct packet { int64_t due; uint64_t number; int length; unsigned char data[2048]; };
struct way { long is[WORDS]; int64_t free_at; double bucket; int64_t filled; long spell; long row; int64_t last; } ways[2];
static struct packet **heap; static size_t held, room; static uint64_t number;

static int64_t now_ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
static int chance(long ppm) { return ppm && (drand48() * 1e6 < ppm); }
static int before(struct packet *a, struct packet *b) { return a->due != b->due ? a->due < b->due : a->number < b->number; }
static void push(struct packet *p) {
    if (held == room) { room = room ? room * 2 : 1024; heap = realloc(heap, room * sizeof *heap); }
    size_t i = held++;
    for (; i && before(p, heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = p;
}
static struct packet *pop(void) {
    struct packet *top = heap[0], *last = heap[--held];
    size_t i = 0;
    for (;;) {
        size_t c = 2 * i + 1;
        if (c >= held) break;
        if (c + 1 < held && before(heap[c + 1], heap[c])) c++;
        if (!before(heap[c], last)) break;
        heap[i] = heap[c]; i = c;
    }
    heap[i] = last;
    return top;
}
static void parse(struct way *w, char *text) {
    w->is[QUEUE] = 256; w->is[BURST] = 64;
    for (char *one = strtok(text, ","); one; one = strtok(NULL, ",")) {
        char *is = strchr(one, '=');
        if (!is) continue;
        *is = 0;
        int i = 0;
        while (i < WORDS && strcmp(words[i], one)) i++;
        if (i == WORDS) { fprintf(stderr, "middle: %s?\n", one); exit(2); }
        w->is[i] = atol(is + 1);
    }
}
static int is_exempt(struct way *w, unsigned char *d, int length) {
    if (!w->is[PORT] || length < 24) return 0;
    int at = (d[0] >> 4) == 4 ? (d[0] & 15) * 4 : 40, protocol = (d[0] >> 4) == 4 ? d[9] : d[6];
    if (protocol != 6) return 0;
    return (d[at] << 8 | d[at + 1]) == w->is[PORT] || (d[at + 2] << 8 | d[at + 3]) == w->is[PORT];
}
static int is_dropped(struct way *w, unsigned char *d, int length, int64_t now) {
    int v4 = (d[0] >> 4) == 4;
    if (w->is[LARGER] && length > w->is[LARGER]) return 1;
    if (w->is[DARK] && (now / 1000000) % 1000 < w->is[DARK]) return 1;
    if (w->is[FRAG] && ((v4 && ((d[6] & 0x3f) || d[7])) || (!v4 && d[6] == 44))) return 1;
    if (w->is[SYN] && v4 && d[9] == 6 && (d[(d[0] & 15) * 4 + 13] & 0x12) == 2 && chance(w->is[SYN])) return 1;
    if (w->row > 0) { w->row--; return 1; }
    if (w->is[ROW] && length >= w->is[FROM] && chance(w->is[BAD])) { w->row = w->is[ROW] - 1; return 1; }
    if (now < w->spell) return length >= w->is[FROM];
    if (!w->is[ROW] && length >= w->is[FROM] && chance(w->is[BAD])) { w->spell = now + w->is[SPELL] * 1000; return 1; }
    return length >= w->is[FROM] && chance(w->is[LOSS]);
}
static void sum_ipv4(unsigned char *d) {
    uint32_t sum = 0; int n = (d[0] & 15) * 4; d[10] = d[11] = 0;
    for (int i = 0; i < n; i += 2) sum += d[i] << 8 | d[i + 1];
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    sum = ~sum; d[10] = sum >> 8; d[11] = sum;
}
static void take(struct way *w, unsigned char *d, int length, int64_t now) {
    int exempt = is_exempt(w, d, length);
    if (!exempt && is_dropped(w, d, length, now)) return;
    int64_t due = now;
    if (w->is[RATE]) {
        double ns_a_byte = 8e3 / w->is[RATE];
        if (w->is[QUEUE] == 0) {
            w->bucket += (now - w->filled) / ns_a_byte; w->filled = now;
            if (w->bucket > w->is[BURST] * 1024.0) w->bucket = w->is[BURST] * 1024.0;
            if (w->bucket < length) return;
            w->bucket -= length;
        } else {
            if (w->free_at < now) w->free_at = now;
            if ((w->free_at - now) / ns_a_byte > w->is[QUEUE] * 1024.0) return;
            w->free_at += (int64_t)(length * ns_a_byte);
            due = w->free_at;
        }
    }
    if (!exempt) due += w->is[DELAY] * 1000;
    if (w->is[JITTER]) { due += (int64_t)(drand48() * w->is[JITTER] * 1000); if (due < w->last) due = w->last; w->last = due; }
    if (chance(w->is[REORDER])) due += w->is[LATE] * 1000;
    if (w->is[SLOT]) due += w->is[SLOT] * 1000 - due % (w->is[SLOT] * 1000);
    int copies = chance(w->is[DUP]) ? 2 : 1;
    while (copies--) {
        struct packet *p = malloc(sizeof *p);
        p->due = due; p->number = number++; p->length = length;
        memcpy(p->data, d, length);
        if (!exempt && length > 200 && chance(w->is[CORRUPT])) p->data[100] ^= 0x55;
        if ((p->data[0] >> 4) == 4 && (p->data[1] & 3) && chance(w->is[CE])) { p->data[1] |= 3; sum_ipv4(p->data); }
        push(p);
    }
}
int main(int count, char **args) {
    if (count != 4) return 2;
    int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    struct ifreq ask = {0};
    ask.ifr_flags = IFF_TUN | IFF_NO_PI;
    strncpy(ask.ifr_name, args[1], IFNAMSIZ - 1);
    if (tun < 0 || ioctl(tun, TUNSETIFF, &ask)) { perror("tun"); return 5; }
    parse(&ways[0], args[2]); parse(&ways[1], args[3]);
    puts("ready"); fflush(stdout);
    unsigned char d[2048];
    for (;;) {
        int64_t now = now_ns();
        int moved = 0;
        for (int i = 0; i < 64; i++) {
            int n = read(tun, d, sizeof d);
            if (n <= 0) break;
            moved = 1;
            /* 10.77.2.x and fd77:2:: are the far side's. */
            int far = (d[0] >> 4) == 4 ? d[18] == 2 : d[27] == 2;
            take(&ways[!far], d, n, now);
        }
        now = now_ns();
        while (held && heap[0]->due <= now) { struct packet *p = pop(); if (write(tun, p->data, p->length) < 0 && errno != EAGAIN) {} free(p); moved = 1; }
        if (moved) continue;
        int64_t wait = held ? heap[0]->due - now : 100000000;
        struct pollfd on = {tun, POLLIN, 0};
        struct timespec t = {wait / 1000000000, wait % 1000000000};
        ppoll(&on, 1, &t, NULL);
    }
}
