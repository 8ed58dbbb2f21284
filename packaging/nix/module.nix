# SPDX-License-Identifier: MIT
{ lib, stdenv, kernel }:

stdenv.mkDerivation {
  pname = "perf-metagroup";
  version = "${lib.fileContents ../../VERSION}-${kernel.version}";
  src = ../..;
  sourceRoot = "source/kmod";
  hardeningDisable = [ "pic" ];
  nativeBuildInputs = kernel.moduleBuildDependencies;
  makeFlags = [ "KDIR=${kernel.dev}/lib/modules/${kernel.modDirVersion}/build" ];
  installPhase = ''
    install -D -m 644 perf_metagroup.ko -t $out/lib/modules/${kernel.modDirVersion}/updates
  '';
  meta = {
    description = "Performance counters of all CPUs with one read(): the kernel module";
    license = lib.licenses.gpl2Only;
    platforms = lib.platforms.linux;
  };
}
