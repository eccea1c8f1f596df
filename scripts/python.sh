#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tests, the linters or the mutants of python/, in an environment of their own below .deps. It sees
# what the system's Python has beside, such as torch. Where there is no Python it says so and is done.
set -eu
task=$1
shift
cd "$(dirname "$0")/../python"
env=$(cd .. && pwd)/.deps/python
python=${PYTHON:-python3}

skip() {
	echo "$task: python/ is skipped: $1"
	exit 0
}

command -v "$python" >/dev/null || skip "there is no $python"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "$python is older than 3.10"
"$python" -c 'import ensurepip, venv' 2>/dev/null || skip "$python has no venv (on Debian: apt-get install python3-venv)"

if ! cmp -s requirements-dev.txt "$env/requirements-dev.txt"; then
	echo "$task: installing numpy, pandas, pytest and others into .deps/python"
	rm -rf "$env"
	"$python" -m venv --system-site-packages "$env"
	"$env/bin/python" -m pip install -q --disable-pip-version-check -r requirements-dev.txt || skip "pip cannot install what it needs"
	cp requirements-dev.txt "$env/requirements-dev.txt"
fi

echo "$task: python/"
case $task in
test) PYTHONPATH=src "$env/bin/python" -m pytest -q -n auto ;;
mutants) "$env/bin/python" ../scripts/mutants.py "$@" ;;
lint)
	# As modules: the scripts beside them break when the working copy moves.
	"$env/bin/python" -m ruff check -q .
	"$env/bin/python" -m ruff format -q --check .
	"$env/bin/python" -m mypy --python-executable "$env/bin/python"
	;;
*)
	echo "python.sh: $task, want test, lint or mutants" >&2
	exit 2
	;;
esac
