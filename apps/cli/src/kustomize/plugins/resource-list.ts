import { decodeText } from '@krmhub/functions/resource-list/decode-text';
import { KrmhubError } from '@krmhub/schema/error';
import {
  documentRoot,
  equalValue,
  expandAliases,
  field,
  fieldAt,
  isNull,
  type ResourceNode,
  readDocument,
  readResources,
  removeAnnotation,
  removeField,
  scalarText,
  setAnnotation,
  writeDocument,
  writeGoYaml,
  writeResourceList,
} from '@krmhub/schema/resource-yaml';

/**
 * Between the two protocols: kustomize gives a plugin its configuration and the resources as YAML documents (KEP-993),
 * and a function takes a ResourceList (KRM Functions Specification v1).
 */

const API_VERSION = 'config.kubernetes.io/v1';
/** The position of a resource, in the names of the specification and of older functions. */
const INDEX = ['internal.config.kubernetes.io/index', 'config.kubernetes.io/index'];
/** kustomize drops resources with this annotation from its output. It sets it itself on the config of a function. */
const LOCAL_CONFIG = 'config.kubernetes.io/local-config';

/** What kustomize passed. */
export interface PluginRequest {
  functionConfig: ResourceNode;
  /** Text that it wrote on stdin; empty for a generator. */
  stdin: string;
  documents: { text: string; item: ResourceNode }[];
}

/** Reads what kustomize passed. Throws `invalid-document`. */
export function readRequest(config: Uint8Array, stdin: Uint8Array): PluginRequest {
  const name = 'the configuration of the plugin';
  const document = readDocument(decodeText(config, name), name);
  const functionConfig = document && documentRoot(document);
  if (functionConfig?.kind !== 'map')
    throw new KrmhubError('invalid-document', `${name} is not a Kubernetes object`);
  const input = 'the input of the plugin';
  const text = decodeText(stdin, input);
  const documents = readResources(text, input).map(({ node, text: own }) => {
    if (documentRoot(node).kind !== 'map')
      throw new KrmhubError('invalid-document', `${input} has a document that is not an object`);
    return { text: own.endsWith('\n') ? own : `${own}\n`, item: documentRoot(node) };
  });
  setAnnotation(functionConfig, LOCAL_CONFIG, 'true');
  return { functionConfig, stdin: text, documents };
}

/**
 * Returns the ResourceList for the function, as kustomize makes it for functions of its annotation. A generator gets
 * its own configuration as the only item, which kustomize drops from the output.
 */
export function resourceList({ functionConfig, documents }: PluginRequest): Uint8Array {
  const items = documents.length === 0 ? [functionConfig.clone()] : documents.map(({ item }) => item);
  items.forEach((item, index) => {
    for (const name of INDEX) setAnnotation(item, name, String(index));
  });
  return new TextEncoder().encode(writeResourceList({ apiVersion: API_VERSION, items, functionConfig }));
}

/**
 * Returns what to print for kustomize. A resource that the function left as it was is printed with the bytes of the
 * input: a validator has to print exactly what it got. Throws `invalid-document`.
 */
export function readResponse(output: Uint8Array, request: PluginRequest, name: string): string {
  const what = `the output of ${name}`;
  const list = readDocument(decodeText(output, what), what);
  const { documents, stdin } = request;
  const used = new Set<number>();
  const pieces = readItems(list, what).map((one, at) => {
    const item = expandAliases(one);
    if (item.kind !== 'map') {
      throw new KrmhubError('invalid-document', `cannot read ${what}: items[${at}] is not an object`);
    }
    const annotations = fieldAt(item, ['metadata', 'annotations']);
    const index = Number(scalarText(field(annotations, INDEX[0]!)) ?? Number.NaN);
    const input = documents[index];
    if (input !== undefined && !used.has(index) && equalValue(item, input.item)) {
      used.add(index);
      return { text: input.text, index };
    }
    for (const annotation of INDEX) removeAnnotation(item, annotation);
    if (annotations?.content.length === 0) removeField(field(item, 'metadata')!, 'annotations');
    // As kustomize writes it: its validators pass only if a resource comes back at the same lines and columns.
    return { text: writeGoYaml(item) ?? writeDocument(item), index: Number.NaN };
  });
  const isUnchanged = pieces.length === documents.length && pieces.every(({ index }, at) => index === at);
  return isUnchanged ? stdin : pieces.map(({ text }) => text).join('---\n');
}

function readItems(list: ResourceNode | undefined, what: string): ResourceNode[] {
  const items = field(list, 'items');
  if (items?.kind === 'list') return items.content;
  // Emitters write `items: null` for an empty list.
  if (items !== undefined && isNull(items)) return [];
  throw new KrmhubError('invalid-document', `cannot read ${what}: items is not a list`);
}
