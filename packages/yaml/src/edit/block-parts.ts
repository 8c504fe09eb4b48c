import { type ResourceNode, STYLE } from '../nodes/node.js';
import type { SequenceIndent } from '../write/document-writer.js';
import type { DocumentText } from './document-text.js';
import type { Splice } from './splices.js';

/** An entry of a map, or an item of a list, which has no key. */
export interface Child {
  key?: ResourceNode | undefined;
  value: ResourceNode;
}

/** An entry of a block map, or an item of a block list. */
export interface BlockPart {
  /** Where the comments above it start, or its line. */
  start: number;
  /** Its key or dash. */
  body: number;
  /** Behind its last line, and behind the comments below it that are further right. */
  end: number;
}

/** What a block collection is to consist of: parts that stay, by their index and in their order, and new lines. */
export type Arranged = number | NewLines;

export interface NewLines {
  /** With indentation and line breaks. */
  text: string;
  /** It can end with a block scalar to which empty lines below it would belong. */
  isOpen: boolean;
}

/** That of go-yaml. */
const MAX_STEP = 9;

/** A block scalar that keeps all line breaks. */
const OPEN = /[|>][1-9]?\+[ \t]*(?:#|$)/m;

/** Finds the parts of a block collection. */
export function blockParts(
  source: DocumentText,
  node: ResourceNode,
  children: readonly Child[],
): BlockPart[] {
  const start = source.contentStart(node);
  const column = source.column(start);
  let limit = 0;
  return children.map(({ key, value }, i) => {
    const body =
      i === 0 ? start : partBody(source, (key ?? value).start, column, key === undefined ? '-' : '?');
    const partStart = source.startsLine(body) ? source.headStart(body, limit) : body;
    const end = source.tailEnd(Math.max(value.end, body + 1), column);
    limit = end;
    return { start: partStart, body, end };
  });
}

/** The dash of an item or the question mark of a key, which can be lines above it; a key in the column has none. */
function partBody(source: DocumentText, start: number, column: number, indicator: string): number {
  if (source.column(start) === column) return start;
  for (let line = source.lineStart(start); ; line = source.lineStart(line - 1)) {
    const body = source.passBlanks(line);
    if (body === line + column && source.text.charAt(body) === indicator) return body;
    if (line === 0) return start;
  }
}

/** How the first list among the values of a map is indented. */
export function siblingIndent(
  source: DocumentText,
  parts: readonly BlockPart[],
  children: readonly Child[],
): SequenceIndent | undefined {
  const index = children.findIndex(
    ({ key, value }) => key && value.kind === 'list' && (value.style & STYLE.flow) === 0,
  );
  if (index === -1 || parts.length === 0) return undefined;
  const dash = source.contentStart(children[index]!.value);
  return source.column(dash) === source.column(parts[index]!.body) ? 'compact' : 'wide';
}

/** How many columns the first map within a map is further right, in a text that nests maps. */
export function indentStep(source: DocumentText, node: ResourceNode): number | undefined {
  if ((node.style & STYLE.flow) !== 0) return undefined;
  const start = source.contentStart(node);
  for (const child of node.content) {
    if (child.content.length === 0) continue;
    const below = child.kind === 'map' ? source.contentStart(child) : start;
    const isNested = node.kind === 'map' && (child.style & STYLE.flow) === 0 && below > start;
    const step = isNested ? source.column(below) - source.column(start) : indentStep(source, child);
    if (step !== undefined && step > 0 && step <= MAX_STEP) return step;
  }
  return undefined;
}

/** The lines of a part that moves, with the indentation of its first one and a line break at the end. */
export function movedLines(source: DocumentText, { start }: BlockPart, lines: string): NewLines {
  const indent = source.startsLine(start) ? '' : ' '.repeat(source.column(start));
  return { text: `${indent}${lines}${lines.endsWith('\n') ? '' : '\n'}`, isOpen: OPEN.test(lines) };
}

/**
 * The splices that leave of a block collection what is arranged. The first part can share its line with the dash of an
 * item around it: what comes first then takes its place there.
 */
export function arrangeBlock(
  source: DocumentText,
  parts: readonly BlockPart[],
  arranged: readonly Arranged[],
): Splice[] {
  const splices: Splice[] = [];
  const first = parts[0]!;
  const column = source.column(first.body);
  const sharesLine = !source.startsLine(first.body);
  const stay = new Set(arranged.filter((one) => typeof one === 'number'));
  const firstStay = arranged.find((one) => typeof one === 'number');
  /** New lines behind each part that stays; -1: before all of them. */
  const behind = new Map<number, NewLines>();
  let last = -1;
  for (const one of arranged) {
    if (typeof one === 'number') last = one;
    else behind.set(last, { text: (behind.get(last)?.text ?? '') + one.text, isOpen: one.isOpen });
  }
  const { text: leading, isOpen: leadingIsOpen } = behind.get(-1) ?? { text: '', isOpen: false };
  let handled = 0;
  if (sharesLine && stay.has(0)) {
    if (leading !== '') {
      splices.push({ start: first.body, end: first.body, text: leading.slice(column) + ' '.repeat(column) });
    }
  } else if (sharesLine && leading !== '') {
    const end = leadingIsOpen ? source.passEmptyLines(first.end) : first.end;
    splices.push({ start: first.body, end, text: endLike(source, end, leading.slice(column)) });
    handled = 1;
  } else if (sharesLine && firstStay !== undefined) {
    const { start, body } = parts[firstStay]!;
    const line = source.lineStart(first.body);
    const indent = ' '.repeat(source.passBlanks(line) - line);
    const heads = source.text.slice(start, source.lineStart(body));
    if (heads !== '') {
      splices.push({ start: line, end: line, text: heads.replace(/^[ \t]*(?=#)/gm, indent) });
    }
    splices.push({ start: first.body, end: body, text: '' });
    handled = firstStay;
  } else if (leading !== '') splices.push({ start: first.start, end: first.start, text: leading });

  let isOpen = leadingIsOpen;
  for (let i = handled; i < parts.length; i++) {
    const { start, end } = parts[i]!;
    if (!stay.has(i)) {
      splices.push({ start, end: isOpen ? source.passEmptyLines(end) : end, text: '' });
      continue;
    }
    const lines = behind.get(i);
    isOpen = lines?.isOpen ?? OPEN.test(source.text.slice(start, end));
    if (lines === undefined) continue;
    const at = source.footEnd(end, column);
    const text = insertedLines(source, at, at === end ? lines.text : `\n${lines.text}`);
    splices.push({ start: at, end: isOpen ? source.passEmptyLines(at) : at, text });
  }
  return splices;
}

/** Without a line break at the end of a text that has none. */
function insertedLines(source: DocumentText, at: number, lines: string): string {
  return at === source.text.length && !endsLine(source, at) ? `\n${lines.slice(0, -1)}` : lines;
}

function endLike(source: DocumentText, at: number, lines: string): string {
  return endsLine(source, at) ? lines : lines.slice(0, -1);
}

function endsLine(source: DocumentText, at: number): boolean {
  return at === 0 || source.lineStart(at) === at;
}
