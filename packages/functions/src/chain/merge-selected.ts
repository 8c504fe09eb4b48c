import type { Resource } from '../resource-list/resource.js';
import type { StepOutput } from './step-input.js';

/** Puts the output for selected resources into the place of these; what was added comes last, as in kpt. */
export function mergeSelected(
  all: readonly Resource[],
  selected: readonly Resource[],
  { resources, origins }: StepOutput,
): Resource[] {
  const replacement = new Map<Resource, Resource>();
  const added: Resource[] = [];
  for (const [at, resource] of resources.entries()) {
    const origin = origins[at] === undefined ? undefined : selected[origins[at]];
    if (origin === undefined || replacement.has(origin)) added.push(resource);
    else replacement.set(origin, resource);
  }
  const given = new Set(selected);
  const merged: Resource[] = [];
  for (const resource of all) {
    if (!given.has(resource)) merged.push(resource);
    else if (replacement.has(resource)) merged.push(replacement.get(resource)!);
  }
  return [...merged, ...added];
}
