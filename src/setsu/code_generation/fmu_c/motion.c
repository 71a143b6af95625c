#include "motion.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Kinds of joints by how their coordinates change: rates equal to velocities, a quaternion, or position and quaternion. */
enum { PLAIN = 0, SPHERICAL = 1, FREE = 2 };

/* Rate of a quaternion x y z w for the angular velocity w in body axes: half its product with (w, 0). */
static void quaternion_rate(const double p[4], const double w[3], double rate[4])
{
    rate[0] = 0.5 * (p[3] * w[0] + p[1] * w[2] - p[2] * w[1]);
    rate[1] = 0.5 * (p[3] * w[1] + p[2] * w[0] - p[0] * w[2]);
    rate[2] = 0.5 * (p[3] * w[2] + p[0] * w[1] - p[1] * w[0]);
    rate[3] = -0.5 * (p[0] * w[0] + p[1] * w[1] + p[2] * w[2]);
}

/* A vector from body to world axes; the quaternion need not have length one: stages of a step leave the sphere a little. */
static void to_world(const double p[4], const double x[3], double y[3])
{
    const double n = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
    const double t0 = 2.0 * (p[1] * x[2] - p[2] * x[1]) / n;
    const double t1 = 2.0 * (p[2] * x[0] - p[0] * x[2]) / n;
    const double t2 = 2.0 * (p[0] * x[1] - p[1] * x[0]) / n;
    y[0] = x[0] + p[3] * t0 + p[1] * t2 - p[2] * t1;
    y[1] = x[1] + p[3] * t1 + p[2] * t0 - p[0] * t2;
    y[2] = x[2] + p[3] * t2 + p[0] * t1 - p[1] * t0;
}

static void coordinate_rates(const double *q, const double *v, double *rate)
{
    int k, i;
    for (k = 0; k < SETSU_JOINTS; ++k) {
        const double *p = q + setsu_joints[k].q;
        const double *w = v + setsu_joints[k].v;
        double *r = rate + setsu_joints[k].q;
        switch (setsu_joints[k].kind) {
        case SPHERICAL:
            quaternion_rate(p, w, r);
            break;
        case FREE:
            to_world(p + 3, w, r);
            quaternion_rate(p + 3, w + 3, r + 3);
            break;
        default:
            for (i = 0; i < setsu_joints[k].count; ++i) {
                r[i] = w[i];
            }
        }
    }
}

static int normalise(double *q)
{
    int k, i;
    for (k = 0; k < SETSU_JOINTS; ++k) {
        if (setsu_joints[k].kind != PLAIN) {
            double *p = q + setsu_joints[k].q + (setsu_joints[k].kind == FREE ? 3 : 0);
            const double n = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);
            if (!(n > 0.0)) {
                return 1;
            }
            for (i = 0; i < 4; ++i) {
                p[i] /= n;
            }
        }
    }
    return 0;
}

static int all_finite(const double *x, int count)
{
    int i;
    for (i = 0; i < count; ++i) {
        if (!isfinite(x[i])) {
            return 0;
        }
    }
    return 1;
}

/* Let the joints without a drive follow the others until the loops are closed. Returns 0, or 1 when they do not close. */
static int close_loops(double *q, double *v)
{
#ifdef SETSU_FOLLOW
    int step, i;
    for (step = 0; step < 40; ++step) {
        double q_next[SETSU_NQ], v_next[SETSU_NV], change = 0.0;
        SETSU_FOLLOW(q, v, q_next, v_next);
        if (!all_finite(q_next, SETSU_NQ) || !all_finite(v_next, SETSU_NV) || normalise(q_next)) {
            return 1;
        }
        for (i = 0; i < SETSU_NQ; ++i) {
            change = fmax(change, fabs(q_next[i] - q[i]) / (1.0 + fabs(q[i])));
        }
        memcpy(q, q_next, sizeof q_next);
        memcpy(v, v_next, sizeof v_next);
        if (change <= 1e-13) {
            return 0;
        }
    }
    return 1;
#else
    (void)q, (void)v;
    return 0;
#endif
}

void motion_defaults(Motion *motion)
{
    memset(motion, 0, sizeof *motion);
    memcpy(motion->q_start, setsu_start, sizeof motion->q_start);
    memcpy(motion->q, setsu_start, sizeof motion->q);
    motion->inner_step = SETSU_INNER_STEP;
}

int motion_begin(Motion *motion, double time)
{
    if (!(motion->inner_step > 0.0) || !isfinite(motion->inner_step) || !all_finite(motion->q_start, SETSU_NQ)
        || !all_finite(motion->v_start, SETSU_NV)) {
        return 1;
    }
    motion->time = time;
    memcpy(motion->q, motion->q_start, sizeof motion->q);
    memcpy(motion->v, motion->v_start, sizeof motion->v);
    return normalise(motion->q) || close_loops(motion->q, motion->v);
}

/* One step of h seconds by the tableau in model.h, one of those of `setsu.simulate`: stages add A times the rates before
 * and bend positions by E times the accelerations; the end adds b times the rates of all.
 * Returns 0, or 1 when a loop does not close or a quaternion vanishes. */
static int runge_kutta(double *q, double *v, const double *tau, double h)
{
    double rate[SETSU_STAGES][SETSU_NQ], bent[SETSU_STAGES][SETSU_NQ], acceleration[SETSU_STAGES][SETSU_NV];
    int stage, i, j;
    for (stage = 0; stage < SETSU_STAGES; ++stage) {
        double q_stage[SETSU_NQ], v_stage[SETSU_NV];
        memcpy(q_stage, q, sizeof q_stage);
        memcpy(v_stage, v, sizeof v_stage);
        for (j = 0; j < stage; ++j) {
            for (i = 0; i < SETSU_NQ; ++i) {
                q_stage[i] += h * (setsu_A[stage][j] * rate[j][i] + h * setsu_E[stage][j] * bent[j][i]);
            }
            for (i = 0; i < SETSU_NV; ++i) {
                v_stage[i] += h * setsu_A[stage][j] * acceleration[j][i];
            }
        }
        if (close_loops(q_stage, v_stage)) {
            return 1;
        }
        coordinate_rates(q_stage, v_stage, rate[stage]);
        if (normalise(q_stage)) {
            return 1;
        }
        SETSU_FORWARD_DYNAMICS(q_stage, v_stage, tau, acceleration[stage]);
        coordinate_rates(q_stage, acceleration[stage], bent[stage]);
    }
    for (stage = 0; stage < SETSU_STAGES; ++stage) {
        for (i = 0; i < SETSU_NQ; ++i) {
            q[i] += h * setsu_b[stage] * rate[stage][i];
        }
        for (i = 0; i < SETSU_NV; ++i) {
            v[i] += h * setsu_b[stage] * acceleration[stage][i];
        }
    }
    return !all_finite(q, SETSU_NQ) || !all_finite(v, SETSU_NV) || normalise(q) || close_loops(q, v);
}

int motion_step(Motion *motion, double duration)
{
    Motion next = *motion;
    double wanted;
    long step, steps;
    if (!(duration > 0.0)) {
        return duration == 0.0 ? 0 : 1;
    }
    /* A whole number of inner steps must not become one more by rounding. */
    wanted = ceil(duration / motion->inner_step - 1e-9);
    if (!(wanted < 1e9)) {
        return 1;
    }
    steps = wanted < 1.0 ? 1 : (long)wanted;
    for (step = 0; step < steps; ++step) {
        if (runge_kutta(next.q, next.v, next.tau, duration / (double)steps)) {
            return 1;
        }
    }
    next.time = motion->time + duration;
    *motion = next;
    return 0;
}

double *motion_value(Motion *motion, unsigned int reference)
{
    struct {
        unsigned int count;
        double *values;
    } parts[7];
    int k;
    parts[0].count = 1, parts[0].values = &motion->time;
    parts[1].count = SETSU_DRIVES, parts[1].values = motion->tau;
    parts[2].count = SETSU_NQ, parts[2].values = motion->q;
    parts[3].count = SETSU_NV, parts[3].values = motion->v;
    parts[4].count = SETSU_NQ, parts[4].values = motion->q_start;
    parts[5].count = SETSU_NV, parts[5].values = motion->v_start;
    parts[6].count = 1, parts[6].values = &motion->inner_step;
    for (k = 0; k < 7; ++k) {
        if (reference < parts[k].count) {
            return parts[k].values + reference;
        }
        reference -= parts[k].count;
    }
    return NULL;
}

int motion_may_set(unsigned int reference)
{
    if (reference >= 1 && reference <= SETSU_DRIVES) {
        return 1;
    }
    return reference > SETSU_DRIVES + SETSU_NQ + SETSU_NV ? 2 : 0;
}
