// Pulls and pushes artifacts with the library of Flux, as its source-controller and `flux push artifact` do. Prints JSON.
//
//	flux pull HOST/REPOSITORY:TAG FOLDER
//	flux push HOST/REPOSITORY:TAG FOLDER SOURCE REVISION
//	flux decode < MANIFESTS
//
// decode reads manifests as the controllers do, but refuses fields that they do not know.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/oci"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/yaml"
)

func decode(input []byte) (any, error) {
	var decoded []any
	for _, document := range bytes.Split(input, []byte("\n---\n")) {
		var meta struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(document, &meta); err != nil {
			return nil, err
		}
		var object any
		switch meta.APIVersion + " " + meta.Kind {
		case sourcev1.GroupVersion.String() + " OCIRepository":
			object = &sourcev1.OCIRepository{}
		case kustomizev1.GroupVersion.String() + " Kustomization":
			object = &kustomizev1.Kustomization{}
		default:
			return nil, fmt.Errorf("unknown kind %s %s", meta.APIVersion, meta.Kind)
		}
		if err := yaml.UnmarshalStrict(document, object); err != nil {
			return nil, err
		}
		decoded = append(decoded, object)
	}
	return decoded, nil
}

func run(args []string) (any, error) {
	client := oci.NewClient(oci.DefaultOptions())
	ctx := context.Background()
	switch {
	case len(args) == 3 && args[0] == "pull":
		return client.Pull(ctx, args[1], args[2])
	case len(args) == 5 && args[0] == "push":
		meta := oci.Metadata{Source: args[3], Revision: args[4]}
		return client.Push(ctx, args[1], args[2], oci.WithPushMetadata(meta))
	case len(args) == 1 && args[0] == "decode":
		input, err := io.ReadAll(os.Stdin)
		if err != nil {
			return nil, err
		}
		return decode(input)
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
