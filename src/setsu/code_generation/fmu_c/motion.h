/* The motion of one mechanism under given torques, in steps of a Runge-Kutta method of order 4.
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
    double tau[SETSU_DRIVES];  /* torques of the driven joints, constant during a step */
    double q_start[SETSU_NQ];  /* parameters: state at the start, */
    double v_start[SETSU_NV];
    double inner_step;         /* largest step of the integrator, s */
} Motion;

/* What to say when motion_begin refuses. */
#define MOTION_REFUSED_START \
    "start values must be finite, quaternions not zero, loops able to close, inner_step positive"

/* Set start values, torques and time to their defaults. */
void motion_defaults(Motion *motion);

/* Go to the start values; quaternions are scaled to length one, and loops are closed by the joints without a drive.
 * Returns 0, or 1 when a value makes no sense or a loop does not close. */
int motion_begin(Motion *motion, double time);

/* Go on by `duration` seconds in equal steps of at most inner_step. Returns 0, or 1 when the state is no longer finite
 * or a loop no longer closes: the motion then stays where it was. */
int motion_step(Motion *motion, double duration);

/* Values by reference number: 0 time, then tau, q, v, q_start, v_start, inner_step. NULL when there is no such value. */
double *motion_value(Motion *motion, unsigned int reference);

/* Whether a value may be set: 0 no, 1 always, 2 only before the start. */
int motion_may_set(unsigned int reference);

#endif
