import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import type { Diagnostic, Path, Position, Range, Target } from '@krmhub/schema/diagnostic';
import { KrmhubError } from '@krmhub/schema/error';
import { suggest } from '@krmhub/schema/suggest';
import { readYaml, type YamlDocument } from '@krmhub/yaml';
import {
  isMapping,
  KPTFILE,
  type Kptfile,
  type SourceReader,
  scalarText,
  toKptfile,
} from './kptfile-content.js';
import { checkFields, type FieldProblem, KPT_VERSION, KPTFILE_FIELDS } from './kptfile-fields.js';

/** Scalars that parsers read differently: kpt reads each of them as text. */
const TOLERATED: ReadonlySet<string> = new Set([
  'yaml/ambiguous-scalar',
  'yaml/integer-precision',
  'yaml/not-finite',
]);
const BYTE_ORDER_MARK = '\ufeff';

/** A Kptfile, and where its values are in its text. */
export interface KptfileSource {
  /** Exactly as in the file, with a byte order mark if it has one. */
  text: string;
  value: JsonObject;
  kptfile: Kptfile;
  /** Values of the wrong type, which kpt rejects, and unknown fields. */
  problems: (FieldProblem & { range: Range | undefined })[];
  locate(path: Path, target?: Target): Range | undefined;
  /** Returns the offsets in `text` of a key or a value. Throws if it does not exist. */
  offsets(path: Path, target?: Target): { start: number; end: number };
}

/** Why a text is no Kptfile, in the words of kpt. `diagnostics` are errors of its YAML. */
export interface NoKptfile {
  message: string;
  hint?: string;
  range?: Range | undefined;
  diagnostics?: Diagnostic[];
}

/** Reads a Kptfile with positions. `file` names it in diagnostics, and `folder` its package. Never throws. */
export function parseKptfile(text: string, file: string, folder = file): KptfileSource | NoKptfile {
  const { documents, diagnostics } = readYaml(new TextEncoder().encode(text), { file });
  const errors = diagnostics.filter(({ code, severity }) => severity === 'error' && !TOLERATED.has(code));
  const [problem] = errors;
  if (problem !== undefined) {
    const line = problem.range === undefined ? '' : ` line ${problem.range.start.line}:`;
    return { ...unreadable(folder, `yaml:${line} ${syntaxReason(problem.message)}`), diagnostics: errors };
  }
  const [document] = documents;
  const value = document?.value;
  if (document === undefined || !isMapping(value)) return unreadable(folder, 'missing Resource metadata');
  const wrongVersion = versionProblem(value, folder);
  if (wrongVersion !== undefined) return { ...wrongVersion, range: document.locate(['kind']) };
  const problems = checkFields(value, KPTFILE_FIELDS).map((one) => {
    return { ...one, range: document.locate(one.path, one.target) };
  });
  const kptfile = toKptfile(value, folder, sourceReader(text, document));
  kptfile.warnings = problems
    .filter(({ isUnknown }) => isUnknown)
    .map((one) => `${position(one.range)}: ${unknownField(one)}`);
  return {
    text,
    value,
    kptfile,
    problems,
    locate: document.locate.bind(document),
    ...offsetsIn(text, document),
  };
}

/**
 * Reads a Kptfile. Throws `invalid-document` for text that kpt rejects: no YAML, old versions, other kinds, values of the
 * wrong type. Unknown fields are warnings.
 */
export function requireKptfile(text: string, folder: string): Kptfile {
  const parsed = parseKptfile(text, KPTFILE, folder);
  if (!('kptfile' in parsed)) throw noKptfileError(parsed);
  const wrong = parsed.problems.filter(({ isUnknown }) => !isUnknown);
  if (wrong.length > 0) {
    const lines = wrong.map((one) => `${position(one.range)}: ${one.message}${meant(one)}`);
    throw noKptfileError(unreadable(folder, lines.join('\n')));
  }
  return parsed.kptfile;
}

export function noKptfileError({ message, hint }: NoKptfile): KrmhubError {
  return new KrmhubError('invalid-document', message, hint === undefined ? {} : { hint });
}

/** What a warning says about a field that krmhub does not know. */
export function unknownField(field: FieldProblem): string {
  const name = String(field.path.at(-1));
  return `unknown field "${name}" has no effect: krmhub knows the fields of kpt ${KPT_VERSION}${meant(field)}`;
}

function meant({ path, known }: FieldProblem): string {
  const similar = suggest(String(path.at(-1)), known);
  return similar === undefined ? '' : `; did you mean "${similar}"?`;
}

function position(range: Range | undefined): string {
  return range === undefined ? '1:1' : `${range.start.line}:${range.start.column}`;
}

function versionProblem({ apiVersion, kind }: JsonObject, folder: string): NoKptfile | undefined {
  const [group = '', version = ''] = (scalarText(apiVersion) ?? '').split('/');
  if (group === 'kpt.dev' && version === 'v1' && kind === KPTFILE) return undefined;
  if (group === 'kpt.dev' && kind === KPTFILE && /^v1alpha[12]$/.test(version)) {
    return {
      message: `Kptfile at "${folder}" has an old version ("${version}") of the Kptfile schema`,
      hint:
        version === 'v1alpha2'
          ? 'Update the package with the function gcr.io/kpt-fn/fix:v0.2.'
          : 'Update the package: https://kpt.dev/installation/migration',
    };
  }
  const found = `${group}/${version}, Kind=${scalarText(kind) ?? ''}`;
  return {
    message: `Kptfile at "${folder}" has an unknown resource type ("${found}")`,
    hint: 'Use apiVersion kpt.dev/v1 and kind Kptfile.',
  };
}

/** kpt reads numbers and booleans as text, exactly as they are written: `1.10` is not `1.1`. */
function sourceReader(text: string, document: YamlDocument): SourceReader {
  const lines = text.replace(BYTE_ORDER_MARK, '').split('\n');
  return (path, value: JsonValue) => {
    if (typeof value === 'string' || value === null) return value ?? '';
    const range = document.locate(path);
    if (range === undefined || range.start.line !== range.end.line) return String(value);
    return lines[range.start.line - 1]!.slice(range.start.column - 1, range.end.column - 1);
  };
}

function offsetsIn(text: string, document: YamlDocument): Pick<KptfileSource, 'offsets'> {
  // Positions do not count a byte order mark.
  const starts = [text.startsWith(BYTE_ORDER_MARK) ? 1 : 0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  const offset = ({ line, column }: Position) => starts[line - 1]! + column - 1;
  return {
    offsets(path, target) {
      const range = document.locate(path, target);
      if (range === undefined) throw new TypeError(`the Kptfile has no ${path.join('.')}`);
      return { start: offset(range.start), end: offset(range.end) };
    },
  };
}

/** go-yaml's words where kpt's users look for them. */
const GO_YAML_REASONS: Readonly<Record<string, string>> = {
  'a key has no colon after it': "could not find expected ':'",
  'a key must be on one line and end with a colon': 'mapping values are not allowed in this context',
};

function syntaxReason(message: string): string {
  return GO_YAML_REASONS[message] ?? message;
}

function unreadable(folder: string, details: string): NoKptfile {
  return { message: `Kptfile at "${folder}" can't be read.\n\nDetails:\n${details}` };
}
