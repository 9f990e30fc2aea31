/* A competitor of its own: generalised advantage estimation as one static program, without Python and NumPy.
 *
 * It is started as `gae --case ID --parameters JSON [...] --seed N --input DIR --output DIR`. For each case it reads
 * rewards, values and dones from the input folder, writes advantages and returns, and prints one measurement.
 * `gae --versions` prints what it was made with.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MOST_CASES 100
#define MOST_REPETITIONS 100000
static const double GAMMA = 0.99, LAMBDA = 0.95;

static void fail(const char *what, const char *which) {
    fprintf(stderr, "gae: %s: %s\n", what, which);
    exit(2);
}

/* The number behind "name" in a flat JSON object, or the fallback. */
static double parameter(const char *json, const char *name, double fallback) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\"", name);
    const char *at = strstr(json, key);
    at = at ? strchr(at, ':') : NULL;
    return at ? strtod(at + 1, NULL) : fallback;
}

static FILE *file(const char *folder, const char *name, const char *array, const char *mode) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s/%s.npy", folder, name, array);
    FILE *opened = fopen(path, mode);
    if (!opened) fail("cannot open", path);
    return opened;
}

/* The elements of an array of doubles in NumPy's format, version 1. */
static double *load(const char *folder, const char *name, const char *array, size_t count) {
    FILE *from = file(folder, name, array, "rb");
    unsigned char head[10];
    double *elements = malloc(count * sizeof *elements);
    if (!elements || fread(head, 1, sizeof head, from) != sizeof head || memcmp(head, "\x93NUMPY\x01", 7))
        fail("not an array", array);
    fseek(from, head[8] | head[9] << 8, SEEK_CUR);
    if (fread(elements, sizeof *elements, count, from) != count) fail("too short", array);
    fclose(from);
    return elements;
}

static void save(const char *folder, const char *name, const char *array, const double *elements, size_t batch,
                 size_t length) {
    char header[128], shape[64];
    if (batch == 1) snprintf(shape, sizeof shape, "(%zu,)", length);
    else snprintf(shape, sizeof shape, "(%zu, %zu)", batch, length);
    snprintf(header, sizeof header, "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", shape);
    FILE *to = file(folder, name, array, "wb");
    /* With its ten bytes in front the header ends with a newline at a multiple of 64. */
    fprintf(to, "\x93NUMPY\x01%c%c%c%-117s\n", 0, 118, 0, header);
    fwrite(elements, sizeof *elements, batch * length, to);
    if (fclose(to)) fail("cannot write", array);
}

static void estimate(const double *restrict rewards, const double *restrict values, const double *restrict dones,
                     double *restrict advantages, double *restrict returns, size_t batch, size_t length) {
    for (size_t row = 0; row < batch; row++) {
        double next_value = 0, next_advantage = 0;
        for (size_t left = length; left-- > 0;) {
            size_t at = row * length + left;
            double going = 1 - dones[at];
            double delta = rewards[at] + GAMMA * next_value * going - values[at];
            next_advantage = delta + GAMMA * LAMBDA * going * next_advantage;
            next_value = values[at];
            advantages[at] = next_advantage;
            returns[at] = next_advantage + values[at];
        }
    }
}

static double now(void) {
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return moment.tv_sec + moment.tv_nsec * 1e-9;
}

static void serve(const char *name, const char *json, const char *input, const char *output) {
    size_t batch = parameter(json, "batch", 0), length = parameter(json, "length", 0), count = batch * length;
    int calls = parameter(json, "calls", 1), warmup = parameter(json, "warmup", 0);
    int repetitions = parameter(json, "repetitions", 1), least = parameter(json, "least_repetitions", 1);
    double limit = parameter(json, "seconds_limit", 1e9), total = 0;
    if (!count || calls < 1 || repetitions < 1 || repetitions > MOST_REPETITIONS) fail("parameters", json);
    double *rewards = load(input, name, "rewards", count), *values = load(input, name, "values", count);
    double *dones = load(input, name, "dones", count), *advantages = malloc(count * sizeof *advantages);
    double *returns = malloc(count * sizeof *returns), *seconds = malloc(repetitions * sizeof *seconds);
    if (!advantages || !returns || !seconds) fail("no memory for", name);
    int done = 0;
    for (int turn = -warmup; turn < repetitions && (done < least || total <= limit); turn++) {
        double began = now();
        for (int call = 0; call < calls; call++)
            estimate(rewards, values, dones, advantages, returns, batch, length);
        double elapsed = now() - began;
        if (turn < 0) continue;
        seconds[done++] = elapsed / calls;
        total += elapsed;
    }
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/%s", output, name);
    mkdir(folder, 0777);
    save(output, name, "advantages", advantages, batch, length);
    save(output, name, "returns", returns, batch, length);
    printf("{\"event\": \"measurement\", \"case\": \"%s\", \"metrics\": {\"seconds\": [", name);
    for (int each = 0; each < done; each++) printf("%s%.9e", each ? ", " : "", seconds[each]);
    printf("]}, \"counts\": {\"elements\": %zu}, ", count);
    printf("\"memory\": {\"vmhwm_bytes\": null, \"cgroup_peak_bytes\": null}}\n");
    fflush(stdout);
    free(rewards), free(values), free(dones), free(advantages), free(returns), free(seconds);
}

int main(int count, char **words) {
    const char *names[MOST_CASES], *parameters[MOST_CASES], *input = NULL, *output = NULL;
    int cases = 0, given = 0;
    if (count == 2 && !strcmp(words[1], "--versions")) {
        printf("{\"gae\": \"1.0\", \"gcc\": \"%s\"}\n", __VERSION__);
        return 0;
    }
    for (int at = 1; at + 1 < count; at += 2) {
        const char *option = words[at], *value = words[at + 1];
        if (!strcmp(option, "--case") && cases < MOST_CASES) names[cases++] = value;
        else if (!strcmp(option, "--parameters") && given < MOST_CASES) parameters[given++] = value;
        else if (!strcmp(option, "--input")) input = value;
        else if (!strcmp(option, "--output")) output = value;
        else if (strcmp(option, "--seed")) fail("unknown option", option);
    }
    if (!input || !output || cases != given) fail("usage", "--case ID --parameters JSON --seed N --input DIR --output DIR");
    for (int at = 0; at < cases; at++) serve(names[at], parameters[at], input, output);
    return 0;
}
