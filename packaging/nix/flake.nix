# SPDX-License-Identifier: MIT
# nix build '.?dir=packaging/nix'; the module for NixOS is nixosModules.default.
{
  description = "Performance counters of all CPUs with one read()";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = nixpkgs.lib.genAttrs [ "x86_64-linux" "aarch64-linux" ];
    in
    {
      packages = systems (system: {
        default = nixpkgs.legacyPackages.${system}.callPackage ./package.nix { };
      });

      nixosModules.default = { config, pkgs, ... }:
        let
          metagroup = self.packages.${pkgs.stdenv.hostPlatform.system}.default;
        in
        {
          boot.extraModulePackages =
            [ (config.boot.kernelPackages.callPackage ./module.nix { }) ];
          boot.kernelModules = [ "perf_metagroup" ];
          environment.systemPackages = [ metagroup ];
          services.udev.packages = [ metagroup ];
          users.groups.perf_metagroup = { };
        };
    };
}
