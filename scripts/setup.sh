#!/bin/sh
# Makes .venv ready for the Makefile: checks the tools, installs the locked packages and this project. Does nothing when nothing has changed.
# usage: scripts/setup.sh [PYTHON]
set -eu
cd "$(dirname "$0")/.."
wanted=${1:-}
venv=.venv
lock=requirements/dev.lock
log=build/setup.log

fail() {
    echo "tickgate: error: $*" >&2
    exit 1
}

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

identity() {    # the same for a Python and for the virtual environments made from it
    "$1" -c 'import sys; print(sys.version, sys.base_prefix)' 2>/dev/null
}

stamp() {       # all that the environment depends on
    pwd
    cat "$lock" pyproject.toml
}

usable() {      # the environment there is: it works, and is made from the Python asked for
    [ -x $venv/bin/python ] && $venv/bin/python -c '' 2>/dev/null && { [ -z "$wanted" ] || [ "$(identity "$wanted")" = "$(identity $venv/bin/python)" ]; }
}

ready() {
    usable && stamp | cmp -s - $venv/stamp
}

if ready; then exit 0; fi
mkdir -p build
if command -v flock >/dev/null; then    # two first runs at once: the second one waits and finds it done
    exec 9>build/setup.lock
    flock 9
    if ready; then exit 0; fi
fi

command -v perl >/dev/null || fail "perl is missing: apt install perl (Debian), dnf install perl (Fedora)"
command -v make >/dev/null || fail "make is missing: apt install make (Debian), dnf install make (Fedora)"

cxx=
for c in ${CXX:-} g++ c++ clang++; do
    if command -v "$c" >/dev/null; then cxx=$c; break; fi
done
[ -n "$cxx" ] || fail "a C++ compiler is missing: apt install g++ (Debian), dnf install gcc-c++ (Fedora)"
printf '#include <string_view>\nint main() {}\n' | "$cxx" -std=c++17 -x c++ -fsyntax-only - 2>/dev/null ||
    fail "the C++ compiler $cxx cannot compile C++17: apt install g++ (Debian), dnf install gcc-c++ (Fedora)"

python=
if [ -n "$wanted" ]; then
    command -v "$wanted" >/dev/null || fail "PYTHON=$wanted is not there"
    new_enough "$wanted" || fail "PYTHON=$wanted is not Python 3.11 or newer"
    python=$wanted
else
    for p in python3.13 python3.12 python3.11 python3; do
        if command -v $p >/dev/null && new_enough $p; then python=$p; break; fi
    done
    [ -n "$python" ] || fail "Python 3.11 or newer is missing: apt install python3 python3-venv (Debian 12 or newer), dnf install python3 (Fedora)"
fi
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    fail "$python cannot make virtual environments: apt install $("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])') (Debian), dnf install python3 (Fedora)"

echo "tickgate: setting up $venv with $python, once; about a minute" >&2
pip="$venv/bin/python -m pip install -q --disable-pip-version-check --no-deps"    # no-deps: the lock names everything
rm -f $venv/stamp
{
    usable || "$python" -m venv --clear $venv
} >$log 2>&1 && $pip -r $lock >>$log 2>&1 && $pip --no-build-isolation -e . >>$log 2>&1 || {
    grep -v WARNING $log | tail -n 5 >&2
    fail "the set-up failed (all of it: $log)"
}
stamp >$venv/stamp
