import { isAmbiguous } from './ambiguous-text.js';
import { documentRoot, ResourceNode, STYLE } from './node.js';

/** A scalar for text; it is quoted where readers would take it for something else. */
export function textNode(text: string, style = 0): ResourceNode {
  return new ResourceNode('scalar', '!!str', style || (isAmbiguous(text) ? STYLE.doubleQuoted : 0), text);
}

/** Whether there is no value: no node, or null. */
export function isNull(node: ResourceNode | undefined): boolean {
  return node === undefined || node.tag === '!!null';
}

/** The value of a key. Undefined if the map has no such key, or the node is not a map. */
export function field(map: ResourceNode | undefined, name: string): ResourceNode | undefined {
  if (map === undefined) return undefined;
  const root = documentRoot(map);
  const index = keyIndex(root, name);
  return index === -1 ? undefined : root.content[index + 1];
}

/** The value at a path of keys, and of indexes of lists. */
export function fieldAt(map: ResourceNode, path: readonly (string | number)[]): ResourceNode | undefined {
  let node: ResourceNode | undefined = map;
  for (const step of path) {
    if (typeof step === 'string') node = field(node, step);
    else node = node?.kind === 'list' ? node.content[step] : undefined;
  }
  return node;
}

/** The keys of a map; none if the node is not a map. */
export function fieldNames(map: ResourceNode): string[] {
  const { kind, content } = documentRoot(map);
  return kind === 'map' ? content.filter((_, at) => at % 2 === 0).map(({ value }) => value) : [];
}

/** The text of a scalar. Undefined for null, maps and lists. */
export function scalarText(node: ResourceNode | undefined): string | undefined {
  return node?.kind === 'scalar' && node.tag !== '!!null' ? node.value : undefined;
}

/**
 * Sets the value of a key, and adds the key at the end if it is missing. The style of the value before it is kept, as
 * kyaml does; its comments are not.
 */
export function setField(map: ResourceNode, name: string, value: ResourceNode): void {
  const root = documentRoot(map);
  const index = keyIndex(root, name);
  if (index === -1) root.content.push(keyNode(name), value);
  else {
    value.style = root.content[index + 1]!.style;
    root.content[index + 1] = value;
  }
}

/** Sets the value of a key, and adds the key at the start if it is missing. */
export function setFirstField(map: ResourceNode, name: string, value: ResourceNode): void {
  const root = documentRoot(map);
  if (keyIndex(root, name) === -1) root.content.unshift(keyNode(name), value);
  else setField(root, name, value);
}

/** Removes a key, with its comments. Returns the value. */
export function removeField(map: ResourceNode, name: string): ResourceNode | undefined {
  const root = documentRoot(map);
  const index = keyIndex(root, name);
  return index === -1 ? undefined : root.content.splice(index, 2)[1];
}

function keyIndex(root: ResourceNode, name: string): number {
  if (root.kind !== 'map') return -1;
  const { content } = root;
  for (let i = 0; i + 1 < content.length; i += 2) if (content[i]!.value === name) return i;
  return -1;
}

/** A key as kyaml adds it: not quoted. */
function keyNode(name: string): ResourceNode {
  return new ResourceNode('scalar', '', 0, name);
}

/** The annotations of a resource. */
export function annotations(resource: ResourceNode): Map<string, string> {
  const found = new Map<string, string>();
  const map = fieldAt(resource, ['metadata', 'annotations']);
  if (map?.kind !== 'map') return found;
  for (let i = 0; i + 1 < map.content.length; i += 2) {
    const value = map.content[i + 1]!;
    if (!found.has(map.content[i]!.value)) {
      found.set(map.content[i]!.value, value.tag === '!!null' ? '' : value.value);
    }
  }
  return found;
}

export function annotation(resource: ResourceNode, key: string): string | undefined {
  const node = field(fieldAt(resource, ['metadata', 'annotations']), key);
  return node === undefined || node.tag === '!!null' ? undefined : node.value;
}

/** Sets an annotation, in single quotes if it is new. Adds `metadata` and `annotations` where they are missing. */
export function setAnnotation(resource: ResourceNode, key: string, value: string): void {
  const metadata = mapField(resource, 'metadata');
  setField(mapField(metadata, 'annotations'), key, textNode(value, STYLE.singleQuoted));
}

/** The map at a key, which is added if there is no value. */
export function mapField(map: ResourceNode, name: string): ResourceNode {
  const found = field(map, name);
  if (found !== undefined && found.tag !== '!!null') return found;
  const created = new ResourceNode('map', '', 0, '');
  const root = documentRoot(map);
  if (found === undefined) root.content.push(keyNode(name), created);
  else root.content[keyIndex(root, name) + 1] = created;
  return created;
}

export function removeAnnotation(resource: ResourceNode, key: string): void {
  const map = fieldAt(resource, ['metadata', 'annotations']);
  if (map?.kind === 'map') removeField(map, key);
}

/** Removes `annotations`, and then `metadata`, if they are empty. */
export function removeEmptyAnnotations(resource: ResourceNode): void {
  const metadata = field(resource, 'metadata');
  if (metadata?.kind === 'map') removeEmptyField(metadata, 'annotations');
  removeEmptyField(resource, 'metadata');
}

/** An alias may refer to one with an anchor. */
function removeEmptyField(map: ResourceNode, name: string): void {
  const value = field(map, name);
  if (value !== undefined && value.content.length === 0 && value.anchor === '') removeField(map, name);
}

/** What identifies a resource. Fields that are missing are empty. */
export interface ResourceIdentity {
  apiVersion: string;
  kind: string;
  name: string;
  namespace: string;
}

export function resourceIdentity(resource: ResourceNode): ResourceIdentity {
  const metadata = field(resource, 'metadata');
  return {
    apiVersion: scalarText(field(resource, 'apiVersion')) ?? '',
    kind: scalarText(field(resource, 'kind')) ?? '',
    name: scalarText(field(metadata, 'name')) ?? '',
    namespace: scalarText(field(metadata, 'namespace')) ?? '',
  };
}
