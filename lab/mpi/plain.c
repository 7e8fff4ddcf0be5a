/* What narrows mpi is held against: ping-pong and a window of messages between two ranks, whole loops timed
 * as other benchmarks do, in batches whose median is printed. usage: plain latency|bandwidth BYTES SECONDS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64, BATCHES_MAX = 100000 };

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void ping_pong(char *out, char *in, int bytes, int leads) {
    int with = leads ? 1 : 0;
    if (leads) {
        MPI_Send(out, bytes, MPI_BYTE, with, 1, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_BYTE, with, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(in, bytes, MPI_BYTE, with, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, bytes, MPI_BYTE, with, 1, MPI_COMM_WORLD);
    }
}

static void window(char *out, char *in, int bytes, int leads) {
    MPI_Request requests[WINDOW];
    for (int n = 0; n < WINDOW; n++) {
        size_t at = (size_t)n * bytes;
        if (leads)
            MPI_Isend(out + at, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[n]);
        else
            MPI_Irecv(in + at, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[n]);
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (leads)
        MPI_Recv(in, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(out, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int rank, is_rate, bytes, batch, batches = 0;
    static double times[BATCHES_MAX];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
    is_rate = strcmp(argv[1], "bandwidth") == 0;
    bytes = atoi(argv[2]);
    batch = is_rate ? 1 : 10;
    char *out = calloc(WINDOW, bytes + 1), *in = calloc(WINDOW, bytes + 1);
    memset(out, 'n', (size_t)WINDOW * (bytes + 1));
    memset(in, '-', (size_t)WINDOW * (bytes + 1));
    double end = MPI_Wtime() + atof(argv[3]);
    for (int more = 1; more && batches < BATCHES_MAX;) {
        double began = MPI_Wtime();
        for (int n = 0; n < batch; n++) (is_rate ? window : ping_pong)(out, in, bytes, rank == 0);
        double now = MPI_Wtime();
        times[batches++] = (now - began) / batch;
        more = now < end;
        /* Every hundredth batch both agree whether there are more. */
        if (batches % 100) more = 1;
        else MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        qsort(times, batches, sizeof *times, ascending);
        double median = times[batches / 2];
        printf("%.9e\n", is_rate ? 8.0 * WINDOW * bytes / median : 1e9 * median / 2);
    }
    MPI_Finalize();
    return 0;
}
