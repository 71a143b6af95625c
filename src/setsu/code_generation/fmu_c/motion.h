/* The motion of one mechanism under given torques, in steps of the classical Runge-Kutta method (order 4).
 *
 * All memory is in `Motion`; nothing is allocated, nothing is shared between instances.
 */
#ifndef SETSU_MOTION_H
#define SETSU_MOTION_H

#include "model.h"

typedef struct {
    double time;               /* s */
    double q[SETSU_NQ];        /* coordinates, rad or m, quaternions x y z w */
    double v[SETSU_NV];        /* velocities */
    double tau[SETSU_NV];      /* torques, constant during a step */
    double q_start[SETSU_NQ];  /* parameters: state at the start, */
    double v_start[SETSU_NV];
    double inner_step;         /* largest step of the integrator, s */
} Motion;

/* Set start values, torques and time to their defaults. */
void motion_defaults(Motion *motion);

/* Go to the start values; quaternions are scaled to length one. Returns 0, or 1 when a value makes no sense. */
int motion_begin(Motion *motion, double time);

/* Go on by `duration` seconds in equal steps of at most inner_step. Returns 0, or 1 when the state is no longer finite:
 * the motion then stays where it was. */
int motion_step(Motion *motion, double duration);

/* Values by reference number: 0 time, then tau, q, v, q_start, v_start, inner_step. NULL when there is no such value. */
double *motion_value(Motion *motion, unsigned int reference);

/* Whether a value may be set: 0 no, 1 always, 2 only before the start. */
int motion_may_set(unsigned int reference);

#endif
