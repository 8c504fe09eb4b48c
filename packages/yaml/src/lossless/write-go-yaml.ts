import { isTextInGo } from './go-scalars.js';
import { type GoCollection, type GoScalar, type GoValue, goValue } from './go-value.js';
import type { YamlNode } from './tree.js';

/**
 * YAML as go-yaml 2 writes the JSON of an object, which is how kustomize prints resources: sorted keys, block style,
 * quotes only where needed, lines folded at 80 columns. The emitter is a port of the parts of it that such documents
 * reach.
 */

/** Columns after which a space becomes a line break. */
const WIDTH = 80;
/** Undefined if the text depends on how a reader takes a scalar, or is one that resources do not have. */
export function writeGoYaml(root: YamlNode): string | undefined {
  const value = goValue(root);
  if (value === undefined || isScalar(value)) return undefined;
  const writer = new GoYamlWriter();
  writer.document(value);
  return writer.text;
}

class GoYamlWriter {
  text = '';
  #column = 0;

  document(root: GoCollection): void {
    if (isEmpty(root)) this.text = root.kind === 'map' ? '{}\n' : '[]\n';
    else if (root.kind === 'map') this.#map(root.entries, 0, false);
    else this.#list(root.items, 0, false);
  }

  /** `onLine`: the first entry is behind the dash of a list. */
  #map(entries: readonly [string, GoValue][], indent: number, onLine: boolean): void {
    entries.forEach(([name, value], index) => {
      if (index > 0 || !onLine) this.#put(' '.repeat(indent));
      this.#scalar({ kind: 'text', text: name }, indent, true);
      this.#put(':');
      this.#child(value, indent);
    });
  }

  #list(items: readonly GoValue[], indent: number, onLine: boolean): void {
    items.forEach((item, index) => {
      if (index > 0 || !onLine) this.#put(' '.repeat(indent));
      this.#put('-');
      if (isScalar(item) || isEmpty(item)) this.#child(item, indent);
      else {
        this.#put(' ');
        if (item.kind === 'map') this.#map(item.entries, indent + 2, true);
        else this.#list(item.items, indent + 2, true);
      }
    });
  }

  /** Writes what is behind a key or a dash, and ends the line. */
  #child(value: GoValue, indent: number): void {
    if (isScalar(value) || isEmpty(value)) {
      this.#put(' ');
      this.#scalar(value, indent + 2, false);
      if (this.#column > 0) this.#break();
      return;
    }
    this.#break();
    if (value.kind === 'map') this.#map(value.entries, indent + 2, false);
    else this.#list(value.items, indent, false);
  }

  #scalar(value: GoValue, indent: number, isKey: boolean): void {
    if (value.kind === 'map') this.#put('{}');
    else if (value.kind === 'list') this.#put('[]');
    else if (value.kind === 'word') this.#put(value.word);
    else this.#text(value.text, indent, isKey);
  }

  #text(text: string, indent: number, isKey: boolean): void {
    const style = chooseStyle(text, isKey);
    if (style === 'literal') this.#literal(text, indent);
    else if (style === 'double') this.#double(text, indent, !isKey);
    else if (style === 'plain') this.#plain(text, indent, !isKey);
    else {
      this.#put("'");
      this.#plain(text.replaceAll("'", "''"), indent, !isKey, true);
      this.#put("'");
    }
  }

  /** Plain text, or what is between single quotes. */
  #plain(text: string, indent: number, mayFold: boolean, isQuoted = false): void {
    const characters = [...text];
    let afterSpace = false;
    characters.forEach((character, at) => {
      const isSpace = character === ' ';
      const isInside = !isQuoted || (at > 0 && at < characters.length - 1);
      const folds = mayFold && isSpace && !afterSpace && this.#column > WIDTH && isInside;
      if (folds && characters[at + 1] !== ' ') this.#fold(indent);
      else this.#put(character);
      afterSpace = isSpace;
    });
  }

  #double(text: string, indent: number, mayFold: boolean): void {
    this.#put('"');
    const characters = [...text];
    let afterSpace = false;
    characters.forEach((character, at) => {
      const isSpace = character === ' ';
      const isInside = at > 0 && at < characters.length - 1;
      if (mayFold && isSpace && !afterSpace && this.#column > WIDTH && isInside) {
        this.#fold(indent);
        if (characters[at + 1] === ' ') this.#put('\\');
      } else this.#put(needsEscape(character) ? escaped(character) : character);
      afterSpace = isSpace;
    });
    this.#put('"');
  }

  #literal(text: string, indent: number): void {
    this.#put('|');
    if (/^[ \n]/.test(text)) this.#put('2');
    if (!text.endsWith('\n')) this.#put('-');
    else if (text === '\n' || text.endsWith('\n\n')) this.#put('+');
    this.#break();
    const lines = text.split('\n');
    lines.forEach((line, at) => {
      if (line !== '') this.#put(' '.repeat(indent) + line);
      if (at < lines.length - 1) this.#break();
    });
  }

  #fold(indent: number): void {
    this.#break();
    this.#put(' '.repeat(indent));
  }

  #break(): void {
    this.text += '\n';
    this.#column = 0;
  }

  #put(text: string): void {
    this.text += text;
    this.#column += [...text].length;
  }
}

function isScalar(value: GoValue): value is GoScalar {
  return value.kind === 'word' || value.kind === 'text';
}

function isEmpty(value: GoCollection): boolean {
  return (value.kind === 'map' ? value.entries : value.items).length === 0;
}

/** Go's `yaml_emitter_analyze_scalar` and `yaml_emitter_select_scalar_style`. */
function chooseStyle(text: string, isKey: boolean): 'plain' | 'single' | 'double' | 'literal' {
  const isSpecial = [...text].some((character) => !isPrintable(character)) || / \n/.test(text);
  if (text.includes('\n')) {
    return isSpecial || isKey || text.endsWith(' ') ? 'double' : 'literal';
  }
  if (!isTextInGo(text)) return 'double';
  if (isSpecial) return 'double';
  const hasIndicators =
    /^(?:---|\.\.\.)/.test(text) ||
    /^[#,[\]{}&*!|>'"%@`]/.test(text) ||
    /^[?:-](?:[ \t]|$)/.test(text) ||
    /:(?:[ \t]|$)/.test(text) ||
    /[ \t]#/.test(text);
  const isPlain = !hasIndicators && !text.startsWith(' ') && !text.endsWith(' ');
  return isPlain ? 'plain' : 'single';
}

function isPrintable(character: string): boolean {
  return /^[\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd]$/u.test(character) && character !== '\ufeff';
}

function needsEscape(character: string): boolean {
  return !isPrintable(character) || /["\\\n]/.test(character);
}

const ESCAPES: Record<string, string> = {
  '\0': '0',
  '\u0007': 'a',
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\v': 'v',
  '\f': 'f',
  '\r': 'r',
  '\u001b': 'e',
  '"': '"',
  '\\': '\\',
  '\u0085': 'N',
};

function escaped(character: string): string {
  const short = ESCAPES[character];
  if (short !== undefined) return `\\${short}`;
  const code = character.codePointAt(0)!;
  const [letter, digits] = code <= 0xff ? ['x', 2] : code <= 0xffff ? ['u', 4] : ['U', 8];
  return `\\${letter}${code
    .toString(16)
    .toUpperCase()
    .padStart(digits as number, '0')}`;
}
