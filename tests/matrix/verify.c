/* `phalanx verify` without the command line tool: verify [BACKEND]. */
#include "verify_run.h"

int main(int argc, char **argv) { return verify_run(argc > 1 ? argv[1] : NULL, 0, NULL); }
