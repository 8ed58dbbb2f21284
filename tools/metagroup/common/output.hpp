// SPDX-License-Identifier: MIT
// Writing to files and to the standard streams, which may be closed or full.
#pragma once

#include <cstddef>
#include <metagroup/detail/unique_fd.hpp>
#include <string>
#include <string_view>

namespace tool {

// Standard output or a file, without a buffer.
class Output {
  public:
    // Standard output if the path is empty. \throws std::system_error that names the file.
    explicit Output(const std::string& path);

    // \throws std::system_error that names the file, as if the disk is full.
    void write(std::string_view text);
    // Columns of the terminal; 80 without one.
    std::size_t width() const;

  private:
    int fd() const { return file_ ? file_.get() : 1; }

    std::string name_;
    metagroup::detail::UniqueFd file_;
};

// Opens the descriptors 0 to 2 where they are closed, so that no file opened later gets them and is
// written to. Using such a stream still fails.
void occupy_closed_streams();

// \throws std::system_error if standard output could not be flushed.
void finish_printing();

}  // namespace tool
