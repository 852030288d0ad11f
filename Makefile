# The front door. Everything real is in CMakeLists.txt.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

all:
	@cmake --preset release -DCMAKE_MESSAGE_LOG_LEVEL=WARNING
	@cmake --build build -j $(JOBS)

check:
	@scripts/check.sh

clean:
	rm -rf build build-*/

.PHONY: all check clean
