/* The Functional Mock-up Interface 2.0 for co-simulation around `Motion`. */
#include "fmi2_types.h"
#include "motion.h"

#include <stdlib.h>
#include <string.h>

typedef enum { INSTANTIATED, INITIALIZING, STEPPING, TERMINATED } Phase;

typedef struct {
    Motion motion;
    Phase phase;
    double start_time;
    char *name;
    fmi2CallbackLogger logger;
    fmi2ComponentEnvironment environment;
} Instance;

static fmi2Status refuse(Instance *instance, fmi2Status status, const char *message)
{
    if (instance != NULL && instance->logger != NULL) {
        instance->logger(instance->environment, instance->name, status, "logStatusError", "%s", message);
    }
    return status;
}

EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }

EXPORT const char *fmi2GetVersion(void) { return "2.0"; }

EXPORT fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t count, const fmi2String categories[])
{
    (void)c, (void)on, (void)count, (void)categories;
    return fmi2OK;
}

EXPORT fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                     const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging)
{
    Instance *instance;
    size_t length = name != NULL ? strlen(name) : 0;
    (void)resources, (void)visible, (void)logging;
    if (type != fmi2CoSimulation || guid == NULL || strcmp(guid, SETSU_GUID) != 0 || length == 0) {
        if (functions != NULL && functions->logger != NULL) {
            functions->logger(functions->componentEnvironment, name, fmi2Error, "logStatusError", "%s",
                              type != fmi2CoSimulation ? "this unit is for co-simulation only"
                                                       : "the name is empty, or the GUID is not that of this unit");
        }
        return NULL;
    }
    instance = calloc(1, sizeof *instance);
    if (instance == NULL || (instance->name = malloc(length + 1)) == NULL) {
        free(instance);
        return NULL;
    }
    memcpy(instance->name, name, length + 1);
    if (functions != NULL) {
        instance->logger = functions->logger;
        instance->environment = functions->componentEnvironment;
    }
    motion_defaults(&instance->motion);
    instance->phase = INSTANTIATED;
    return instance;
}

EXPORT void fmi2FreeInstance(fmi2Component c)
{
    Instance *instance = c;
    if (instance != NULL) {
        free(instance->name);
        free(instance);
    }
}

EXPORT fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean tolerance_defined, fmi2Real tolerance, fmi2Real start,
                                      fmi2Boolean stop_defined, fmi2Real stop)
{
    Instance *instance = c;
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    if (instance->phase != INSTANTIATED) {
        return refuse(instance, fmi2Error, "fmi2SetupExperiment: only before initialization");
    }
    instance->start_time = start;
    instance->motion.time = start;
    return fmi2OK;
}

EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    Instance *instance = c;
    if (instance->phase != INSTANTIATED) {
        return refuse(instance, fmi2Error, "fmi2EnterInitializationMode: only once, after instantiation or reset");
    }
    instance->phase = INITIALIZING;
    return motion_begin(&instance->motion, instance->start_time)
               ? refuse(instance, fmi2Error, MOTION_REFUSED_START)
               : fmi2OK;
}

EXPORT fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    Instance *instance = c;
    if (instance->phase != INITIALIZING) {
        return refuse(instance, fmi2Error, "fmi2ExitInitializationMode: only during initialization");
    }
    if (motion_begin(&instance->motion, instance->start_time)) {
        return refuse(instance, fmi2Error, MOTION_REFUSED_START);
    }
    instance->phase = STEPPING;
    return fmi2OK;
}

EXPORT fmi2Status fmi2Terminate(fmi2Component c)
{
    ((Instance *)c)->phase = TERMINATED;
    return fmi2OK;
}

EXPORT fmi2Status fmi2Reset(fmi2Component c)
{
    Instance *instance = c;
    motion_defaults(&instance->motion);
    instance->start_time = 0.0;
    instance->phase = INSTANTIATED;
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference references[], size_t count, fmi2Real values[])
{
    Instance *instance = c;
    size_t k;
    for (k = 0; k < count; ++k) {
        const double *value = motion_value(&instance->motion, references[k]);
        if (value == NULL) {
            return refuse(instance, fmi2Error, "fmi2GetReal: no such value reference");
        }
        values[k] = *value;
    }
    return fmi2OK;
}

EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference references[], size_t count,
                              const fmi2Real values[])
{
    Instance *instance = c;
    size_t k;
    for (k = 0; k < count; ++k) {
        double *value = motion_value(&instance->motion, references[k]);
        const int allowed = motion_may_set(references[k]);
        if (value == NULL || allowed == 0 || (allowed == 2 && instance->phase >= STEPPING)) {
            return refuse(instance, fmi2Error, "fmi2SetReal: torques may be set, and parameters before the first step");
        }
        *value = values[k];
    }
    /* Start values set during initialization show in the outputs at once. */
    if (instance->phase == INITIALIZING) {
        (void)motion_begin(&instance->motion, instance->start_time);
    }
    return fmi2OK;
}

EXPORT fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real step, fmi2Boolean no_set_state)
{
    Instance *instance = c;
    (void)time, (void)no_set_state;
    if (instance->phase != STEPPING) {
        return refuse(instance, fmi2Error, "fmi2DoStep: only after initialization");
    }
    return motion_step(&instance->motion, step)
               ? refuse(instance, fmi2Error, "fmi2DoStep: the state is no longer finite or a loop no longer closes; try a smaller inner_step")
               : fmi2OK;
}

/* The state of a unit is a copy of its motion and phase. */
EXPORT fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    if (*state == NULL && (*state = malloc(sizeof(Instance))) == NULL) {
        return refuse(c, fmi2Error, "fmi2GetFMUstate: no memory");
    }
    memcpy(*state, c, sizeof(Instance));
    return fmi2OK;
}

EXPORT fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    Instance *instance = c;
    const Instance *kept = state;
    instance->motion = kept->motion;
    instance->phase = kept->phase;
    instance->start_time = kept->start_time;
    return fmi2OK;
}

EXPORT fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    (void)c;
    if (state != NULL) {
        free(*state);
        *state = NULL;
    }
    return fmi2OK;
}

/* What the standard asks to exist and this unit says it cannot do in its description. */
#define IGNORE2(a, b) (void)(a), (void)(b)

EXPORT fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2Integer x[])
{
    IGNORE2(r, x);
    return n == 0 ? fmi2OK : refuse(c, fmi2Error, "fmi2GetInteger: there are no such variables");
}

EXPORT fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2Boolean x[])
{
    IGNORE2(r, x);
    return n == 0 ? fmi2OK : refuse(c, fmi2Error, "fmi2GetBoolean: there are no such variables");
}

EXPORT fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2String x[])
{
    IGNORE2(r, x);
    return n == 0 ? fmi2OK : refuse(c, fmi2Error, "fmi2GetString: there are no such variables");
}

EXPORT fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Integer x[])
{
    IGNORE2(r, x);
    return n == 0 ? fmi2OK : refuse(c, fmi2Error, "fmi2SetInteger: there are no such variables");
}

EXPORT fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Boolean x[])
{
    IGNORE2(r, x);
    return n == 0 ? fmi2OK : refuse(c, fmi2Error, "fmi2SetBoolean: there are no such variables");
}

EXPORT fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2String x[])
{
    IGNORE2(r, x);
    return n == 0 ? fmi2OK : refuse(c, fmi2Error, "fmi2SetString: there are no such variables");
}

EXPORT fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    IGNORE2(state, size);
    return refuse(c, fmi2Error, "fmi2SerializedFMUstateSize: not offered");
}

EXPORT fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    IGNORE2(state, bytes), (void)size;
    return refuse(c, fmi2Error, "fmi2SerializeFMUstate: not offered");
}

EXPORT fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    IGNORE2(state, bytes), (void)size;
    return refuse(c, fmi2Error, "fmi2DeSerializeFMUstate: not offered");
}

EXPORT fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[], size_t n_unknown,
                                               const fmi2ValueReference known[], size_t n_known,
                                               const fmi2Real d_known[], fmi2Real d_unknown[])
{
    IGNORE2(unknown, n_unknown), IGNORE2(known, n_known), IGNORE2(d_known, d_unknown);
    return refuse(c, fmi2Error, "fmi2GetDirectionalDerivative: not offered");
}

EXPORT fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference r[], size_t n,
                                              const fmi2Integer order[], const fmi2Real x[])
{
    IGNORE2(r, x), IGNORE2(n, order);
    return refuse(c, fmi2Error, "fmi2SetRealInputDerivatives: not offered");
}

EXPORT fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference r[], size_t n,
                                               const fmi2Integer order[], fmi2Real x[])
{
    IGNORE2(r, x), IGNORE2(n, order);
    return refuse(c, fmi2Error, "fmi2GetRealOutputDerivatives: not offered");
}

EXPORT fmi2Status fmi2CancelStep(fmi2Component c)
{
    return refuse(c, fmi2Error, "fmi2CancelStep: steps are not asynchronous");
}

EXPORT fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value)
{
    IGNORE2(kind, value);
    return refuse(c, fmi2Discard, "fmi2GetStatus: steps are not asynchronous");
}

EXPORT fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    if (kind != fmi2LastSuccessfulTime) {
        return refuse(c, fmi2Discard, "fmi2GetRealStatus: only the last successful time is known");
    }
    *value = ((Instance *)c)->motion.time;
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value)
{
    IGNORE2(kind, value);
    return refuse(c, fmi2Discard, "fmi2GetIntegerStatus: there is no such status");
}

EXPORT fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    if (kind != fmi2Terminated) {
        return refuse(c, fmi2Discard, "fmi2GetBooleanStatus: there is no such status");
    }
    *value = fmi2False;
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String *value)
{
    IGNORE2(kind, value);
    return refuse(c, fmi2Discard, "fmi2GetStringStatus: steps are not asynchronous");
}
