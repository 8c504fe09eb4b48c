import type { JsonObject } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { readYaml, type YamlDocument } from '@krmhub/schema/yaml';
import { isMapping, KPTFILE, type Kptfile, kptfileOf, type SourceReader, textOf } from './kptfile-content.js';
import { checkFields, KPTFILE_FIELDS } from './kptfile-fields.js';

/** Scalars that parsers read differently: kpt reads each of them as text. */
const TOLERATED: ReadonlySet<string> = new Set([
  'yaml/ambiguous-scalar',
  'yaml/integer-precision',
  'yaml/not-finite',
]);

/**
 * Reads a Kptfile. Throws `invalid-document` in the words of kpt for text that kpt rejects: no YAML, old versions,
 * other kinds, unknown fields, values of the wrong type.
 */
export function readKptfile(text: string, folder: string): Kptfile {
  const { documents, diagnostics } = readYaml(new TextEncoder().encode(text), { file: KPTFILE });
  const [problem] = diagnostics.filter(({ code, severity }) => severity === 'error' && !TOLERATED.has(code));
  if (problem !== undefined) {
    const line = problem.range === undefined ? '' : ` line ${problem.range.start.line}:`;
    throw unreadable(folder, `yaml:${line} ${syntaxReason(problem.message)}`);
  }
  const [document] = documents;
  const value = document?.value;
  if (document === undefined || !isMapping(value)) throw unreadable(folder, 'missing Resource metadata');
  requireVersion(value, folder);
  const problems = checkFields(value, KPTFILE_FIELDS);
  if (problems.length > 0) {
    const lines = problems.map(({ path, target, message }) => {
      return `  line ${document.locate(path, target)?.start.line ?? 1}: ${message}`;
    });
    throw unreadable(folder, ['yaml: unmarshal errors:', ...lines].join('\n'));
  }
  return kptfileOf(value, folder, sourceReader(text, document));
}

function requireVersion({ apiVersion, kind }: JsonObject, folder: string): void {
  const [group = '', version = ''] = (textOf(apiVersion) ?? '').split('/');
  if (group === 'kpt.dev' && version === 'v1' && kind === KPTFILE) return;
  if (group === 'kpt.dev' && kind === KPTFILE && /^v1alpha[12]$/.test(version)) {
    throw new KrmhubError(
      'invalid-document',
      `Kptfile at "${folder}" has an old version ("${version}") of the Kptfile schema`,
      {
        hint:
          version === 'v1alpha2'
            ? 'Update the package with the function gcr.io/kpt-fn/fix:v0.2.'
            : 'Update the package: https://kpt.dev/installation/migration',
      },
    );
  }
  const found = `${group}/${version}, Kind=${textOf(kind) ?? ''}`;
  throw new KrmhubError(
    'invalid-document',
    `Kptfile at "${folder}" has an unknown resource type ("${found}")`,
    { hint: 'Use apiVersion kpt.dev/v1 and kind Kptfile.' },
  );
}

/** kpt reads numbers and booleans as text, exactly as they are written: `1.10` is not `1.1`. */
function sourceReader(text: string, document: YamlDocument): SourceReader {
  const lines = text.replace(/^\ufeff/, '').split('\n');
  return (path, value) => {
    if (typeof value === 'string' || value === null) return value ?? '';
    const range = document.locate(path);
    if (range === undefined || range.start.line !== range.end.line) return String(value);
    return lines[range.start.line - 1]!.slice(range.start.column - 1, range.end.column - 1);
  };
}

/** go-yaml's words where kpt's users look for them; the words of krmhub otherwise. */
function syntaxReason(message: string): string {
  return message === 'a key must be on one line and end with a colon'
    ? "could not find expected ':'"
    : message;
}

function unreadable(folder: string, details: string): KrmhubError {
  return new KrmhubError('invalid-document', `Kptfile at "${folder}" can't be read.\n\nDetails:\n${details}`);
}
