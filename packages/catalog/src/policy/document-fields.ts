import {
  type Diagnostic,
  formatPath,
  type JsonObject,
  type JsonValue,
  type Path,
  type Severity,
  type Target,
  type YamlDocument,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { suggest } from '@krmhub/schema/suggest';

/** Matches names of catalogs, sources, and policies (RFC 1123). */
export const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** The allowed fields of a mapping. */
export interface Fields {
  required?: readonly string[];
  optional?: readonly string[];
}

/** The error codes of all our document types, without the prefix of the type. */
type FieldProblem = 'missing-field' | 'unknown-field' | 'wrong-type' | 'limit';
type FieldCodes<Prefix extends string> = Record<
  `${Prefix}/${FieldProblem}`,
  { severity: Severity; summary: string; fix: string }
>;

/** Reads the fields of one document, and collects all problems with their positions. */
export class FieldReader<Prefix extends string, Codes extends FieldCodes<Prefix>> {
  readonly diagnostics: Diagnostic[] = [];
  readonly #document: YamlDocument;
  readonly #file: string;
  readonly #prefix: Prefix;
  readonly #codes: Codes;
  readonly #maxTextLength: number;

  constructor(
    document: YamlDocument,
    file: string,
    kind: { prefix: Prefix; codes: Codes; maxTextLength: number },
  ) {
    this.#document = document;
    this.#file = file;
    this.#prefix = kind.prefix;
    this.#codes = kind.codes;
    this.#maxTextLength = kind.maxTextLength;
  }

  report(
    code: keyof Codes & string,
    at: Path,
    message: string,
    options: { hint?: string; target?: Target } = {},
  ): void {
    const range = this.#document.locate(at, options.target ?? 'value');
    const { severity, fix } = this.#codes[code] as FieldCodes<Prefix>[`${Prefix}/${FieldProblem}`];
    this.diagnostics.push({
      code,
      severity,
      message,
      file: this.#file,
      path: formatPath(at),
      ...defined({ range }),
      hint: options.hint ?? fix,
    });
  }

  /** Returns a mapping with known fields; undefined if the value is not a mapping. */
  mapping(value: JsonValue | undefined, at: Path, fields: Fields): JsonObject | undefined {
    if (!isMapping(value)) {
      this.#wrongType(value, at, 'a mapping');
      return undefined;
    }
    const { required = [], optional = [] } = fields;
    for (const name of Object.keys(value)) {
      if (!required.includes(name) && !optional.includes(name)) {
        this.#unknownField(name, at, [...required, ...optional]);
      }
    }
    for (const name of required) {
      if (!Object.hasOwn(value, name)) this.#report('missing-field', at, `\`${name}\` is missing`);
    }
    return value;
  }

  /** Returns a mapping without a check of its fields; undefined if the value is not a mapping. */
  anyMapping(value: JsonValue | undefined, at: Path): JsonObject | undefined {
    if (isMapping(value)) return value;
    this.#wrongType(value, at, 'a mapping');
    return undefined;
  }

  /** Returns a non-empty string of at most `maxLength`; otherwise undefined. */
  text(value: JsonValue | undefined, at: Path, maxLength: number = this.#maxTextLength): string | undefined {
    if (typeof value !== 'string' || value === '') {
      this.#wrongType(value, at, 'text');
      return undefined;
    }
    if (value.length > maxLength) {
      const message = `the text has ${value.length} characters; the limit is ${maxLength}`;
      this.#report('limit', at, message);
      return undefined;
    }
    return value;
  }

  /** Returns a boolean; otherwise undefined. */
  boolean(value: JsonValue | undefined, at: Path): boolean | undefined {
    if (typeof value === 'boolean') return value;
    this.#wrongType(value, at, '`true` or `false`', 'Use `true` or `false`, without quotes.');
    return undefined;
  }

  /** Returns a list of at most `limit` items; otherwise undefined. */
  list(value: JsonValue | undefined, at: Path, limit: number): JsonValue[] | undefined {
    if (!Array.isArray(value)) {
      this.#wrongType(value, at, 'a list');
      return undefined;
    }
    if (value.length > limit) {
      this.#report('limit', at, `the list has ${value.length} items; the limit is ${limit}`);
      return undefined;
    }
    return value;
  }

  #report(
    problem: FieldProblem,
    at: Path,
    message: string,
    options: { hint?: string; target?: Target } = {},
  ): void {
    this.report(`${this.#prefix}/${problem}` as keyof Codes & string, at, message, options);
  }

  #unknownField(name: string, at: Path, known: readonly string[]): void {
    const meant = suggest(name, known);
    const hint = meant === undefined ? `Known fields: ${known.join(', ')}.` : `Did you mean \`${meant}\`?`;
    this.#report('unknown-field', [...at, name], `unknown field \`${name}\``, {
      hint,
      target: 'key',
    });
  }

  #wrongType(value: JsonValue | undefined, at: Path, wanted: string, hint?: string): void {
    const message = `expected ${wanted}, found ${describe(value)}`;
    this.#report('wrong-type', at, message, hint === undefined ? {} : { hint });
  }
}

export function isMapping(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function describe(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return 'empty';
  if (value === '') return 'an empty text';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (typeof value === 'string') return 'text';
  return typeof value === 'number' ? `the number ${value}` : `the boolean ${String(value)}`;
}
