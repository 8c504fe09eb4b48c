"""SetOwner is a KRM function: it reads a ResourceList from stdin, and writes it to stdout."""

import sys

from ruamel.yaml import YAML


def transform(config, items):
    """Changes the items in place. Users read the message of what it raises."""
    owner = config.get("owner")
    if not isinstance(owner, str) or owner == "":
        raise ValueError("the functionConfig has no owner")
    for item in items:
        metadata = item["metadata"]
        if metadata.get("annotations") is None:
            metadata["annotations"] = {}
        metadata["annotations"]["example.com/owner"] = owner


def main():
    yaml = YAML()  # keeps comments, quotes, and the order of fields
    yaml.preserve_quotes = True
    yaml.width = sys.maxsize
    resources = yaml.load(sys.stdin)
    is_list = isinstance(resources, dict) and resources.get("kind") == "ResourceList"
    if not is_list or not isinstance(resources.get("items"), list):
        raise ValueError("the input is not a ResourceList with items")
    transform(resources.get("functionConfig") or {}, resources["items"])
    yaml.dump(resources, sys.stdout)


if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        sys.exit(str(error))
