// Pulls and pushes artifacts with the library of Flux, as its source-controller and `flux push artifact` do. Prints JSON.
//
//	flux pull HOST/REPOSITORY:TAG FOLDER
//	flux push HOST/REPOSITORY:TAG FOLDER SOURCE REVISION
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/pkg/oci"
)

func run(args []string) (any, error) {
	client := oci.NewClient(oci.DefaultOptions())
	ctx := context.Background()
	switch {
	case len(args) == 3 && args[0] == "pull":
		return client.Pull(ctx, args[1], args[2])
	case len(args) == 5 && args[0] == "push":
		meta := oci.Metadata{Source: args[3], Revision: args[4]}
		return client.Push(ctx, args[1], args[2], oci.WithPushMetadata(meta))
	}
	return nil, fmt.Errorf("unknown arguments %q", args)
}

func main() {
	result, err := run(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
