import {
  Document,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  Scalar,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';

/** What the container of a function gets. */
export interface FunctionInput {
  text: string;
  /** Tag of the image, `latest` without one. */
  tag: string;
  env: Readonly<Record<string, string>>;
  hasNetwork: boolean;
}

/** What it leaves. */
export interface FunctionOutcome {
  stdout: string;
  stderr?: string;
  exitCode?: number;
}

export type StandInFunction = (input: FunctionInput) => FunctionOutcome;

export interface Result {
  message: string;
  severity?: 'error' | 'warning' | 'info';
  resourceRef?: { apiVersion: string; kind: string; name: string; namespace?: string };
  field?: { path: string };
  file?: { path: string; index?: number };
}

/** Lines are not folded, and lists are not indented, as in the output of kyaml. */
const STYLE = { lineWidth: 0, indentSeq: false, flowCollectionPadding: false } as const;
const PATH_ANNOTATIONS = ['internal.config.kubernetes.io/path', 'config.kubernetes.io/path'];
/** Annotations that say where an item is. */
const PLACE_ANNOTATION = /^(?:internal\.)?config\.kubernetes\.io\/(?:path|index|seqindent|id|package-path)$/;
const INDEX_ANNOTATIONS = ['internal.config.kubernetes.io/index', 'config.kubernetes.io/index'];

/**
 * A ResourceList whose items keep quotes and the order of fields. It loses comments, which kpt copies back: an item is
 * found again by the annotation `internal.config.kubernetes.io/id`.
 */
export class ResourceList {
  items: YAMLMap[];
  results: Result[] = [];
  readonly #document: Document.Parsed;

  constructor(text: string) {
    this.#document = parseDocument(text);
    const [error] = this.#document.errors;
    if (error !== undefined) throw new Error(`failed to parse the input: ${error.message}`);
    dropComments(this.#document);
    const items = this.#document.get('items');
    this.items = isSeq(items) ? (items as YAMLSeq<YAMLMap>).items.filter(isMap) : [];
  }

  /** The functionConfig; undefined without one. */
  get config(): Record<string, unknown> | undefined {
    const config = this.#document.get('functionConfig');
    return isMap(config) ? config.toJS(this.#document) : undefined;
  }

  write(): string {
    const parts = ['apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n'];
    parts.push(this.items.length === 0 ? 'items: []\n' : 'items:\n');
    for (const item of this.items) {
      writePlain(item, (name) => PLACE_ANNOTATION.test(name));
      parts.push(asItem(emit(item)));
    }
    const config = this.#document.get('functionConfig');
    if (isMap(config)) parts.push(`functionConfig:\n${emit(config).replace(/^(?=.)/gm, '  ')}`);
    if (this.results.length > 0) parts.push(emit({ results: this.results }));
    return parts.join('');
  }
}

export function emit(value: unknown): string {
  const document = new Document(value);
  return document.toString(STYLE);
}

/** Drops the quotes of the annotations with these names: the real functions read annotations as a map of strings. */
export function writePlain(item: YAMLMap, isWanted: (name: string) => boolean): void {
  const annotations = item.getIn(['metadata', 'annotations']);
  if (!isMap(annotations)) return;
  for (const { key, value } of annotations.items) {
    if (isScalar(key) && isScalar(value) && isWanted(String(key.value))) value.type = Scalar.PLAIN;
  }
}

function dropComments(document: Document): void {
  document.comment = null;
  document.commentBefore = null;
  visit(document, {
    Node: (_, node) => {
      node.comment = null;
      node.commentBefore = null;
      node.spaceBefore = false;
    },
  });
}

function asItem(text: string): string {
  return text.replace(/^(?=.)/gm, '  ').replace(/^ {2}/, '- ');
}

export function stringAt(item: YAMLMap, path: readonly string[]): string | undefined {
  const value = item.getIn(path);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** Where an item is in the package. */
export function fileOf(item: YAMLMap): { path: string; index?: number } | undefined {
  const annotation = (names: readonly string[]) =>
    names.map((name) => stringAt(item, ['metadata', 'annotations', name])).find((one) => one !== undefined);
  const path = annotation(PATH_ANNOTATIONS);
  if (path === undefined) return undefined;
  const index = Number(annotation(INDEX_ANNOTATIONS) ?? 0);
  return index === 0 ? { path } : { path, index };
}

/** The `data` of a ConfigMap, or the fields of another kind that are strings. */
export function settingsOf(config: Record<string, unknown> | undefined): Record<string, string> {
  const data = config?.kind === 'ConfigMap' ? config.data : config;
  if (typeof data !== 'object' || data === null) return {};
  return Object.fromEntries(Object.entries(data).filter(([, value]) => typeof value === 'string'));
}

/** Ends a function as those of the catalog of kpt do: with a result, and the same text on standard error. */
export function failed(list: ResourceList, message: string): FunctionOutcome {
  list.results.push({ message, severity: 'error' });
  return { stdout: list.write(), stderr: `[error] : ${message}\n`, exitCode: 1 };
}
