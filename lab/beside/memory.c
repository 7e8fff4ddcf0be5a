// The loops of `narrows mem` as plain C: how many bytes a second they read and write, both counted.
// usage: memory read|copy|copy-nt|triad|triad-nt BYTES THREADS, BYTES of all threads' arrays together.
// A loop with non-temporal stores writes a whole line a turn.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

// Bytes of a turn of memcpy, and what the arrays are a multiple of.
#define PIECE ((size_t)1 << 20)
#define SECONDS 0.5

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static double *array(size_t bytes) {
    char *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) exit(2);
    madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 1, bytes);
    return (double *)p;
}

static long read_all(const double *a, size_t n) {
    const long *w = (const long *)a;
    long sum = 0;
    for (size_t i = 0; i < n; i++) sum += w[i];
    return sum;
}

static void copy(double *a, const double *b, size_t bytes) {
    for (size_t at = 0; at < bytes; at += PIECE) memcpy((char *)a + at, (char *)b + at, PIECE);
}

static void triad(double *restrict a, const double *restrict b, const double *restrict c, size_t n) {
    for (size_t i = 0; i < n; i++) a[i] = b[i] + 3.0 * c[i];
}

#if defined(__AVX512F__)
static void copy_nt(double *a, const double *b, size_t n) {
    for (size_t i = 0; i < n; i += 8) _mm512_stream_pd(a + i, _mm512_load_pd(b + i));
    _mm_sfence();
}
static void triad_nt(double *a, const double *b, const double *c, size_t n) {
    __m512d f = _mm512_set1_pd(3.0);
    for (size_t i = 0; i < n; i += 8)
        _mm512_stream_pd(a + i, _mm512_fmadd_pd(f, _mm512_load_pd(c + i), _mm512_load_pd(b + i)));
    _mm_sfence();
}
#elif defined(__AVX2__) && defined(__FMA__)
static void copy_nt(double *a, const double *b, size_t n) {
    for (size_t i = 0; i < n; i += 8) {
        _mm256_stream_pd(a + i, _mm256_load_pd(b + i));
        _mm256_stream_pd(a + i + 4, _mm256_load_pd(b + i + 4));
    }
    _mm_sfence();
}
static void triad_nt(double *a, const double *b, const double *c, size_t n) {
    __m256d f = _mm256_set1_pd(3.0);
    for (size_t i = 0; i < n; i += 8) {
        _mm256_stream_pd(a + i, _mm256_fmadd_pd(f, _mm256_load_pd(c + i), _mm256_load_pd(b + i)));
        _mm256_stream_pd(a + i + 4,
                         _mm256_fmadd_pd(f, _mm256_load_pd(c + i + 4), _mm256_load_pd(b + i + 4)));
    }
    _mm_sfence();
}
#else
#define NO_NT
#endif

static const char *kernel;
static int arrays;
static size_t bytes;
static pthread_barrier_t start;

static void *work(void *rate) {
    double *a = array(bytes), *b = arrays > 1 ? array(bytes) : a, *c = arrays > 2 ? array(bytes) : a;
    size_t n = bytes / 8;
    long passes = 0, sum = 0;
    pthread_barrier_wait(&start);
    double began = now(), took;
    do {
        if (arrays == 1) sum += read_all(a, n);
        else if (!strcmp(kernel, "copy")) copy(a, b, bytes);
        else if (!strcmp(kernel, "triad")) triad(a, b, c, n);
#ifndef NO_NT
        else if (!strcmp(kernel, "copy-nt")) copy_nt(a, b, n);
        else if (!strcmp(kernel, "triad-nt")) triad_nt(a, b, c, n);
#endif
        else exit(2);
        __asm__ volatile("" ::"r"(a), "r"(b), "r"(c), "r"(sum) : "memory");
        passes++;
        took = now() - began;
    } while (took < SECONDS);
    *(double *)rate = (double)passes * bytes * arrays / took;
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int threads = atoi(argv[3]);
    if (threads < 1 || threads > 1024) return 2;
    kernel = argv[1];
    arrays = kernel[0] == 'r' ? 1 : kernel[0] == 'c' ? 2 : 3;
    bytes = (size_t)atol(argv[2]) / threads / arrays / PIECE * PIECE;
    if (!bytes) return 2;
    pthread_barrier_init(&start, 0, threads);
    pthread_t of[1024];
    double rates[1024], sum = 0;
    for (int at = 0; at < threads; at++) pthread_create(&of[at], 0, work, &rates[at]);
    for (int at = 0; at < threads; at++) {
        pthread_join(of[at], 0);
        sum += rates[at];
    }
    printf("%f\n", sum);
}
