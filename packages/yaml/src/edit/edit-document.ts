import { type FieldKeys, findMergeKeys, ListKeys } from '../nodes/merge-keys.js';
import { documentRoot, type ResourceNode, STYLE } from '../nodes/node.js';
import type { SequenceIndent } from '../write/document-writer.js';
import type { AddedComments } from './added-comments.js';
import { alignItems, longestIncreasing } from './align-items.js';
import { Anchors } from './anchors.js';
import { type Arranged, arrange, blockParts, movedLines, type NewLines } from './block-parts.js';
import { FlowEditor, type ValueEditor } from './edit-flow.js';
import {
  type Entry,
  isMerged,
  isMergeKey,
  type Meanings,
  mergeSources,
  ownEntries,
  resolved,
} from './equal-value.js';
import { NewNodes } from './new-nodes.js';
import { entryLines, itemLines } from './render.js';
import { replaceValue, type Slot } from './replace-value.js';
import { SourceText } from './source-text.js';
import { applySplices, type Splice } from './splices.js';

type Keys = FieldKeys | ListKeys | undefined;

/** What a change under an alias or a merge key is reported as. */
export interface ExpandedNote {
  row: number;
  path: string;
}

/** Finds the splices that make the text of a document mean another value. */
export class DocumentEditor implements ValueEditor {
  readonly source: SourceText;
  readonly meanings: Meanings;
  readonly anchors: Anchors;
  readonly news: NewNodes;
  readonly seqIndent: SequenceIndent;
  readonly notes: ExpandedNote[] = [];
  private readonly path: (string | number)[] = [];
  private readonly comments: AddedComments;
  private readonly flow: FlowEditor;
  private splices: Splice[] = [];

  private readonly root: ResourceNode;
  private readonly after: ResourceNode;

  constructor(
    { node, text, seqIndent }: { node: ResourceNode; text: string; seqIndent: SequenceIndent },
    { after, meanings, comments }: { after: ResourceNode; meanings: Meanings; comments: AddedComments },
  ) {
    this.root = documentRoot(node);
    this.after = documentRoot(after);
    this.source = new SourceText(text);
    this.meanings = meanings;
    this.seqIndent = seqIndent;
    this.anchors = new Anchors(this.root, meanings);
    this.comments = comments;
    this.news = new NewNodes(comments, (this.after.style & STYLE.flow) !== 0);
    this.flow = new FlowEditor(this);
  }

  /** Returns the splices of the text. Throws Uneditable. */
  edit(): Splice[] {
    const { root } = this;
    this.value(root, this.after, { from: root.start, column: 0, place: 'root' }, findMergeKeys(root));
    return this.splices;
  }

  add(start: number, end: number, text: string): void {
    if (start !== end || text !== '') this.splices.push({ start, end, text });
  }

  /** The splices of one step, which are not added to the others. */
  collect(step: () => void): Splice[] {
    const outer = this.splices;
    this.splices = [];
    step();
    const inner = this.splices;
    this.splices = outer;
    return inner;
  }

  at(step: string | number, run: () => void): void {
    this.path.push(step);
    run();
    this.path.pop();
  }

  private note(node: ResourceNode): void {
    this.notes.push({ row: node.row, path: this.path.join('.') });
  }

  /** Whether the text of a value can stay. */
  isKept(before: ResourceNode, after: ResourceNode): boolean {
    return this.comments.isEmpty && !this.anchors.mayChange(before) && this.meanings.equal(before, after);
  }

  /** The value for an alias that cannot stay: undefined if it can. */
  expansion(before: ResourceNode, after: ResourceNode): ResourceNode | undefined {
    const state = this.anchors.resolve(before, after);
    if (state === 'kept') return undefined;
    this.note(before);
    const value = this.news.copy(after);
    if (state === 'moved') value.anchor = before.value;
    return value;
  }

  /** Edits a value, wherever it is. */
  value(before: ResourceNode, given: ResourceNode, slot: Slot, keys: Keys): void {
    const after = resolved(given);
    if (this.isKept(before, after)) return;
    if (before.kind === 'alias') {
      const value = this.expansion(before, after);
      if (value !== undefined) this.replace(before, value, slot);
      return;
    }
    this.anchors.change(before, after);
    const sameKind = before.kind === after.kind && before.content.length > 0 && after.content.length > 0;
    if (sameKind && (before.style & STYLE.flow) !== 0) {
      if (this.flow.canEdit(before)) this.flow.edit(before, after, keys);
      else this.replace(before, this.news.copy(after), slot);
    } else if (sameKind && before.kind === 'map') this.map(before, after, keys);
    else if (sameKind) this.list(before, after, keys);
    else if (before.kind !== 'scalar' || !this.meanings.equal(before, after)) {
      this.anchors.removeBelow(before);
      const value = this.news.styled(before, after, this.source.isOpen(before));
      value.anchor = before.anchor;
      this.replace(before, value, slot);
    }
  }

  private replace(before: ResourceNode, value: ResourceNode, slot: Slot): void {
    if (slot.place === 'flow' || this.flow.isJson) this.flow.replace(before, value, slot);
    else this.splices.push(...replaceValue(this.source, before, value, slot, this.seqIndent));
  }

  private map(before: ResourceNode, after: ResourceNode, keys: Keys): void {
    const { source } = this;
    const own = ownEntries(before);
    const start = source.contentStart(before);
    const column = source.column(start);
    const bodies = own.map(({ key }) => this.keyStart(key, column));
    const parts = blockParts(
      source,
      bodies,
      own.map(({ value }) => value),
    );
    const wanted = this.wantedEntries(own, before, after);
    const indexes = new Map(own.map((entry, i) => [entry.name, i]));
    const below = keys instanceof ListKeys ? undefined : (keys ?? findMergeKeys(before));
    own.forEach((entry, i) => {
      const found = wanted.get(entry.name);
      if (found === undefined) {
        this.anchors.remove(entry.value);
        return;
      }
      this.at(entry.name, () => {
        const slot: Slot = { from: -1, column, place: 'key', key: entry.key };
        const fieldKeys =
          below !== undefined && Object.hasOwn(below, entry.name) ? below[entry.name] : undefined;
        this.value(entry.value, found.value, slot, fieldKeys);
        this.addComments(entry.key, entry.value, found.key, found.value, parts[i]!.body);
      });
    });
    const kept: number[] = [];
    const lines = new Map<number, NewLines>();
    let previous = -1;
    for (const [name, { key, value }] of wanted) {
      const index = indexes.get(name);
      if (index !== undefined) {
        previous = index;
        kept.push(index);
        continue;
      }
      const text = entryLines(this.news.copy(key), this.news.copy(value), column, this.seqIndent);
      lines.set(previous, { text: (lines.get(previous)?.text ?? '') + text, isOpen: false });
    }
    const arranged: Arranged[] = lines.has(-1) ? [lines.get(-1)!] : [];
    for (const index of kept.sort((a, b) => a - b)) {
      arranged.push(index);
      if (lines.has(index)) arranged.push(lines.get(index)!);
    }
    this.splices.push(...arrange(source, parts, arranged));
  }

  /** Where a key starts, or its question mark. */
  private keyStart(key: ResourceNode, column: number): number {
    const { source } = this;
    const line = source.lineStart(key.start);
    return source.column(key.start) > column && source.text.charAt(line + column) === '?'
      ? line + column
      : key.start;
  }

  /** The entries that a map of the text is to have itself: not those that its merge keys go on adding. */
  wantedEntries(own: readonly Entry[], before: ResourceNode, after: ResourceNode): Map<string, Entry> {
    if (isMerged(after)) {
      return new Map((isMerged(before) ? ownEntries(after) : this.meanings.entries(after)).map(byName));
    }
    const wanted = new Map(ownEntries(after).map(byName));
    const merge = own.find(({ key }) => isMergeKey(key));
    if (merge === undefined) return wanted;
    const inherited = this.inherited(merge);
    if (inherited === undefined || [...inherited.keys()].some((name) => !wanted.has(name))) {
      this.note(before);
      return wanted;
    }
    const ownNames = new Set(own.map(({ name }) => name));
    const missing: string[] = [];
    for (const [name, value] of inherited) {
      if (ownNames.has(name)) continue;
      if (this.meanings.equal(value, wanted.get(name)!.value)) missing.push(name);
      else this.note(before);
    }
    for (const name of missing) wanted.delete(name);
    return new Map([[merge.name, merge], ...wanted]);
  }

  /** What a merge key adds once the changes are made; undefined if its anchor is removed. */
  private inherited({ value }: Entry): Map<string, ResourceNode> | undefined {
    const fields = new Map<string, ResourceNode>();
    for (const source of mergeSources(value)) {
      const now = this.anchors.current(source);
      if (now?.kind !== 'map') return undefined;
      for (const entry of this.meanings.entries(now))
        if (!fields.has(entry.name)) fields.set(entry.name, entry.value);
    }
    return fields;
  }

  private list(before: ResourceNode, after: ResourceNode, keys: Keys): void {
    const { source } = this;
    const items = before.content;
    const start = source.contentStart(before);
    const column = source.column(start);
    let dash = start;
    const bodies = items.map((item, i) => {
      if (i > 0) dash = this.dashOf(item, column);
      return dash;
    });
    const parts = blockParts(source, bodies, items);
    const listKeys = keys instanceof ListKeys && keys.keys[0] !== '' ? keys : undefined;
    const matches = alignItems(this.meanings, items, after.content, listKeys?.keys);
    const afterOf = new Map(matches.map((index, i) => [index, i]));
    const staying = longestIncreasing(matches);
    const moved = new Map<number, NewLines>();
    items.forEach((item, i) => {
      const to = afterOf.get(i);
      if (to === undefined || (!staying.has(to) && this.anchors.isConcerned(item))) {
        // An anchor may not move below its aliases.
        if (to !== undefined) matches[to] = -1;
        this.anchors.remove(item);
        return;
      }
      const part = parts[i]!;
      const splices = this.collect(() =>
        this.at(i, () => {
          const slot: Slot = { from: part.body + 1, column, place: 'item' };
          this.value(item, after.content[to]!, slot, listKeys?.item);
          this.addComments(undefined, item, undefined, after.content[to]!, part.body);
        }),
      );
      if (staying.has(to)) this.splices.push(...splices);
      else moved.set(i, movedLines(source, part, applySplices(source.text, splices, part.start, part.end)));
    });
    const arranged = matches.map((index, to): Arranged => {
      if (index === -1) {
        return { text: itemLines(this.news.copy(after.content[to]!), column, this.seqIndent), isOpen: false };
      }
      return moved.get(index) ?? index;
    });
    this.splices.push(...arrange(source, parts, arranged));
  }

  /** The dash of an item that is not the first one: the last one in its column. */
  private dashOf(item: ResourceNode, column: number): number {
    const { source } = this;
    for (let line = source.lineStart(item.start); ; line = source.lineStart(line - 1)) {
      if (source.passBlanks(line) === line + column && source.text.charAt(line + column) === '-')
        return line + column;
      if (line === 0) return item.start;
    }
  }

  /** Writes the comments that a function added to an entry or an item. */
  private addComments(
    key: ResourceNode | undefined,
    value: ResourceNode,
    newKey: ResourceNode | undefined,
    newValue: ResourceNode,
    body: number,
  ): void {
    if (this.comments.isEmpty) return;
    const { source } = this;
    const oldLine = key?.line || value.line;
    const line = [newKey?.line ?? '', newValue.line].find((text) => text !== '' && text !== oldLine) ?? '';
    const oldHead = key === undefined ? value.head : key.head;
    const newHead = newKey === undefined ? newValue.head : newKey.head;
    if (newHead !== '' && newHead !== oldHead && source.startsLine(body)) {
      const indent = ' '.repeat(source.column(body));
      const text = this.comments.take(newHead);
      const at = source.lineStart(body);
      if (text !== '') this.add(at, at, `${text.replace(/^/gm, indent)}\n`);
    }
    if (line === '' || line.includes('\n')) return;
    const isBlock = value.content.length > 0 && (value.style & STYLE.flow) === 0;
    if (isBlock && key === undefined) return;
    const end = this.lineCommentPlace(key, value, isBlock);
    const text = source.comment(end) === '' || oldLine !== '' ? this.comments.take(line) : '';
    if (text === '') return;
    const old = source.comment(end);
    this.add(end, end + old.length, ` ${text}`);
  }

  private lineCommentPlace(key: ResourceNode | undefined, value: ResourceNode, isBlock: boolean): number {
    const { source } = this;
    if (isBlock) return source.colonEnd(key!);
    if ((value.style & (STYLE.literal | STYLE.folded)) === 0) return value.end;
    let at = source.contentStart(value);
    while (/[-+|>0-9]/.test(source.text.charAt(at))) at++;
    return at;
  }
}

function byName(entry: Entry): [string, Entry] {
  return [entry.name, entry];
}
