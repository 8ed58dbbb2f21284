// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <metagroup/detail/unique_fd.hpp>
#include <string>
#include <string_view>

namespace tool {

// Standard output, or a file. What is written is on its way when write() returns.
class Output {
  public:
    // Standard output if the path is empty. \throws std::system_error that names the file.
    explicit Output(const std::string& path);

    // \throws std::system_error that names the file: a full disk is no success.
    void write(std::string_view text);
    // Whether a person looks at it.
    bool is_terminal() const;
    // Columns of a line: the terminal's, else 80.
    std::size_t width() const;

  private:
    int fd() const { return file_ ? file_.get() : 1; }

    std::string name_;
    metagroup::detail::UniqueFd file_;
};

}  // namespace tool
