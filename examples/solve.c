/* SPDX-License-Identifier: Apache-2.0 */
/* Solve for goal poses in C with a robot that Python exported, then move to the last answer.

   docs/from_c.md says how to export panda.ik, and how to compile this.

   echo 1 0 0  0 -1 0  0 0 -1  0.4 0.2 0.5 | ./solve panda.ik

   A pose is the rows of its rotation, then its position [m], in the root link's frame. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ik_core.h"

/* NULL if it is no robot of this library, or damaged. */
static struct ik_robot *load(const char *path)
{
    int64_t head[4] = {0}, size = 0, *content = NULL;
    uint64_t sum = 0;
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    if (fread(head, 8, 4, file) == 4 && head[0] == IK_RECORDS && !fseek(file, 0, SEEK_END))
        size = ftell(file) - 32;
    /* the places of addresses, then the memory */
    if (head[1] > 0 && head[2] >= 0 && head[2] < size / 8 && head[1] == size - 8 * head[2])
        content = malloc((size_t)size);
    if (content && (fseek(file, 32, SEEK_SET) || fread(content, 1, (size_t)size, file) != (size_t)size))
        size = 0;
    fclose(file);
    for (int64_t i = 0; i < size / 8; i++)
        sum += content ? (uint64_t)content[i] * (2 * (uint64_t)i + 1) : 0;
    char *memory = NULL;
    if (content && size && sum == (uint64_t)head[3])
        memory = aligned_alloc(64, ((size_t)head[1] + 63) / 64 * 64);
    if (memory) memcpy(memory, content + head[2], (size_t)head[1]);
    for (int64_t i = 0; memory && i < head[2]; i++)
        *(int64_t *)(memory + content[i]) += (int64_t)memory;
    free(content);
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
    if (!robot) return fputs("not a robot of this library, damaged, or not its processor\n", stderr), 1;
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
        if (solve.result0 == IK_NOT_FINITE) return fputs("a pose is not finite\n", stderr), 1;
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
