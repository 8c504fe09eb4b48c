/**
 * Reads the fields of krmhub's own documents: recipes, policies, trust files, and lock files.
 *
 * @module
 */

import {
  type Diagnostic,
  formatPath,
  type JsonValue,
  type Path,
  type Target,
  type YamlDocument,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { isObject } from '@krmhub/schema/json/access';
import { suggest } from '@krmhub/schema/suggest';
import type { CodeEntry } from '@krmhub/yaml/code-entry';

/** Matches names of catalogs, sources, and policies (RFC 1123). */
export const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Matches a glob for groups (Kubernetes, "DNS Subdomain Names", and `*`). */
export const GROUP_GLOB = /^[a-z0-9*]([-a-z0-9.*]{0,251}[a-z0-9*])?$/;

/** The allowed fields of a mapping. */
export interface KnownFields {
  required?: readonly string[];
  optional?: readonly string[];
}

/** The error codes of all our document types, without the prefix of the type. */
type FieldProblem = 'missing-field' | 'unknown-field' | 'wrong-type' | 'limit';

export interface ReportOptions {
  hint?: string | undefined;
  target?: Target;
}

/** Collects the problems of one document with their positions. */
export class FieldReader<Code extends string> {
  readonly diagnostics: Diagnostic[] = [];

  constructor(
    private readonly document: YamlDocument,
    private readonly file: string,
    readonly prefix: string,
    private readonly codes: Readonly<Record<Code, CodeEntry>>,
    readonly maxTextLength: number,
  ) {}

  /** The whole document. */
  get root(): Field<Code> {
    return new Field(this.document.value, [], this);
  }

  report(code: Code, at: Path, message: string, { hint, target = 'value' }: ReportOptions = {}): void {
    const { severity, fix } = this.codes[code];
    this.diagnostics.push({
      code,
      severity,
      message,
      file: this.file,
      path: formatPath(at),
      ...defined({ range: this.document.locate(at, target) }),
      hint: hint ?? fix,
    });
  }
}

/** A problem of a whole file, which has no position. */
export function fileDiagnostic<Code extends string>(
  codes: Readonly<Record<Code, CodeEntry>>,
  code: Code,
  file: string,
  message: string,
): Diagnostic {
  const { severity, fix } = codes[code];
  return { code, severity, message, file, path: '', hint: fix };
}

/** A value of a document with its position. The methods that read it return undefined where they report a problem. */
export class Field<Code extends string> {
  constructor(
    readonly value: JsonValue,
    readonly at: Path,
    readonly reader: FieldReader<Code>,
  ) {}

  report(code: Code, message: string, options?: ReportOptions): void {
    this.reader.report(code, this.at, message, options);
  }

  /** Returns a field of a mapping; undefined if it is absent. */
  get(name: string): Field<Code> | undefined {
    if (!isObject(this.value) || !Object.hasOwn(this.value, name)) return undefined;
    return new Field(this.value[name]!, [...this.at, name], this.reader);
  }

  /** Returns this mapping, after a check that it has the required fields and no unknown ones. */
  mapping({ required = [], optional = [] }: KnownFields): Field<Code> | undefined {
    if (!isObject(this.value)) return this.#wrongType('a mapping');
    const known = [...required, ...optional];
    for (const name of Object.keys(this.value)) {
      if (known.includes(name)) continue;
      const meant = suggest(name, known);
      const hint = meant === undefined ? `Known fields: ${known.join(', ')}.` : `Did you mean \`${meant}\`?`;
      this.get(name)!.#problem('unknown-field', `unknown field \`${name}\``, { hint, target: 'key' });
    }
    for (const name of required) {
      if (this.get(name) === undefined) this.#problem('missing-field', `\`${name}\` is missing`);
    }
    return this;
  }

  /** Returns the fields of a mapping whose names are not checked, by name. */
  entries(): [name: string, field: Field<Code>][] | undefined {
    if (!isObject(this.value)) return this.#wrongType('a mapping');
    return Object.keys(this.value).map((name) => [name, this.get(name)!]);
  }

  /** Returns a non-empty string of at most `maxLength`. */
  text(maxLength: number = this.reader.maxTextLength): string | undefined {
    const { value } = this;
    if (typeof value !== 'string' || value === '') return this.#wrongType('text');
    if (value.length <= maxLength) return value;
    return this.#problem('limit', `the text has ${value.length} characters; the limit is ${maxLength}`);
  }

  boolean(): boolean | undefined {
    if (typeof this.value === 'boolean') return this.value;
    return this.#wrongType('`true` or `false`', 'Use `true` or `false`, without quotes.');
  }

  /** Returns the items of a list of at most `limit`. */
  list(limit: number): Field<Code>[] | undefined {
    if (!Array.isArray(this.value)) return this.#wrongType('a list');
    const { length } = this.value;
    if (length > limit) return this.#problem('limit', `the list has ${length} items; the limit is ${limit}`);
    return this.value.map((item, index) => new Field(item, [...this.at, index], this.reader));
  }

  #problem(problem: FieldProblem, message: string, options?: ReportOptions): undefined {
    this.report(`${this.reader.prefix}/${problem}` as Code, message, options);
  }

  #wrongType(wanted: string, hint?: string): undefined {
    this.#problem('wrong-type', `expected ${wanted}, found ${describe(this.value)}`, { hint });
  }
}

function describe(value: JsonValue): string {
  if (value === null) return 'empty';
  if (value === '') return 'an empty text';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (typeof value === 'string') return 'text';
  return typeof value === 'number' ? `the number ${value}` : `the boolean ${String(value)}`;
}
