import path from 'node:path';
import type { CatalogReference } from '@krmhub/consume/references/parse-catalog';
import { listPackage } from '@krmhub/functions/package-files/walk-package';
import {
  CATALOGS_ANNOTATION,
  cleanPath,
  entryProblem,
  KPTFILE,
  nearestPackage,
  type PackageNode,
  type PipelineFunction,
  packageFolders,
  packageTree,
  stepImage,
} from '@krmhub/functions/plan';
import { type InlineRuntime, imageRuntime } from '@krmhub/functions/plan/declared-runtime';
import { type KptfileSource, parseKptfile, unknownField } from '@krmhub/functions/plan/kptfile';
import { defined } from '@krmhub/schema/defined';
import { formatPath, type Path } from '@krmhub/schema/diagnostic';
import type { EntryText } from './kustomization-file.js';
import { catalogReferences, emptyLayer, type LayerContext } from './layer-context.js';
import { findLocal, type LayerReader, type ProblemPlace } from './layer-reader.js';
import type { Layer, LayerUse, ListedFunction } from './layers.js';
import { type ConfigUse, listConfigs } from './list-configs.js';

/**
 * Reads the pipeline of a Kptfile and of the packages below it, in the order in which kpt runs them: subpackages first.
 * The packages are those that `fn render` finds. A functionConfig names a runtime there only with the field of KEP-2906.
 * Throws `too-large` beyond a limit of packages.
 */
export async function readKptfile(
  context: LayerContext,
  folder: string,
  use: LayerUse = 'package',
): Promise<Layer | undefined> {
  const files = new Set(listPackage(folder).keys());
  if (!files.has(KPTFILE)) {
    const message = `cannot read the ${KPTFILE}: it leads out of the package, or .krmignore excludes it`;
    context.reader.report('config/not-found', message, { file: path.join(folder, KPTFILE) });
    return undefined;
  }
  const folders = packageFolders(files);
  return new PackageReader(context, folder, files, new Set(folders)).read(packageTree(folders), use);
}

/** Reads the Kptfiles of a package and its subpackages. */
class PackageReader {
  readonly #context: LayerContext;
  readonly #root: string;
  readonly #files: ReadonlySet<string>;
  readonly #folders: ReadonlySet<string>;

  /** `files` are those of resources, and `folders` those of packages, relative to `root`. */
  constructor(context: LayerContext, root: string, files: ReadonlySet<string>, folders: ReadonlySet<string>) {
    this.#context = context;
    this.#root = root;
    this.#files = files;
    this.#folders = folders;
  }

  async read(node: PackageNode, use: LayerUse): Promise<Layer | undefined> {
    const { reader } = this.#context;
    const folder = path.join(this.#root, node.path);
    const file = path.join(folder, KPTFILE);
    if (!reader.countLayer({ file })) return undefined;
    const bytes = await reader.readFile(file);
    if (bytes === undefined) return undefined;
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    const source = parseKptfile(text, reader.displayName(file));
    if (!('kptfile' in source)) {
      if (source.diagnostics !== undefined) reader.diagnostics.push(...source.diagnostics);
      else reader.report('config/kind', source.message, { file, range: source.range }, source.hint);
      return undefined;
    }
    for (const problem of source.problems) reportField(reader, file, problem);
    const layer = emptyLayer(this.#context, { folder, file, type: 'kptfile', use });
    // As in a render, only the root decides.
    layer.isBreadthFirst = node.path === '' && source.kptfile.isBreadthFirst;
    layer.catalogs = annotatedCatalogs(this.#context, source, layer);
    const steps = new StepReader(reader, source, layer, (configPath) => this.#isOwn(node, configPath));
    for (const step of source.kptfile.pipeline) layer.functions.push(...(await steps.functionsOf(step)));
    for (const below of node.subpackages) {
      const sub = await this.read(below, 'subpackage');
      if (sub !== undefined) layer.layers.push(sub);
    }
    return layer;
  }

  /** Reports whether a path of a Kptfile is a file of resources of the same package. */
  #isOwn({ path: folder }: PackageNode, configPath: string): boolean {
    const file = path.posix.join(folder, cleanPath(configPath));
    return this.#files.has(file) && nearestPackage(file, this.#folders) === folder;
  }
}

function reportField(reader: LayerReader, file: string, problem: KptfileSource['problems'][number]): void {
  const { path: at, range, isUnknown, expected, known } = problem;
  const place = { file, range, path: formatPath(at) };
  const name = at.at(-1);
  const what = typeof name === 'string' ? `\`${name}\`` : 'the entry';
  if (isUnknown) reader.report('config/unknown-field', unknownField(problem), place);
  else if (expected !== undefined) reader.report('config/wrong-type', `${what} is not a ${expected}`, place);
  else {
    const hint = `Use one of the fields: ${known.join(', ')}.`;
    reader.report('config/pipeline', `the selector has no known field, but ${what}`, place, hint);
  }
}

function annotatedCatalogs(
  context: LayerContext,
  { kptfile, locate }: KptfileSource,
  { folder, file }: Layer,
): CatalogReference[] {
  const at = ['metadata', 'annotations', CATALOGS_ANNOTATION];
  const range = locate(at);
  const place = { file, range, path: formatPath(at) };
  return catalogReferences(
    context,
    folder,
    kptfile.catalogs.map((text, index): EntryText => ({ index, text, place, range })),
  );
}

type StepUse = Required<Omit<ConfigUse, 'ignoresAnnotations'>> & { written: InlineRuntime | undefined };

/** Lists the functions of a pipeline. */
class StepReader {
  readonly #reader: LayerReader;
  readonly #source: KptfileSource;
  readonly #layer: Layer;
  readonly #isOwn: (configPath: string) => boolean;

  constructor(
    reader: LayerReader,
    source: KptfileSource,
    layer: Layer,
    isOwn: (configPath: string) => boolean,
  ) {
    this.#reader = reader;
    this.#source = source;
    this.#layer = layer;
    this.#isOwn = isOwn;
  }

  /** Returns the function of a step; none if a problem of it is reported. */
  async functionsOf(step: PipelineFunction): Promise<ListedFunction[]> {
    const at: Path = ['pipeline', step.field, step.index];
    const isBelow = (path: Path) => at.every((segment, index) => path[index] === segment);
    if (this.#source.problems.some(({ path, isUnknown }) => !isUnknown && isBelow(path))) return [];
    const problem = entryProblem(step);
    // `kpt sync` says what is missing in a step that says nothing.
    const { image, exec, configRef } = step;
    const isEmpty = [image, exec, step.configPath, configRef].every((one) => one === undefined);
    if (problem !== undefined && !isEmpty) {
      const field = problem.field.slice(1);
      this.#reader.report('config/pipeline', problem.reason, this.#place(field === '' ? at : [...at, field]));
      return [];
    }
    const { folder, catalogs } = this.#layer;
    const { configPath, field, index } = step;
    const use = { layer: folder, catalogs, field, entry: { index, text: configPath ?? '' } };
    const written = await writtenRuntime(step, this.#reader.options.imagePrefix);
    const found =
      configPath === undefined
        ? this.#withoutFile(step, at, { ...use, written })
        : await this.#fromFile(configPath, this.#place([...at, 'configPath']), use);
    if (found === undefined) return [];
    return [{ ...found, ...defined({ written }) }];
  }

  /** A function whose configuration is not a file, so that no catalog can know what it is. */
  #withoutFile(
    step: PipelineFunction,
    at: Path,
    { catalogs, written, ...use }: StepUse,
  ): ListedFunction | undefined {
    const place = this.#place(at);
    if (!this.#reader.countFunction(place)) return undefined;
    const { name, configRef } = step;
    const { apiVersion = 'v1', kind = 'ConfigMap' } = configRef ?? {};
    const request = { apiVersion, kind, catalogs };
    return {
      request: written === undefined ? request : { ...request, inline: written },
      ...defined({ name }),
      file: this.#layer.file,
      line: place.range?.start.line ?? 1,
      column: place.range?.start.column ?? 1,
      document: 0,
      path: at,
      inline: false,
      ...use,
    };
  }

  async #fromFile(
    configPath: string,
    place: ProblemPlace,
    use: ConfigUse & { layer: string },
  ): Promise<ListedFunction | undefined> {
    const reader = this.#reader;
    const local = await findLocal(use.layer, configPath);
    if (local.type !== 'file') {
      const reasons = { folder: 'it is a folder', outside: 'it is outside the package' };
      const reason = local.type === 'missing' ? local.reason : reasons[local.type];
      const code = local.type === 'outside' ? 'config/outside' : 'config/not-found';
      reader.report(code, `cannot read ${configPath}: ${reason}`, place);
      return undefined;
    }
    if (!this.#isOwn(configPath)) {
      const reason = 'it is not a file of resources of this package';
      const hint = 'Use a .yaml file that is in no subpackage, and that .krmignore does not exclude.';
      reader.report('config/not-found', `cannot read ${configPath}: ${reason}`, place, hint);
      return undefined;
    }
    const bytes = await reader.readFile(local.path);
    if (bytes === undefined) return undefined;
    const listed = listConfigs(reader, { bytes, file: local.path }, { ...use, ignoresAnnotations: true });
    if (listed.length > 1) {
      const message = `${configPath} has ${listed.length} functionConfigs, expected one`;
      reader.report('config/pipeline', message, place, 'Move each functionConfig to a separate file.');
    }
    return listed[0];
  }

  #place(at: Path): ProblemPlace {
    return { file: this.#layer.file, range: this.#source.locate(at), path: formatPath(at) };
  }
}

/** What the Kptfile runs now; kpt requires it, but `kpt sync` fills it in. Throws `usage`. */
async function writtenRuntime(
  step: PipelineFunction,
  prefix: string | undefined,
): Promise<InlineRuntime | undefined> {
  const { image, tag, exec } = step;
  if (image !== undefined) return imageRuntime((await stepImage({ image, tag }, prefix)).text);
  return exec === undefined ? undefined : { type: 'exec', path: exec, args: [], envs: [] };
}
