import { fromJson, readDocument, writeDocument } from '@krmhub/schema/resource-yaml';
import type { FunctionResult } from '../output/function-result.js';
import { asItem, itemText } from './item-text.js';
import type { Resource } from './resource.js';

export const RESOURCE_LIST_VERSIONS = [
  'config.kubernetes.io/v1',
  'config.kubernetes.io/v1beta1',
  'config.kubernetes.io/v1alpha1',
] as const;
export type ResourceListVersion = (typeof RESOURCE_LIST_VERSIONS)[number];

export interface EncodeOptions {
  /** YAML. */
  functionConfig?: string | undefined;
  results?: readonly FunctionResult[] | undefined;
  apiVersion?: ResourceListVersion | undefined;
  /** Whether each item has an id, from 1. */
  ids?: boolean;
}

/** Returns a ResourceList as text (KRM Functions Specification v1, "ResourceList"), as kyaml writes it. */
export function encodeResourceList(resources: readonly Resource[], options: EncodeOptions = {}): string {
  return encodeItems(
    resources.map((resource, at) => itemText(resource, options.ids === true ? at + 1 : undefined)),
    options,
  );
}

/** As `encodeResourceList`, with the texts of the items. */
export function encodeItems(items: readonly string[], options: EncodeOptions = {}): string {
  const { functionConfig, results = [], apiVersion = RESOURCE_LIST_VERSIONS[0] } = options;
  const pieces = [`apiVersion: ${apiVersion}\nkind: ResourceList\n`];
  pieces.push(items.length === 0 ? 'items: []\n' : `items:\n${items.join('')}`);
  if (functionConfig !== undefined) pieces.push(`functionConfig:\n${fieldText(functionConfig)}`);
  if (results.length > 0) {
    const list = writeDocument(fromJson(results as never));
    pieces.push(`results:\n${list}`);
  }
  return pieces.join('');
}

/** Indents a document as the value of a field. */
function fieldText(text: string): string {
  const node = readDocument(text, 'functionConfig');
  if (node === undefined) return '  {}\n';
  return asItem(writeDocument(node)).replace('- ', '  ');
}
