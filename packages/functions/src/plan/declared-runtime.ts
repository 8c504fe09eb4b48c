import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import type { Path } from '@krmhub/schema/diagnostic';
import { KrmhubError } from '@krmhub/schema/error';
import { field, isObject } from '@krmhub/schema/json/access';
import { readYaml } from '@krmhub/yaml';

/** Annotations with a whole FunctionSpec, in the order in which kustomize looks for them (kyaml, runtimeutil). */
const SPEC_ANNOTATIONS = ['config.kubernetes.io/function', 'config.k8s.io/function'] as const;
/** An annotation with an image alone. */
const IMAGE_ANNOTATION = 'config.kubernetes.io/container';
/** Annotations in which a functionConfig names its runtime. */
export const RUNTIME_ANNOTATIONS: readonly string[] = [...SPEC_ANNOTATIONS, IMAGE_ANNOTATION];
/** A FunctionSpec has a few hundred bytes. */
const MAX_SPEC_BYTES = 65_536;

/**
 * The runtime that a functionConfig names itself. A container comes before an executable, and that before a script, as
 * in kyaml.
 */
export type InlineRuntime = InlineContainer | InlineExec | InlineScript;

export interface InlineContainer {
  type: 'container';
  image: string;
  network: boolean;
  /** As the option `--mount` writes them. */
  mounts: readonly string[];
  envs: readonly string[];
}

export interface InlineExec {
  type: 'exec';
  path: string;
  args: readonly string[];
  envs: readonly string[];
}

export interface InlineScript {
  type: 'starlark';
  name?: string;
  path?: string;
  url?: string;
}

/** What is wrong with a runtime. Inside the text of an annotation there are no positions. */
export interface RuntimeProblem {
  code: 'runtime' | 'two-runtimes' | 'wrong-type';
  message: string;
  at: Path;
}

/** The runtime that a functionConfig names, and what is wrong with it. */
export interface RuntimeReading {
  runtime?: InlineRuntime;
  /** Continue after a failure, and fail at the end. */
  deferFailure: boolean;
  problems: RuntimeProblem[];
}

/** Returns the runtime of an image that something else than a functionConfig names. */
export function imageRuntime(image: string): InlineContainer {
  return { type: 'container', image, network: false, mounts: [], envs: [] };
}

/**
 * Reads the runtime that a functionConfig names itself: the annotations and `metadata.configFn` that kustomize reads,
 * and the field `runtime` of KEP-2906. What is not understood is a problem: kustomize might run it.
 */
export function readRuntime(config: JsonObject): RuntimeReading {
  const problems: RuntimeProblem[] = [];
  const annotated = readAnnotated(config, problems);
  const value = field(config, 'runtime');
  const own = isAbsent(value) ? undefined : readSpec(value, ['runtime'], problems);
  if (annotated !== undefined && own !== undefined) {
    const message = 'the functionConfig has both a `runtime` field and a function annotation';
    problems.push({ code: 'two-runtimes', message, at: ['runtime'] });
  }
  return { deferFailure: false, ...(annotated ?? own), problems };
}

/** As `readRuntime`, for `fn run`. Throws `invalid-document` for the first problem; `where` names the functionConfig. */
export function requireRuntime(config: JsonObject, where: string): Omit<RuntimeReading, 'problems'> {
  const { problems, ...reading } = readRuntime(config);
  const [problem] = problems;
  if (problem === undefined) return reading;
  throw new KrmhubError('invalid-document', `${where}: ${problem.message}`, {
    hint: 'Declare the function as config.kubernetes.io/function: "container: {image: NAME}".',
  });
}

/**
 * Reads only the field `runtime`, for kpt: it does not read the annotations. A field that is not the one of KEP-2906
 * belongs to the function.
 */
export function readRuntimeField(config: JsonObject): RuntimeReading {
  const problems: RuntimeProblem[] = [];
  const value = field(config, 'runtime');
  const read = isObject(value) ? readSpec(value, ['runtime'], problems) : undefined;
  if (problems.length > 0) return { deferFailure: false, problems: [] };
  return { deferFailure: false, ...read, problems: [] };
}

type Spec = Omit<RuntimeReading, 'problems'>;

function readAnnotated(config: JsonObject, problems: RuntimeProblem[]): Spec | undefined {
  const metadata = field(config, 'metadata');
  const annotations = field(metadata, 'annotations');
  for (const name of SPEC_ANNOTATIONS) {
    const at = ['metadata', 'annotations', name];
    const text = annotationText(annotations, name, problems);
    if (text === undefined) continue;
    const { spec, reason } = parseSpec(text);
    if (reason === undefined) return readSpec(spec, at, problems);
    problems.push({ code: 'runtime', message: `the annotation ${name} is not valid YAML: ${reason}`, at });
    return undefined;
  }
  const inMetadata = field(metadata, 'configFn');
  if (!isAbsent(inMetadata)) return readSpec(inMetadata, ['metadata', 'configFn'], problems);
  const image = annotationText(annotations, IMAGE_ANNOTATION, problems);
  return image === undefined ? undefined : { runtime: imageRuntime(image), deferFailure: false };
}

function annotationText(
  annotations: JsonValue | undefined,
  name: string,
  problems: RuntimeProblem[],
): string | undefined {
  const value = field(annotations, name);
  if (isAbsent(value) || value === '') return undefined;
  if (typeof value === 'string') return value;
  const at = ['metadata', 'annotations', name];
  problems.push({ code: 'wrong-type', message: `the annotation ${name} is not a string`, at });
  return undefined;
}

/** Words that are booleans for kustomize, which reads YAML 1.1; where it needs text, it takes `true` or `false`. */
const TRUE_WORDS = /^(?:y|yes|on)$/i;
const FALSE_WORDS = /^(?:n|no|off)$/i;
const FLAG_PATH = /^(?:deferFailure|container\.network|container\.mounts\[\d+\]\.rw)$/;

/** Returns the reason for text that some reader would understand otherwise. */
function parseSpec(text: string): { spec?: JsonValue; reason?: string } {
  const { documents, diagnostics } = readYaml(new TextEncoder().encode(text), {
    file: '',
    limits: { maxSourceBytes: MAX_SPEC_BYTES, maxDocuments: 1 },
  });
  const words = diagnostics.filter(({ code }) => code === 'yaml/ambiguous-scalar');
  const problem = diagnostics.find((one) => one.severity === 'error' && !words.includes(one));
  if (problem !== undefined) return { reason: problem.message };
  if (documents.length !== 1) return { reason: 'it is not one document' };
  const { value } = documents[0]!;
  const places = new Map(words.map(({ path, message }) => [path, message]));
  if (places.size === 0) return { spec: value };
  const spec = withWords(value, '', places);
  // A number, such as one that only some parsers read as octal.
  const [left] = places.values();
  return left === undefined ? { spec } : { reason: left };
}

/** Replaces the words of YAML 1.1 at these places, which it removes. */
function withWords(value: JsonValue, at: string, places: Map<string, string>): JsonValue {
  if (typeof value === 'string' && places.has(at)) {
    const isTrue = TRUE_WORDS.test(value);
    if (!isTrue && !FALSE_WORDS.test(value)) return value;
    places.delete(at);
    return FLAG_PATH.test(at) ? isTrue : String(isTrue);
  }
  if (Array.isArray(value)) return value.map((item, index) => withWords(item, `${at}[${index}]`, places));
  if (!isObject(value)) return value;
  const below = (key: string) => (at === '' ? key : `${at}.${key}`);
  return Object.fromEntries(
    Object.entries(value).map(([key, held]) => [key, withWords(held, below(key), places)]),
  );
}

/** The runtimes of kyaml's FunctionSpec, in its order, which is read strictly: `env` is not a field of a container. */
const SPECS: {
  readonly [Kind in InlineRuntime['type']]: {
    fields: readonly string[];
    /** Undefined if it names nothing to run. */
    read(fields: Fields): Extract<InlineRuntime, { type: Kind }> | undefined;
  };
} = {
  container: { fields: ['image', 'network', 'mounts', 'envs'], read: readContainer },
  exec: { fields: ['path', 'args', 'envs'], read: readExec },
  starlark: { fields: ['name', 'path', 'url'], read: readStarlark },
};
const SPEC_KINDS = Object.keys(SPECS) as readonly InlineRuntime['type'][];

function readSpec(spec: JsonValue | undefined, at: Path, problems: RuntimeProblem[]): Spec | undefined {
  const before = problems.length;
  const report: Report = (message, ...below) => {
    const hasPositions = at[0] === 'runtime' || at[1] === 'configFn';
    problems.push({ code: 'runtime', message, at: hasPositions ? [...at, ...below] : at });
  };
  if (!isObject(spec)) {
    report('the runtime is not a mapping');
    return undefined;
  }
  for (const [kind, value] of Object.entries(spec)) {
    if (kind === 'deferFailure') continue;
    const known = SPEC_KINDS.find((one) => one === kind);
    if (known === undefined) report(`unknown field \`${kind}\` of a runtime`, kind);
    else if (value !== null && !isObject(value)) report(`\`${kind}\` is not a mapping`, kind);
    else {
      for (const name of Object.keys(value ?? {})) {
        if (!SPECS[known].fields.includes(name))
          report(`unknown field \`${name}\` of \`${kind}\``, kind, name);
      }
    }
  }
  const deferFailure = flag(spec, 'deferFailure', report);
  if (problems.length > before) return undefined;
  let runtime: InlineRuntime | undefined;
  for (const kind of SPEC_KINDS) {
    runtime ??= SPECS[kind].read(
      new Fields(field(spec, kind), (message, name) => report(message, kind, name!)),
    );
  }
  if (problems.length > before) return undefined;
  if (runtime === undefined) report('the runtime has no image, executable, or script');
  return runtime && { runtime, deferFailure };
}

type Report = (message: string, ...below: string[]) => void;

/** The fields of a mapping; what has the wrong type is reported, and absent. */
class Fields {
  readonly #holder: JsonValue | undefined;
  readonly #report: Report;

  constructor(holder: JsonValue | undefined, report: Report) {
    this.#holder = holder;
    this.#report = report;
  }

  text(name: string): string | undefined {
    const value = field(this.#holder, name);
    if (isAbsent(value) || value === '') return undefined;
    if (typeof value === 'string') return value;
    this.#report(`\`${name}\` is not a string`, name);
    return undefined;
  }

  flag(name: string): boolean {
    return flag(this.#holder, name, this.#report);
  }

  list(name: string): JsonValue[] {
    const value = field(this.#holder, name);
    if (isAbsent(value)) return [];
    if (Array.isArray(value)) return value;
    this.#report(`\`${name}\` is not a list`, name);
    return [];
  }

  texts(name: string): string[] {
    const items = this.list(name);
    const texts = items.flatMap((item) => (typeof item === 'string' ? item : []));
    if (texts.length < items.length) this.#report(`an item of \`${name}\` is not a string`, name);
    return texts;
  }

  /** Mounts as the option `--mount` writes them (kyaml, `StorageMount`). */
  mounts(name: string): string[] {
    return this.list(name).map((item) => {
      if (!isObject(item)) this.#report(`an item of \`${name}\` is not a mapping`, name);
      const unknown = Object.keys(isObject(item) ? item : {}).find((key) => !MOUNT_FIELDS.includes(key));
      if (unknown !== undefined) this.#report(`unknown field \`${unknown}\` of a mount`, name);
      const mount = new Fields(item, (message) => this.#report(message, name));
      const [type, source, target] = [mount.text('type'), mount.text('src'), mount.text('dst')];
      const parts = Object.entries({ type, source, target }).filter(([, text]) => text !== undefined);
      return [...parts.map(([key, text]) => `${key}=${text}`), ...(mount.flag('rw') ? ['rw=true'] : [])].join(
        ',',
      );
    });
  }
}

const MOUNT_FIELDS = ['type', 'src', 'dst', 'rw'];

function readContainer(fields: Fields): InlineContainer | undefined {
  const image = fields.text('image');
  if (image === undefined) return undefined;
  const [network, mounts, envs] = [fields.flag('network'), fields.mounts('mounts'), fields.texts('envs')];
  return { type: 'container', image, network, mounts, envs };
}

function readExec(fields: Fields): InlineExec | undefined {
  const path = fields.text('path');
  if (path === undefined) return undefined;
  return { type: 'exec', path, args: fields.texts('args'), envs: fields.texts('envs') };
}

function readStarlark(fields: Fields): InlineScript | undefined {
  const [name, path, url] = [fields.text('name'), fields.text('path'), fields.text('url')];
  if (path === undefined && url === undefined) return undefined;
  const texts = Object.entries({ name, path, url }).filter(([, text]) => text !== undefined);
  return { type: 'starlark', ...Object.fromEntries(texts) };
}

function flag(holder: JsonValue | undefined, name: string, report: Report): boolean {
  const value = field(holder, name);
  if (isAbsent(value)) return false;
  if (typeof value === 'boolean') return value;
  report(`\`${name}\` is neither true nor false`, name);
  return false;
}

function isAbsent(value: JsonValue | undefined): value is null | undefined {
  return value === undefined || value === null;
}
