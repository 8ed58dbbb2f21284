// SPDX-License-Identifier: MIT
// Formats numbers, times and paragraphs for terminals, and writes to files and standard streams,
// which may be closed or full. Each UTF-8 character takes one column.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <metagroup/detail/unique_fd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

std::size_t display_width(std::string_view text);

// The first characters that fit into `columns` columns.
std::string_view clip(std::string_view text, std::size_t columns);

// Breaks text at blanks into lines of a given width; a longer word gets its own line.
std::vector<std::string> fold(std::string_view text, std::size_t width);

struct Columns {
    std::size_t indent = 0;  // where names begin
    std::size_t text = 0;    // where texts begin
    std::size_t width = 80;  // of a line
};

// A name and its folded text. The text starts on the next line if the name reaches into its column.
std::string entry(std::string_view name, std::string_view text, const Columns& columns);

enum class Digits { plain, grouped };

// Appends a right-aligned number with that many decimals, grouped as 1,234,567.89 in every locale.
// Converts via integers, which takes a tenth of the time of floating-point formatting.
void append_decimal(std::string& text, double value, unsigned decimals, std::size_t width,
                    Digits digits);

// The same for an integer, exact.
void append_integer(std::string& text, std::uint64_t value, std::size_t width, Digits digits);

// Three digits and k, M, G, T, P or E, in at most five characters: 0, 0.05, 1.23, 999, 1.00k,
// 12.3M. Larger numbers use an exponent.
std::string short_number(double value);

// A CSV field: quoted as in RFC 4180 if the text contains the separator.
std::string csv_field(std::string_view text, std::string_view separator);

// In a suitable unit: 250 us, 1.5 s.
std::string with_unit(std::chrono::nanoseconds time);

// A standard stream or a file, unbuffered.
class Output {
  public:
    enum class Stream { output = 1, error };

    // The stream if the path is empty, standard output if it is -; truncates a file unless
    // `append`. \throws std::system_error naming the file.
    explicit Output(const std::string& path, bool append = false, Stream stream = Stream::output);

    // \throws std::system_error naming the file, for example if the disk is full.
    void write(std::string_view text);
    // Columns of the terminal; 80 if there is none.
    std::size_t width() const;

  private:
    int fd() const { return file_ ? file_.get() : static_cast<int>(stream_); }

    std::string name_;
    Stream stream_;
    metagroup::detail::UniqueFd file_;
};

// Opens those of the descriptors 0 to 2 that are closed, so that no file opened later gets their
// number and is written to. Using such a stream still fails.
void occupy_closed_streams();

// \throws std::system_error if standard output could not be flushed.
void finish_printing();

}  // namespace tool
