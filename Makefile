# Two commands on a fresh Debian 12 do everything: `make demo` and `make test`. The rest is for those who work on Pilum.
SHELL := /bin/bash
JOBS ?= 2

.PHONY: help demo test test-heavy build check clean
help:
	@echo 'make demo        install what is missing, build, run the main job on real data'
	@echo 'make test        install what is missing, build, run the quick tests'
	@echo 'make test-heavy  sanitizer, property, fault, fuzz and interop tests on time budgets'
	@echo 'make build       build/release/pilum and the Python package'
	@echo 'make check       format, layers, docs: what needs no build'

build:
	@tools/setup base
	@[ -f build/release/build.ninja ] || cmake --preset release
	@cmake --build build/release -j $(JOBS) --target pilum pilum_python

demo: build
	@tools/setup demo
	@tools/demo

test: build
	@tools/setup test
	@tools/test quick

test-heavy:
	@tools/setup test
	@tools/test heavy

check:
	@tools/check

clean:
	rm -rf build
