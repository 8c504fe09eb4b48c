// Reads a JSON list of texts from stdin, and prints for each what go-yaml 3 reads: the values of its documents, or its
// error. Times are text, as in JSON.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"gopkg.in/yaml.v3"
)

type read struct {
	Documents []any  `json:"documents"`
	Error     string `json:"error,omitempty"`
}

func main() {
	var texts []string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	all := make([]read, len(texts))
	for i, text := range texts {
		all[i] = readAll(text)
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func readAll(text string) (result read) {
	defer func() {
		if problem := recover(); problem != nil {
			result = read{Error: fmt.Sprint(problem)}
		}
	}()
	result.Documents = []any{}
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var node yaml.Node
		err := decoder.Decode(&node)
		if err == io.EOF {
			return result
		}
		var value any
		if err == nil {
			err = node.Decode(&value)
		}
		if err != nil {
			return read{Error: err.Error()}
		}
		root := node.Content[0]
		if root.Kind == yaml.ScalarNode && root.Value == "" && root.Style == 0 && root.Anchor == "" {
			continue
		}
		result.Documents = append(result.Documents, toJSON(&node))
	}
}

func toJSON(node *yaml.Node) any {
	switch node.Kind {
	case yaml.DocumentNode:
		return toJSON(node.Content[0])
	case yaml.AliasNode:
		return toJSON(node.Alias)
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range node.Content {
			list = append(list, toJSON(item))
		}
		return list
	case yaml.MappingNode:
		object := map[string]any{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind == yaml.AliasNode {
				key = key.Alias
			}
			object[key.Value] = toJSON(node.Content[i+1])
		}
		return object
	}
	if node.ShortTag() == "!!timestamp" {
		return node.Value
	}
	var value any
	if err := node.Decode(&value); err != nil {
		return node.Value
	}
	if number, ok := value.(float64); ok && (math.IsInf(number, 0) || math.IsNaN(number)) {
		return node.Value
	}
	return value
}
