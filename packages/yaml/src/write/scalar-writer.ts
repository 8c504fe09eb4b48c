import { type ResourceNode, STYLE, TEXT_STYLES } from '../nodes/node.js';
import { resolveTag } from '../parse/resolve-tag.js';
import { Output } from './emitter.js';
import { type AllowedStyles, allowedStyles } from './scalar-styles.js';
import { blockHints, doubleQuoted } from './write-scalars.js';
import { writeTag } from './write-tag.js';

/** Where go-yaml folds wrongly: it would add or lose line breaks. */
const CHANGED_BY_FOLDING = /^[\s\x85]|[\n\x85\u2028\u2029][ \t]|[\n\x85\u2028\u2029]{2}$|[\x85\u2028\u2029]/;

/** Writes scalars in their style, or in one that can hold the value. */
export class ScalarWriter extends Output {
  /** Columns after which a space in a scalar becomes a line break. */
  private readonly width: number;
  protected flowLevel = 0;
  protected allowed: AllowedStyles = allowedStyles('');

  constructor(width = Number.POSITIVE_INFINITY) {
    super();
    this.width = width;
  }

  protected properties(node: ResourceNode, tag: string): void {
    if (node.anchor !== '') {
      this.writeIndicator('&', true, false, false);
      this.writeText(node.anchor);
    }
    if (tag !== '') {
      if (!this.whitespace) this.put(' ');
      this.writeText(writeTag(tag));
    }
  }

  protected increaseIndent(isFlow: boolean, isItem: boolean): void {
    if (this.indent < 0) this.indent = isFlow ? this.step : 0;
    else if (isItem) this.indent += 2;
    else this.indent += this.step;
  }

  /** The tag to write, and whether the value is text that looks like something else. */
  protected scalarTag(node: ResourceNode): { tag: string; quote: boolean } {
    const { tag } = node;
    if (tag === '' || (node.style & STYLE.tagged) !== 0) return { tag, quote: false };
    if (tag === '!!str' && (node.style & TEXT_STYLES) !== 0) return UNTAGGED;
    if (resolveTag(node.value) === tag) return UNTAGGED;
    return tag === '!!str' ? UNTAGGED_QUOTED : { tag, quote: false };
  }

  protected scalar(node: ResourceNode, isKey: boolean, isItem: boolean): void {
    const { tag, quote } = this.scalarTag(node);
    const { value } = node;
    const style = this.scalarStyle(node, quote, isKey);
    this.properties(node, tag);
    const folds = !isKey && this.width !== Number.POSITIVE_INFINITY;
    if (style === 0 && !folds) {
      if (value === '') this.indention = false;
      else {
        if (!this.whitespace) this.put(' ');
        this.writeText(value);
      }
      return;
    }
    const { indent } = this;
    this.increaseIndent(true, isItem);
    if (style === 0) this.fold(value, style);
    else if (style === STYLE.doubleQuoted) {
      if (folds) this.fold(doubleQuoted(value), style);
      else this.writeIndicator(doubleQuoted(value), true, false, false);
    } else if (style === STYLE.singleQuoted) {
      if (folds) this.fold(`'${value.replaceAll("'", "''")}'`, style);
      else this.singleQuoted(value);
    } else {
      const columns = this.indent - Math.max(indent, 0);
      if (style === STYLE.literal) this.literal(value, columns);
      else this.folded(value, columns);
    }
    this.indent = indent;
  }

  private scalarStyle(node: ResourceNode, quote: boolean, isKey: boolean): number {
    const { value, style } = node;
    const { allowed } = this;
    let chosen = 0;
    if ((style & STYLE.doubleQuoted) !== 0) chosen = STYLE.doubleQuoted;
    else if ((style & STYLE.singleQuoted) !== 0) chosen = STYLE.singleQuoted;
    else if ((style & STYLE.literal) !== 0) chosen = STYLE.literal;
    else if ((style & STYLE.folded) !== 0) chosen = STYLE.folded;
    else if (value.includes('\n')) chosen = STYLE.literal;
    else if (quote) chosen = STYLE.doubleQuoted;
    if (isKey && allowed.multiline) chosen = STYLE.doubleQuoted;
    if (chosen === 0) {
      const inFlow = this.flowLevel > 0;
      if (!(inFlow ? allowed.flowPlain : allowed.blockPlain) || (value === '' && (inFlow || isKey))) {
        chosen = STYLE.singleQuoted;
      }
    }
    if (chosen === STYLE.singleQuoted && !allowed.singleQuoted) return STYLE.doubleQuoted;
    if (chosen === STYLE.literal || chosen === STYLE.folded) {
      if (!allowed.block || this.flowLevel > 0 || isKey) return STYLE.doubleQuoted;
      // go-yaml takes a tab at the start for indentation when it reads it.
      if (value.startsWith('\t') || (chosen === STYLE.folded && CHANGED_BY_FOLDING.test(value))) {
        return STYLE.doubleQuoted;
      }
    }
    return chosen;
  }

  /** Writes the text of a scalar on one line, of which single spaces behind the width become line breaks. */
  private fold(text: string, style: number): void {
    if (!this.whitespace) this.put(' ');
    const [start, end] = style === 0 ? [0, text.length] : [2, text.length - 2];
    for (let at = 0; at < text.length; at++) {
      const isSingle = text[at] === ' ' && text[at - 1] !== ' ' && at >= start && at < end;
      const breaks = isSingle && this.column > this.width;
      if (!breaks || (style !== STYLE.doubleQuoted && text[at + 1] === ' ')) this.put(text.charAt(at));
      else {
        this.indention = false;
        this.writeIndent();
        if (text[at + 1] === ' ') this.put('\\');
      }
    }
    this.whitespace = false;
    this.indention = false;
  }

  private singleQuoted(value: string): void {
    const text = value.replaceAll("'", "''");
    if (!this.allowed.multiline) {
      this.writeIndicator(`'${text}'`, true, false, false);
      return;
    }
    this.writeIndicator("'", true, false, false);
    const endsLine = this.writeLines(
      text,
      (line, isFirst) => {
        if (!isFirst) this.writeIndent();
        this.put(line);
      },
      () => true,
    );
    // go-yaml leaves the last quote at the start of the line, where many parsers do not accept it.
    if (endsLine) this.writeIndent();
    this.writeIndicator("'", false, false, false);
  }

  private literal(value: string, columns: number): void {
    this.blockHeader(`|${blockHints(value, columns)}`);
    this.writeLines(value, (line) => {
      this.writeIndent();
      this.put(line);
    });
  }

  private folded(value: string, columns: number): void {
    this.blockHeader(`>${blockHints(value, columns)}`);
    let startsBlank = true;
    this.writeLines(
      value,
      (line) => {
        this.writeIndent();
        startsBlank = line.startsWith(' ') || line.startsWith('\t');
        this.put(line);
      },
      () => !startsBlank,
    );
  }

  private blockHeader(indicators: string): void {
    this.writeIndicator(indicators, true, false, false);
    if (this.line === '') this.putBreak();
    else {
      // go-yaml writes the second line of such a comment into the text.
      this.line = this.line.replaceAll('\n', ' ');
      this.processLine();
    }
    this.whitespace = true;
  }
}

const UNTAGGED = { tag: '', quote: false };
const UNTAGGED_QUOTED = { tag: '', quote: true };
