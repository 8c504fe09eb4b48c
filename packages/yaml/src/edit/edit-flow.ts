import { type FieldKeys, ListKeys } from '../nodes/merge-keys.js';
import type { ResourceNode } from '../nodes/node.js';
import { alignItems } from './align-items.js';
import type { Anchors } from './anchors.js';
import { type Entry, type Meanings, ownEntries } from './equal-value.js';
import type { NewNodes } from './new-nodes.js';
import { renderFlow, renderFlowEntry, renderJson } from './render.js';
import type { Slot } from './replace-value.js';
import type { SourceText } from './source-text.js';
import { applySplices, type Splice } from './splices.js';
import { Uneditable } from './uneditable.js';

type Keys = FieldKeys | ListKeys | undefined;

/** An entry or item between commas. */
interface FlowPart {
  /** The text before it: blanks, line breaks and comments, from the comma before it or the end of its line. */
  lead: string;
  start: number;
  end: number;
  /** A comment on its line. */
  trail: string;
}

/** What edits the document around a flow collection. */
export interface ValueEditor {
  readonly source: SourceText;
  readonly meanings: Meanings;
  readonly anchors: Anchors;
  readonly news: NewNodes;
  add(start: number, end: number, text: string): void;
  collect(step: () => void): Splice[];
  at(step: string | number, run: () => void): void;
  value(before: ResourceNode, after: ResourceNode, slot: Slot, keys: Keys): void;
  wantedEntries(own: readonly Entry[], before: ResourceNode, after: ResourceNode): Map<string, Entry>;
}

/** Edits collections in brackets and braces, and JSON. */
export class FlowEditor {
  readonly isJson: boolean;
  private readonly editor: ValueEditor;
  private readonly text: string;
  private readonly colon: string;
  private readonly step: string;

  constructor(editor: ValueEditor) {
    this.editor = editor;
    this.text = editor.source.text;
    this.isJson = isJson(this.text);
    this.colon = /"[ \t]*:(?=\S)/.test(this.text) && !/"[ \t]*:[ \t]/.test(this.text) ? ':' : ': ';
    this.step = /^[[{][ \t]*\r?\n([ \t]+)/.exec(this.text.trimStart())?.[1] ?? '  ';
  }

  /** A map of one key in a list has no braces. */
  canEdit(node: ResourceNode): boolean {
    const open = this.text.charAt(this.editor.source.contentStart(node));
    return open === '{' || open === '[';
  }

  /** Replaces a value in a flow collection. */
  replace(before: ResourceNode, value: ResourceNode, slot: Slot): void {
    const anchor = value.anchor === '' ? '' : `&${value.anchor} `;
    value.anchor = '';
    const text = anchor + this.render(value, this.indentAt(before.start));
    if (before.start !== before.end) this.editor.add(before.start, before.end, text);
    else if (this.text.charAt(before.start - 1) === ':')
      this.editor.add(before.start, before.start, ` ${text}`);
    else if (slot.key !== undefined) this.editor.add(slot.key.end, slot.key.end, `: ${text}`);
    else throw new Uneditable('an empty item in brackets');
  }

  /** The indentation of a line, if the collection there has a line for each item. */
  private indentAt(at: number): string | undefined {
    const { source } = this.editor;
    const line = source.lineStart(at);
    const indent = this.text.slice(line, source.passBlanks(line));
    return this.isJson && /^[[{]\s*\n/.test(this.text.trimStart()) ? indent : undefined;
  }

  private render(value: ResourceNode, indent: string | undefined): string {
    return this.isJson ? renderJson(value, this.colon, this.step, indent) : renderFlow(value);
  }

  private renderEntry(key: ResourceNode, value: ResourceNode, indent: string | undefined): string {
    if (!this.isJson) return renderFlowEntry(key, value);
    return JSON.stringify(key.value) + this.colon + this.render(value, indent);
  }

  edit(before: ResourceNode, after: ResourceNode, keys: Keys): void {
    if (before.kind === 'map') this.map(before, after, keys);
    else this.list(before, after, keys);
  }

  private map(before: ResourceNode, after: ResourceNode, keys: Keys): void {
    const { editor } = this;
    const own = ownEntries(before);
    const wanted = editor.wantedEntries(own, before, after);
    const spans = own.map(({ key, value }) => ({ start: key.start, end: Math.max(key.end, value.end) }));
    const indexes = new Map(own.map(({ name }, i) => [name, i]));
    const arranged: (number | string)[] = [];
    const splices = editor.collect(() => {
      own.forEach(({ name, key, value }) => {
        const found = wanted.get(name);
        if (found === undefined) editor.anchors.remove(value);
        else {
          const below = keys instanceof ListKeys || keys === undefined ? undefined : keys[name];
          const slot: Slot = { from: -1, column: -1, place: 'flow', key };
          editor.at(name, () => editor.value(value, found.value, slot, below));
        }
      });
    });
    const itemIndent = this.itemIndent(before, spans);
    const kept = own.flatMap(({ name }, i) => (wanted.has(name) ? [i] : []));
    const added = new Map<number, string[]>();
    let previous = -1;
    for (const [name, { key, value }] of wanted) {
      const index = indexes.get(name);
      if (index !== undefined) previous = index;
      else {
        const text = this.renderEntry(editor.news.copy(key), editor.news.copy(value), itemIndent);
        added.set(previous, [...(added.get(previous) ?? []), text]);
      }
    }
    arranged.push(...(added.get(-1) ?? []));
    for (const index of kept) arranged.push(index, ...(added.get(index) ?? []));
    this.arrange(before, spans, arranged, splices);
  }

  private list(before: ResourceNode, after: ResourceNode, keys: Keys): void {
    const { editor } = this;
    const items = before.content;
    const listKeys = keys instanceof ListKeys && keys.keys[0] !== '' ? keys : undefined;
    const matches = alignItems(editor.meanings, items, after.content, listKeys?.keys);
    const afterOf = new Map(matches.map((index, i) => [index, i]));
    const splices = editor.collect(() => {
      items.forEach((item, i) => {
        const to = afterOf.get(i);
        if (to === undefined) editor.anchors.remove(item);
        else {
          const slot: Slot = { from: -1, column: -1, place: 'flow' };
          editor.at(i, () => editor.value(item, after.content[to]!, slot, listKeys?.item));
        }
      });
    });
    const itemIndent = this.itemIndent(before, items);
    const arranged = matches.map((index, to) =>
      index === -1 ? this.render(editor.news.copy(after.content[to]!), itemIndent) : index,
    );
    this.arrange(before, items, arranged, splices);
  }

  /** The indentation of items that have a line each. */
  private itemIndent(node: ResourceNode, spans: readonly { start: number }[]): string | undefined {
    const open = this.editor.source.contentStart(node);
    return this.text.slice(open, spans[0]!.start).includes('\n') ? this.indentAt(spans[0]!.start) : undefined;
  }

  private arrange(
    node: ResourceNode,
    spans: readonly { start: number; end: number }[],
    arranged: readonly (number | string)[],
    splices: readonly { start: number; end: number; text: string }[],
  ): void {
    const { editor, text } = this;
    if (arranged.length === spans.length && arranged.every((one, i) => one === i)) {
      for (const { start, end, text: replacement } of splices) editor.add(start, end, replacement);
      return;
    }
    const open = editor.source.contentStart(node) + 1;
    const close = node.end - 1;
    const parts: FlowPart[] = [];
    let at = open;
    let lastComma = false;
    for (const { start, end } of spans) {
      const lead = text.slice(at, start);
      const next = spans[parts.length + 1]?.start ?? close;
      const behind = splitBehind(text.slice(end, next));
      lastComma = behind.comma;
      parts.push({ lead, start, end, trail: behind.trail });
      at = end + behind.length;
    }
    const closing = text.slice(at, close);
    const plainLead = (parts.slice(1).find(({ lead }) => !lead.includes('#')) ?? parts[0]!).lead;
    const otherLead =
      parts.length > 1 || /[\n#]/.test(parts[0]!.lead) ? withoutComments(plainLead) : this.colon.slice(1);
    const firstLead = withoutComments(parts[0]!.lead);
    let result = '';
    arranged.forEach((one, i) => {
      const part = typeof one === 'number' ? parts[one]! : undefined;
      const lead = i === 0 ? firstLead : otherLead;
      result += part?.lead.includes('#') ? part.lead : lead;
      result += part === undefined ? one : applySplices(text, inside(splices, part), part.start, part.end);
      if (i + 1 < arranged.length || lastComma) result += ',';
      result += part?.trail ?? '';
      if (part !== undefined && part.trail !== '' && i + 1 < arranged.length && !otherLead.includes('\n'))
        result += '\n';
    });
    editor.add(open, close, result + closing);
  }
}

function inside<Span extends { start: number; end: number }>(
  splices: readonly Span[],
  part: Span | FlowPart,
): Span[] {
  return splices.filter(({ start, end }) => start >= part.start && end <= part.end);
}

/** The comma behind an item, and the comment on its line. */
function splitBehind(gap: string): { comma: boolean; trail: string; length: number } {
  const found = /^((?:[^\S\n]*#[^\n]*|\s)*)(,?)([^\S\n]*#[^\n]*)?/.exec(gap)!;
  const before = /^[^\S\n]*#[^\n]*/.exec(found[1]!)?.[0] ?? '';
  if (found[2] === '') return { comma: false, trail: before, length: before.length };
  return { comma: true, trail: before + (found[3] ?? ''), length: found[0].length };
}

function withoutComments(lead: string): string {
  return lead.includes('#') ? lead.slice(lead.lastIndexOf('\n')) : lead;
}

function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
