// SPDX-License-Identifier: MIT
// Objects of Python classes.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <utility>

namespace metagroup::python {

// pybind11 allocates, but does not construct, an object whose __init__() was not called.
struct Constructed {
    static void* operator new(std::size_t /*size*/) {
        throw std::runtime_error("__init__() was not called");
    }
};

// The only way to make one.
template <class Object, class... Arguments>
std::unique_ptr<Object> construct(Arguments... arguments) {
    return std::unique_ptr<Object>(::new Object(std::forward<Arguments>(arguments)...));
}

}  // namespace metagroup::python
