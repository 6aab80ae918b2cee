/* What `phalanx verify` says when answers differ: which backend, which arrangement, how many, the first chain and its values. The
 * workloads here are stand-ins that answer wrongly where they are told to. */
#define _XOPEN_SOURCE 700
#include "support.h"
#include "temporary.h"

#include <unistd.h>

#include "phalanx/verify_run.h"
#include "phalanx/workload.h"

enum { COUNT = 12 };

/* where the wrong answers are: this backend, this arrangement, this many threads, these chains */
static struct {
    const char *backend;
    workload_arrangement arrangement;
    unsigned threads;
    size_t first, last;
    bool refuse;
} fault;

static bool answer(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers) {
    const bool here = fault.backend && strcmp(fault.backend, phx_backend_name(backend)) == 0 && fault.arrangement == arrangement &&
                      fault.threads == threads;
    for (size_t i = 0; i < COUNT; ++i) {
        float values[2] = {(float)i, 0.5f};
        if (here && i >= fault.first && i <= fault.last) values[1] = 0.25f;
        memcpy(answers + i * sizeof values, values, sizeof values);
    }
    return !(here && fault.refuse);
}

const workload workloads[] = {{"stand_in", "legs", COUNT, 8, true, 64, answer}, {"aim_like", "heads", COUNT, 8, false, 3, answer}};
const size_t workload_count = 2;

uint64_t workload_hash(uint64_t hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) hash = hash * 31 + ((const unsigned char *)bytes)[i];
    return hash;
}

static char said[16384];

/* verify_run's result; what it printed is in `said`. update: a file, so that hashes are not compared */
static int verified(const char *backend, unsigned threads, const char *update) {
    char path[256];
    temporary_template(path, sizeof path, "verify");
    fflush(stdout);
    const int kept = dup(1), file = mkstemp(path);
    assert_true(kept >= 0 && file >= 0);
    assert_true(dup2(file, 1) == 1);
    const int result = verify_run(backend, threads, update);
    fflush(stdout);
    assert_true(dup2(kept, 1) == 1);
    said[pread(file, said, sizeof said - 1, 0)] = 0;
    close(file), close(kept), unlink(path);
    return result;
}

static void says(const char *words) {
    if (!strstr(said, words)) fail_msg("'%s' is not in:\n%s", words, said);
}

static void equal_answers_are_equal_in_every_arrangement(void **state) {
    (void)state;
    fault.backend = NULL;
    assert_int_equal(verified(NULL, 0, "/dev/null"), 0);
    says(" 1 2 3 4 5 6 7 8\n");
    says(" 1 2 3\n"); /* the other workload: more threads would have nothing to do */
    assert_null(strstr(said, "DIFFER"));
    assert_int_equal(verified(NULL, 5, "/dev/null"), 0);
    says("  5\n");
    says("  3\n");
    assert_int_equal(verified("abacus", 0, NULL), 2);
}

static void the_first_chain_that_differs_is_named(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        const char *name = phx_backend_name(backend);
        fault.backend = name, fault.arrangement = WORKLOAD_SHUFFLED, fault.threads = 3, fault.first = 7, fault.last = 8;
        assert_int_equal(verified(NULL, 0, "/dev/null"), 1);
        says(" 1 2 DIFFER:3 4 5 6 7 8\n");
        says("shuffled and split over 3 threads: 2 of 12 legs differ from the reference's; the first is number 7, at byte");
        says("0.5 there, 0.25 here");
        says("2 of 12 heads differ");
        fault.arrangement = WORKLOAD_BLOCKS, fault.threads = 0, fault.first = fault.last = 11;
        assert_int_equal(verified(name, 0, "/dev/null"), 1);
        says("as blocks of rows: 1 of 12 legs differ from the reference's; the first is number 11");
        assert_null(strstr(said, "heads differ")); /* they have no blocks */
        if (strcmp(name, "reference") == 0) continue; /* it is what the others are compared with */
        fault.arrangement = WORKLOAD_IN_ORDER, fault.first = 0;
        assert_int_equal(verified(name, 0, "/dev/null"), 1);
        says("in order: 12 of 12 legs differ from the reference's; the first is number 0");
    }
}

static void a_hash_that_is_not_recorded_and_a_refused_call_fail(void **state) {
    (void)state;
    fault.backend = NULL;
    assert_int_equal(verified("reference", 0, NULL), 1);
    says("MISSING");
    fault.backend = "reference", fault.arrangement = WORKLOAD_SHUFFLED, fault.threads = 8, fault.first = 1, fault.last = 0, fault.refuse = true;
    assert_int_equal(verified("reference", 0, "/dev/null"), 1);
    says("COULD NOT RUN");
    fault.refuse = false;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_answers_are_equal_in_every_arrangement),
        cmocka_unit_test(the_first_chain_that_differs_is_named),
        cmocka_unit_test(a_hash_that_is_not_recorded_and_a_refused_call_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
