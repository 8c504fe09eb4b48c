import { copyComments, type ResourceNode, readResourceList, syncOrder } from '@krmhub/schema/resource-yaml';
import type { FileFormat } from './file-formats.js';
import { itemText } from './item-text.js';
import { readBody } from './read-resources.js';
import { Resource } from './resource.js';
import type { ResourceBody } from './resource-body.js';
import { itemList } from './split-items.js';

/** Copies the comments and the order of fields that a function lost. */
export function copyLost(before: Resource, after: ResourceNode, format: FileFormat): void {
  before.body.withAnnotations((node) => {
    copyComments(node, after, { asKyaml: format === 'kpt' });
    syncOrder(node, after);
  });
}

/** What is in the text of a resource that kpt does not write as it is: comments, and folded scalars. */
const CHANGED_BY_KPT = /#|>[-+\d]*\n/;
/** How a function gives back a resource. */
export interface Passing {
  /** Whether nothing followed it. */
  isLast: boolean;
  format: FileFormat;
}

/** What each body became, for each way. */
const PASSED = new WeakMap<ResourceBody, Map<string, ResourceBody>>();

/**
 * Returns what kpt makes of a resource that a function gave back as it was. kpt parses it and copies its comments
 * again, which moves or repeats comments where the parser attaches them to another node, and writes folded scalars in
 * quotes. The second time, nothing changes.
 */
export function passThrough(resource: Resource, passing: Passing): Resource {
  if (!CHANGED_BY_KPT.test(resource.body.compactText())) return resource;
  const ways = PASSED.get(resource.body) ?? new Map<string, ResourceBody>();
  PASSED.set(resource.body, ways);
  const way = `${passing.format} ${passing.isLast}`;
  const passed = ways.get(way) ?? pass(resource, passing);
  ways.set(way, passed);
  return passed === resource.body ? resource : new Resource(passed, resource, resource.source);
}

function pass(resource: Resource, { isLast, format }: Passing): ResourceBody {
  const node = readResourceList(itemList(itemText(resource, undefined), isLast), resource.path).items[0]!;
  copyLost(resource, node, format);
  const body = readBody(node, resource.seqIndent);
  return body.compactText() === resource.body.compactText() ? resource.body : body;
}
