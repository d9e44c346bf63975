# shellcheck shell=bash
# Where cargo has put a program, for scripts that source this file.

# built_program KIND NAME: of the messages that `cargo --message-format=json` writes, which are read from the standard
# input, the last program of that kind ("lib" with tests, "bin", "bench") and name; nothing where there is none.
built_program() {
  sed -n "s/.*\"kind\":\[\"$1\"\].*\"name\":\"$2\".*\"executable\":\"\([^\"]*\)\".*/\1/p" | tail -n 1
}
