# What CONTRIBUTING.md describes. GNU make 4, bash, Go; the rest is installed or
# asked for by scripts/setup.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

GO ?= go
NODE ?= node
TRIM ?= -trimpath
FUZZTIME ?= 5s
BENCHTIME ?= 1s
export CGO_ENABLED ?= 0
# The Go that is installed is the Go that is used.
export GOTOOLCHAIN ?= local

# Only quick keeps to one engine: what is submitted has passed on both.
unexport HOLDFAST_TEST_ENGINE

# One test at a time has the machine, also under -j.
.NOTPARALLEL:

.PHONY: build release image run quick test unit supabase guides console console-test check figures chart race kill rolling fuzz bench peers setup clean

build: ## bin/holdfast
	$(GO) build $(TRIM) -ldflags "-s -w" -o bin/holdfast ./cmd/holdfast

release: setup ## dist/, what is offered for download: make release VERSION=0.1.0 KEY=holdfast.key (or UNSIGNED=yes)
	$(GO) run ./packaging/release -version "$(VERSION)" -key "$(KEY)" $(if $(UNSIGNED),-unsigned) -out dist

image: build ## bin/holdfast.oci, a container image without a container engine
	rm -rf bin/holdfast.oci
	$(GO) run ./packaging/container/image -binary bin/holdfast -arch $$($(GO) env GOARCH) -out bin/holdfast.oci

run: ## a server with two demo tenants
	$(GO) run ./cmd/holdfast serve --demo

quick: ## vet, and the packages that changed since the last commit (or since BASE=revision), on SQLite alone
	@GO=$(GO) sh scripts/quick $(BASE)

setup: ## what the tests need besides Go
	@GO=$(GO) NODE=$(NODE) sh scripts/setup

# The cluster that the wrapper starts serves the Go tests of all packages and
# the PostgreSQL half of the client tests. The program has the paths of this
# machine in it, so that nothing is compiled twice.
test: TRIM =
test: setup build ## everything that must pass
	$(GO) vet ./...
	$(GO) build -ldflags "-s -w" ./...
	$(GO) build -o bin/pgtest ./internal/testkit/pgtest/cmd/pgtest
	$(GO) build -o bin/e2e ./internal/testkit/e2e
	bin/pgtest -- $(MAKE) --no-print-directory unit supabase guides console-test

console: setup build ## console/dist from console/src
	bin/holdfast gen types ts > console/src/database.gen.ts
	cd console && node_modules/.bin/tsc --noEmit && node_modules/.bin/vite build

# What is committed is what the sources make; then people's tasks in a browser
# at the started binary on each engine; what is about pages alone is seen on one of them.
console-test:
	$(NODE) --test --test-reporter=spec test/console/build.test.mjs
	bin/e2e -server bin/holdfast -- $(NODE) --test --test-reporter=spec --test-timeout=2700000 test/console/suite.test.mjs
	bin/e2e -server bin/holdfast -settings test/console/links.env -- $(NODE) --test --test-reporter=spec --test-timeout=900000 test/console/links.test.mjs

# The packages that take the longest begin first. HOLDFAST_KILL_ROUNDS is how often
# each step of an import is killed at a random moment. Vet, which test runs, has
# seen them all. Without debugging symbols a test binary links in two thirds of the time.
unit: export HOLDFAST_KILL_ROUNDS ?= 4
unit:
	@mkdir -p bin
	$(GO) test -timeout 25m -vet=off -ldflags "-s -w" ./test/... ./... | tee bin/unit.log
	@echo 'the ten slowest packages, in seconds:'
	@awk '$$1 == "ok" && $$3 ~ /s$$/ {print substr($$3, 1, length($$3) - 1) + 0, $$2}' bin/unit.log | sort -rn | head -10

# An unmodified supabase-js against the started binary, once on each engine:
# with the demo's data, then everything of identity, with a browser and two
# identity providers of the distribution. The time-out is that of a whole file.
supabase:
	bin/e2e -server bin/holdfast -- $(NODE) --test --test-reporter=spec test/supabase/suite.test.mjs
	for set in choices strict brief; do bin/e2e -server bin/holdfast -settings test/supabase/identity/$$set.env -- $(NODE) --test --test-reporter=spec --test-timeout=900000 test/supabase/identity/$$set.test.mjs || exit 1; done
	bin/e2e -server bin/holdfast -settings test/supabase/identity/later.env,test/supabase/identity/later-off.env -- $(NODE) --test --test-reporter=spec --test-timeout=900000 test/supabase/identity/later.test.mjs
	bin/e2e -server bin/holdfast -settings test/supabase/identity/server.env -- $(NODE) --test --test-reporter=spec --test-timeout=900000 test/supabase/identity/suite.test.mjs

# Every snippet of docs/guides and of docs/api.md, and clients of other languages
# with the types that the program writes for them, against a demonstration.
guides:
	bin/e2e -server bin/holdfast -settings test/supabase/guides/server.env -- $(NODE) --test --test-reporter=spec --test-timeout=300000 test/supabase/guides/guides.test.mjs test/supabase/guides/api.test.mjs test/clients/clients.test.mjs

check: setup build ## test, and what takes longer or needs the network
	@test -z "$$(gofmt -l cmd internal bench test 2>/dev/null)" || { gofmt -l cmd internal bench test 2>/dev/null; echo 'gofmt: the files above'; exit 1; }
	$(MAKE) --no-print-directory test
	$(MAKE) --no-print-directory contract agree chart
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	$(GO) run golang.org/x/vuln/cmd/govulncheck@latest ./...
	@dead=$$($(GO) run golang.org/x/tools/cmd/deadcode@v0.52.0 -filter '^holdfast/(cmd|bench|internal/([a-su-z]|t[^e]))' ./cmd/... ./bench/...); \
	  test -z "$$dead" || { echo "$$dead"; echo 'only tests reach the functions above'; exit 1; }
	$(MAKE) --no-print-directory race kill rolling fuzz

contract: build ## the OpenAPI document under the rules of two linters, clients of four generators compiled strictly, and tools that read Swagger
	$(GO) build -o bin/e2e ./internal/testkit/e2e
	$(GO) build -o bin/pgtest ./internal/testkit/pgtest/cmd/pgtest
	[ -d test/lint/node_modules/ra-supabase-core ] || (cd test/lint && npm ci --no-audit --no-fund)
	bin/pgtest -- bin/e2e -server bin/holdfast -- test/lint/run

chart: ## the chart linted and rendered by Helm itself, as it comes and with everything switched on
	GOBIN=$(CURDIR)/bin $(GO) install helm.sh/helm/v3/cmd/helm@v3.22.0
	bin/helm lint --strict packaging/helm/holdfast --set files.inSecret=true
	bin/helm template holdfast packaging/helm/holdfast --set files.inSecret=true >/dev/null
	! bin/helm template holdfast packaging/helm/holdfast >/dev/null
	bin/helm template holdfast packaging/helm/holdfast --set autoscaling.enabled=true,ingress.enabled=true,files.claim=files >/dev/null
	! bin/helm template holdfast packaging/helm/holdfast --set replicas=0,files.inSecret=true >/dev/null

agree: export HOLDFAST_AGREE_ROUNDS = 20000
agree: ## 20,000 random requests, as many over odd documents, as many writes, and 2,000 walks through lists, alike on both engines
	$(GO) build -o bin/pgtest ./internal/testkit/pgtest/cmd/pgtest
	bin/pgtest -- $(GO) test -timeout 60m -run '^TestEnginesAgree' ./internal/store

race: export HOLDFAST_KILL_ROUNDS = 1
race: ## the tests under the race detector, which needs a C compiler, in pieces of at most ten minutes; PACKAGES names some
	$(GO) build -o bin/pgtest ./internal/testkit/pgtest/cmd/pgtest
	GO=$(GO) bin/pgtest -- scripts/race $(PACKAGES)

kill: build ## each step of an import killed at 50 random moments, a server amid 100,000 rows, 100 times under acknowledged writes and 30 under judged verbs
	$(GO) build -o bin/pgtest ./internal/testkit/pgtest/cmd/pgtest
	HOLDFAST_KILL_ROUNDS=50 bin/pgtest -- $(GO) test -timeout 60m -v -run '^TestKilled$$' ./internal/imports
	$(GO) run ./bench -case killed -rows 100000
	HOLDFAST_KILL_ROUNDS=100 bin/pgtest -- $(GO) test -timeout 60m -v -run '^TestKilledKeepsAcknowledged$$' ./test/faults
	HOLDFAST_LINEAR_ROUNDS=30 bin/pgtest -- $(GO) test -timeout 60m -v -run '^TestStockIsLinearizable$$' ./test/faults

rolling: ## two nodes restarted one after the other amid 10,000 requests
	$(GO) build -o bin/pgtest ./internal/testkit/pgtest/cmd/pgtest
	HOLDFAST_ROLLING_REQUESTS=10000 bin/pgtest -- $(GO) test -timeout 20m -v -run '^TestRollingUpgrade$$' ./test/faults

fuzz: ## each fuzz target for FUZZTIME
	@for package in $$(grep -rl --include='*_test.go' '^func Fuzz' internal | xargs -r -n1 dirname | sort -u); do \
	  for target in $$(grep -h -o '^func Fuzz[A-Za-z0-9_]*' $$package/*_test.go | cut -c6-); do \
	    echo "$$package $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) ./$$package; \
	  done; \
	done

figures: ## how legible the program is, beside the goals
	$(GO) run ./test/fences

bench: build ## benchmarks of packages, then the load driver
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) ./internal/...
	@if [ -d bench ]; then $(GO) run ./bench $(ARGS); fi

peers: build ## Holdfast beside other servers, which are had from their registries; docs/performance.md is written anew
	$(GO) build -o bin/bench ./bench
	bin/bench peers $(ARGS)

clean:
	rm -rf bin test/supabase/built test/supabase/node_modules test/console/node_modules console/node_modules
