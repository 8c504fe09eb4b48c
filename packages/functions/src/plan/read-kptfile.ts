import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { type ResourceNode, readResources, STYLE } from '@krmhub/schema/resource-yaml';
import { isMapping, KPTFILE, type Kptfile, toKptfile } from './kptfile-content.js';
import { checkFields, KPTFILE_FIELDS } from './kptfile-fields.js';

/**
 * Reads a Kptfile. Throws `invalid-document`, in the words of kpt, for text that kpt rejects; unknown fields are
 * warnings. What finds the places of problems is loaded for a Kptfile that has any.
 */
export async function readKptfile(text: string, folder: string): Promise<Kptfile> {
  return readPlainKptfile(text, folder) ?? (await import('./kptfile.js')).requireKptfile(text, folder);
}

/**
 * Reads a Kptfile, several times faster than `requireKptfile`. Returns undefined for one with a problem, or with anchors
 * or tags: that is for `requireKptfile`, which says what is wrong, and where.
 */
export function readPlainKptfile(text: string, folder: string): Kptfile | undefined {
  const value = readDocument(text);
  if (!isMapping(value)) return undefined;
  if (value.apiVersion !== 'kpt.dev/v1' || value.kind !== KPTFILE) return undefined;
  // Warnings have positions.
  if (checkFields(value, KPTFILE_FIELDS).length > 0) return undefined;
  // All scalars are text already.
  return toKptfile(value, folder, (_, scalar) => (scalar === null ? '' : String(scalar)));
}

function readDocument(text: string): JsonValue | undefined {
  try {
    const [document, ...others] = readResources(text, KPTFILE);
    return document === undefined || others.length > 0 ? undefined : textValue(document.node);
  } catch (error) {
    if (error instanceof KrmhubError) return undefined;
    throw error;
  }
}

/** The value of a node, with the text of scalars as it is written; undefined if it has anchors or tags. */
function textValue(node: ResourceNode): JsonValue | undefined {
  const isPlain = node.kind !== 'alias' && node.anchor === '' && (node.style & STYLE.tagged) === 0;
  if (!isPlain || node.tag === '!!merge') return undefined;
  if (node.kind === 'document') return textValue(node.content[0]!);
  if (node.kind === 'scalar') return node.tag === '!!null' ? null : node.value;
  const values: JsonValue[] = [];
  for (const child of node.content) {
    const value = textValue(child);
    if (value === undefined) return undefined;
    values.push(value);
  }
  if (node.kind === 'list') return values;
  const map: JsonObject = Object.create(null);
  for (let at = 0; at + 1 < values.length; at += 2) {
    const name = values[at];
    if (typeof name !== 'string') return undefined;
    map[name] = values[at + 1]!;
  }
  return map;
}
