/**
 * Reads YAML and JSON into values within limits, and reports problems with their positions.
 *
 * @module
 */

import type { Diagnostic, Path, Range, Target } from '../diagnostic.js';
import type { JsonValue } from '../json-value.js';
import type { YamlLimits } from '../limits.js';
import type { ResourceNode } from '../nodes/node.js';
import { YamlProblem } from '../parse/invalid.js';
import { parseDocuments } from '../parse/parse.js';
import { locateNode } from './locate.js';
import { type OpenedText, openText, type ReadOptions } from './open-text.js';
import { locateInBlockYaml, readBlockYaml } from './read-block-yaml.js';
import type { Reporter } from './reporter.js';
import type { SourceText } from './source.js';
import { describeSyntaxError } from './syntax-message.js';
import { TreeReader } from './tree.js';

/** One document of a YAML or JSON file, with the positions of its values. */
export interface YamlDocument {
  readonly value: JsonValue;
  /** The index among the documents with content, from 0. */
  readonly index: number;
  /** Returns the range of the node at the path, or of the nearest enclosing node. */
  locate(path: Path, target?: Target): Range | undefined;
}

interface YamlFile {
  documents: YamlDocument[];
  diagnostics: Diagnostic[];
  /** The `# CHANGE:` comments. */
  placeholders: Range[];
}

/** Matches the comment with which `krmhub init` marks a placeholder. */
const PLACEHOLDER = '# CHANGE:';
/** Maximum number of placeholders, as a limit for hostile files. */
const MAX_PLACEHOLDERS = 100;

/**
 * Reads a YAML or JSON file with positions. Never throws: the diagnostics contain the errors, and documents with syntax
 * errors are omitted.
 */
export function readYaml(input: Uint8Array, options: ReadOptions): YamlFile {
  return readText(openText(input, options, 'maxSourceBytes'));
}

/** Reads a text that was opened. */
export function readText(opened: OpenedText): YamlFile {
  const block = opened.source === undefined ? undefined : readBlock(opened.source, opened.limits);
  if (block === undefined) return parseText(opened);
  return { documents: [block], diagnostics: [], placeholders: [] };
}

/** As readText, for every style. */
export function parseText({ limits, reporter, source }: OpenedText): YamlFile {
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

/** Positions to find by reading the text again. */
const MAX_SCANS = 10;
/** UTF-16 code units to read again. Real definitions are far smaller, and parsing is faster than ten long scans. */
const MAX_SCANNED_LENGTH = 100_000;

/**
 * Reads a file of one document in plain block style, without problems. Positions of scalars are read as fast, until
 * another is asked for, or too many: then the text is parsed. Returns undefined for every other file.
 */
function readBlock(source: SourceText, limits: YamlLimits): YamlDocument | undefined {
  const { text } = source;
  const value = text.includes(PLACEHOLDER) ? undefined : readBlockYaml(text, limits);
  if (value === undefined) return undefined;
  let scans = text.length <= MAX_SCANNED_LENGTH ? MAX_SCANS : 0;
  let root: ResourceNode | undefined;
  return {
    value,
    index: 0,
    locate(path, target = 'value') {
      if (scans > 0) {
        scans -= 1;
        const found = locateInBlockYaml(text, limits, path, target);
        if (found !== undefined) return source.range(...found);
        scans = 0;
      }
      if (root === undefined) {
        const strict = { comment: () => undefined, directive: () => undefined };
        [root] = parseDocuments(text, { limits, strict, start: 0 });
      }
      return source.range(...locateNode(root!.content[0]!, text, path, target));
    },
  };
}

/** A line that starts a document, where reading continues after a syntax error. */
const DOCUMENT_START = /^---(?=\s|$)/gm;

class StreamReader {
  readonly documents: YamlDocument[] = [];
  /** Start and end offsets of the comments. */
  readonly placeholders: [start: number, end: number][] = [];
  /** Documents that were begun. Empty ones also count, because each requires a pass. */
  private count = 0;
  /** The end of the last comment or directive. What follows an error may be scanned twice. */
  private seen = 0;
  private readonly source: SourceText;
  private readonly limits: YamlLimits;
  private readonly reporter: Reporter;

  constructor(source: SourceText, limits: YamlLimits, reporter: Reporter) {
    this.source = source;
    this.limits = limits;
    this.reporter = reporter;
  }

  readAll(): void {
    let start: number | undefined = 0;
    while (start !== undefined) start = this.readFrom(start);
  }

  /** Reads documents up to an error. Returns where the next document starts. */
  private readFrom(start: number): number | undefined {
    const { text } = this.source;
    try {
      for (const document of parseDocuments(text, { limits: this.limits, strict: this, start })) {
        if (this.isOneTooMany(document.start)) return undefined;
        this.add(document.content[0]!);
      }
      return undefined;
    } catch (problem) {
      if (!(problem instanceof YamlProblem)) throw problem;
      const { limit, reason, range = [start, start + 1] } = problem;
      if (this.isOneTooMany(range[0])) return undefined;
      if (limit !== undefined) {
        this.reporter.report(`yaml/${limit}`, reason, ...range);
        return undefined;
      }
      const { code, message, offsets } = describeSyntaxError(problem, text);
      this.reporter.report(code, message, ...offsets);
      DOCUMENT_START.lastIndex = Math.max(text.lastIndexOf('\n', range[0] - 1) + 1, start + 1);
      return DOCUMENT_START.exec(text)?.index;
    }
  }

  private isOneTooMany(offset: number): boolean {
    const { maxDocuments } = this.limits;
    if (++this.count <= maxDocuments) return false;
    const message = `the file contains more than ${maxDocuments} documents`;
    this.reporter.report('yaml/too-many-documents', message, offset);
    return true;
  }

  private add(root: ResourceNode): void {
    const { source } = this;
    if (root.kind === 'scalar' && root.start === root.end) return;
    const reader = new TreeReader(source.text, this.reporter);
    const value = reader.read(root);
    if (reader.lacksKeys) return;
    this.documents.push({
      value,
      index: this.documents.length,
      locate: (path, target = 'value') => source.range(...locateNode(root, source.text, path, target)),
    });
  }

  comment(start: number, end: number): void {
    if (start < this.seen) return;
    this.seen = end;
    if (this.placeholders.length < MAX_PLACEHOLDERS && this.source.text.startsWith(PLACEHOLDER, start)) {
      this.placeholders.push([start, end]);
    }
  }

  directive(start: number, end: number): void {
    if (start < this.seen) return;
    this.seen = end;
    const directive = this.source.text.slice(start, end).replace(/\s+#.*$/, '');
    const message = 'directives (%) are not allowed';
    this.reporter.report('yaml/directive', message, start, start + directive.length);
  }
}
