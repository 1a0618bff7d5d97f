/* Solve for goal poses in C with a robot that Python exported, then move to the last answer.

   docs/from_c.md says how to export panda.ik, and how to compile this.

   echo 1 0 0  0 -1 0  0 0 -1  0.4 0.2 0.5 | ./solve panda.ik

   A pose is the rows of its rotation, then its position [m], in the root link's frame. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ik_core.h"

static struct ik_robot *load(const char *path)
{
    int64_t head[3] = {0}, *places;
    FILE *file = fopen(path, "rb");
    if (!file || fread(head, 8, 3, file) != 3 || head[0] != IK_RECORDS) return NULL;
    places = malloc(8 * (size_t)head[2]);
    char *memory = aligned_alloc(64, ((size_t)head[1] + 63) / 64 * 64);
    if (fread(places, 8, (size_t)head[2], file) != (size_t)head[2]) return NULL;
    if (fread(memory, 1, (size_t)head[1], file) != (size_t)head[1]) return NULL;
    for (int64_t i = 0; i < head[2]; i++) *(int64_t *)(memory + places[i]) += (int64_t)memory;
    free(places);
    fclose(file);
    return (struct ik_robot *)memory;
}

static void show(const char *label, const double *q, int64_t n)
{
    printf("%s", label);
    for (int64_t j = 0; j < n; j++) printf(" %.17g", q[j]);
    putchar('\n');
}

int main(int argc, char **argv)
{
    struct ik_robot *robot = argc > 1 && ik_suits() ? load(argv[1]) : NULL;
    if (!robot) return fputs("not a robot of this library, or not its processor\n", stderr), 1;
    int64_t n = robot->joints, ticks = 0;
    double q[n], errors[2 * robot->goals], *target = robot->searches->targets;
    memcpy(q, robot->q, sizeof q);
    for (;;) {
        for (int i = 0; i < 12; i++)
            if (scanf("%lf", target + i) != 1) goto move;
        struct ik_solve_call solve = {.address = (int64_t)robot->searches, .steps = INT64_MAX,
            .q = q, .q_shape = {n}, .errors = errors, .errors_shape = {2, robot->goals}};
        memcpy(q, robot->q, sizeof q); /* the start */
        if (ik_solve(&solve)) return 1;
        show(solve.result0 == IK_REACHED ? "reached" : "not-reached", q, n);
    }
move:; /* one call of each function in a period of the control loop */
    struct ik_governor_adopt_call adopt = {.joints = robot->state, .joints_shape = {IK_ROWS, n},
        .asked = robot->limits, .asked_shape = {5, n}, .period = robot->period};
    struct ik_governor_advance_call advance = {.joints = robot->state, .joints_shape = {IK_ROWS, n},
        .together = 1, .period = robot->period};
    double *now = robot->state + IK_Q * n, *goal = robot->state + IK_GOAL * n;
    for (; memcmp(now, q, sizeof q) && ticks < 100000; ticks++) {
        memcpy(goal, q, sizeof q); /* the drift, in IK_DRIFT, is 0: come to rest there */
        if (ik_governor_adopt(&adopt) || ik_governor_advance(&advance)) return 1;
        if (ticks % 100 == 0) show("at", now, n);
    }
    printf("%lld", (long long)ticks);
    show(" ticks:", now, n);
    return 0;
}
