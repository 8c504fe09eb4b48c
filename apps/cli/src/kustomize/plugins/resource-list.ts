import { KrmhubError } from '@krmhub/schema/error';
import {
  isSameYaml,
  readYamlTree,
  writeGoYaml,
  writeYamlTree,
  type YamlMap,
  type YamlNode,
  yamlField,
  yamlString,
  yamlText,
} from '@krmhub/schema/resources/lossless-yaml';

/**
 * Between the two protocols: kustomize gives a plugin its configuration and the resources as YAML documents (KEP-993),
 * and a function takes a ResourceList (KRM Functions Specification v1).
 */

const API_VERSION = 'config.kubernetes.io/v1';
const KIND = 'ResourceList';
/** The position of a resource, in the names of the specification and of older functions. */
const INDEX = ['internal.config.kubernetes.io/index', 'config.kubernetes.io/index'];
/** kustomize drops resources with this annotation from its output. It sets it itself on the config of a function. */
const LOCAL_CONFIG = 'config.kubernetes.io/local-config';
/** Above `---`, YAML allows comments only. */
const SEPARATOR = /^---(?:[ \t].*)?\r?\n/m;

/** What kustomize passed. */
export interface PluginRequest {
  functionConfig: YamlMap;
  /** Text that it wrote on stdin; empty for a generator. */
  stdin: string;
  documents: { text: string; item: YamlMap }[];
}

/** Reads what kustomize passed. Throws `invalid-document`. */
export function readRequest(config: Uint8Array | string, stdin: string): PluginRequest {
  const functionConfig = readYamlTree(config, 'the configuration of the plugin');
  if (functionConfig?.kind !== 'map') {
    throw new KrmhubError('invalid-document', 'the configuration of the plugin is not a Kubernetes object');
  }
  const documents = stdin.split(SEPARATOR).flatMap((text) => {
    const item = readYamlTree(text, 'the input of the plugin');
    if (item === undefined) return [];
    if (item.kind !== 'map')
      throw new KrmhubError(
        'invalid-document',
        'the input of the plugin has a document that is not an object',
      );
    return [{ text: text.endsWith('\n') ? text : `${text}\n`, item }];
  });
  setAnnotation(functionConfig, LOCAL_CONFIG, 'true');
  return { functionConfig, stdin, documents };
}

/**
 * Returns the ResourceList for the function, as kustomize makes it for functions of its annotation. A generator gets
 * its own configuration as the only item, which kustomize drops from the output.
 */
export function resourceList({ functionConfig, documents }: PluginRequest): Uint8Array {
  const items = documents.length === 0 ? [copyMap(functionConfig)] : documents.map(({ item }) => item);
  items.forEach((item, index) => {
    for (const name of INDEX) setAnnotation(item, name, String(index));
  });
  const list: YamlMap = {
    kind: 'map',
    entries: [
      [plain('apiVersion'), plain(API_VERSION)],
      [plain('kind'), plain(KIND)],
      [plain('items'), { kind: 'list', items }],
      [plain('functionConfig'), functionConfig],
    ],
  };
  return new TextEncoder().encode(writeYamlTree(list));
}

/**
 * Returns what to print for kustomize. A resource that the function left as it was is printed with the bytes of the
 * input: a validator has to print exactly what it got. Throws `invalid-document`.
 */
export function readResponse(output: Uint8Array, request: PluginRequest, name: string): string {
  const what = `the output of ${name}`;
  const list = readYamlTree(output, what);
  const { documents, stdin } = request;
  const used = new Set<number>();
  const pieces = readItems(list, what).map((item, at) => {
    if (item.kind !== 'map') {
      throw new KrmhubError('invalid-document', `cannot read ${what}: items[${at}] is not an object`);
    }
    const index = Number(yamlText(item, 'metadata', 'annotations', INDEX[0]!) ?? Number.NaN);
    const input = documents[index];
    if (input !== undefined && !used.has(index) && isSameYaml(item, input.item)) {
      used.add(index);
      return { text: input.text, index };
    }
    for (const annotation of INDEX) removeAnnotation(item, annotation);
    // As kustomize writes it: its validators pass only if a resource comes back at the same lines and columns.
    return { text: writeGoYaml(item) ?? writeYamlTree(item), index: Number.NaN };
  });
  const isUnchanged = pieces.length === documents.length && pieces.every(({ index }, at) => index === at);
  return isUnchanged ? stdin : pieces.map(({ text }) => text).join('---\n');
}

function readItems(list: YamlNode | undefined, what: string): YamlNode[] {
  const items = yamlField(list, 'items');
  if (items?.kind === 'list') return items.items;
  // Emitters write `items: null` for an empty list.
  if (items?.kind === 'scalar' && items.plain && /^(?:|~|null)$/.test(items.value)) return [];
  throw new KrmhubError('invalid-document', `cannot read ${what}: items is not a list`);
}

function plain(value: string): { kind: 'scalar'; value: string; plain: true } {
  return { kind: 'scalar', value, plain: true };
}

/** Deep enough for `setAnnotation`. */
function copyMap(node: YamlMap): YamlMap {
  return {
    ...node,
    entries: node.entries.map(([key, value]) => [key, value.kind === 'map' ? copyMap(value) : value]),
  };
}

function setAnnotation(object: YamlMap, name: string, value: string): void {
  const annotations = mapIn(mapIn(object, 'metadata'), 'annotations');
  const found = annotations.entries.find(([key]) => key.value === name);
  if (found === undefined) annotations.entries.push([plain(name), yamlString(value)]);
  else found[1] = yamlString(value);
}

function removeAnnotation(object: YamlMap, name: string): void {
  const metadata = yamlField(object, 'metadata');
  const annotations = yamlField(metadata, 'annotations');
  if (metadata?.kind !== 'map' || annotations?.kind !== 'map') return;
  annotations.entries = annotations.entries.filter(([key]) => key.value !== name);
  if (annotations.entries.length > 0) return;
  metadata.entries = metadata.entries.filter(([key]) => key.value !== 'annotations');
}

/** Returns the mapping at a key, and makes it if it is missing. */
function mapIn(object: YamlMap, name: string): YamlMap {
  const found = object.entries.find(([key]) => key.value === name);
  if (found?.[1].kind === 'map') return found[1];
  const made: YamlMap = { kind: 'map', entries: [] };
  if (found === undefined) object.entries.push([plain(name), made]);
  else found[1] = made;
  return made;
}
