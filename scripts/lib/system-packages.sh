# shellcheck shell=bash
# What Lodestone needs of the system, and how to get it. Sourced by scripts/run and scripts/test.
#
# A need is found missing by trying it, not by asking a package manager, so that a library which
# came some other way counts too.

# need | how to try it | Debian, Ubuntu | Fedora | Arch
needs_table() {
  cat <<'TABLE'
cc        | command cc                  | build-essential                    | gcc gcc-c++ make                  | base-devel
pkgconf   | command pkg-config          | pkg-config                         | pkgconf-pkg-config                | pkgconf
webkit    | library webkit2gtk-4.1      | libwebkit2gtk-4.1-dev              | webkit2gtk4.1-devel               | webkit2gtk-4.1
gtk       | library gtk+-3.0            | libgtk-3-dev                       | gtk3-devel                        | gtk3
openssl   | library openssl             | libssl-dev                         | openssl-devel                     | openssl
xdo       | header xdo.h                | libxdo-dev                         | libxdo-devel                      | xdotool
xvfb      | command Xvfb                | xvfb                               | xorg-x11-server-Xvfb              | xorg-server-xvfb
openbox   | command openbox             | openbox                            | openbox                           | openbox
xdotool   | command xdotool             | xdotool                            | xdotool                           | xdotool
import    | command import              | imagemagick                        | ImageMagick                       | imagemagick
dbus      | command dbus-daemon         | dbus-daemon                        | dbus-daemon                       | dbus
atspi     | file org.a11y.Bus.service   | at-spi2-core                       | at-spi2-core                      | at-spi2-core
pygtk     | python_gi Gtk 3.0           | python3 python3-gi gir1.2-gtk-3.0  | python3-gobject gtk3              | python-gobject gtk3
pyatspi   | python_gi Atspi 2.0         | python3 python3-gi gir1.2-atspi-2.0 | python3-gobject at-spi2-core     | python-gobject at-spi2-core
python    | command python3             | python3                            | python3                           | python
vulkan    | vulkan_driver lvp           | mesa-vulkan-drivers libvulkan1     | mesa-vulkan-drivers vulkan-loader | vulkan-swrast vulkan-icd-loader
TABLE
}

# Needs of the command line alone, of the application, and of the tests.
# shellcheck disable=SC2034  # the scripts that source this file read them
NEEDS_CLI=(cc)
NEEDS_DESKTOP=(cc pkgconf webkit gtk openssl xdo)
# shellcheck disable=SC2034
NEEDS_TESTS=("${NEEDS_DESKTOP[@]}" xvfb openbox xdotool import dbus atspi pygtk pyatspi python vulkan)

# Python modules of the system belong to the system's interpreter; another one earlier in PATH
# does not see them.
system_python() {
  if [[ -x /usr/bin/python3 ]]; then echo /usr/bin/python3; else echo python3; fi
}

# probe KIND NAME [VERSION]: whether the system has it.
probe() {
  case ${1:-} in
    command) command -v "$2" >/dev/null 2>&1 ;;
    library) pkg-config --exists "$2" >/dev/null 2>&1 ;;
    header) echo "#include <$2>" | cc -E -x c - >/dev/null 2>&1 ;;
    file) [[ -e /usr/share/dbus-1/services/$2 || -e /usr/local/share/dbus-1/services/$2 ]] ;;
    vulkan_driver) compgen -G "/usr/share/vulkan/icd.d/$2_icd*.json" >/dev/null && ldconfig -p | grep -q libvulkan.so.1 ;;
    python_gi) "$(system_python)" -c "import gi; gi.require_version('$2', '$3')" >/dev/null 2>&1 ;;
    *) return 1 ;;
  esac
}

# column NUMBER NEED: prints the words of a cell of the table.
column() {
  needs_table | awk -F' *[|] *' -v number="$1" -v need="$2" '$1 == need { print $number }'
}

# missing_needs NEED...: prints those that the system lacks.
missing_needs() {
  local need words
  for need in "$@"; do
    read -r -a words <<<"$(column 2 "$need")"
    probe "${words[@]}" || echo "$need"
  done
}

# packages_for DISTRIBUTION NEED...: prints the packages on one line, each once.
packages_for() {
  local number need
  case $1 in debian) number=3 ;; fedora) number=4 ;; arch) number=5 ;; esac
  for need in "${@:2}"; do
    column "$number" "$need"
  done | tr ' ' '\n' | awk 'NF && !seen[$0]++' | paste -sd ' ' -
}

say_what_to_install() {
  cat >&2 <<SAY
Missing on this system: $*
Install these, then run this again:
  Debian, Ubuntu:  sudo apt-get install $(packages_for debian "$@")
  Fedora:          sudo dnf install $(packages_for fedora "$@")
  Arch:            sudo pacman -S --needed $(packages_for arch "$@")
SAY
}

# as_root COMMAND...: runs it as root, or fails when there is no way to become root.
as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 && -t 2 ]]; }; then
    sudo "$@"
  else
    return 1
  fi
}

apt_install() {
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@")
  # The package lists of a new machine are empty or old; those of any other need no refreshing.
  as_root "${install[@]}" || { as_root apt-get update && as_root "${install[@]}"; }
}

install_on_linux() {
  local missing packages
  mapfile -t missing < <(missing_needs "$@")
  ((${#missing[@]})) || return 0
  if command -v apt-get >/dev/null; then
    read -r -a packages <<<"$(packages_for debian "${missing[@]}")"
    echo "Installing ${packages[*]}" >&2
    if apt_install "${packages[@]}" >&2; then
      mapfile -t missing < <(missing_needs "$@")
    fi
  fi
  ((${#missing[@]} == 0)) || { say_what_to_install "${missing[@]}"; return 1; }
}

# ensure_system NEED...: installs what the system lacks, or says what to install and fails.
ensure_system() {
  case $(uname -s) in
    Linux) install_on_linux "$@" ;;
    Darwin)
      # The compiler and the web view come with Apple's tools and with macOS.
      xcode-select -p >/dev/null 2>&1 || {
        echo "Apple's command line tools are missing: run 'xcode-select --install', then this again." >&2
        return 1
      }
      ;;
    MINGW* | MSYS* | CYGWIN*)
      echo "On Windows, Lodestone needs the Visual Studio Build Tools (workload 'Desktop development" \
        "with C++') to build and the WebView2 runtime, part of Windows 11, to run." >&2
      ;;
    *) echo "$(uname -s) has not been tried; the build may miss a C compiler or a web view." >&2 ;;
  esac
}

# ensure_cargo MANIFEST: finds a cargo that is new enough, or says how to get it.
ensure_cargo() {
  local wanted found
  wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$1")
  # The installer changes only the PATH of later shells.
  command -v cargo >/dev/null || PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
  if ! command -v cargo >/dev/null; then
    echo "Rust is missing: install version $wanted or newer with rustup (https://rustup.rs), then run this again." >&2
    return 1
  fi
  found=$(cargo --version | awk '{ print $2 }')
  if [[ $(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1) != "$wanted" ]]; then
    echo "Rust $found is too old: Lodestone needs $wanted. With rustup: rustup update stable" >&2
    return 1
  fi
}
