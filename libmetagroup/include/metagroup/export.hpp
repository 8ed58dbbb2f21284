// SPDX-License-Identifier: MIT
/// \file
/// The macro that marks what the library offers. Everything else is hidden.
#pragma once

/// Put before a class or function that users of the library may call.
#define METAGROUP_API __attribute__((visibility("default")))
