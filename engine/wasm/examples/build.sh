#!/bin/sh
# Builds the modules that are written in C, with clang and lld of version 14 or newer.
set -e
cd "$(dirname "$0")"
clang --target=wasm32 -O2 -nostdlib -mbulk-memory -Wall \
  -Wl,--no-entry -Wl,-z,stack-size=8192 -Wl,--strip-all \
  -o "${1:-word-count.wasm}" word-count.c
