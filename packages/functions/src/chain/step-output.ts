import { KrmhubError } from '@krmhub/schema/error';
import {
  type ResourceListNode,
  type ResourceNode,
  readResourceList,
  removeAnnotation,
} from '@krmhub/schema/resource-yaml';
import { OUTPUT_HINT } from '../output/function-failure.js';
import {
  ID,
  INTERNAL_PREFIX,
  LEGACY_ID,
  OWN_ANNOTATIONS,
  SEQUENCE_INDENT,
} from '../resource-list/annotations.js';
import { decodeText } from '../resource-list/decode-text.js';
import type { ResourceIdentity } from '../resource-list/identity.js';
import { copyLost, type Passing, passThrough } from '../resource-list/pass-through.js';
import { readIdentity } from '../resource-list/read-identity.js';
import { readBody } from '../resource-list/read-resources.js';
import { changed, Resource } from '../resource-list/resource.js';
import { itemList, splitItems } from '../resource-list/split-items.js';
import { outputPlace } from './output-place.js';
import { removeShared } from './shared-annotations.js';
import type { StepInput, StepOutput } from './step-input.js';

const ID_LINE = /\n +internal\.config\.kubernetes\.io\/id: ['"]?(\d+)['"]?\n/;

/**
 * Reads the output of a function: a ResourceList, or YAML documents. What it gave back as it was is taken from the
 * input; the rest gets back the comments and the order of fields that the function lost. Throws `function-failed`.
 */
export function readStepOutput(output: Uint8Array, input: StepInput): StepOutput {
  try {
    const text = decodeText(output, 'the output');
    return readSplit(text, input) ?? readWhole(text, input);
  } catch (error) {
    if (!(error instanceof KrmhubError) || error.code !== 'invalid-document') throw error;
    throw new KrmhubError('function-failed', `function ${input.name}: ${error.message}`, {
      hint: OUTPUT_HINT,
      cause: error,
    });
  }
}

/** The output of a function that gave back its whole input. */
export function passAll(resources: readonly Resource[], { isLast, format }: Passing): StepOutput {
  return {
    resources: resources.map((resource, at) =>
      passThrough(resource, { isLast: isLast && at === resources.length - 1, format }),
    ),
    origins: resources.map((_, at) => at),
  };
}

/** Documents without a ResourceList are in the order in which they are written, as in kpt: they have no index. */
function readWhole(text: string, input: StepInput): StepOutput {
  const { kind, items } = readResourceList(text, 'the output');
  const output = new Collected(input);
  for (const node of items) output.addNode(node);
  if (kind !== '') return output;
  const { origins } = output;
  return { origins, resources: output.resources.map((resource, index) => resource.at({ index })) };
}

/** Parses only what changed. Returns undefined if the items cannot be told apart without a parser. */
function readSplit(text: string, input: StepInput): StepOutput | undefined {
  const split = splitItems(text);
  // What is around the items has to be YAML too, and a list.
  if (split === undefined || tryList(split.rest)?.kind !== 'ResourceList') return undefined;
  const output = new Collected(input);
  for (const [index, item] of split.items.entries()) {
    const at = Number(ID_LINE.exec(item)?.[1] ?? 0) - 1;
    if (input.items[at] === item) {
      output.addSame(at);
      continue;
    }
    const node = tryRead(item, split.isLast && index === split.items.length - 1);
    if (node === undefined) return undefined;
    output.addNode(node);
  }
  return output;
}

/** An item may refer to an anchor of another one, or have another one in it whose dash is alone in its line. */
function tryRead(item: string, isLast: boolean): ResourceNode | undefined {
  const items = tryList(itemList(item, isLast))?.items ?? [];
  return items.length === (isLast ? 1 : 2) ? items[0] : undefined;
}

function tryList(text: string): ResourceListNode | undefined {
  try {
    return readResourceList(text, 'the output');
  } catch {
    return undefined;
  }
}

/** Makes the resource of each item at once: models take much memory. */
class Collected implements StepOutput {
  readonly resources: Resource[] = [];
  readonly origins: (number | undefined)[] = [];
  readonly #input: StepInput;

  constructor(input: StepInput) {
    this.#input = input;
  }

  /** Adds an item of the input that the function gave back as it was. */
  addSame(at: number): void {
    const { resources, isLast, format } = this.#input;
    this.resources.push(
      passThrough(resources[at]!, { isLast: isLast && at === resources.length - 1, format }),
    );
    this.origins.push(at);
  }

  addNode(node: ResourceNode): void {
    const { at, resource } = fromNode(node, this.#input);
    this.resources.push(resource);
    this.origins.push(at);
  }
}

function fromNode(node: ResourceNode, input: StepInput): { at: number | undefined; resource: Resource } {
  const identity = readIdentity(node);
  const { annotations } = identity;
  const at = findOrigin(annotations[ID] ?? annotations[LEGACY_ID], input);
  const origin = at === undefined ? undefined : input.resources[at];
  const place = outputPlace(identity, origin, input);
  for (const key of foreignAnnotations(identity, origin)) removeAnnotation(node, key);
  if (origin !== undefined) {
    removeShared(origin, node);
    copyLost(origin, node, input.format);
  }
  const seqIndent = annotations[SEQUENCE_INDENT] === 'wide' ? 'wide' : 'compact';
  const body = readBody(node, seqIndent);
  if (input.isLarge) body.dropModel();
  return { at, resource: new Resource(body, place, changed(origin?.source)) };
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

function findOrigin(id: string | undefined, { resources }: StepInput): number | undefined {
  if (id === undefined || !/^\d{1,9}$/.test(id)) return undefined;
  const at = Number(id) - 1;
  return at >= 0 && at < resources.length ? at : undefined;
}
