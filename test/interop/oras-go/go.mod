module krmhub/test/interop/oras-go

go 1.21.0

require (
	github.com/opencontainers/go-digest v1.0.0
	github.com/opencontainers/image-spec v1.1.0
	oras.land/oras-go/v2 v2.5.0
)

require golang.org/x/sync v0.6.0 // indirect
