# SPDX-License-Identifier: MIT
{ lib, stdenv, cmake, pkg-config, cli11, fmt, libmicrohttpd, libpfm, ncurses, nlohmann_json, prometheus-cpp }:

stdenv.mkDerivation {
  pname = "metagroup";
  version = lib.fileContents ../../VERSION;
  src = ../..;
  nativeBuildInputs = [ cmake pkg-config ];
  buildInputs = [ cli11 fmt libmicrohttpd libpfm ncurses nlohmann_json prometheus-cpp ];
  cmakeFlags = [
    "-DMETAGROUP_BUILD_TESTS=OFF"
    "-DMETAGROUP_BUILD_BENCH=OFF"
    "-DCMAKE_COMPILE_WARNING_AS_ERROR=OFF"
  ];
  meta = {
    description = "Performance counters of all CPUs with one read()";
    license = lib.licenses.mit;
    platforms = lib.platforms.linux;
    mainProgram = "metagroup";
  };
}
