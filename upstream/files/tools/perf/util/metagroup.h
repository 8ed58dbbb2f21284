/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_METAGROUP_H
#define __PERF_METAGROUP_H

struct evlist;
struct metagroup;

struct metagroup *metagroup__new(struct evlist *evlist);
int metagroup__read(struct metagroup *mg);
void metagroup__delete(struct metagroup *mg);

#endif /* __PERF_METAGROUP_H */
