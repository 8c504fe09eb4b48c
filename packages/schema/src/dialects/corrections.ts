import type { YamlDocument } from '@krmhub/yaml/read/read-yaml';
import { defined } from '../defined.js';
import {
  type Diagnostic,
  formatPath,
  type Path,
  type PathSegment,
  type Target,
} from '../diagnostics/diagnostic.js';
import { DIALECT_CODES, type DialectCode } from './codes.js';
import type { Location } from './draft.js';

/** Collects corrections and errors, with paths of the original document. */
export class Corrections {
  readonly diagnostics: Diagnostic[] = [];
  readonly document: YamlDocument;
  private readonly file: string;
  /** A runtime that was copied to several versions is reported only once. */
  private readonly reported = new Set<string>();

  constructor(document: YamlDocument, file: string) {
    this.document = document;
    this.file = file;
  }

  report(code: DialectCode, message: string, path: Path, target: Target = 'key', hint?: string): void {
    const text = formatPath(path);
    const key = `${code} ${text}`;
    if (this.reported.has(key)) return;
    this.reported.add(key);
    const { severity, fix } = DIALECT_CODES[code];
    const range = this.document.locate(path, target);
    this.diagnostics.push({
      code,
      severity,
      message,
      file: this.file,
      path: text,
      ...defined({ range }),
      hint: hint ?? fix,
    });
  }
}

/** Maps paths of the normal form to paths of the original document. */
export class Origins {
  private readonly moves = new Map<string, Path>();
  private readonly base: Path;

  constructor(base: Path) {
    this.base = base;
  }

  /** `normal` is relative to the spec of the definition. `authored` is a path of the document. */
  move(normal: Path, authored: Path): void {
    this.moves.set(JSON.stringify(normal), authored);
  }

  /** Returns the original path of a path in the normal form. */
  authored(normal: Path): PathSegment[] {
    if (this.moves.size > 0) {
      for (let length = normal.length; length > 0; length--) {
        const authored = this.moves.get(JSON.stringify(normal.slice(0, length)));
        if (authored !== undefined) return [...authored, ...normal.slice(length)];
      }
    }
    return [...this.base, ...normal];
  }

  locate(document: YamlDocument, normal: Path, target?: Target): Location {
    const path = this.authored(normal);
    const range = document.locate(path, target);
    return range === undefined ? { path } : { path, range };
  }
}
