/* A competitor of its own: generalised advantage estimation as one static program, without Python and NumPy.
 *
 * It is started as `gae --case ID --parameters JSON [...] --seed N --input DIR --output DIR --referee` and led by the
 * referee's orders on stdin (docs/protocol.md). `gae --versions` prints what it was made with.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MOST_CASES 100
#define LONGEST_ORDER 65536
static const double GAMMA = 0.99, LAMBDA = 0.95, GAMMA_STEP = 0x1p-30;

/* One case: its inputs, and the outputs of all calls of a repetition. Digest and files cover one call of `each`, from `begin` on. */
struct work {
    const char *name;
    size_t batch, length, count, calls, each, begin;
    double *rewards, *values, *dones, *advantages, *returns, *gammas;
};

static void fail(const char *what, const char *which) {
    fprintf(stderr, "gae: %s: %s\n", what, which);
    exit(2);
}

static void *room(size_t bytes) {
    void *made = malloc(bytes);
    if (!made) fail("no memory for", "a case");
    return made;
}

/* What follows `"name":` in a flat JSON object; null where it is not there. */
static const char *entry(const char *json, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\"", name);
    const char *at = strstr(json, key);
    at = at ? strchr(at + strlen(key), ':') : NULL;
    return at ? at + 1 + strspn(at + 1, " \"[") : NULL;
}

static size_t whole(const char *json, const char *name) {
    const char *at = entry(json, name);
    return at ? strtoull(at, NULL, 10) : 0;
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
    double *elements = room(count * sizeof *elements);
    if (fread(head, 1, sizeof head, from) != sizeof head || memcmp(head, "\x93NUMPY\x01", 7)) fail("not an array", array);
    fseek(from, head[8] | head[9] << 8, SEEK_CUR);
    if (fread(elements, sizeof *elements, count, from) != count) fail("too short", array);
    fclose(from);
    return elements;
}

/* The calls of a repetition that are covered, the call as the first axis. */
static void save(const char *folder, const struct work *work, const char *array, const double *elements) {
    char header[128], shape[64];
    size_t covered = (work->calls - work->begin + work->each - 1) / work->each;
    if (work->batch == 1) snprintf(shape, sizeof shape, "(%zu, %zu)", covered, work->length);
    else snprintf(shape, sizeof shape, "(%zu, %zu, %zu)", covered, work->batch, work->length);
    snprintf(header, sizeof header, "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", shape);
    FILE *to = file(folder, "", array, "wb");
    /* With its ten bytes in front the header ends with a newline at a multiple of 64. */
    fprintf(to, "\x93NUMPY\x01%c%c%c%-117s\n", 0, 118, 0, header);
    for (size_t call = work->begin; call < work->calls; call += work->each)
        fwrite(elements + call * work->count, sizeof *elements, work->count, to);
    if (fclose(to)) fail("cannot write", array);
}

static void estimate(const double *restrict rewards, const double *restrict values, const double *restrict dones,
                     double gamma, double *restrict advantages, double *restrict returns, size_t batch, size_t length) {
    for (size_t row = 0; row < batch; row++) {
        double next_value = 0, next_advantage = 0;
        for (size_t left = length; left-- > 0;) {
            size_t at = row * length + left;
            double going = 1 - dones[at];
            double delta = rewards[at] + gamma * next_value * going - values[at];
            next_advantage = delta + gamma * LAMBDA * going * next_advantage;
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

/* The number of a call: SplitMix64 begun at the nonce. */
static uint64_t number(uint64_t nonce, uint64_t index) {
    uint64_t value = nonce + (index + 1) * 0x9E3779B97F4A7C15;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
    value = (value ^ value >> 27) * 0x94D049BB133111EB;
    return value ^ value >> 31;
}

/* One repetition; its timed seconds. */
static double repeat(struct work *work, uint64_t nonce, size_t repetition) {
    for (size_t call = 0; call < work->calls; call++)
        work->gammas[call] = GAMMA - (number(nonce, repetition * work->calls + call) & 0xFFFFF) * GAMMA_STEP;
    work->begin = (number(nonce, repetition * work->calls) >> 16) % work->each;
    double began = now();
    for (size_t call = 0; call < work->calls; call++)
        estimate(work->rewards, work->values, work->dones, work->gammas[call], work->advantages + call * work->count,
                 work->returns + call * work->count, work->batch, work->length);
    return now() - began;
}

/* The sum of the covered outputs of a repetition as words of 64 bits. */
static uint64_t digest(const struct work *work) {
    uint64_t sum = 0;
    for (size_t call = work->begin; call < work->calls; call += work->each)
        for (size_t at = call * work->count; at < (call + 1) * work->count; at++) {
            uint64_t words[2];
            memcpy(&words[0], &work->advantages[at], sizeof words[0]);
            memcpy(&words[1], &work->returns[at], sizeof words[1]);
            sum += words[0] + words[1];
        }
    return sum;
}

static void go(struct work *work, uint64_t nonce, size_t first, size_t repetitions) {
    double began = now(), timed = 0, *seconds = room((repetitions + 1) * sizeof *seconds);
    uint64_t *digests = room((repetitions + 1) * sizeof *digests);
    for (size_t at = 0; at < repetitions; at++) {
        seconds[at] = repeat(work, nonce, first + at);
        timed += seconds[at];
        digests[at] = digest(work);
    }
    printf("{\"event\": \"done\", \"case\": \"%s\", \"metrics\": {\"seconds\": [", work->name);
    for (size_t at = 0; at < repetitions; at++) printf("%s%.9e", at ? ", " : "", seconds[at] / work->calls);
    printf("]}, \"digests\": [");
    for (size_t at = 0; at < repetitions; at++) printf("%s\"%016" PRIx64 "\"", at ? ", " : "", digests[at]);
    printf("], \"counts\": {\"elements\": %zu}, \"between_seconds\": %.9e}\n", work->count, now() - began - timed);
    free(seconds), free(digests);
}

static void write_outputs(struct work *work, const char *output, const char *order, uint64_t nonce) {
    char folder[4096], *at = (char *)entry(order, "repetitions");
    for (size_t repetition; *at != ']'; at += strspn(at, ", ")) {
        repetition = strtoull(at, &at, 10);
        repeat(work, nonce, repetition);
        snprintf(folder, sizeof folder, "%s/%s", output, work->name);
        mkdir(folder, 0777);
        snprintf(folder, sizeof folder, "%s/%s/%zu", output, work->name, repetition);
        mkdir(folder, 0777);
        save(folder, work, "advantages", work->advantages);
        save(folder, work, "returns", work->returns);
    }
    printf("{\"event\": \"written\", \"case\": \"%s\"}\n", work->name);
}

static struct work prepare(const char *name, const char *json, const char *input) {
    struct work work = {.name = name, .batch = whole(json, "batch"), .length = whole(json, "length"), .calls = whole(json, "calls"), .each = whole(json, "each")};
    work.count = work.batch * work.length;
    if (!work.count || !work.calls) fail("parameters", json);
    if (!work.each) work.each = 1;
    work.rewards = load(input, name, "rewards", work.count);
    work.values = load(input, name, "values", work.count);
    work.dones = load(input, name, "dones", work.count);
    work.advantages = room(work.calls * work.count * sizeof(double));
    work.returns = room(work.calls * work.count * sizeof(double));
    work.gammas = room(work.calls * sizeof(double));
    return work;
}

static void serve(struct work *all, int cases, const char *output) {
    char order[LONGEST_ORDER];
    puts("{\"event\": \"ready\"}");
    fflush(stdout);
    while (fgets(order, sizeof order, stdin)) {
        const char *name = entry(order, "case");
        uint64_t nonce = strtoull(entry(order, "nonce"), NULL, 16);
        struct work *work = NULL;
        for (int at = 0; at < cases; at++)
            if (!strncmp(name, all[at].name, strlen(all[at].name)) && name[strlen(all[at].name)] == '"') work = all + at;
        if (!work) fail("no such case", order);
        if (strstr(order, "\"go\"")) go(work, nonce, whole(order, "first"), whole(order, "repetitions"));
        else write_outputs(work, output, order, nonce);
        fflush(stdout);
    }
}

int main(int count, char **words) {
    const char *names[MOST_CASES], *parameters[MOST_CASES], *input = NULL, *output = NULL;
    struct work all[MOST_CASES];
    int cases = 0, given = 0;
    if (count == 2 && !strcmp(words[1], "--versions")) {
        printf("{\"gae\": \"1.0\", \"gcc\": \"%s\"}\n", __VERSION__);
        return 0;
    }
    for (int at = 1; at < count; at++) {
        const char *option = words[at], *value = at + 1 < count ? words[at + 1] : "";
        if (!strcmp(option, "--referee")) continue;
        at++;
        if (!strcmp(option, "--case") && cases < MOST_CASES) names[cases++] = value;
        else if (!strcmp(option, "--parameters") && given < MOST_CASES) parameters[given++] = value;
        else if (!strcmp(option, "--input")) input = value;
        else if (!strcmp(option, "--output")) output = value;
        else if (strcmp(option, "--seed")) fail("unknown option", option);
    }
    if (!input || !output || cases != given) fail("usage", "--case ID --parameters JSON --seed N --input DIR --output DIR --referee");
    for (int at = 0; at < cases; at++) all[at] = prepare(names[at], parameters[at], input);
    serve(all, cases, output);
    return 0;
}
