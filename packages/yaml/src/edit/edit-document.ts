import { type FieldKeys, findMergeKeys, ListKeys } from '../nodes/merge-keys.js';
import { documentRoot, type ResourceNode, STYLE } from '../nodes/node.js';
import type { Layout, SequenceIndent } from '../write/document-writer.js';
import { doubleQuoted } from '../write/write-scalars.js';
import { type AddedComments, commentSplices } from './added-comments.js';
import { alignItems, longestIncreasing } from './align-items.js';
import { Anchors } from './anchors.js';
import {
  type Arranged,
  arrangeBlock,
  type BlockPart,
  blockParts,
  type Child,
  indentStep,
  movedLines,
  siblingIndent,
} from './block-parts.js';
import { DocumentText } from './document-text.js';
import {
  collectionTag,
  type Entry,
  isMerged,
  isMergeKey,
  type Meanings,
  mergeSources,
  ownEntries,
  resolved,
} from './equal-value.js';
import { FlowText } from './flow-text.js';
import { NewNodes } from './new-nodes.js';
import { newLines } from './render.js';
import { replaceValue } from './replace-value.js';
import { applySplices, type Splice } from './splices.js';

type Keys = FieldKeys | ListKeys | undefined;

/** What the children of a collection become. */
interface Match {
  children: Child[];
  /** For each child, what it becomes; undefined if it is removed. */
  targets: (Child | undefined)[];
  /** In the new order: children by their index, and new ones. */
  arranged: (number | Child)[];
}

/** What a change under an alias or a merge key is reported as. */
export interface ExpandedNote {
  row: number;
  path: string;
}

/** Finds the splices that make the text of a document mean another value. */
export class DocumentEditor {
  readonly source: DocumentText;
  readonly notes: ExpandedNote[] = [];
  private readonly meanings: Meanings;
  private readonly anchors: Anchors;
  private readonly news: NewNodes;
  /** That of the document; for lists, that of those beside or around the current value. */
  private layout: Layout;
  private readonly path: (string | number)[] = [];
  private readonly comments: AddedComments;
  private readonly flow: FlowText;
  private readonly root: ResourceNode;
  private readonly after: ResourceNode;

  constructor(
    { node, text, seqIndent }: { node: ResourceNode; text: string; seqIndent: SequenceIndent },
    { after, meanings, comments }: { after: ResourceNode; meanings: Meanings; comments: AddedComments },
  ) {
    this.root = documentRoot(node);
    this.after = after;
    this.source = new DocumentText(text);
    this.meanings = meanings;
    this.layout = { seqIndent, step: indentStep(this.source, this.root) ?? 2 };
    this.anchors = new Anchors(this.root, meanings);
    this.comments = comments;
    this.news = new NewNodes(comments, (documentRoot(after).style & STYLE.flow) !== 0);
    this.flow = new FlowText(this.source);
  }

  /** Returns the splices of the text. Throws Uneditable. */
  edit(): Splice[] {
    const { root, after, source } = this;
    const head = after.kind === 'document' ? this.comments.take(after.head) : '';
    const splices = this.value({ value: root }, documentRoot(after), findMergeKeys(root), undefined);
    if (head === '' || !source.startsLine(root.start)) return splices;
    const start = source.headStart(root.start, 0);
    return [{ start, end: start, text: `${head}\n\n` }, ...splices];
  }

  private note(node: ResourceNode): void {
    this.notes.push({ row: node.row, path: this.path.join('.') });
  }

  /** Edits the value of a child; `part` is where the child is, in a block collection. */
  private value(
    { key, value: before }: Child,
    given: ResourceNode,
    keys: Keys,
    part: BlockPart | undefined,
  ): Splice[] {
    const after = resolved(given);
    const { comments, anchors, meanings } = this;
    if (comments.isEmpty && !anchors.mayChange(before) && meanings.equal(before, after)) return [];
    if (before.kind === 'alias') {
      const state = anchors.resolve(before, after);
      if (state === 'kept') return [];
      this.note(before);
      const value = this.news.copy(after);
      if (state === 'moved') value.anchor = before.value;
      return this.replace({ key, value: before }, value, part);
    }
    anchors.change(before, after);
    const isChanged = before.kind === after.kind && collectionTag(before) === collectionTag(after);
    if (isChanged && before.content.length > 0 && after.content.length > 0) {
      const isFlow = (before.style & STYLE.flow) !== 0;
      if (!isFlow || this.flow.isEnclosed(before)) return this.collection(before, after, keys, isFlow);
    }
    // Only comments around it are new.
    if (!anchors.mayChange(before) && meanings.equal(before, after)) return [];
    anchors.removeBelow(before);
    const value = this.news.styled(before, after, this.source.isOpen(before));
    value.anchor = before.anchor;
    return this.replace({ key, value: before }, value, part);
  }

  private replace({ key, value: before }: Child, value: ResourceNode, part: BlockPart | undefined): Splice[] {
    if (this.flow.isJson || (part === undefined && before !== this.root)) {
      return [this.flow.replace(before, value, key)];
    }
    return [replaceValue(this.source, { key, value: before, part }, value, this.layout)];
  }

  private collection(before: ResourceNode, after: ResourceNode, keys: Keys, isFlow: boolean): Splice[] {
    const { children, targets, arranged } =
      before.kind === 'map' ? this.matchEntries(before, after) : this.matchItems(before, after, keys);
    const staying = longestIncreasing(arranged.filter((one) => typeof one === 'number'));
    arranged.forEach((one, at) => {
      if (typeof one !== 'number' || staying.has(one) || !this.anchors.isBound(children[one]!.value, before))
        return;
      // An anchor may not move below its aliases.
      arranged[at] = targets[one]!;
      targets[one] = undefined;
    });
    const { source, layout } = this;
    const parts = isFlow ? [] : blockParts(source, before, children);
    this.layout = { ...layout, seqIndent: siblingIndent(source, parts, children) ?? layout.seqIndent };
    const fields = keys instanceof ListKeys ? keys.item : (keys ?? findMergeKeys(before));
    const changes = children.map((child, i) => this.child(child, targets[i], i, fields, parts[i]));
    const edits = this.arrange(before, children, arranged, staying, parts, changes);
    this.layout = layout;
    return edits;
  }

  private child(
    child: Child,
    target: Child | undefined,
    index: number,
    fields: FieldKeys | undefined,
    part: BlockPart | undefined,
  ): Splice[] {
    if (target === undefined) {
      this.anchors.remove(child.value);
      return [];
    }
    // A merge key that stays means what its anchors mean now.
    if (target === child) return [];
    const name = child.key === undefined ? undefined : resolved(child.key).value;
    this.path.push(name ?? index);
    const keys =
      name === undefined
        ? fields
        : fields !== undefined && Object.hasOwn(fields, name)
          ? fields[name]
          : undefined;
    const splices = this.value(child, target.value, keys, part);
    const { key } = child;
    if (key !== undefined && key.anchor === '' && this.meanings.getsQuotes(key, target.key!)) {
      splices.push({ start: key.start, end: key.end, text: doubleQuoted(key.value) });
    }
    if (part !== undefined)
      splices.push(...commentSplices(this.source, this.comments, child, target, part.body));
    this.path.pop();
    return splices;
  }

  private arrange(
    before: ResourceNode,
    children: readonly Child[],
    arranged: readonly (number | Child)[],
    staying: ReadonlySet<number>,
    parts: readonly BlockPart[],
    changes: readonly Splice[][],
  ): Splice[] {
    if (arranged.length === children.length && arranged.every((one, i) => one === i)) return changes.flat();
    const { source, flow } = this;
    const copy = ({ key, value }: Child): Child => ({
      key: key && this.news.copy(key),
      value: this.news.copy(value),
    });
    if (parts.length === 0) {
      const spans = children.map(({ key, value }) => ({ start: (key ?? value).start, end: value.end }));
      const indent = flow.itemIndent(before, spans);
      const texts = arranged.map((one) => (typeof one === 'number' ? one : flow.render(copy(one), indent)));
      return [flow.arrange(before, spans, texts, changes)];
    }
    const column = source.column(parts[0]!.body);
    const lines = arranged.map((one): Arranged => {
      if (typeof one !== 'number') return { text: newLines(copy(one), column, this.layout), isOpen: false };
      const part = parts[one]!;
      if (staying.has(one)) return one;
      return movedLines(source, part, applySplices(source.text, changes[one]!, part.start, part.end));
    });
    return [
      ...changes.flatMap((edits, i) => (staying.has(i) ? edits : [])),
      ...arrangeBlock(source, parts, lines),
    ];
  }

  private matchItems({ content }: ResourceNode, after: ResourceNode, keys: Keys): Match {
    const mergeKeys = keys instanceof ListKeys && keys.keys[0] !== '' ? keys.keys : undefined;
    const matches = alignItems(this.meanings, content, after.content, mergeKeys);
    const targets = new Array<Child | undefined>(content.length);
    const arranged = matches.map((index, i) => {
      const value = after.content[i]!;
      if (index === -1) return { value };
      targets[index] = { value };
      return index;
    });
    return { children: content.map((value) => ({ value })), targets, arranged };
  }

  /** Known keys keep their order. A new one follows the key before it. */
  private matchEntries(before: ResourceNode, after: ResourceNode): Match {
    const children = ownEntries(before);
    const indexes = new Map(children.map(({ name }, i) => [name, i]));
    const targets = new Array<Child | undefined>(children.length);
    const behind: Child[][] = [[], ...children.map(() => [])];
    let previous = 0;
    for (const entry of this.wantedEntries(children, before, after)) {
      const index = indexes.get(entry.name);
      if (index === undefined) behind[previous]!.push(entry);
      else {
        targets[index] = entry;
        previous = index + 1;
      }
    }
    const arranged = behind.flatMap((news, i) => (targets[i - 1] === undefined ? news : [i - 1, ...news]));
    return { children, targets, arranged };
  }

  /** The entries that a map of the text is to have itself: not those that its merge keys go on adding. */
  private wantedEntries(own: readonly Entry[], before: ResourceNode, after: ResourceNode): Entry[] {
    if (isMerged(after) && !isMerged(before)) return this.meanings.entries(after);
    const wanted = ownEntries(after);
    const merge = own.find(({ key }) => isMergeKey(key));
    if (merge === undefined || isMerged(after)) return wanted;
    const names = new Set(wanted.map(({ name }) => name));
    const inherited = this.inherited(merge);
    if (inherited === undefined || [...inherited.keys()].some((name) => !names.has(name))) {
      this.note(before);
      return wanted;
    }
    const ownNames = new Set(own.map(({ name }) => name));
    const written = wanted.filter(({ name, value }) => {
      const other = ownNames.has(name) ? undefined : inherited.get(name);
      if (other === undefined) return true;
      if (this.meanings.equal(other, value)) return false;
      this.note(before);
      return true;
    });
    return [merge, ...written];
  }

  /** What a merge key adds once the changes are made; undefined if its anchor is removed. */
  private inherited({ value }: Child): Map<string, ResourceNode> | undefined {
    const fields = new Map<string, ResourceNode>();
    for (const source of mergeSources(value)) {
      const now = this.anchors.current(source);
      if (now?.kind !== 'map') return undefined;
      for (const entry of this.meanings.entries(now)) {
        if (!fields.has(entry.name)) fields.set(entry.name, entry.value);
      }
    }
    return fields;
  }
}
