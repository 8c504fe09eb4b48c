import { copyComments, type ResourceNode, readResourceList, syncOrder } from '@krmhub/schema/resource-yaml';
import { itemText } from '../resource-list/item-text.js';
import { readBody } from '../resource-list/read-resources.js';
import { Resource } from '../resource-list/resource.js';
import type { ResourceBody } from '../resource-list/resource-body.js';
import { itemList } from '../resource-list/split-items.js';
import type { StepOutput } from './step-input.js';

/** Copies the comments and the order of fields that a function lost. */
export function copyLost(before: Resource, after: ResourceNode): void {
  before.body.withAnnotations((node) => {
    copyComments(node, after);
    syncOrder(node, after);
  });
}

/** What is in the text of a resource that kpt does not write as it is: comments, and folded scalars. */
const CHANGED_BY_KPT = /#|>[-+\d]*\n/;
const PASSED = {
  last: new WeakMap<ResourceBody, ResourceBody>(),
  others: new WeakMap<ResourceBody, ResourceBody>(),
};

/**
 * Returns what kpt makes of a resource that a function gave back as it was. kpt parses it and copies its comments
 * again, which moves or repeats comments where the parser attaches them to another node, and writes folded scalars in
 * quotes. The second time, nothing changes.
 */
export function passThrough(resource: Resource, isLast: boolean): Resource {
  if (!CHANGED_BY_KPT.test(resource.text())) return resource;
  const cache = isLast ? PASSED.last : PASSED.others;
  let passed = cache.get(resource.body);
  if (passed === undefined) {
    passed = pass(resource, isLast);
    cache.set(resource.body, passed);
  }
  return passed === resource.body ? resource : new Resource(passed, resource);
}

/** Of a function that gave back its whole input. `endsText`: nothing followed the items. */
export function passAll(resources: readonly Resource[], endsText: boolean): StepOutput {
  return {
    resources: resources.map((resource, at) =>
      passThrough(resource, endsText && at === resources.length - 1),
    ),
    origins: resources.map((_, at) => at),
  };
}

function pass(resource: Resource, isLast: boolean): ResourceBody {
  const node = readResourceList(itemList(itemText(resource, undefined), isLast), resource.path).items[0]!;
  copyLost(resource, node);
  const body = readBody(node, resource.seqIndent);
  return body.text() === resource.text() ? resource.body : body;
}
