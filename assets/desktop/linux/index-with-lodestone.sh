#!/usr/bin/env bash
# For the menu "Scripts" of Nautilus, which names what is selected, or nothing where a folder's
# background was clicked, and starts this in the folder that it shows.
set -euo pipefail

lodestone=lodestone
if (($# == 0)); then set -- "$PWD"; fi
exec "$lodestone" -- "$@"
