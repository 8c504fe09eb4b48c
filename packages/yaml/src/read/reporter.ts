import { type Diagnostic, formatPath, type Path, type Position } from '../diagnostic.js';
import { YAML_CODES, type YamlCode } from './codes.js';
import type { SourceText } from './source.js';

/** Collects the diagnostics of one file up to a limit. Further diagnostics are only counted. */
export class Reporter {
  readonly diagnostics: Diagnostic[] = [];
  hasErrors = false;
  private omitted = 0;
  private readonly file: string;
  private readonly limit: number;
  private readonly source: SourceText | undefined;

  constructor(file: string, limit: number, source?: SourceText) {
    this.file = file;
    this.limit = limit;
    this.source = source;
  }

  position(offset: number): Position {
    return this.source?.position(offset) ?? { line: 1, column: 1 };
  }

  /** `start` and `end` are offsets in the text. */
  report(code: YamlCode, message: string, start?: number, end?: number, path: Path = []): void {
    const { severity, fix } = YAML_CODES[code];
    if (severity === 'error') this.hasErrors = true;
    if (this.diagnostics.length >= this.limit) {
      this.omitted++;
      return;
    }
    const diagnostic: Diagnostic = {
      code,
      severity,
      message,
      file: this.file,
      path: formatPath(path),
      hint: fix,
    };
    if (start !== undefined && this.source !== undefined) {
      diagnostic.range = this.source.range(start, end ?? start + 1);
    }
    this.diagnostics.push(diagnostic);
  }

  finish(): Diagnostic[] {
    if (this.omitted > 0) {
      const { severity, fix } = YAML_CODES['yaml/too-many-problems'];
      this.diagnostics.push({
        code: 'yaml/too-many-problems',
        severity,
        message: `${this.omitted} more problems are not listed`,
        file: this.file,
        path: '',
        hint: fix,
      });
      this.omitted = 0;
    }
    return this.diagnostics;
  }
}
