# make help lists the targets.
.PHONY: help build test race lint fuzz bench crash browser interop demo
help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12
build: ## bin/edigw
	deploy/build.sh bin/edigw
test: ## every test that needs no more than Go
	go test ./...
race: ## the same with the race detector
	go test -race ./...
lint: ## vet, golangci-lint, the import rule
	go vet ./... && golangci-lint run ./...
fuzz: ## every fuzz target for 20 s
	.ci/fuzz 20
crash: ## kill -9 of the real binary at every step
	go test -count=1 -run 'Crash|Kill' -v ./cmd/edigw/...
browser: ## the console in chromium, with pictures of every page
	go test -count=1 -run '^TestBrowser' -v ./cmd/edigw
interop: ## documents to and from real foreign AS2 and AS4 products
	EDIGW_INTEROP=1 go test -count=1 -parallel 8 -timeout 30m -v ./interop
bench: ## the figures of docs/performance.md, as tables with ratios
	EDIGW_FIGURES=full go test -run '^TestFigureExchange(AS4)?$$' -v -count=1 -timeout 60m ./cmd/edigw # first: ext4 makes files slowly for minutes after many were deleted
	EDIGW_FIGURES=full go test -run '^TestFigure' -skip '^TestFigureExchange(AS4)?$$' -v -count=1 -timeout 40m ./cmd/edigw
demo: ## the story of a day in a minute
	go run ./cmd/edigw demo
