#!/usr/bin/env bash
# path-without.sh PROGRAM FOLDER: prints a PATH on which everything is found but PROGRAM, through links made in FOLDER.
set -euo pipefail
mkdir -p "$2"
IFS=: read -ra entries <<<"$PATH"
for entry in "${entries[@]}"; do
  for file in "$entry"/*; do
    name=${file##*/}
    [ "$name" = "$1" ] || [ ! -x "$file" ] || [ -e "$2/$name" ] || ln -s "$file" "$2/$name" 2>/dev/null || true
  done
done
printf '%s\n' "$2"
