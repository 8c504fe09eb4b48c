"""Merges catalogs as a script of a few lines does: python3 merge-catalogs.py OUTPUT URL...

The first catalog that has a function wins. Writes one YAML file, and prints the seconds that it took.
"""

import sys
import time
import urllib.request

from yaml import CSafeDumper, CSafeLoader, dump, load


def main():
    output, *urls = sys.argv[1:]
    started = time.perf_counter()
    merged = {}
    for url in urls:
        with urllib.request.urlopen(url) as answer:
            catalog = load(answer.read(), Loader=CSafeLoader)
        for entry in catalog["spec"]["krmFunctions"]:
            merged.setdefault((entry["group"], entry["names"]["kind"].lower()), entry)
    document = {
        "apiVersion": "config.kubernetes.io/v1alpha1",
        "kind": "Catalog",
        "metadata": {"name": "merged"},
        "spec": {"krmFunctions": [merged[name] for name in sorted(merged)]},
    }
    with open(output, "w", encoding="utf-8") as file:
        dump(document, file, Dumper=CSafeDumper, sort_keys=False, allow_unicode=True)
    print(len(merged), time.perf_counter() - started)


main()
