import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import type { Path } from '@krmhub/schema/diagnostic';
import { KrmhubError } from '@krmhub/schema/error';
import { readYaml, type YamlDocument } from '@krmhub/schema/yaml';
import { checkFields, KPTFILE_FIELDS } from './kptfile-fields.js';
import type { Selector } from './selectors.js';

/** Name of the file that makes a folder a package. */
export const KPTFILE = 'Kptfile';

export const PIPELINE_FIELDS = ['mutators', 'validators'] as const;
export type PipelineField = (typeof PIPELINE_FIELDS)[number];

/** Annotation of a Kptfile: references of catalogs, one per line. */
export const CATALOGS_ANNOTATION = 'krmhub.dev/catalogs';

/** One function of a pipeline (kpt.dev/v1, "pipeline"). */
export interface PipelineFunction {
  field: PipelineField;
  index: number;
  image?: string;
  /** A command line. */
  exec?: string;
  /** File of the functionConfig, relative to the Kptfile. */
  configPath?: string;
  configMap?: Readonly<Record<string, string>>;
  name?: string;
  selectors: readonly Selector[];
  exclude: readonly Selector[];
}

/** The parts of a Kptfile that running functions needs. */
export interface Kptfile {
  /** Folder of the package as the user knows it, for messages. */
  folder: string;
  name: string;
  /** References of catalogs, as written. */
  catalogs: readonly string[];
  /** Mutators, then validators. */
  pipeline: readonly PipelineFunction[];
}

/** Scalars that parsers read differently: kpt reads each of them as text. */
const TOLERATED: ReadonlySet<string> = new Set([
  'yaml/ambiguous-scalar',
  'yaml/integer-precision',
  'yaml/not-finite',
]);

/**
 * Reads a Kptfile. Throws `invalid-document` in the words of kpt for text that kpt rejects: no YAML, old versions, other kinds,
 * unknown fields, values of the wrong type.
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
  const source = sourceReader(text, document);
  const metadata = mapping(value.metadata);
  return {
    folder,
    name: textOf(metadata.name) ?? '',
    catalogs: (textOf(mapping(metadata.annotations)[CATALOGS_ANNOTATION]) ?? '')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
    pipeline: PIPELINE_FIELDS.flatMap((field) =>
      elements(mapping(value.pipeline)[field]).map((item, index) =>
        readFunction(mapping(item), field, index, source),
      ),
    ),
  };
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

/** Returns the text of a scalar at a path. */
type SourceReader = (path: Path, value: JsonValue) => string;

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

function readFunction(
  item: JsonObject,
  field: PipelineField,
  index: number,
  source: SourceReader,
): PipelineFunction {
  const { configMap } = item;
  const at: Path = ['pipeline', field, index];
  const texts = (value: JsonObject, path: Path) =>
    Object.fromEntries(Object.entries(value).map(([key, held]) => [key, source([...path, key], held)]));
  const readSelectors = (list: 'selectors' | 'exclude') =>
    elements(item[list]).map((entry, position) =>
      readSelector(mapping(entry), [...at, list, position], texts),
    );
  return {
    field,
    index,
    ...filled('image', item.image),
    ...filled('exec', item.exec),
    ...filled('configPath', item.configPath),
    ...filled('name', item.name),
    ...(isMapping(configMap) && Object.keys(configMap).length > 0
      ? { configMap: texts(configMap, [...at, 'configMap']) }
      : {}),
    selectors: readSelectors('selectors'),
    exclude: readSelectors('exclude'),
  };
}

function readSelector(
  value: JsonObject,
  at: Path,
  texts: (value: JsonObject, path: Path) => Record<string, string>,
): Selector {
  return {
    ...filled('apiVersion', value.apiVersion),
    ...filled('group', value.group),
    ...filled('kind', value.kind),
    ...filled('name', value.name),
    ...filled('namespace', value.namespace),
    ...(isMapping(value.labels) ? { labels: texts(value.labels, [...at, 'labels']) } : {}),
    ...(isMapping(value.annotations)
      ? { annotations: texts(value.annotations, [...at, 'annotations']) }
      : {}),
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

/** kpt treats an empty string as an absent field. */
function filled<Name extends string>(name: Name, value: JsonValue | undefined): { [Key in Name]?: string } {
  const text = textOf(value);
  return text === undefined || text === '' ? {} : ({ [name]: text } as { [Key in Name]?: string });
}

function textOf(value: JsonValue | undefined): string | undefined {
  return value === undefined || value === null || typeof value === 'object' ? undefined : String(value);
}

function elements(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function mapping(value: JsonValue | undefined): JsonObject {
  return isMapping(value) ? value : {};
}

function isMapping(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
