import {
  annotations,
  documentRoot,
  fieldAt,
  STYLE,
  setAnnotation,
  writeResourceList,
} from '@krmhub/schema/resource-yaml';
import * as names from './annotations.js';
import { insertAnnotations } from './annotations-place.js';
import type { ResourceIdentity } from './identity.js';
import type { Resource } from './resource.js';
import type { PlaceQuotes } from './resource-body.js';

/** The annotations of a resource in a ResourceList, in the order of kyaml. */
export function itemAnnotations({ path, index, packagePath, seqIndent }: Resource): [string, string][] {
  const place = index === undefined ? undefined : String(index);
  const all: [string, string | undefined][] = [
    [names.LEGACY_INDEX, place],
    [names.LEGACY_PATH, path],
    [names.INDEX, place],
    [names.PACKAGE_PATH, packagePath],
    [names.PATH, path],
    [names.SEQUENCE_INDENT, seqIndent],
  ];
  return all.filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '');
}

/** Returns what selectors match: as in kpt, also the annotations with the place of a resource. */
export function selectedIdentity(resource: Resource): ResourceIdentity {
  const { identity } = resource;
  const place = Object.fromEntries(itemAnnotations(resource));
  return { ...identity, annotations: { ...identity.annotations, ...place } };
}

const TEXTS = new WeakMap<Resource, { head: string; tail: string } | 'flow'>();

/**
 * Returns a resource as an item of a ResourceList, with its annotations, and with an id that finds it again in the
 * output. It starts with the dash, or with comments above it, and ends with a line end. `isKept`: it is needed again.
 */
export function itemText(resource: Resource, id: number | undefined, isKept = true): string {
  let parts = TEXTS.get(resource);
  if (parts === undefined) {
    parts = split(resource) ?? 'flow';
    if (isKept) TEXTS.set(resource, parts);
  }
  const ids: [string, string][] =
    id === undefined
      ? []
      : [
          [names.ID, String(id)],
          [names.LEGACY_ID, String(id)],
        ];
  return parts === 'flow'
    ? writtenItem(resource, ids)
    : parts.head + annotationLines(ids, '      ') + parts.tail;
}

/** Returns an item as kyaml writes it from the model. */
export function writtenItem(resource: Resource, ids: readonly [string, string][]): string {
  const node = documentRoot(resource.node()).clone();
  insertAnnotations(node, resource.body.annotationsPlace);
  // kyaml writes it into the next item.
  node.foot = '';
  const before = annotations(node).size;
  for (const [key, value] of itemAnnotations(resource)) {
    setAnnotation(node, key, value);
    fieldAt(node, ['metadata', 'annotations', key])!.style = STYLES[resource.body.quotes];
  }
  const { annotationsBefore = before } = resource.body;
  const content = fieldAt(node, ['metadata', 'annotations'])?.content ?? [];
  content.push(...content.splice(annotationsBefore * 2, (before - annotationsBefore) * 2));
  for (const [key, value] of ids) setAnnotation(node, key, value);
  const list = writeResourceList({ apiVersion: '', items: [node] });
  return list.slice(list.indexOf(ITEMS) + ITEMS.length);
}

const ITEMS = 'items:\n';
const STYLES: Readonly<Record<PlaceQuotes, number>> = {
  single: STYLE.singleQuoted,
  double: STYLE.doubleQuoted,
  needed: 0,
};

/** Puts the annotations into the text, which is several times faster than into the model. */
function split(resource: Resource): { head: string; tail: string } | undefined {
  const text = resource.body.compactText();
  if (resource.body.annotationsBefore !== undefined) return undefined;
  // YAML 1.1 takes them for line ends, so that what follows one has to be indented too.
  if (/[\u2028\u2029]/.test(text)) return undefined;
  if (text.includes('#') && hasOuterComments(resource, text)) return undefined;
  const { quotes } = resource.body;
  const entries = itemAnnotations(resource);
  if (quotes !== 'single' && !entries.every(([, value]) => SIMPLE.test(value))) return undefined;
  const { fieldsBefore, keyStyle = 0 } = resource.body.annotationsPlace ?? {};
  if (keyStyle !== 0) return undefined;
  const place = findAnnotations(text, fieldsBefore);
  if (place === undefined) return undefined;
  const lines = annotationLines(entries, '    ', quotes);
  const before = text.slice(0, place.at) + (place.isNew ? '  annotations:\n' : '') + lines;
  const head = asItem(before);
  return { head, tail: indented(text.slice(place.at)) };
}

/** Reports comments above or below all fields: in an item of a list they are in other places. */
function hasOuterComments({ body }: Resource, text: string): boolean {
  return body.hasRootComments || /\n *#[^\n]*\n*$/.test(text);
}

/**
 * Finds the end of the annotations of a document in block style, or the place for new ones: that many fields of
 * `metadata` are before them, or all. Returns undefined for other documents.
 */
export function findAnnotations(text: string, place = -1): { at: number; isNew: boolean } | undefined {
  const start = text.startsWith('metadata:\n') ? 0 : text.indexOf('\nmetadata:\n') + 1;
  if (!text.startsWith('metadata:\n', start)) return undefined;
  let inAnnotations = false;
  let fields = 0;
  let newAt: number | undefined;
  let end = -1;
  let annotationsEnd = -1;
  for (let at = start + 'metadata:\n'.length; at < text.length; ) {
    const stop = text.indexOf('\n', at);
    if (stop === -1) return undefined;
    const column = indentAt(text, at);
    const char = text[at + column];
    // A blank line belongs to the scalar above it, of which it can be the end.
    if (char !== '\n') {
      if (column < 2) break;
      // The model tells to which field it belongs.
      if (char === '#') return undefined;
      if (column === 2) {
        if (fields++ === place) newAt = at;
        const line = text.slice(at, stop);
        if (!/^ {2}[A-Za-z][\w-]*:(?: |$)/.test(line)) return undefined;
        inAnnotations = line.startsWith('  annotations:');
        if (inAnnotations && (line !== '  annotations:' || annotationsEnd !== -1)) return undefined;
      }
    }
    end = stop + 1;
    if (inAnnotations) annotationsEnd = end;
    at = stop + 1;
  }
  if (end === -1) return undefined;
  if (annotationsEnd !== -1) return { at: annotationsEnd, isNew: false };
  return { at: newAt ?? end, isNew: true };
}

function indentAt(text: string, at: number): number {
  let column = 0;
  while (text[at + column] === ' ') column++;
  return column;
}

/** Text that is a string without quotes, or a number, which needs them. */
const SIMPLE = /^(?:[A-Za-z][\w.-]*[./-][\w./-]*|Kptfile|compact|wide|\d+)$/;

function annotationLines(
  entries: readonly [string, string][],
  indent: string,
  quotes: PlaceQuotes = 'single',
): string {
  const quoted = (value: string) => {
    if (quotes === 'single') return singleQuoted(value);
    return quotes === 'needed' && !/^\d/.test(value) ? value : `"${value}"`;
  };
  return entries.map(([key, value]) => `${indent}${key}: ${quoted(value)}\n`).join('');
}

function singleQuoted(text: string): string {
  // What single quotes cannot hold is never in a path that was read.
  return /[\n\r\t\0-\x1f\x7f-\x9f\u2028\u2029\ufeff]/.test(text)
    ? JSON.stringify(text)
    : `'${text.replaceAll("'", "''")}'`;
}

/** Indents a document as an item of a list. */
export function asItem(text: string): string {
  return `- ${indented(text).slice(2)}`;
}

function indented(text: string): string {
  const lines: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at) + 1 || text.length;
    lines.push(text[at] === '\n' ? '\n' : `  ${text.slice(at, end)}`);
    at = end;
  }
  return lines.join('');
}
