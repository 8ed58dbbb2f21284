// SPDX-License-Identifier: MIT
// usage: counts [EVENTS [SECONDS]] Prints the counts of every CPU once a second, with the C
// library.
#include <metagroup.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
    struct metagroup_config* config = metagroup_config_new();
    struct metagroup_snapshot* counts = metagroup_snapshot_new();
    struct metagroup_group* group = NULL;
    uint64_t count;
    int result = config && counts ? 0 : -1;

    if (!result)
        result = metagroup_config_add_events(config, argc > 1 ? argv[1] : "context-switches");
    if (!result && !(group = metagroup_group_open(config))) result = -1;
    for (int i = argc > 2 ? atoi(argv[2]) : -1; !result && i != 0; i--) {
        sleep(1);
        result = metagroup_group_read(group, counts);
        for (size_t r = 0; !result && r < metagroup_snapshot_get_size(counts); r++)
            if (!metagroup_snapshot_get_count(counts, r, 0, &count))
                printf("CPU %3d  %12llu  %s\n", metagroup_snapshot_get_cpu(counts, r),
                       (unsigned long long)count, metagroup_group_get_event_name(group, r, 0));
        fflush(stdout);
    }
    if (result) fprintf(stderr, "counts: %s\n", metagroup_error_message());
    metagroup_group_close(group);
    metagroup_snapshot_free(counts);
    metagroup_config_free(config);
    return result ? 1 : 0;
}
