import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import { formatPath, type Path } from '@krmhub/schema/diagnostic';
import { field, isObject } from '@krmhub/schema/json/access';
import { kebabCase } from '@krmhub/schema/kebab-case';
import { configValues, isReadOfConfig, readDocuments } from './config-documents.js';
import type { LayerFile } from './kustomization-file.js';
import { findLocal, type LayerReader, type ProblemPlace } from './layer-reader.js';

/** A module of a Composition: the configuration of a function or of a part of kustomize. */
export interface Module {
  value: JsonObject;
  /** Where it is written, which can be an imported Composition. */
  written: { place: ProblemPlace; document: number; path: Path };
}

const KUSTOMIZE_GROUP = 'kustomize.config.k8s.io/';

/** Reads the modules that a Composition has itself: mappings, or paths of files with them. */
export async function readModules(
  reader: LayerReader,
  read: LayerFile,
  name: string,
  folder: string,
): Promise<Module[]> {
  const modules: Module[] = [];
  for (const { value, at } of read.items(name)) {
    const place = read.place(at);
    if (typeof value === 'string') modules.push(...(await readModuleFile(reader, folder, value, place)));
    else if (isObject(value)) {
      modules.push({ value, written: { place, document: read.document.index, path: at } });
    } else reader.report('config/module', 'the module is neither a mapping nor a path', place);
  }
  return modules.filter((one) => isSupported(reader, one));
}

async function readModuleFile(
  reader: LayerReader,
  folder: string,
  text: string,
  place: ProblemPlace,
): Promise<Module[]> {
  const local = await findLocal(folder, text);
  if (local.type !== 'file') {
    const [code, reason] =
      local.type === 'outside'
        ? (['config/outside', 'it is outside the folder of the Composition'] as const)
        : (['config/not-found', local.type === 'missing' ? local.reason : 'it is a folder'] as const);
    reader.report(code, `cannot read ${text}: ${reason}`, place);
    return [];
  }
  const bytes = await reader.readFile(local.path);
  if (bytes === undefined) return [];
  const { documents, problems } = readDocuments(bytes, reader.displayName(local.path), isReadOfConfig);
  reader.diagnostics.push(...problems);
  return documents.flatMap((document) =>
    configValues(document).flatMap(({ value, path }): Module[] => {
      const found = { file: local.path, range: document.locate(path), path: formatPath(path) };
      if (isObject(value)) return [{ value, written: { place: found, document: document.index, path } }];
      reader.report('config/not-a-config', 'the document is not a mapping', found);
      return [];
    }),
  );
}

/** A Kustomization as a module would have bases and functions of its own. */
function isSupported(reader: LayerReader, { value, written }: Module): boolean {
  const { apiVersion } = value;
  if (typeof apiVersion !== 'string' || !apiVersion.startsWith(KUSTOMIZE_GROUP)) return true;
  const message = `a ${String(value.kind)} of ${apiVersion} is not supported as a module`;
  const hint =
    'Use the modules of kustomize with `apiVersion: builtin`, or a kustomization around the Composition.';
  reader.report('config/module', message, written.place, hint);
  return false;
}

interface ModuleName {
  apiVersion: JsonValue | undefined;
  kind: JsonValue | undefined;
  name: JsonValue | undefined;
}

/** A module without a name has that of its kind (KEP-2299, "API schema"). */
function moduleName(value: JsonValue): ModuleName {
  const kind = field(value, 'kind');
  const name = field(field(value, 'metadata'), 'name');
  return {
    apiVersion: field(value, 'apiVersion'),
    kind,
    name: name ?? (typeof kind === 'string' ? kebabCase(kind) : undefined),
  };
}

function isSameModule(a: ModuleName, b: ModuleName): boolean {
  return a.apiVersion === b.apiVersion && a.kind === b.kind && a.name === b.name;
}

/** Merges the overrides of a Composition into the modules that it imports. */
export function applyOverrides(
  reader: LayerReader,
  read: LayerFile,
  name: string,
  imported: readonly Module[],
): void {
  for (const { value, at } of read.items(name)) {
    const wanted = moduleName(value);
    const found = imported.filter((one) => isSameModule(moduleName(one.value), wanted));
    if (isObject(value) && found.length > 0) {
      for (const one of found) one.value = mergePatch(one.value, value) as JsonObject;
    } else reader.report('config/module', 'the override does not match an imported module', read.place(at));
  }
}

/** RFC 7386: mappings are merged, null removes a field, and everything else is replaced. */
function mergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isObject(patch)) return patch;
  const result = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name);
    else result.set(name, mergePatch(result.get(name), value));
  }
  return Object.fromEntries(result);
}

/** Reports modules that only an order or an override could not tell apart. */
export function checkNames(reader: LayerReader, modules: readonly Module[]): void {
  for (const [index, { value, written }] of modules.entries()) {
    const name = moduleName(value);
    const first = modules.findIndex((one) => isSameModule(moduleName(one.value), name));
    if (first === index) continue;
    const message = `another module of ${String(name.apiVersion)} ${String(name.kind)} has the same name, "${String(name.name)}"`;
    reader.report('config/module', message, written.place);
  }
}

/** Sorts the modules as the Composition says; each has to be named once. Without an order they stay as they are. */
export function orderModules(
  reader: LayerReader,
  read: LayerFile,
  name: string,
  modules: readonly Module[],
): Module[] {
  const order = read.items(name);
  if (order.length === 0) return [...modules];
  const sorted: Module[] = [];
  for (const { value, at } of order) {
    const matching = modules.filter((one) => isNamed(one, value));
    const [module] = matching;
    if (module !== undefined && matching.length === 1 && !sorted.includes(module)) sorted.push(module);
    else {
      const why =
        matching.length === 0 ? 'no module' : matching.length > 1 ? 'several modules' : 'a module twice';
      reader.report('config/module', `the entry matches ${why}`, read.place(at));
    }
  }
  const left = modules.find((one) => !sorted.includes(one));
  if (left !== undefined && sorted.length === order.length) {
    const message = `the order does not contain the module "${String(moduleName(left.value).name)}"`;
    reader.report('config/module', message, read.place([name]));
  }
  return sorted;
}

function isNamed({ value }: Module, entry: JsonValue): boolean {
  const module = moduleName(value);
  const { apiVersion, kind, name } = isObject(entry) ? entry : {};
  if (name === undefined || module.name !== name) return false;
  return (
    (apiVersion === undefined || apiVersion === module.apiVersion) &&
    (kind === undefined || kind === module.kind)
  );
}
