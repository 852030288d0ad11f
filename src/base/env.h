/* Every environment variable that Ingot reads, in one list:
 *   ENV(symbol, name, values, meaning): values are "a|b|c", or what any text stands for, in capitals
 * The program prints it, docs repeat it, and nothing else calls getenv. */
#ifndef INGOT_BASE_ENV_H
#define INGOT_BASE_ENV_H

#define INGOT_ENV_LIST(ENV)                                                                                          \
    ENV(CPU, "INGOT_CPU", "ref|avx2|avxvnni|avx512|neon|dotprod|i8mm", "highest instruction set level to use")          \
    ENV(HUGEPAGES, "INGOT_HUGEPAGES", "0|1", "0: do not ask the system for huge pages behind large blocks")          \
    ENV(CALIBRATION, "INGOT_CALIBRATION", "FILE", "calibration of the model, for methods that need one, where the program is given none")

typedef enum ingot_env {
#define INGOT_ENV_ENUM(symbol, name, values, meaning) INGOT_ENV_##symbol,
    INGOT_ENV_LIST(INGOT_ENV_ENUM)
#undef INGOT_ENV_ENUM
    INGOT_N_ENV
} ingot_env;

/* Its value, or NULL when unset or empty. */
const char *ingot_env_get(ingot_env e);
/* Its name ("INGOT_CPU"), allowed values and meaning, for help texts. */
const char *ingot_env_name(ingot_env e);
const char *ingot_env_values(ingot_env e);
const char *ingot_env_meaning(ingot_env e);
#endif
