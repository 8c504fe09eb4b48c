import { documentRoot, ResourceNode } from '../nodes/node.js';
import { DocumentWriter, type Layout } from './document-writer.js';

/** Writes a document or a node, as kyaml does. */
export function writeDocument(node: ResourceNode, layout: Layout = { seqIndent: 'compact' }): string {
  return new DocumentWriter().write(node, layout);
}

/** Writes the input of a function. */
export function writeResourceList(list: {
  apiVersion: string;
  kind?: string;
  items: readonly ResourceNode[];
  functionConfig?: ResourceNode | undefined;
  results?: ResourceNode | undefined;
}): string {
  const root = new ResourceNode('map', '', 0, '');
  const add = (key: string, value: ResourceNode | undefined): void => {
    if (value !== undefined) root.content.push(new ResourceNode('scalar', '', 0, key), documentRoot(value));
  };
  add('apiVersion', new ResourceNode('scalar', '', 0, list.apiVersion));
  add('kind', new ResourceNode('scalar', '', 0, list.kind ?? 'ResourceList'));
  const items = new ResourceNode('list', '', 0, '');
  for (const item of list.items) items.content.push(documentRoot(item));
  add('items', items);
  add('functionConfig', list.functionConfig);
  add('results', list.results);
  return writeDocument(root);
}
