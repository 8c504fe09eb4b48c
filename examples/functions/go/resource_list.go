package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"
)

// A KRM function reads a ResourceList from stdin, and writes it to stdout.
func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes nothing after an error.
func run(in io.Reader, out io.Writer) error {
	var document yaml.Node
	if err := yaml.NewDecoder(in).Decode(&document); err != nil {
		return fmt.Errorf("cannot read the ResourceList: %w", err)
	}
	list := document.Content[0]
	items := field(list, "items")
	if text(list, "kind") != "ResourceList" || items == nil || items.Kind != yaml.SequenceNode {
		return errors.New("the input is not a ResourceList with items")
	}
	if err := transform(field(list, "functionConfig"), items.Content); err != nil {
		return err
	}
	var written bytes.Buffer
	encoder := yaml.NewEncoder(&written)
	encoder.SetIndent(2)
	if err := encoder.Encode(list); err != nil {
		return fmt.Errorf("cannot write the ResourceList: %w", err)
	}
	_, err := written.WriteTo(out)
	return err
}

// field returns the value at a path of fields, or nil.
func field(node *yaml.Node, path ...string) *yaml.Node {
	for _, name := range path {
		node = child(node, name)
	}
	return node
}

// text returns the text at a path of fields, or "".
func text(node *yaml.Node, path ...string) string {
	if found := field(node, path...); found != nil && found.Kind == yaml.ScalarNode && found.Tag != "!!null" {
		return found.Value
	}
	return ""
}

// setText sets the text at a path of fields, makes missing maps, and keeps comments.
func setText(node *yaml.Node, value string, path ...string) {
	for _, name := range path {
		next := child(node, name)
		if next == nil {
			if node.Kind != yaml.MappingNode {
				node.Kind, node.Tag, node.Value, node.Content = yaml.MappingNode, "!!map", "", nil
			}
			next = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
			key := &yaml.Node{}
			key.SetString(name)
			node.Content = append(node.Content, key, next)
		}
		node = next
	}
	node.Content = nil
	node.SetString(value)
}

func child(node *yaml.Node, name string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for at := 0; at+1 < len(node.Content); at += 2 {
		if node.Content[at].Value == name {
			return node.Content[at+1]
		}
	}
	return nil
}
