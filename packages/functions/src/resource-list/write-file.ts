import { goJson } from './go-json.js';
import type { Resource } from './resource.js';

/** Returns the text of a file with these resources, as kyaml writes it: one resource in a `.json` file is JSON. */
export function writeFileText(path: string, resources: readonly Resource[]): string {
  const [first] = resources;
  if (resources.length === 1 && path.endsWith('.json')) return goJson(first!.value());
  return resources.map((resource) => resource.text()).join('---\n');
}
