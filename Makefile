# The front door. Everything real is in CMakeLists.txt.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# The build below has jobs of its own; what this make would hand down confuses them.
BUILD = env -u MAKEFLAGS -u MAKELEVEL cmake --build build -j $(JOBS)

all:
	@cmake --preset release -DCMAKE_MESSAGE_LOG_LEVEL=WARNING
	@$(BUILD)

check:
	@scripts/check.sh

# Decode attention of one layer, one thread; needs an idle machine to mean anything.
bench: all
	@$(BUILD) --target ingot-bench
	build/bench/attn_quick f16 q8_0 int4:32 int4:128

PREFIX ?= /usr/local
install: all
	@cmake --install build --prefix $(PREFIX)

clean:
	rm -rf build build-*/

.PHONY: all check bench install clean
