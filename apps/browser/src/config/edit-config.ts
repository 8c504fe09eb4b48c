import { type CheckedDefinition, checkConfig } from '@krmhub/schema/config-fields/check-config';
import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import type { Path } from '@krmhub/schema/diagnostic';
import { editFile } from '@krmhub/schema/edit-yaml';
import { KrmhubError } from '@krmhub/schema/error';
import { isObject } from '@krmhub/schema/json/access';
import {
  documentRoot,
  fromJson,
  ResourceNode,
  readResources,
  removeField,
  textNode,
  toJson,
} from '@krmhub/schema/resource-yaml';

/** A functionConfig as a form shows it. */
export interface ConfigState {
  text: string;
  /** Absent if the text cannot be read, with the reason in `problems`. */
  value?: JsonObject;
  problems: readonly ConfigMessage[];
}

/** What is wrong with a functionConfig. */
export interface ConfigMessage {
  /** Such as `spec.ports[0]`; empty for all of it. */
  path: string;
  message: string;
}

const NAME = 'functionConfig';

/** Reads a functionConfig, and checks it as `krmhub fn` and `krmhub lint` do. */
export function readConfig(text: string, definition: CheckedDefinition): ConfigState {
  try {
    const documents = readResources(text, NAME);
    if (documents.length !== 1)
      return { text, problems: [whole(`it has ${documents.length} documents, expected one`)] };
    const value = toJson(documents[0]!.node);
    if (!isObject(value)) return { text, problems: [whole('expected a map')] };
    const [version] = definition.versions;
    const check = checkConfig(definition, version!.name, value);
    const problems = check.result === 'checked' ? check.problems : [whole(`not checked: ${check.reason}`)];
    return { text, value, problems: problems.map(({ path, message }) => ({ path, message })) };
  } catch (error) {
    if (error instanceof KrmhubError) return { text, problems: [whole(error.message)] };
    throw error;
  }
}

function whole(message: string): ConfigMessage {
  return { path: '', message };
}

/**
 * Sets the value at a path, or removes it: maps and lists that are missing are added, and those that become empty are
 * removed. All other text keeps its bytes. Throws `invalid-document` for text that cannot be read.
 */
export function editConfig(text: string, path: Path, value: JsonValue | undefined): string {
  const [before, ...others] = readResources(text, NAME);
  if (before === undefined) throw new KrmhubError('invalid-document', `${NAME} is empty`);
  const after = before.node.clone();
  if (value === undefined) remove(documentRoot(after), path);
  else set(documentRoot(after), path, value);
  const rest = others.map((one) => ({ before: one, after: one.node }));
  return editFile({ text, documents: [{ before, after }, ...rest] }).text;
}

/** Returns the child at a step. An alias becomes a copy of what it refers to, which can be changed. */
function child(parent: ResourceNode, step: string | number): ResourceNode | undefined {
  const at = childIndex(parent, step);
  const found = at < 0 ? undefined : parent.content[at];
  if (found?.target === undefined) return found;
  const copy = found.target.clone();
  copy.anchor = '';
  parent.content[at] = copy;
  return copy;
}

function childIndex({ kind, content }: ResourceNode, step: string | number): number {
  if (typeof step === 'number') return kind === 'list' && step < content.length ? step : -1;
  const key = content.findIndex((node, at) => at % 2 === 0 && node.value === step);
  return kind === 'map' && key >= 0 ? key + 1 : -1;
}

function set(parent: ResourceNode, [step, ...rest]: Path, value: JsonValue): void {
  const before = child(parent, step!);
  const [next] = rest;
  if (next === undefined) {
    setChild(parent, step!, withLooks(fromJson(value), before));
    return;
  }
  const kind = typeof next === 'number' ? 'list' : 'map';
  const inner = before?.kind === kind ? before : new ResourceNode(kind, '', 0, '');
  set(inner, rest, value);
  if (inner !== before) setChild(parent, step!, inner);
}

function setChild(parent: ResourceNode, step: string | number, value: ResourceNode): void {
  const at = childIndex(parent, step);
  if (at >= 0) parent.content[at] = value;
  else if (typeof step === 'number') parent.content.push(value);
  // Readers would take a key such as null for another value.
  else parent.content.push(textNode(step), value);
}

/** A changed value keeps its comments, and text its quotes: an empty one only has them because it must. */
function withLooks(value: ResourceNode, before: ResourceNode | undefined): ResourceNode {
  if (before === undefined) return value;
  value.head = before.head;
  value.line = before.line;
  value.foot = before.foot;
  const isText = before.tag === '!!str' && value.tag === '!!str';
  if (isText && before.value !== '' && before.style !== 0 && !value.value.includes('\n'))
    value.style = before.style;
  return value;
}

/** Returns whether the parent is empty now. */
function remove(parent: ResourceNode, [step, ...rest]: Path): boolean {
  const at = childIndex(parent, step!);
  const inner = child(parent, step!);
  if (inner === undefined || (rest.length > 0 && !remove(inner, rest))) return false;
  if (typeof step === 'number') parent.content.splice(at, 1);
  else removeField(parent, step!);
  return parent.content.length === 0;
}
