import { compareText } from '@krmhub/schema/compare-text';
import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { readYaml } from '@krmhub/schema/yaml';

/** Annotations that declare a function on its functionConfig, in the order in which they are read (2020 guide). */
export const FUNCTION_ANNOTATIONS = ['config.kubernetes.io/function', 'config.k8s.io/function'] as const;
/** A folder whose functions belong to the folder above it. */
const FUNCTIONS_FOLDER = 'functions';
/** A declaration has a few hundred bytes. */
const MAX_DECLARATION_BYTES = 65_536;

/** What a declaration runs. A container comes before an executable, and that before a script, as in kyaml. */
export type DeclaredRuntime =
  | { type: 'container'; image: string; network: boolean; mounts: readonly string[]; envs: readonly string[] }
  | { type: 'exec'; path: string; args: readonly string[]; envs: readonly string[] }
  | { type: 'starlark'; name?: string; path?: string; url?: string };

export interface Declaration {
  runtime: DeclaredRuntime;
  /** Continue after a failure, and fail at the end. */
  deferFailure: boolean;
}

/** A resource with its place, relative to the folder that is run, with `/`. */
export interface PlacedConfig {
  readonly path: string;
  readonly index: number;
}

/**
 * Reads the declaration of a functionConfig: an annotation, or `metadata.configFn`. Undefined if it has none. `where`
 * names it in messages. Throws `invalid-document`: what is not understood must not run.
 */
export function readDeclaration(config: JsonObject, where: string): Declaration | undefined {
  const metadata = mapping(config.metadata);
  const annotations = mapping(metadata.annotations);
  for (const name of FUNCTION_ANNOTATIONS) {
    const text = annotations[name];
    if (text === undefined || text === null || text === '') continue;
    if (typeof text !== 'string') throw invalid(where, `the annotation ${name} is not a string`);
    return readSpec(parse(text, name, where), where);
  }
  const { configFn } = metadata;
  return configFn === undefined || configFn === null ? undefined : readSpec(configFn, where);
}

/** The folder whose resources, and those below it, a function gets: its own; empty for the folder that is run. */
export function functionScope({ path }: Pick<PlacedConfig, 'path'>): string {
  const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
  if (folder === FUNCTIONS_FOLDER) return '';
  return folder.endsWith(`/${FUNCTIONS_FOLDER}`) ? folder.slice(0, -FUNCTIONS_FOLDER.length - 1) : folder;
}

/**
 * Reports whether a resource is in the scope of a function. kyaml compares the text, so `foo` there has `foobar` too.
 */
export function isInScope(resource: Pick<PlacedConfig, 'path'>, scope: string): boolean {
  if (scope === '') return true;
  // A resource that a function generated has no file, and no scope.
  if (resource.path === '') return false;
  const folder = functionScope(resource);
  return folder === scope || folder.startsWith(`${scope}/`);
}

/**
 * Sorts functions in the order in which they run: the deepest folder first, then by folder, file, and place in the
 * file.
 */
export function runOrder<Config extends PlacedConfig>(configs: readonly Config[]): Config[] {
  const key = (config: Config) => {
    const scope = functionScope(config);
    return { config, scope, depth: scope === '' ? 0 : scope.split('/').length };
  };
  return configs
    .map(key)
    .sort(
      (a, b) =>
        b.depth - a.depth ||
        compareText(a.scope, b.scope) ||
        compareText(a.config.path, b.config.path) ||
        a.config.index - b.config.index,
    )
    .map(({ config }) => config);
}

function parse(text: string, name: string, where: string): JsonValue {
  const { documents, diagnostics } = readYaml(new TextEncoder().encode(text), {
    file: name,
    limits: { maxSourceBytes: MAX_DECLARATION_BYTES, maxDocuments: 1 },
  });
  const problem = diagnostics.find(({ severity }) => severity === 'error');
  if (problem !== undefined || documents.length !== 1) {
    throw invalid(where, `the annotation ${name} is not valid YAML: ${problem?.message ?? 'it is empty'}`);
  }
  return documents[0]!.value;
}

/** Fields of kyaml's FunctionSpec, which is read strictly: `env` is not a field, `network` is true or false. */
const SPEC_FIELDS: Readonly<Record<string, readonly string[]>> = {
  container: ['image', 'network', 'mounts', 'envs'],
  exec: ['path', 'args', 'envs'],
  starlark: ['name', 'path', 'url'],
};

function readSpec(spec: JsonValue, where: string): Declaration {
  if (!isMapping(spec)) throw invalid(where, 'the function is not a mapping');
  for (const [kind, value] of Object.entries(spec)) {
    if (kind === 'deferFailure') continue;
    const known = Object.hasOwn(SPEC_FIELDS, kind) ? SPEC_FIELDS[kind] : undefined;
    if (known === undefined) throw invalid(where, `unknown field \`${kind}\` of a function`);
    if (value !== null && !isMapping(value)) throw invalid(where, `\`${kind}\` is not a mapping`);
    const unknown = Object.keys(value ?? {}).find((name) => !known.includes(name));
    if (unknown !== undefined) throw invalid(where, `unknown field \`${unknown}\` of \`${kind}\``);
  }
  const runtime = readContainer(spec, where) ?? readExec(spec, where) ?? readStarlark(spec, where);
  if (runtime === undefined) throw invalid(where, 'the function has no image, executable, or script');
  return { runtime, deferFailure: flag(spec.deferFailure, 'deferFailure', where) };
}

function readContainer({ container }: JsonObject, where: string): DeclaredRuntime | undefined {
  const { image, network, mounts, envs } = mapping(container);
  if (isAbsent(image)) return undefined;
  return {
    type: 'container',
    image: text(image, 'image', where),
    network: flag(network, 'network', where),
    mounts: listOf(mounts, 'mounts', where).map((mount) => mountText(mount, where)),
    envs: texts(envs, 'envs', where),
  };
}

function readExec({ exec }: JsonObject, where: string): DeclaredRuntime | undefined {
  const { path, args, envs } = mapping(exec);
  if (isAbsent(path)) return undefined;
  return {
    type: 'exec',
    path: text(path, 'path', where),
    args: texts(args, 'args', where),
    envs: texts(envs, 'envs', where),
  };
}

function readStarlark({ starlark }: JsonObject, where: string): DeclaredRuntime | undefined {
  const { name, path, url } = mapping(starlark);
  if (isAbsent(path) && isAbsent(url)) return undefined;
  return {
    type: 'starlark',
    ...(isAbsent(name) ? {} : { name: text(name, 'name', where) }),
    ...(isAbsent(path) ? {} : { path: text(path, 'path', where) }),
    ...(isAbsent(url) ? {} : { url: text(url, 'url', where) }),
  };
}

/** A mount as the option `--mount` writes it (kyaml, `StorageMount`). */
function mountText(value: JsonValue, where: string): string {
  if (!isMapping(value)) throw invalid(where, 'an item of `mounts` is not a mapping');
  const { type, src, dst, rw, ...rest } = value;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw invalid(where, `unknown field \`${unknown}\` of a mount`);
  const parts = [
    ...(isAbsent(type) ? [] : [`type=${text(type, 'type', where)}`]),
    ...(isAbsent(src) ? [] : [`source=${text(src, 'src', where)}`]),
    ...(isAbsent(dst) ? [] : [`target=${text(dst, 'dst', where)}`]),
    ...(flag(rw, 'rw', where) ? ['rw=true'] : []),
  ];
  return parts.join(',');
}

function texts(value: JsonValue | undefined, name: string, where: string): string[] {
  return listOf(value, name, where).map((item) => text(item, name, where));
}

function listOf(value: JsonValue | undefined, name: string, where: string): JsonValue[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw invalid(where, `\`${name}\` is not a list`);
}

function flag(value: JsonValue | undefined, name: string, where: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === 'boolean') return value;
  throw invalid(where, `\`${name}\` is neither true nor false`);
}

function text(value: JsonValue | undefined, name: string, where: string): string {
  if (typeof value === 'string') return value;
  throw invalid(where, `\`${name}\` is not a string`);
}

function isAbsent(value: JsonValue | undefined): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}

function mapping(value: JsonValue | undefined): JsonObject {
  return isMapping(value) ? value : {};
}

function isMapping(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(where: string, reason: string): KrmhubError {
  return new KrmhubError('invalid-document', `${where}: ${reason}`, {
    hint: 'Declare the function as config.kubernetes.io/function: "container: {image: NAME}".',
  });
}
