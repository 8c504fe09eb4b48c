import { defined } from '@krmhub/schema/defined';
import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import type { Path } from '@krmhub/schema/diagnostic';
import type { Selector } from './selectors.js';

/** Name of the file that makes a folder a package. */
export const KPTFILE = 'Kptfile';

export const PIPELINE_FIELDS = ['mutators', 'validators'] as const;
export type PipelineField = (typeof PIPELINE_FIELDS)[number];

/** Annotation of a Kptfile: references of catalogs, one per line. */
export const CATALOGS_ANNOTATION = 'krmhub.dev/catalogs';
/** Annotations of a root Kptfile (kpt.dev/v1): the order of packages, and what a failed render writes. */
const BREADTH_FIRST = 'kpt.dev/bfs-rendering';
const SAVE_FAILURE = 'kpt.dev/save-on-render-failure';

/** A resource of the package (kpt.dev/v1, "configRef"). */
export interface ResourceReference {
  apiVersion?: string;
  kind?: string;
  name?: string;
  namespace?: string;
}

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
  configRef?: ResourceReference;
  name?: string;
  /** Replaces the tag of `image`: a tag, or a constraint on versions. */
  tag?: string;
  /** CEL over `resources`: the step is skipped where it is false. */
  when?: string;
  /** RE2: the step gets only resources of files whose path in the root package has a match. */
  resourceFileRegexp?: string;
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
  /** The pipeline of a package runs before those of its subpackages. */
  isBreadthFirst: boolean;
  /** What was rendered before a failure is written. */
  savesFailure: boolean;
  /** `LINE:COLUMN: …` */
  warnings: string[];
}

/** Returns the text of a scalar at a path. */
export type SourceReader = (path: Path, value: JsonValue) => string;

/** Returns the content of a Kptfile whose fields have been checked. */
export function toKptfile(value: JsonObject, folder: string, source: SourceReader): Kptfile {
  const metadata = mapping(value.metadata);
  const annotation = (name: string) => scalarText(mapping(metadata.annotations)[name]);
  const isSet = (name: string) => annotation(name)?.toLowerCase() === 'true';
  return {
    folder,
    name: scalarText(metadata.name) ?? '',
    catalogs: (annotation(CATALOGS_ANNOTATION) ?? '')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
    pipeline: PIPELINE_FIELDS.flatMap((field) =>
      elements(mapping(value.pipeline)[field]).map((item, index) =>
        readFunction(mapping(item), field, index, source),
      ),
    ),
    isBreadthFirst: isSet(BREADTH_FIRST),
    savesFailure: isSet(SAVE_FAILURE),
    warnings: [],
  };
}

function readFunction(
  item: JsonObject,
  field: PipelineField,
  index: number,
  source: SourceReader,
): PipelineFunction {
  const { configMap, configRef } = item;
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
    ...filled('tag', item.tag, source([...at, 'tag'], item.tag ?? '')),
    ...filled('when', item.when),
    ...filled('resourceFileRegexp', item.resourceFileRegexp),
    ...defined({
      configRef: isMapping(configRef)
        ? {
            ...filled('apiVersion', configRef.apiVersion),
            ...filled('kind', configRef.kind),
            ...filled('name', configRef.name),
            ...filled('namespace', configRef.namespace),
          }
        : undefined,
      configMap:
        isMapping(configMap) && Object.keys(configMap).length > 0
          ? texts(configMap, [...at, 'configMap'])
          : undefined,
    }),
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
    ...filled('resourceFileRegexp', value.resourceFileRegexp),
    ...defined({
      labels: isMapping(value.labels) ? texts(value.labels, [...at, 'labels']) : undefined,
      annotations: isMapping(value.annotations)
        ? texts(value.annotations, [...at, 'annotations'])
        : undefined,
    }),
  };
}

/** kpt treats an empty string as an absent field. */
function filled<Name extends string>(
  name: Name,
  value: JsonValue | undefined,
  text = scalarText(value),
): { [Key in Name]?: string } {
  return text === undefined || text === '' ? {} : ({ [name]: text } as { [Key in Name]?: string });
}

export function scalarText(value: JsonValue | undefined): string | undefined {
  return value === undefined || value === null || typeof value === 'object' ? undefined : String(value);
}

function elements(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function mapping(value: JsonValue | undefined): JsonObject {
  return isMapping(value) ? value : {};
}

export function isMapping(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
