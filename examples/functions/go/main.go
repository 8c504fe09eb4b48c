// Command set-owner is the KRM function SetOwner.
package main

import (
	"errors"

	"go.yaml.in/yaml/v3"
)

// transform changes the items in place. Users read its error.
func transform(config *yaml.Node, items []*yaml.Node) error {
	owner := text(config, "owner")
	if owner == "" {
		return errors.New("the functionConfig has no owner")
	}
	for _, item := range items {
		setText(item, owner, "metadata", "annotations", "example.com/owner")
	}
	return nil
}
