# SPDX-License-Identifier: GPL-2.0-or-later
# Nix: pkgs.callPackage ./tools/packaging { }, in a checkout of the sources.
{ lib, stdenv, pkg-config, fuse3, liburcu, libuuid, python3, sqlite, xz, zlib }:

stdenv.mkDerivation {
  pname = "trailfs";
  version = "0.2.0";
  src = ../..;

  nativeBuildInputs = [ pkg-config python3 ];
  buildInputs = [ fuse3 liburcu libuuid sqlite xz zlib ];

  # (DESTDIR keeps `make install` from looking at the system of the builder.)
  makeFlags = [ "PREFIX=${placeholder "out"}" "CC=${stdenv.cc.targetPrefix}cc" ];
  installFlags = [ "DESTDIR=/" ];
  enableParallelBuilding = true;

  meta = {
    description = "Linux tracing as a file system";
    license = with lib.licenses; [ mit gpl2Only gpl2Plus ];
    mainProgram = "trailfs";
    platforms = [ "x86_64-linux" ];
  };
}
