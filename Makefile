# The front door. Everything real is in CMakeLists.txt.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# The build below has jobs of its own; what this make would hand down confuses them.
BUILD = env -u MAKEFLAGS -u MAKELEVEL cmake --build build -j $(JOBS)

all:
	@cmake --preset release -DCMAKE_MESSAGE_LOG_LEVEL=WARNING
	@$(BUILD)

check:
	@scripts/check.sh

# Bandwidth and decode attention; needs an idle machine to mean anything (docs/benchmarks.md).
bench: all
	build/ingot bench copy
	build/ingot bench attn

PREFIX ?= /usr/local
install: all
	@cmake --install build --prefix $(PREFIX)

clean:
	rm -rf build build-*/

.PHONY: all check bench install clean
