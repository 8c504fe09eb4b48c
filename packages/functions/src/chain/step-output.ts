import { KrmhubError } from '@krmhub/schema/error';
import { type ResourceNode, readResourceList, removeAnnotation } from '@krmhub/schema/resource-yaml';
import {
  ID,
  INTERNAL_PREFIX,
  LEGACY_ID,
  OWN_ANNOTATIONS,
  SEQUENCE_INDENT,
} from '../resource-list/annotations.js';
import type { ResourceIdentity } from '../resource-list/identity.js';
import { readIdentity } from '../resource-list/read-identity.js';
import { bodyOf } from '../resource-list/read-resources.js';
import { Resource } from '../resource-list/resource.js';
import { itemList, splitItems } from '../resource-list/split-items.js';
import { placeOf } from './output-place.js';
import { copyLost, passThrough } from './pass-through.js';
import type { StepInput, StepOutput } from './step-input.js';

const ID_LINE = /\n +internal\.config\.kubernetes\.io\/id: ['"]?(\d+)['"]?\n/;

/**
 * Reads the output of a function: a ResourceList, or YAML documents. What it gave back as it was is taken from the input; the
 * rest gets back the comments and the order of fields that the function lost. Throws `function-failed`.
 */
export function readStepOutput(output: Uint8Array, input: StepInput): StepOutput {
  const text = new TextDecoder().decode(output);
  try {
    return readSplit(text, input) ?? readWhole(text, input);
  } catch (error) {
    if (!(error instanceof KrmhubError) || error.code !== 'invalid-document') throw error;
    throw new KrmhubError('function-failed', `function ${input.name}: ${error.message}`, { cause: error });
  }
}

/** Documents without a ResourceList are in the order in which they are written, as in kpt: they have no index. */
function readWhole(text: string, input: StepInput): StepOutput {
  const { kind, items } = readResourceList(text, 'the output');
  const output = collect(items, input);
  if (kind !== '') return output;
  return { ...output, resources: output.resources.map((resource, index) => resource.at({ index })) };
}

/** Parses only what changed. Returns undefined if the items cannot be told apart without a parser. */
function readSplit(text: string, input: StepInput): StepOutput | undefined {
  const split = splitItems(text);
  if (split === undefined) return undefined;
  const entries: (number | ResourceNode)[] = [];
  for (const [index, item] of split.items.entries()) {
    const at = Number(ID_LINE.exec(item)?.[1] ?? 0) - 1;
    if (input.items[at] === item) {
      entries.push(at);
      continue;
    }
    const node = tryRead(itemList(item, split.isLast && index === split.items.length - 1));
    if (node === undefined) return undefined;
    entries.push(node);
  }
  return collect(entries, input);
}

/** An item may refer to an anchor of another one. */
function tryRead(text: string): ResourceNode | undefined {
  try {
    return readResourceList(text, 'the output').items[0];
  } catch {
    return undefined;
  }
}

function collect(entries: readonly (number | ResourceNode)[], input: StepInput): StepOutput {
  const last = input.resources.length - 1;
  const resources: Resource[] = [];
  const origins: (number | undefined)[] = [];
  for (const entry of entries) {
    const read =
      typeof entry === 'number'
        ? { at: entry, resource: passThrough(input.resources[entry]!, input.isLast && entry === last) }
        : fromNode(entry, input);
    resources.push(read.resource);
    origins.push(read.at);
  }
  return { resources, origins };
}

function fromNode(node: ResourceNode, input: StepInput): { at: number | undefined; resource: Resource } {
  const identity = readIdentity(node);
  const { annotations } = identity;
  const at = originOf(annotations[ID] ?? annotations[LEGACY_ID], input);
  const origin = at === undefined ? undefined : input.resources[at];
  const place = placeOf(identity, origin, input);
  for (const key of foreignAnnotations(identity, origin)) removeAnnotation(node, key);
  if (origin !== undefined) copyLost(origin, node);
  const seqIndent = annotations[SEQUENCE_INDENT] === 'wide' ? 'wide' : 'compact';
  return { at, resource: new Resource(bodyOf(node, seqIndent), place) };
}

/** Annotations for the orchestrator that a function added, which must not be written to files. */
function foreignAnnotations({ annotations }: ResourceIdentity, origin: Resource | undefined): string[] {
  return Object.keys(annotations).filter(
    (key) =>
      key.startsWith(INTERNAL_PREFIX) &&
      !OWN_ANNOTATIONS.includes(key) &&
      origin?.identity.annotations[key] === undefined,
  );
}

function originOf(id: string | undefined, { resources }: StepInput): number | undefined {
  if (id === undefined || !/^\d{1,9}$/.test(id)) return undefined;
  const at = Number(id) - 1;
  return at >= 0 && at < resources.length ? at : undefined;
}
