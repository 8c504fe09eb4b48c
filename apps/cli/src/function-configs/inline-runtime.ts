import type { InlineRuntime } from '@krmhub/catalog';
import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import type { Path } from '@krmhub/schema/diagnostic';
import { field, isObject } from '@krmhub/schema/json/access';
import { readYaml } from '@krmhub/schema/yaml';
import type { LayerCode } from './codes.js';

export interface InlineProblem {
  code: LayerCode;
  message: string;
  at: Path;
}

/** The runtime that a functionConfig names itself, and what is wrong with it. */
export interface InlineReading {
  runtime?: InlineRuntime;
  problems: InlineProblem[];
}

/** Annotations with a whole FunctionSpec, in the order in which kustomize looks for them (kyaml, runtimeutil). */
const SPEC_ANNOTATIONS = ['config.kubernetes.io/function', 'config.k8s.io/function'] as const;
/** An annotation with an image alone. */
const IMAGE_ANNOTATION = 'config.kubernetes.io/container';
export const RUNTIME_ANNOTATIONS: readonly string[] = [...SPEC_ANNOTATIONS, IMAGE_ANNOTATION];
/** A FunctionSpec has a few hundred bytes. */
const MAX_SPEC_BYTES = 65_536;

/**
 * Reads the runtime that a functionConfig names itself: the annotations and `metadata.configFn` that kustomize reads,
 * and the field `runtime` of KEP-2906. A container comes before an executable, as in kustomize. What is not understood
 * is a problem: kustomize might run it.
 */
export function readInlineRuntime(config: JsonObject): InlineReading {
  const problems: InlineProblem[] = [];
  const annotated = readAnnotation(config, problems);
  const at: Path = ['runtime'];
  const own = isAbsent(field(config, 'runtime'))
    ? undefined
    : readSpec(field(config, 'runtime'), at, problems);
  if (annotated !== undefined && own !== undefined) {
    problems.push({
      code: 'layer/two-runtimes',
      message: 'the functionConfig has both a `runtime` field and a function annotation',
      at,
    });
  }
  const runtime = annotated ?? own;
  return runtime === undefined ? { problems } : { runtime, problems };
}

/**
 * Reads only the field `runtime`, for kpt: it does not read the annotations. A field that is not the one of KEP-2906
 * belongs to the function.
 */
export function readRuntimeField(config: JsonObject): InlineReading {
  const problems: InlineProblem[] = [];
  const value = field(config, 'runtime');
  const runtime = isObject(value) ? readSpec(value, ['runtime'], problems) : undefined;
  return runtime === undefined || problems.length > 0 ? { problems: [] } : { runtime, problems };
}

function readAnnotation(config: JsonObject, problems: InlineProblem[]): InlineRuntime | undefined {
  const metadata = field(config, 'metadata');
  const annotations = field(metadata, 'annotations');
  for (const name of SPEC_ANNOTATIONS) {
    const at = ['metadata', 'annotations', name];
    const text = annotationText(annotations, name, problems);
    if (text === undefined) continue;
    const spec = parseSpec(text);
    if (spec !== undefined) return readSpec(spec, at, problems);
    problems.push({ code: 'layer/runtime', message: `the annotation ${name} is not valid YAML`, at });
    return undefined;
  }
  const inMetadata = field(metadata, 'configFn');
  if (!isAbsent(inMetadata)) return readSpec(inMetadata, ['metadata', 'configFn'], problems);
  const image = annotationText(annotations, IMAGE_ANNOTATION, problems);
  if (image === undefined) return undefined;
  return { type: 'container', image, network: false, mounts: 0, envs: 0 };
}

function annotationText(
  annotations: JsonValue | undefined,
  name: string,
  problems: InlineProblem[],
): string | undefined {
  const value = field(annotations, name);
  if (isAbsent(value) || value === '') return undefined;
  if (typeof value === 'string') return value;
  const at = ['metadata', 'annotations', name];
  problems.push({ code: 'layer/wrong-type', message: `the annotation ${name} is not a string`, at });
  return undefined;
}

/** Undefined for text that some reader would understand otherwise. */
function parseSpec(text: string): JsonValue | undefined {
  const bytes = new TextEncoder().encode(text);
  const { documents, diagnostics } = readYaml(bytes, {
    file: '',
    limits: { maxSourceBytes: MAX_SPEC_BYTES, maxDocuments: 1 },
  });
  const valid = diagnostics.every(({ severity }) => severity !== 'error');
  return valid && documents.length === 1 ? documents[0]!.value : undefined;
}

/** Fields of kyaml's FunctionSpec, which is read strictly. */
const SPEC_FIELDS: Record<string, readonly string[]> = {
  container: ['image', 'network', 'mounts', 'envs'],
  exec: ['path', 'args', 'envs'],
  starlark: ['name', 'path', 'url'],
};

function readSpec(
  spec: JsonValue | undefined,
  at: Path,
  problems: InlineProblem[],
): InlineRuntime | undefined {
  const before = problems.length;
  const report = (message: string, where: Path = at) =>
    problems.push({ code: 'layer/runtime', message, at: where });
  // Inside the text of an annotation there are no positions.
  const below = (...path: string[]) => (at[0] === 'runtime' || at[1] === 'configFn' ? [...at, ...path] : at);
  if (!isObject(spec)) {
    report('the runtime is not a mapping');
    return undefined;
  }
  for (const [kind, value] of Object.entries(spec)) {
    const known = SPEC_FIELDS[kind];
    if (kind === 'deferFailure') continue;
    if (known === undefined) report(`unknown field \`${kind}\` of a runtime`, below(kind));
    else if (value !== null && !isObject(value)) report(`\`${kind}\` is not a mapping`, below(kind));
    else {
      for (const name of Object.keys(value ?? {})) {
        if (!known.includes(name)) report(`unknown field \`${name}\` of \`${kind}\``, below(kind, name));
      }
    }
  }
  if (problems.length > before) return undefined;
  const runtime = readContainer(spec, report) ?? readExec(spec, report) ?? readStarlark(spec, report);
  if (problems.length > before) return undefined;
  if (runtime === undefined) report('the runtime has no image, executable, or script');
  return runtime;
}

type Report = (message: string) => void;

function readContainer(spec: JsonObject, report: Report): InlineRuntime | undefined {
  const container = field(spec, 'container');
  const image = text(container, 'image', report);
  if (image === undefined) return undefined;
  const network = field(container, 'network');
  if (!isAbsent(network) && typeof network !== 'boolean') report('`network` is neither true nor false');
  return {
    type: 'container',
    image,
    network: network === true,
    mounts: count(container, 'mounts', report),
    envs: count(container, 'envs', report),
  };
}

function readExec(spec: JsonObject, report: Report): InlineRuntime | undefined {
  const path = text(field(spec, 'exec'), 'path', report);
  return path === undefined ? undefined : { type: 'exec', path };
}

function readStarlark(spec: JsonObject, report: Report): InlineRuntime | undefined {
  const starlark = field(spec, 'starlark');
  const path = text(starlark, 'path', report);
  const url = text(starlark, 'url', report);
  if (path === undefined && url === undefined) return undefined;
  return {
    type: 'starlark',
    ...(path === undefined ? {} : { path }),
    ...(url === undefined ? {} : { url }),
  };
}

function text(holder: JsonValue | undefined, name: string, report: Report): string | undefined {
  const value = field(holder, name);
  if (isAbsent(value) || value === '') return undefined;
  if (typeof value === 'string') return value;
  report(`\`${name}\` is not a string`);
  return undefined;
}

function count(holder: JsonValue | undefined, name: string, report: Report): number {
  const value = field(holder, name);
  if (isAbsent(value)) return 0;
  if (Array.isArray(value)) return value.length;
  report(`\`${name}\` is not a list`);
  return 0;
}

function isAbsent(value: JsonValue | undefined): value is null | undefined {
  return value === undefined || value === null;
}
