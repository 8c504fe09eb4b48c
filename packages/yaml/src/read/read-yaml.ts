/**
 * Reads YAML and JSON into values within limits, and reports problems with their positions.
 *
 * @module
 */

import { Composer, type CST, type Document, isScalar, Lexer, type Node, Parser, Schema } from 'yaml';
import type { Diagnostic, Path, Range, Target } from '../diagnostic.js';
import type { JsonValue } from '../json-value.js';
import type { YamlLimits } from '../limits.js';
import { openText, type ReadOptions } from './open-text.js';
import type { Reporter } from './reporter.js';
import type { SourceText } from './source.js';
import { describeSyntaxError } from './syntax-message.js';
import { locateNode, TreeReader } from './tree.js';

/** One document of a YAML or JSON file, with the positions of its values. */
export interface YamlDocument {
  readonly value: JsonValue;
  /** The index among the documents with content, from 0. */
  readonly index: number;
  /** Returns the range of the node at the path, or of the nearest enclosing node. */
  locate(path: Path, target?: Target): Range | undefined;
}

/** Matches the comment with which `krmhub init` marks a placeholder. */
export const PLACEHOLDER = '# CHANGE:';
/** Maximum number of placeholders, as a limit for hostile files. */
const MAX_PLACEHOLDERS = 100;
/** The marker that the lexer emits before the text of a scalar, which can start like a comment. */
const SCALAR_FOLLOWS = '\u001f';

const LINE_BREAK = /^\r?\n$/;
const SPACES = /^ +$/;

/** Parsers search for the colon of a key in this many characters. */
const MAX_KEY_LENGTH = 1_024;

/** Maximum number of syntax errors per document. Later errors are usually consequences of earlier ones. */
const MAX_SYNTAX_ERRORS = 10;

/** Shared, so that the composer does not create a schema per document. It knows only core tags. */
const SCHEMA = new Schema({ schema: 'core', resolveKnownTags: false });

/**
 * Reads a YAML or JSON file with positions. Never throws: the diagnostics contain the errors, and documents with syntax
 * errors are omitted. `placeholders` are the `# CHANGE:` comments.
 */
export function readYaml(
  input: Uint8Array,
  options: ReadOptions,
): { documents: YamlDocument[]; diagnostics: Diagnostic[]; placeholders: Range[] } {
  const { limits, reporter, source } = openText(input, options, 'maxSourceBytes');
  if (source === undefined) return { documents: [], diagnostics: reporter.finish(), placeholders: [] };

  const reader = new StreamReader(source, limits, reporter);
  reader.readAll();
  const { documents } = reader;
  if (documents.length === 0 && !reporter.hasErrors) {
    reporter.report('yaml/empty', 'the file contains no document', 0);
  }
  const placeholders = reader.placeholders.map(([start, end]) => source.range(start, end));
  return { documents, diagnostics: reporter.finish(), placeholders };
}

/** Thrown inside the composer to stop at a document with many errors. */
class TooManyErrors extends Error {}

class StreamReader {
  readonly documents: YamlDocument[] = [];
  /** Start and end offsets of the comments. */
  readonly placeholders: [start: number, end: number][] = [];
  private syntaxErrors = 0;
  private lastErrorLine = 0;
  /** The index of the document with a reported tab. */
  private tabbedDocument = -1;
  private documentTokens = 0;
  private stopped = false;
  private readonly composer: Composer;
  private readonly parser = new Parser();
  private readonly source: SourceText;
  private readonly limits: YamlLimits;
  private readonly reporter: Reporter;

  constructor(source: SourceText, limits: YamlLimits, reporter: Reporter) {
    this.source = source;
    this.limits = limits;
    this.reporter = reporter;
    // TreeReader finds duplicate keys, because the search of the composer is quadratic.
    this.composer = new Composer({ schema: SCHEMA, stringKeys: true, uniqueKeys: false, strict: true });
    // The handler of the composer would create an Error with a stack for each of possibly millions of errors.
    Object.defineProperty(this.composer, 'onError', { value: this.onComposerError });
  }

  /** Runs lexer, parser, and composer token by token, so that depth and size are checked before any recursion. */
  readAll(): void {
    try {
      let before = '';
      let atLineStart = true;
      let spaces = '';
      for (const lexeme of new Lexer().lex(this.source.text)) {
        const inScalar = before === SCALAR_FOLLOWS;
        before = lexeme;
        const isComment = !inScalar && lexeme.startsWith('#');
        const isBreak = !inScalar && LINE_BREAK.test(lexeme);
        if (atLineStart && !inScalar && SPACES.test(lexeme)) {
          spaces += lexeme;
          continue;
        }
        if (atLineStart && (isComment || isBreak)) {
          // The parser would keep every comment and blank line, at 50 times its size.
          this.parser.offset += spaces.length;
          if (isComment) this.addPlaceholder(lexeme);
          this.parser.offset += lexeme.length;
          spaces = '';
          continue;
        }
        if (spaces !== '') this.parseLexeme(spaces);
        spaces = '';
        if (isComment) this.addPlaceholder(lexeme);
        atLineStart = isBreak;
        this.parseLexeme(lexeme);
        if (this.stopped || this.exceedsLimits()) return;
      }
      for (const token of this.parser.end()) this.handleToken(token);
    } catch (error) {
      // A fault in the library on hostile text must not become a crash.
      const { offset } = this.parser;
      this.reporter.report('yaml/syntax', 'the text cannot be read as YAML', offset);
      if (!(error instanceof Error)) throw error;
    }
  }

  private parseLexeme(lexeme: string): void {
    for (const token of this.parser.next(lexeme)) this.handleToken(token);
  }

  /** Call this before the parser consumes the comment. */
  private addPlaceholder(comment: string): void {
    if (!comment.startsWith(PLACEHOLDER)) return;
    const { offset } = this.parser;
    if (this.placeholders.length < MAX_PLACEHOLDERS)
      this.placeholders.push([offset, offset + comment.length]);
  }

  private exceedsLimits(): boolean {
    const { stack, offset } = this.parser;
    const { maxDepth, maxMappingKeys } = this.limits;
    // The stack contains the document, the open collections, and possibly a scalar.
    if (stack.length > maxDepth + 1) {
      const depth = stack.reduce((count, token) => (isCollectionToken(token) ? count + 1 : count), 0);
      if (depth > maxDepth) {
        this.reporter.report('yaml/too-deep', `more than ${maxDepth} nested lists and mappings`, offset);
        return true;
      }
    }
    const top = stack[stack.length - 1];
    if (top !== undefined && isMappingToken(top) && top.items.length > maxMappingKeys) {
      // The last started item can be a comment without a key.
      const keys = top.items.reduce((count, item) => (item.key || item.sep ? count + 1 : count), 0);
      if (keys > maxMappingKeys) {
        this.reporter.report('yaml/too-many-keys', `a mapping has more than ${maxMappingKeys} keys`, offset);
        return true;
      }
    }
    return false;
  }

  private handleToken(token: CST.Token): void {
    if (this.stopped) return;
    if (token.type === 'error') {
      this.syntaxError(token.offset, token.offset + token.source.length, 'UNEXPECTED_TOKEN', token.message);
      if (this.syntaxErrors >= MAX_SYNTAX_ERRORS) this.stopped = true;
    } else if (token.type === 'directive') {
      const end = token.offset + token.source.length;
      this.reporter.report('yaml/directive', 'directives (%) are not allowed', token.offset, end);
    } else if (token.type === 'document') this.compose(token);
  }

  private compose(token: CST.Document): void {
    // Empty documents also count, because each requires a pass through the composer.
    if (++this.documentTokens > this.limits.maxDocuments) {
      const message = `the file contains more than ${this.limits.maxDocuments} documents`;
      this.reporter.report('yaml/too-many-documents', message, token.offset);
      this.stopped = true;
      return;
    }
    const errorsBefore = this.syntaxErrors;
    let document: Document | undefined;
    try {
      for (const composed of this.composer.next(token)) document = composed;
      for (const composed of this.composer.end()) document = composed;
    } catch (error) {
      if (!(error instanceof TooManyErrors)) throw error;
      this.stopped = true;
    }
    // Empty if the library calls the handler above.
    for (const { code, message, pos } of document?.errors ?? [])
      this.syntaxError(pos[0], pos[1], code, message);
    if (document === undefined || this.syntaxErrors > errorsBefore) return;
    this.syntaxErrors = 0;

    const root = document.contents as Node | null;
    if (root === null || (isScalar(root) && root.value === null && !root.source && !root.anchor)) return;
    const value = new TreeReader(this.reporter, this.limits).read(root);
    const { source } = this;
    this.documents.push({
      value,
      index: this.documents.length,
      locate: (path, target = 'value') => locateNode(root, source, path, target),
    });
  }

  private readonly onComposerError = (
    place: ErrorLocation,
    code: string,
    message: string,
    warning?: boolean,
  ) => {
    // Warnings are about tags, which TreeReader checks, and about names that end in a colon.
    if (warning === true || code === 'TAG_RESOLVE_FAILED') return;
    const [start, end] = errorRange(place);
    if (code === 'KEY_OVER_1024_CHARS' && !this.isLongKey(start)) return;
    this.syntaxError(start, end, code, message);
    if (this.syntaxErrors >= MAX_SYNTAX_ERRORS) throw new TooManyErrors();
  };

  /** The composer also counts the comments between an empty value and the next key. */
  private isLongKey(start: number): boolean {
    const { text } = this.source;
    const line = text.slice(start, start + MAX_KEY_LENGTH + 1).split('\n', 1)[0]!;
    if (line.length <= MAX_KEY_LENGTH) return false;
    return /^["'[{?&*!]/.test(line) || !/:\s/.test(line);
  }

  private syntaxError(start: number, end: number, code: string, message: string): void {
    if (this.syntaxErrors++ >= MAX_SYNTAX_ERRORS) return;
    // A second error in a line is usually a consequence of the first.
    const { line } = this.reporter.position(start);
    if (line === this.lastErrorLine) return;
    this.lastErrorLine = line;
    // The text after a tab is parsed incorrectly because of the tab.
    if (code !== 'TAB_AS_INDENT' && this.tabbedDocument === this.documentTokens) return;
    if (code === 'TAB_AS_INDENT') this.tabbedDocument = this.documentTokens;
    if (code === 'NON_STRING_KEY')
      this.reporter.report('yaml/non-string-key', 'the key is not a string', start, end);
    else this.reporter.report('yaml/syntax', describeSyntaxError(code, message), start, end);
  }
}

/** The position of an error from the composer: an offset, a range, or a token. */
type ErrorLocation = number | readonly number[] | { offset: number; source?: unknown };

function errorRange(place: ErrorLocation): [start: number, end: number] {
  if (typeof place === 'number') return [place, place + 1];
  if ('offset' in place) {
    return [place.offset, place.offset + (typeof place.source === 'string' ? place.source.length : 1)];
  }
  return [place[0] ?? 0, place[1] ?? 0];
}

function isCollectionToken(token: CST.Token): token is CST.BlockMap | CST.BlockSequence | CST.FlowCollection {
  return token.type === 'block-map' || token.type === 'block-seq' || token.type === 'flow-collection';
}

function isMappingToken(token: CST.Token): token is CST.BlockMap | CST.FlowCollection {
  return token.type === 'block-map' || (token.type === 'flow-collection' && token.start.source === '{');
}
