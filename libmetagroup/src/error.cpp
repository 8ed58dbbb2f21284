// SPDX-License-Identifier: MIT
#include <metagroup/error.hpp>
#include <utility>

namespace metagroup {

struct Error::Texts {
    Texts(Parts given, int error) : parts(std::move(given)) {
        if (parts.reason.empty()) parts.reason = std::generic_category().message(error);
        what = parts.failed + ": " + parts.reason;
        if (!parts.remedy.empty()) what += "; " + parts.remedy;
    }
    Parts parts;
    std::string what;
};

Error::Error(Cause cause, int error, Parts parts)
    : Error(cause, error, std::make_shared<const Texts>(std::move(parts), error)) {}

// A copy as std::system_error keeps the text, too.
Error::Error(Cause cause, int error, std::shared_ptr<const Texts> texts)
    : std::system_error(error, std::generic_category(), texts->what),
      cause_(cause),
      texts_(std::move(texts)) {}

const char* Error::what() const noexcept {
    return texts_->what.c_str();
}
const std::string& Error::failed() const& noexcept {
    return texts_->parts.failed;
}
const std::string& Error::reason() const& noexcept {
    return texts_->parts.reason;
}
const std::string& Error::remedy() const& noexcept {
    return texts_->parts.remedy;
}

}  // namespace metagroup
