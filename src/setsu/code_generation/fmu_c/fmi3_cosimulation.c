/* The Functional Mock-up Interface 3.0 for co-simulation around `Motion`. */
#include "fmi3_types.h"
#include "motion.h"

#include <stdlib.h>
#include <string.h>

typedef enum { INSTANTIATED, INITIALIZING, STEPPING, TERMINATED } Phase;

typedef struct {
    Motion motion;
    Phase phase;
    double start_time;
    fmi3LogMessageCallback log;
    fmi3InstanceEnvironment environment;
} Instance;

static fmi3Status refuse(fmi3Instance c, fmi3Status status, const char *message)
{
    const Instance *instance = c;
    if (instance != NULL && instance->log != NULL) {
        instance->log(instance->environment, status, "logStatusError", message);
    }
    return status;
}

#define NOT_OFFERED(c, name) refuse(c, fmi3Error, name ": not offered by this unit")

EXPORT const char *fmi3GetVersion(void) { return "3.0"; }

EXPORT fmi3Status fmi3SetDebugLogging(fmi3Instance c, fmi3Boolean on, size_t count, const fmi3String categories[])
{
    (void)c, (void)on, (void)count, (void)categories;
    return fmi3OK;
}

EXPORT fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources,
                                                fmi3Boolean visible, fmi3Boolean logging, fmi3Boolean events,
                                                fmi3Boolean early_return, const fmi3ValueReference required[],
                                                size_t n_required, fmi3InstanceEnvironment environment,
                                                fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update)
{
    Instance *instance;
    (void)resources, (void)visible, (void)logging, (void)early_return, (void)required, (void)n_required, (void)update;
    if (events || name == NULL || name[0] == '\0' || token == NULL || strcmp(token, SETSU_GUID) != 0) {
        if (log != NULL) {
            log(environment, fmi3Error, "logStatusError",
                events ? "this unit has no event mode" : "the name is empty, or the token is not that of this unit");
        }
        return NULL;
    }
    instance = calloc(1, sizeof *instance);
    if (instance != NULL) {
        instance->log = log;
        instance->environment = environment;
        motion_defaults(&instance->motion);
        instance->phase = INSTANTIATED;
    }
    return instance;
}

EXPORT fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources,
                                                 fmi3Boolean visible, fmi3Boolean logging,
                                                 fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging;
    if (log != NULL) {
        log(environment, fmi3Error, "logStatusError", "this unit is for co-simulation only");
    }
    return NULL;
}

EXPORT fmi3Instance fmi3InstantiateScheduledExecution(fmi3String name, fmi3String token, fmi3String resources,
                                                      fmi3Boolean visible, fmi3Boolean logging,
                                                      fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                                      fmi3ClockUpdateCallback update, fmi3LockPreemptionCallback lock,
                                                      fmi3UnlockPreemptionCallback unlock)
{
    (void)update, (void)lock, (void)unlock;
    return fmi3InstantiateModelExchange(name, token, resources, visible, logging, environment, log);
}

EXPORT void fmi3FreeInstance(fmi3Instance c) { free(c); }

EXPORT fmi3Status fmi3EnterInitializationMode(fmi3Instance c, fmi3Boolean tolerance_defined, fmi3Float64 tolerance,
                                              fmi3Float64 start, fmi3Boolean stop_defined, fmi3Float64 stop)
{
    Instance *instance = c;
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    if (instance->phase != INSTANTIATED) {
        return refuse(c, fmi3Error, "fmi3EnterInitializationMode: only once, after instantiation or reset");
    }
    instance->phase = INITIALIZING;
    instance->start_time = start;
    return motion_begin(&instance->motion, start)
               ? refuse(c, fmi3Error, MOTION_REFUSED_START)
               : fmi3OK;
}

EXPORT fmi3Status fmi3ExitInitializationMode(fmi3Instance c)
{
    Instance *instance = c;
    if (instance->phase != INITIALIZING) {
        return refuse(c, fmi3Error, "fmi3ExitInitializationMode: only during initialization");
    }
    if (motion_begin(&instance->motion, instance->start_time)) {
        return refuse(c, fmi3Error, MOTION_REFUSED_START);
    }
    instance->phase = STEPPING;
    return fmi3OK;
}

EXPORT fmi3Status fmi3Terminate(fmi3Instance c)
{
    ((Instance *)c)->phase = TERMINATED;
    return fmi3OK;
}

EXPORT fmi3Status fmi3Reset(fmi3Instance c)
{
    Instance *instance = c;
    motion_defaults(&instance->motion);
    instance->start_time = 0.0;
    instance->phase = INSTANTIATED;
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                 fmi3Float64 values[], size_t n_values)
{
    Instance *instance = c;
    size_t k;
    if (n_values != count) {
        return refuse(c, fmi3Error, "fmi3GetFloat64: every variable is one number");
    }
    for (k = 0; k < count; ++k) {
        const double *value = motion_value(&instance->motion, references[k]);
        if (value == NULL) {
            return refuse(c, fmi3Error, "fmi3GetFloat64: no such value reference");
        }
        values[k] = *value;
    }
    return fmi3OK;
}

EXPORT fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                 const fmi3Float64 values[], size_t n_values)
{
    Instance *instance = c;
    size_t k;
    if (n_values != count) {
        return refuse(c, fmi3Error, "fmi3SetFloat64: every variable is one number");
    }
    for (k = 0; k < count; ++k) {
        double *value = motion_value(&instance->motion, references[k]);
        const int allowed = motion_may_set(references[k]);
        if (value == NULL || allowed == 0 || (allowed == 2 && instance->phase >= STEPPING)) {
            return refuse(c, fmi3Error, "fmi3SetFloat64: torques may be set, and parameters before the first step");
        }
        *value = values[k];
    }
    /* Start values set during initialization show in the outputs at once. */
    if (instance->phase == INITIALIZING) {
        (void)motion_begin(&instance->motion, instance->start_time);
    }
    return fmi3OK;
}

EXPORT fmi3Status fmi3DoStep(fmi3Instance c, fmi3Float64 time, fmi3Float64 step, fmi3Boolean no_set_state,
                             fmi3Boolean *event_needed, fmi3Boolean *terminate, fmi3Boolean *early_return,
                             fmi3Float64 *last_time)
{
    Instance *instance = c;
    (void)time, (void)no_set_state;
    if (instance->phase != STEPPING) {
        return refuse(c, fmi3Error, "fmi3DoStep: only after initialization");
    }
    *event_needed = *terminate = *early_return = false;
    if (motion_step(&instance->motion, step)) {
        *last_time = instance->motion.time;
        return refuse(c, fmi3Error, "fmi3DoStep: the state is no longer finite or a loop no longer closes; try a smaller inner_step");
    }
    *last_time = instance->motion.time;
    return fmi3OK;
}

/* The state of a unit is a copy of its motion and phase. */
EXPORT fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState *state)
{
    if (*state == NULL && (*state = malloc(sizeof(Instance))) == NULL) {
        return refuse(c, fmi3Error, "fmi3GetFMUState: no memory");
    }
    memcpy(*state, c, sizeof(Instance));
    return fmi3OK;
}

EXPORT fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState state)
{
    Instance *instance = c;
    const Instance *kept = state;
    instance->motion = kept->motion;
    instance->phase = kept->phase;
    instance->start_time = kept->start_time;
    return fmi3OK;
}

EXPORT fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState *state)
{
    (void)c;
    if (state != NULL) {
        free(*state);
        *state = NULL;
    }
    return fmi3OK;
}

/* What the standard asks to exist: variables of other types, of which there are none, ... */
#define NO_VARIABLES(Type)                                                                                          \
    EXPORT fmi3Status fmi3Get##Type(fmi3Instance c, const fmi3ValueReference r[], size_t n, fmi3##Type x[], size_t m) \
    {                                                                                                               \
        (void)r, (void)x, (void)m;                                                                                  \
        return n == 0 ? fmi3OK : refuse(c, fmi3Error, "fmi3Get" #Type ": there are no such variables");             \
    }                                                                                                               \
    EXPORT fmi3Status fmi3Set##Type(fmi3Instance c, const fmi3ValueReference r[], size_t n, const fmi3##Type x[],     \
                                    size_t m)                                                                       \
    {                                                                                                               \
        (void)r, (void)x, (void)m;                                                                                  \
        return n == 0 ? fmi3OK : refuse(c, fmi3Error, "fmi3Set" #Type ": there are no such variables");             \
    }

NO_VARIABLES(Float32)
NO_VARIABLES(Int8)
NO_VARIABLES(UInt8)
NO_VARIABLES(Int16)
NO_VARIABLES(UInt16)
NO_VARIABLES(Int32)
NO_VARIABLES(UInt32)
NO_VARIABLES(Int64)
NO_VARIABLES(UInt64)
NO_VARIABLES(Boolean)
NO_VARIABLES(String)

EXPORT fmi3Status fmi3GetBinary(fmi3Instance c, const fmi3ValueReference r[], size_t n, size_t sizes[], fmi3Binary x[],
                                size_t m)
{
    (void)r, (void)sizes, (void)x, (void)m;
    return n == 0 ? fmi3OK : NOT_OFFERED(c, "fmi3GetBinary");
}

EXPORT fmi3Status fmi3SetBinary(fmi3Instance c, const fmi3ValueReference r[], size_t n, const size_t sizes[],
                                const fmi3Binary x[], size_t m)
{
    (void)r, (void)sizes, (void)x, (void)m;
    return n == 0 ? fmi3OK : NOT_OFFERED(c, "fmi3SetBinary");
}

EXPORT fmi3Status fmi3GetClock(fmi3Instance c, const fmi3ValueReference r[], size_t n, fmi3Clock x[])
{
    (void)r, (void)x;
    return n == 0 ? fmi3OK : NOT_OFFERED(c, "fmi3GetClock");
}

EXPORT fmi3Status fmi3SetClock(fmi3Instance c, const fmi3ValueReference r[], size_t n, const fmi3Clock x[])
{
    (void)r, (void)x;
    return n == 0 ? fmi3OK : NOT_OFFERED(c, "fmi3SetClock");
}

/* ... abilities that the description does not claim, ... */
EXPORT fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance c, fmi3ValueReference r, size_t *n)
{
    (void)r, (void)n;
    return NOT_OFFERED(c, "fmi3GetNumberOfVariableDependencies");
}

EXPORT fmi3Status fmi3GetVariableDependencies(fmi3Instance c, fmi3ValueReference r, size_t element[],
                                              fmi3ValueReference independent[], size_t element_independent[],
                                              fmi3DependencyKind kinds[], size_t n)
{
    (void)r, (void)element, (void)independent, (void)element_independent, (void)kinds, (void)n;
    return NOT_OFFERED(c, "fmi3GetVariableDependencies");
}

EXPORT fmi3Status fmi3SerializedFMUStateSize(fmi3Instance c, fmi3FMUState state, size_t *size)
{
    (void)state, (void)size;
    return NOT_OFFERED(c, "fmi3SerializedFMUStateSize");
}

EXPORT fmi3Status fmi3SerializeFMUState(fmi3Instance c, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    (void)state, (void)bytes, (void)size;
    return NOT_OFFERED(c, "fmi3SerializeFMUState");
}

EXPORT fmi3Status fmi3DeserializeFMUState(fmi3Instance c, const fmi3Byte bytes[], size_t size, fmi3FMUState *state)
{
    (void)state, (void)bytes, (void)size;
    return NOT_OFFERED(c, "fmi3DeserializeFMUState");
}

#define DERIVATIVE(name)                                                                                           \
    EXPORT fmi3Status name(fmi3Instance c, const fmi3ValueReference unknowns[], size_t n_unknowns,                  \
                           const fmi3ValueReference knowns[], size_t n_knowns, const fmi3Float64 seed[],            \
                           size_t n_seed, fmi3Float64 sensitivity[], size_t n_sensitivity)                         \
    {                                                                                                              \
        (void)unknowns, (void)n_unknowns, (void)knowns, (void)n_knowns, (void)seed, (void)n_seed;                  \
        (void)sensitivity, (void)n_sensitivity;                                                                    \
        return NOT_OFFERED(c, #name);                                                                              \
    }

DERIVATIVE(fmi3GetDirectionalDerivative)
DERIVATIVE(fmi3GetAdjointDerivative)

EXPORT fmi3Status fmi3GetOutputDerivatives(fmi3Instance c, const fmi3ValueReference r[], size_t n,
                                           const fmi3Int32 orders[], fmi3Float64 x[], size_t m)
{
    (void)r, (void)n, (void)orders, (void)x, (void)m;
    return NOT_OFFERED(c, "fmi3GetOutputDerivatives");
}

EXPORT fmi3Status fmi3GetIntervalDecimal(fmi3Instance c, const fmi3ValueReference r[], size_t n, fmi3Float64 x[],
                                         fmi3IntervalQualifier q[])
{
    (void)r, (void)n, (void)x, (void)q;
    return NOT_OFFERED(c, "fmi3GetIntervalDecimal");
}

EXPORT fmi3Status fmi3GetIntervalFraction(fmi3Instance c, const fmi3ValueReference r[], size_t n, fmi3UInt64 counters[],
                                          fmi3UInt64 resolutions[], fmi3IntervalQualifier q[])
{
    (void)r, (void)n, (void)counters, (void)resolutions, (void)q;
    return NOT_OFFERED(c, "fmi3GetIntervalFraction");
}

EXPORT fmi3Status fmi3GetShiftDecimal(fmi3Instance c, const fmi3ValueReference r[], size_t n, fmi3Float64 x[])
{
    (void)r, (void)n, (void)x;
    return NOT_OFFERED(c, "fmi3GetShiftDecimal");
}

EXPORT fmi3Status fmi3GetShiftFraction(fmi3Instance c, const fmi3ValueReference r[], size_t n, fmi3UInt64 counters[],
                                       fmi3UInt64 resolutions[])
{
    (void)r, (void)n, (void)counters, (void)resolutions;
    return NOT_OFFERED(c, "fmi3GetShiftFraction");
}

#define SET_DECIMAL(name)                                                                                     \
    EXPORT fmi3Status name(fmi3Instance c, const fmi3ValueReference r[], size_t n, const fmi3Float64 x[])      \
    {                                                                                                         \
        (void)r, (void)n, (void)x;                                                                            \
        return NOT_OFFERED(c, #name);                                                                         \
    }
#define SET_FRACTION(name)                                                                                    \
    EXPORT fmi3Status name(fmi3Instance c, const fmi3ValueReference r[], size_t n, const fmi3UInt64 counters[], \
                           const fmi3UInt64 resolutions[])                                                    \
    {                                                                                                         \
        (void)r, (void)n, (void)counters, (void)resolutions;                                                  \
        return NOT_OFFERED(c, #name);                                                                         \
    }

SET_DECIMAL(fmi3SetIntervalDecimal)
SET_DECIMAL(fmi3SetShiftDecimal)
SET_FRACTION(fmi3SetIntervalFraction)
SET_FRACTION(fmi3SetShiftFraction)

/* ... and the modes of other kinds of units. */
#define NO_MODE(name) \
    EXPORT fmi3Status name(fmi3Instance c) { return NOT_OFFERED(c, #name); }

NO_MODE(fmi3EnterConfigurationMode)
NO_MODE(fmi3ExitConfigurationMode)
NO_MODE(fmi3EnterEventMode)
NO_MODE(fmi3EnterStepMode)
NO_MODE(fmi3EnterContinuousTimeMode)
NO_MODE(fmi3EvaluateDiscreteStates)

EXPORT fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, fmi3Boolean *again, fmi3Boolean *terminate,
                                           fmi3Boolean *nominals, fmi3Boolean *values, fmi3Boolean *next_defined,
                                           fmi3Float64 *next)
{
    (void)again, (void)terminate, (void)nominals, (void)values, (void)next_defined, (void)next;
    return NOT_OFFERED(c, "fmi3UpdateDiscreteStates");
}

EXPORT fmi3Status fmi3CompletedIntegratorStep(fmi3Instance c, fmi3Boolean no_set_state, fmi3Boolean *enter_events,
                                              fmi3Boolean *terminate)
{
    (void)no_set_state, (void)enter_events, (void)terminate;
    return NOT_OFFERED(c, "fmi3CompletedIntegratorStep");
}

EXPORT fmi3Status fmi3SetTime(fmi3Instance c, fmi3Float64 time)
{
    (void)time;
    return NOT_OFFERED(c, "fmi3SetTime");
}

#define VECTOR(name, constant)                                                     \
    EXPORT fmi3Status name(fmi3Instance c, constant fmi3Float64 x[], size_t n)     \
    {                                                                              \
        (void)x, (void)n;                                                          \
        return NOT_OFFERED(c, #name);                                              \
    }
#define EMPTY

VECTOR(fmi3SetContinuousStates, const)
VECTOR(fmi3GetContinuousStates, EMPTY)
VECTOR(fmi3GetContinuousStateDerivatives, EMPTY)
VECTOR(fmi3GetEventIndicators, EMPTY)
VECTOR(fmi3GetNominalsOfContinuousStates, EMPTY)

#define COUNT(name)                                        \
    EXPORT fmi3Status name(fmi3Instance c, size_t *n)      \
    {                                                      \
        (void)n;                                           \
        return NOT_OFFERED(c, #name);                      \
    }

COUNT(fmi3GetNumberOfEventIndicators)
COUNT(fmi3GetNumberOfContinuousStates)

EXPORT fmi3Status fmi3ActivateModelPartition(fmi3Instance c, fmi3ValueReference clock, fmi3Float64 time)
{
    (void)clock, (void)time;
    return NOT_OFFERED(c, "fmi3ActivateModelPartition");
}
