// SPDX-License-Identifier: MIT
// For LD_PRELOAD: /dev/null becomes the device of a module that is newer than this library,
// and has every feature.
#include <dlfcn.h>
#include <linux/perf_metagroup.h>

#include <cstdarg>

extern "C" __attribute__((visibility("default"))) int ioctl(int fd, unsigned long request,
                                                            ...) noexcept {
    std::va_list arguments;
    va_start(arguments, request);
    void* const argument = va_arg(arguments, void*);
    va_end(arguments);
    if (request == PERF_METAGROUP_IOC_INFO) {
        auto* const info = static_cast<perf_metagroup_info*>(argument);
        info->abi = 99;
        info->features = ~__u64{0};
        return 0;
    }
    using Ioctl = int (*)(int, unsigned long, void*);
    static const auto real = reinterpret_cast<Ioctl>(::dlsym(RTLD_NEXT, "ioctl"));
    return real(fd, request, argument);
}
