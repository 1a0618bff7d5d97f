# Two commands on a fresh machine: `make demo` and `make test`. Each installs what it lacks:
# see scripts/environment, and README.md for what is installed where.

PYTHON ?= python3
DURATION ?=
BENCHES ?=
PAPERS ?= benchmark/papers
PICTURES ?=
MINUTES ?= 10
TICKS ?=
K ?=
CHECK ?=
export PYTHON
# Which ROS 2's wheels, where none is sourced: jazzy (the default) or kilted.
export ROS_WHEELS

# Neither command may reach a robot on the network, unless asked to.
ROS_AUTOMATIC_DISCOVERY_RANGE ?= LOCALHOST
export ROS_AUTOMATIC_DISCOVERY_RANGE
ifeq ($(ROS_DISTRO),humble)
ROS_LOCALHOST_ONLY ?= 1
export ROS_LOCALHOST_ONLY
endif

# Set by the rclpy wheels' start-up hook; inherited from a parent it would switch ours off.
unexport _ROS_WHEELS_BOOTSTRAP_COMPLETE

# Else each of the hundreds of processes that tests start would compile all the Python it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all docs lint format bench papers pictures soak clean help

help:
	@echo 'make demo [DURATION=20]   drive the Panda with goals, print a table, show it in the browser;'
	@echo '                          VIEWER=0: no browser'
	@echo 'make test [K=urdf]        build with colcon and run the tests; K: only tests with this word'
	@echo 'make test-all [K=..]      run all tests: long ones, benchmark/ and a minute of soak, too'
	@echo 'make docs                 build the documentation in build/docs; a warning is an error'
	@echo 'make lint                 ruff; mypy; mypy --strict and pyright for examples and docs'
	@echo 'make format               format the sources with ruff'
	@echo 'make bench [BENCHES=name] run the benchmarks; peers, which installs 6 GB, only by name'
	@echo 'make papers               run the experiments of the papers, into benchmark/papers;'
	@echo '                          IK_MOCAP_DIR=folder for those that need motion capture;'
	@echo '                          CHECK=1: with fewer goals, compare verdicts, write nothing'
	@echo 'make pictures             renew the pictures of the documentation, with Chromium'
	@echo 'make soak [MINUTES=10]    test the node under changes and faults; [OUTPUT=.. ACTIONS=..,..]'
	@echo '                          OUTPUT=joint_trajectory, position_command: with a controller'
	@echo 'make soak TICKS=10000000  test the governor and the tracker, without ROS'
	@echo 'make clean                remove everything that was built and installed here'
	@echo 'PYTHON=python3.12 chooses the Python interpreter,'
	@echo 'ROS_WHEELS=kilted the ROS 2 wheels if no ROS 2 is sourced (default: jazzy).'

demo:
	@python=$$(scripts/environment demo) && exec "$$python" -m ik_node.tools.demo \
	$(if $(DURATION),--duration $(DURATION)) $(if $(filter 0,$(VIEWER)),--no-viewer)

test:
	@python=$$(scripts/environment test) && exec scripts/test "$$python" $(if $(K),-k '$(K)')

test-all:
	@python=$$(scripts/environment test) && THOROUGH=1 exec scripts/test "$$python" \
	$(if $(K),-k '$(K)')

docs:
	@python=$$(scripts/environment docs) && \
	NUMBA_DISABLE_JIT=1 "$$python" -m sphinx -W --keep-going -q -b html docs build/docs && \
	echo "$$PWD/build/docs/index.html"

lint:
	@python=$$(scripts/environment lint) && \
	"$$python" -m ruff check . && "$$python" -m ruff format --check . && "$$python" -m mypy && \
	PYTHONPATH=test "$$python" -m support.type_checkers

format:
	@python=$$(scripts/environment lint) && \
	"$$python" -m ruff check --fix . && "$$python" -m ruff format .

bench:
	@python=$$(scripts/environment bench) && exec "$$python" -m ik_core bench $(BENCHES)

papers:
	@python=$$(scripts/environment bench) && exec "$$python" -m ik_core bench papers \
	--out $(PAPERS) $(if $(filter 1,$(CHECK)),--check,--page docs/papers.md)

pictures:
	@python=$$(scripts/environment pictures) && exec "$$python" -m benchmark.pictures $(PICTURES)

soak:
	@python=$$(scripts/environment demo) && PYTHONPATH=test exec "$$python" -m soak \
	$(if $(TICKS),--offline $(TICKS),--minutes $(MINUTES)) $(if $(OUTPUT),--output $(OUTPUT)) \
	$(if $(ACTIONS),--actions $(ACTIONS)) $(if $(SEED),--seed $(SEED))

clean:
	rm -rf .venv .venv-* build dist install log *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
