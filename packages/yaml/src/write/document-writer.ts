/**
 * Writes nodes as kyaml does.
 *
 * @module
 */

import { type ResourceNode, STYLE } from '../nodes/node.js';
import { allowedStyles } from './scalar-styles.js';
import { ScalarWriter } from './scalar-writer.js';

/** `compact`: the dashes of a list are as far left as its key. `wide`: they are two columns further right. */
export type SequenceIndent = 'compact' | 'wide';

/** UTF-8 bytes of a key that needs no `?`. */
const MAX_SIMPLE_KEY = 128;

/** How collections are indented. */
export interface Layout {
  seqIndent: SequenceIndent;
  /** How many columns a nested map is further right than the map around it; 2 in kyaml. */
  step?: number;
}

/** Writes a document with the bytes that kyaml writes: go-yaml 3, two columns, long lines not folded. */
export class DocumentWriter extends ScalarWriter {
  private compact = true;
  private inMapping = false;
  /** A comment beside a key whose value starts in the next line. */
  private keyLine = '';

  /** Returns the document. */
  write(node: ResourceNode, { seqIndent, step = 2 }: Layout): string {
    const document = node.kind === 'document' ? node : undefined;
    this.compact = seqIndent === 'compact';
    this.step = step;
    if (document !== undefined && document.head !== '') this.head = document.head;
    if (this.head !== '') {
      this.processHead();
      this.putBreak();
    }
    for (const root of document?.content ?? [node]) {
      this.analyze(root);
      this.processHead();
      this.open(root, false, false, false);
      this.processLine();
      this.processFoot();
      this.body(root, false);
    }
    if (document !== undefined && document.foot !== '') this.foot = document.foot;
    this.processDocumentFoot();
    this.writeIndent();
    return this.text;
  }

  /** Takes over the comments of a node that comes next. */
  private analyze(node: ResourceNode, tail = '', foot = node.foot): void {
    if (node.head !== '') this.head = node.head;
    if (tail !== '') this.tail = tail;
    if (node.kind === 'map' || node.kind === 'list') return;
    if (node.line !== '') this.line = node.line;
    if (foot !== '') this.foot = foot;
    if (node.kind === 'scalar') this.allowed = allowedStyles(node.value);
  }

  private analyzeEnd(node: ResourceNode, tail = ''): void {
    if (tail !== '') this.tail = tail;
    if (node.line !== '') this.line = node.line;
    if (node.foot !== '') this.foot = node.foot;
  }

  /** Writes a scalar, or what precedes the content of a collection. */
  private open(node: ResourceNode, inMapping: boolean, isKey: boolean, isItem: boolean): void {
    this.inMapping = inMapping;
    if (node.kind === 'alias') {
      this.writeIndicator('*', true, false, false);
      this.writeText(node.value);
      return;
    }
    if (node.kind === 'scalar') {
      this.scalar(node, isKey, isItem);
      return;
    }
    this.properties(node, this.tagToWrite(node));
  }

  /** The tag, unless readers find it by themselves. */
  private tagToWrite(node: ResourceNode): string {
    if (node.tag === '' || (node.style & STYLE.tagged) !== 0) return node.tag;
    return node.tag === (node.kind === 'map' ? '!!map' : '!!seq') ? '' : node.tag;
  }

  /** Writes the content of a collection. `isItem`: it is an item of a block list. */
  private body(node: ResourceNode, isItem: boolean): void {
    if (node.kind !== 'map' && node.kind !== 'list') return;
    const { indent } = this;
    const isEmpty = node.content.length < (node.kind === 'map' ? 2 : 1);
    const isFlow = this.flowLevel > 0 || (node.style & STYLE.flow) !== 0 || isEmpty;
    if (node.kind === 'map') {
      if (isFlow) this.flowMapping(node, indent, isItem);
      else this.blockMapping(node, isItem);
    } else if (isFlow) this.flowSequence(node, indent, isItem);
    else this.blockSequence(node, isItem);
    this.indent = indent;
  }

  private blockSequence(node: ResourceNode, isItem: boolean): void {
    const compact = this.compact && this.inMapping && (this.column === 0 || !this.indention);
    let first = true;
    for (const item of node.content) {
      this.analyze(item);
      if (first) {
        const before = this.indent;
        this.increaseIndent(false, isItem);
        if (compact && before >= 0) this.indent -= this.step;
        first = false;
      }
      this.processHead();
      this.writeIndent();
      this.writeIndicator('-', true, false, true);
      this.open(item, false, false, true);
      this.processLine();
      this.processFoot();
      this.body(item, true);
    }
    this.analyzeEnd(node);
  }

  private blockMapping(node: ResourceNode, isItem: boolean): void {
    const { content } = node;
    let tail = '';
    for (let i = 0; i + 1 < content.length; i += 2) {
      const key = content[i]!;
      this.analyze(key, tail, '');
      tail = key.foot;
      if (i === 0) this.increaseIndent(false, isItem);
      this.processHead();
      this.writeIndent();
      if (this.line !== '') {
        this.keyLine = this.line;
        this.line = '';
      }
      if (this.isSimpleKey(key)) {
        this.open(key, true, true, false);
        this.body(key, false);
        this.analyze(content[i + 1]!);
        this.writeIndicator(':', false, false, false);
      } else {
        this.writeIndicator('?', true, false, true);
        this.open(key, true, false, false);
        this.body(key, false);
        this.analyze(content[i + 1]!);
        this.writeIndent();
        this.writeIndicator(':', true, false, true);
      }
      this.blockValue(content[i + 1]!);
    }
    this.analyzeEnd(node, tail);
    this.processHead();
  }

  private blockValue(value: ResourceNode): void {
    if (this.keyLine !== '') {
      if (value.kind === 'scalar') {
        if (this.line === '') {
          this.line = this.keyLine;
          this.keyLine = '';
        }
      } else if (value.kind !== 'alias' && (value.style & STYLE.flow) === 0) {
        const { line } = this;
        this.line = this.keyLine;
        this.processLine();
        this.keyLine = this.line;
        this.line = line;
      }
    }
    this.open(value, true, false, false);
    this.processLine();
    this.processFoot();
    this.body(value, false);
  }

  private flowSequence(node: ResourceNode, indent: number, isItem: boolean): void {
    const isInner = this.flowLevel > 0;
    let separated = true;
    for (const [index, item] of node.content.entries()) {
      this.analyze(item);
      if (index === 0) this.openFlow('[', isItem);
      if (!separated) this.writeIndicator(',', false, false, false);
      this.processHead();
      if (this.column === 0) this.writeIndent();
      separated = this.flowItem(item, false);
    }
    if (!isInner) this.analyzeEnd(node);
    if (node.content.length === 0) this.openFlow('[', isItem);
    this.closeFlow(']', indent, isItem);
  }

  private flowMapping(node: ResourceNode, indent: number, isItem: boolean): void {
    const { content } = node;
    const isInner = this.flowLevel > 0;
    let separated = true;
    let tail = '';
    for (let i = 0; i + 1 < content.length; i += 2) {
      const key = content[i]!;
      this.analyze(key, tail, '');
      tail = key.foot;
      if (i === 0) this.openFlow('{', isItem);
      if (!separated) this.writeIndicator(',', false, false, false);
      this.processHead();
      if (this.column === 0) this.writeIndent();
      const simple = this.isSimpleKey(key);
      if (!simple) this.writeIndicator('?', true, false, false);
      this.open(key, true, simple, false);
      this.body(key, false);
      if (!simple && key.kind !== 'scalar') this.line = key.line;
      this.analyze(content[i + 1]!);
      this.writeIndicator(':', !simple, false, false);
      separated = this.flowItem(content[i + 1]!, true);
    }
    if (!isInner) this.analyzeEnd(node);
    if (tail !== '') this.tail = tail;
    if (content.length < 2) this.openFlow('{', isItem);
    else if (!separated && (this.head !== '' || this.foot !== '' || this.tail !== '')) {
      this.writeIndicator(',', false, false, false);
    }
    this.processHead();
    this.closeFlow('}', indent, isItem);
  }

  /**
   * Writes a value of a flow collection, and reports whether a comma is behind it. go-yaml writes the comment beside a
   * key before a collection, which no parser reads, and the comma behind a comment, which most parsers do not accept
   * there.
   */
  private flowItem(value: ResourceNode, inMapping: boolean): boolean {
    const isCollection = value.kind === 'map' || value.kind === 'list';
    const line = isCollection ? [this.line, value.line].filter((one) => one !== '').join('\n') : '';
    const foot = isCollection ? value.foot : '';
    if (isCollection) this.line = '';
    const separated = this.hasTrailingComments();
    this.open(value, inMapping, false, false);
    this.closeFlowItem();
    this.body(value, false);
    if (line === '' && foot === '') return separated;
    this.line = line;
    this.foot = foot;
    this.closeFlowItem();
    return true;
  }

  private openFlow(bracket: string, isItem: boolean): void {
    this.writeIndicator(bracket, true, true, false);
    this.increaseIndent(true, isItem);
    this.flowLevel++;
  }

  /**
   * go-yaml leaves `}`, and both of an item of a list, at the start of the line, where most parsers do not accept them.
   */
  private closeFlow(bracket: string, indent: number, isItem: boolean): void {
    this.flowLevel--;
    this.indent = isItem ? Math.max(indent, 0) + this.step : indent;
    if (this.column === 0) this.writeIndent();
    this.indent = indent;
    this.writeIndicator(bracket, false, false, false);
    this.processLine();
    this.processFoot();
  }

  /** The comma has to be before a comment. */
  private closeFlowItem(): void {
    if (this.hasTrailingComments()) this.writeIndicator(',', false, false, false);
    this.processLine();
    this.processFoot();
  }

  private isSimpleKey(node: ResourceNode): boolean {
    if (node.kind === 'alias') return node.value.length <= MAX_SIMPLE_KEY;
    if (node.kind !== 'scalar') return node.content.length === 0;
    if (this.allowed.multiline) return false;
    const length = node.anchor.length + this.scalarTag(node).tag.length;
    return (
      length + node.value.length * 3 <= MAX_SIMPLE_KEY || length + utf8Length(node.value) <= MAX_SIMPLE_KEY
    );
  }
}

function utf8Length(text: string): number {
  let length = 0;
  for (const char of text) {
    const code = char.codePointAt(0)!;
    length += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return length;
}
