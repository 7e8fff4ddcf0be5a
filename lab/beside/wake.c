/* How long it takes to wake a thread on another CPU and be woken by it: two threads and a futex
 * each, median of so many round trips in nanoseconds. The floor of every blocking round trip.
 * usage: wake CPU CPU */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define TRIPS 8000
static atomic_int ball[2];
static int other;
static void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}
static void await(int side) {
  while (!atomic_exchange(&ball[side], 0)) syscall(SYS_futex, &ball[side], FUTEX_WAIT, 0, 0, 0, 0);
}
static void throw_to(int side) {
  atomic_store(&ball[side], 1);
  syscall(SYS_futex, &ball[side], FUTEX_WAKE, 1, 0, 0, 0);
}
static void *answer(void *unused) {
  pin(other);
  for (int i = 0; i < TRIPS; i++) await(1), throw_to(0);
  return unused;
}
static int order(const void *a, const void *b) {
  long x = *(const long *)a, y = *(const long *)b;
  return (x > y) - (x < y);
}
int main(int count, char **words) {
  static long took[TRIPS];
  pthread_t thread;
  struct timespec a, b;
  if (count != 3) return 2;
  other = atoi(words[2]);
  pthread_create(&thread, 0, answer, 0);
  pin(atoi(words[1]));
  for (int i = 0; i < TRIPS; i++) {
    clock_gettime(CLOCK_MONOTONIC, &a);
    throw_to(1), await(0);
    clock_gettime(CLOCK_MONOTONIC, &b);
    took[i] = (b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec;
  }
  pthread_join(thread, 0);
  qsort(took, TRIPS, sizeof *took, order);
  printf("%ld\n", took[TRIPS / 2]);
}
