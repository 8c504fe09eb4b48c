// Reads a catalog from stdin as the prototype of catalogs in kustomize does: into the definitions of kyaml, by the strict
// decoder that kyaml uses, which refuses fields that it does not know. Prints what it has understood as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

type catalog struct {
	kyaml.TypeMeta   `json:",inline"`
	kyaml.ObjectMeta `json:"metadata,omitempty"`
	Spec             struct {
		KrmFunctions []framework.KrmFunctionDefinitionSpec `json:"krmFunctions"`
	} `json:"spec"`
}

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		fail(err)
	}
	var read catalog
	if err := yaml.UnmarshalStrict(text, &read); err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(read); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
