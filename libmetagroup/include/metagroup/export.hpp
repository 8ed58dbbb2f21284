// SPDX-License-Identifier: MIT
/// \file
/// METAGROUP_API: exports a symbol from the shared library.
#pragma once

/// Marks a class or function of the public API. All other symbols are hidden.
#define METAGROUP_API __attribute__((visibility("default")))
