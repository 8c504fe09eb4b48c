import type { ResourceNode } from '../nodes/node.js';
import type { Child } from './block-parts.js';
import type { DocumentText } from './document-text.js';
import { jsonText, renderFlow, renderJson } from './render.js';
import { applySplices, type Splice } from './splices.js';
import { Uneditable } from './uneditable.js';

/** An entry or an item between commas. */
export interface FlowSpan {
  start: number;
  end: number;
}

interface FlowPart extends FlowSpan {
  /** The text before it: blanks, line breaks and comments, from the comma before it or the end of its line. */
  lead: string;
  /** A comment on its line. */
  trail: string;
}

/** The text of collections in brackets and braces, and of JSON. */
export class FlowText {
  readonly isJson: boolean;
  private readonly source: DocumentText;
  /** What is between a key and its value in JSON. */
  private readonly colon: string;
  /** The indentation of JSON with a line for each item. */
  private readonly step: string | undefined;

  constructor(source: DocumentText) {
    const { text } = source;
    this.source = source;
    this.isJson = isJson(text);
    this.colon = this.isJson && /"[ \t]*:(?=\S)/.test(text) && !/"[ \t]*:[ \t]/.test(text) ? ':' : ': ';
    this.step = this.isJson ? /^\s*[[{][ \t]*\n([ \t]*)/.exec(text)?.[1] : undefined;
  }

  /** Whether a collection has brackets or braces; a map of one key in a list may have none. */
  isEnclosed(node: ResourceNode): boolean {
    return '[{'.includes(this.source.text.charAt(this.source.contentStart(node)));
  }

  /** Replaces a value; `key` is its key in a map. */
  replace(before: ResourceNode, value: ResourceNode, key: ResourceNode | undefined): Splice {
    const { start, end } = before;
    const anchor = value.anchor === '' ? '' : `&${value.anchor} `;
    value.anchor = '';
    const text = anchor + this.render({ value }, this.lineIndent(start));
    if (start !== end) return { start, end, text };
    if (this.source.text.charAt(start - 1) === ':') return { start, end, text: ` ${text}` };
    if (key === undefined) throw new Uneditable('an empty item in brackets');
    return { start: key.end, end: key.end, text: `: ${text}` };
  }

  /** An item, or an entry with its key. `indent`: of its line, in JSON with a line for each item. */
  render(child: Child, indent: string | undefined): string {
    if (!this.isJson) return renderFlow(child);
    const { key, value } = child;
    const text = renderJson(value, this.colon, this.step ?? '', indent);
    return key === undefined ? text : jsonText(key.value) + this.colon + text;
  }

  private lineIndent(at: number): string | undefined {
    const line = this.source.lineStart(at);
    return this.step === undefined ? undefined : this.source.text.slice(line, this.source.passBlanks(line));
  }

  /** The indentation of the items of a collection that have a line each. */
  itemIndent(node: ResourceNode, spans: readonly FlowSpan[]): string | undefined {
    const before = this.source.text.slice(this.source.contentStart(node), spans[0]!.start);
    return before.includes('\n') ? this.lineIndent(spans[0]!.start) : undefined;
  }

  /** The splice that leaves of a collection what is arranged: parts by their index, with their changes, and new ones. */
  arrange(
    node: ResourceNode,
    spans: readonly FlowSpan[],
    arranged: readonly (number | string)[],
    changes: readonly Splice[][],
  ): Splice {
    const { text } = this.source;
    const bracket = this.source.contentStart(node) + 1;
    // A comment behind the bracket is about the collection.
    const open = bracket + this.source.comment(bracket).length;
    const close = node.end - 1;
    const parts: FlowPart[] = [];
    let at = open;
    let lastComma = false;
    for (const { start, end } of spans) {
      const lead = text.slice(at, start);
      const behind = splitBehind(text.slice(end, spans[parts.length + 1]?.start ?? close));
      lastComma = behind.comma;
      parts.push({ lead, start, end, trail: behind.trail });
      at = end + behind.length;
    }
    const leads = parts.map(({ lead }) => lead);
    const closing = text.slice(at, close);
    const [first, ...others] = leads;
    const isAlone = others.length === 0 && !/[\n#]/.test(first!);
    const firstLead = withoutComments(first!);
    const otherLead = isAlone
      ? this.colon.slice(1)
      : withoutComments(others.find((lead) => !lead.includes('#')) ?? others[0] ?? first!);
    const broken = leads.find((lead) => lead.includes('\n'));
    const newLine =
      broken === undefined ? `\n${' '.repeat(this.source.column(bracket))}` : withoutComments(broken);
    let result = '';
    let isComment = false;
    arranged.forEach((one, i) => {
      const part = typeof one === 'number' ? parts[one]! : undefined;
      const isLast = i + 1 === arranged.length;
      const isInside = i > 0 && one !== 0;
      const isOwn = part !== undefined && (isInside || part.lead.includes('#'));
      const lead = isOwn ? part.lead : i === 0 ? firstLead : otherLead;
      result += isComment && !lead.includes('\n') ? newLine : lead;
      result += part === undefined ? one : applySplices(text, changes[one as number]!, part.start, part.end);
      if (!isLast || lastComma) result += ',';
      result += part?.trail ?? '';
      isComment = part !== undefined && part.trail !== '';
    });
    if (isComment && !closing.includes('\n')) result += newLine;
    return { start: open, end: close, text: result + closing };
  }
}

/** The comma behind an item, and the comment on its line. */
function splitBehind(gap: string): { comma: boolean; trail: string; length: number } {
  const found = /^((?:\s+|#[^\n]*)*)(,?)([^\S\n]*#[^\n]*)?/.exec(gap)!;
  if (found[2] === '') {
    const trail = /^[^\S\n]*#[^\n]*/.exec(gap)?.[0] ?? '';
    return { comma: false, trail, length: trail.length };
  }
  const before = found[1]!.includes('#') ? found[1]!.trimEnd() : '';
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
