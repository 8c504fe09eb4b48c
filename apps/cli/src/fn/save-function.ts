import { type Resource, readResources } from '@krmhub/functions/fn';
import { KPTFILE, type Selector } from '@krmhub/functions/plan';
import type { JsonObject } from '@krmhub/schema/definition';
import {
  field,
  fromJson,
  isNull,
  type ResourceNode,
  scalarText,
  setField,
  writeDocument,
} from '@krmhub/schema/resource-yaml';

/** A function as a Kptfile has it. */
export interface SavedFunction {
  image?: string;
  exec?: string;
  configPath?: string;
  configMap?: Readonly<Record<string, string>>;
  selectors?: readonly Selector[];
  exclude?: readonly Selector[];
}

/**
 * Adds a function to the Kptfile of a package, or replaces the one of the same image or command line, as `kpt fn eval
 * --save`. The message says what was done, in the words of kpt.
 */
export function saveFunction(
  resources: readonly Resource[],
  fn: SavedFunction,
  type: 'mutator' | 'validator',
): { resources: readonly Resource[]; message: string } {
  const kptfile = resources.find((resource) => resource.path === KPTFILE);
  if (kptfile === undefined) return { resources, message: 'function not added: Kptfile not exists' };
  const node = kptfile.node().clone();
  const list = listIn(mapIn(node, 'pipeline'), `${type}s`);
  const entry = fromJson(fn as JsonObject);
  const at = list.content.findIndex((one) => isSame(one, fn));
  if (at === -1) list.content.push(entry);
  else list.content[at] = entry;
  const text = writeDocument(node, { seqIndent: 'wide' });
  const [edited] = readResources(text, kptfile);
  const name = fn.image ?? fn.exec ?? fn.configPath ?? '';
  return {
    resources: resources.map((one) => (one === kptfile ? kptfile.changedTo(edited!.body) : one)),
    message: `${at === -1 ? 'Added' : 'Updated'} "${name}" as ${type} in the Kptfile.`,
  };
}

function isSame(entry: ResourceNode, { image, exec, configPath }: SavedFunction): boolean {
  if (image !== undefined) return scalarText(field(entry, 'image')) === image;
  if (exec !== undefined) return scalarText(field(entry, 'exec')) === exec;
  return scalarText(field(entry, 'configPath')) === configPath;
}

function mapIn(map: ResourceNode, name: string): ResourceNode {
  return childIn(map, name, {});
}

function listIn(map: ResourceNode, name: string): ResourceNode {
  return childIn(map, name, []);
}

function childIn(map: ResourceNode, name: string, empty: JsonObject | []): ResourceNode {
  const found = field(map, name);
  // Block style, also if the value was empty.
  if (found?.content.length === 0) found.style = 0;
  if (found !== undefined && !isNull(found)) return found;
  const made = fromJson(empty);
  made.style = 0;
  setField(map, name, made);
  return field(map, name)!;
}
