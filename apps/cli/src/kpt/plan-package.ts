import path from 'node:path';
import type { LockedFunctions } from '@krmhub/catalog';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { pinnedDigest } from '@krmhub/consume/resolve/images/named-image';
import type { Resolution, Resolver } from '@krmhub/consume/resolve/resolution';
import { isUnresolved } from '@krmhub/consume/resolve/resolve-errors';
import type { PipelineFunction } from '@krmhub/functions/plan';
import type { InlineRuntime } from '@krmhub/functions/plan/declared-runtime';
import { type KptfileSource, noKptfileError, parseKptfile } from '@krmhub/functions/plan/kptfile';
import { type Diagnostic, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import { entryRuntime, type FilledRuntime, qualified } from '../function-configs/entry-runtime.js';
import type { Layer, ListedFunction } from '../function-configs/layers.js';
import type { Io } from '../io/io.js';
import { checkListed } from '../lock/config-check.js';
import { editKptfile, hasRuntime } from './edit-kptfile.js';

/** What a sync does with one function of a pipeline. */
export interface EntryPlan {
  /** For example `pipeline.mutators[0]`. */
  entry: string;
  /** Of the functionConfig; absent without a configPath. */
  apiVersion?: string;
  kind?: string;
  outcome: 'filled' | 'replaced' | 'unchanged' | 'left';
  /** What runs the function after the sync. */
  image?: string;
  exec?: string;
  /** What ran it before, if it is replaced. */
  before?: string;
  release?: string;
  catalog?: string;
  /** Why it is left as it is. */
  reason?: string;
  warnings: string[];
}

/** What a sync does with one Kptfile. */
export interface PackagePlan {
  /** Absolute. */
  file: string;
  /** Relative to the package that is synchronized, with `/`. */
  name: string;
  text: string;
  /** Its text after the sync. */
  after: string;
  entries: EntryPlan[];
}

export interface PlanContext {
  /** Folder of the package that is synchronized. */
  root: string;
  resolver: Resolver;
  lock: LockedFunctions | undefined;
  /** Those of all pipelines, with the catalogs of the lock file for a Kptfile that names none. */
  functions: readonly ListedFunction[];
  /** Whether the command line names a catalog. */
  hasCatalogs: boolean;
}

/** Resolves the functions of a Kptfile. Throws one error for all entries that have to be filled and cannot be. */
export async function planPackage(io: Io, layer: Layer, context: PlanContext): Promise<PackagePlan> {
  const name = path.relative(context.root, layer.file).split(path.sep).join('/');
  const bytes = await readFileUpTo(io, layer.file);
  if (bytes.byteLength > DOCUMENT_LIMITS.maxSourceBytes)
    throw new KrmhubError(
      'too-large',
      `cannot read ${name}: more than ${DOCUMENT_LIMITS.maxSourceBytes} bytes`,
    );
  const kptfile = parseKptfile(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), name);
  // Its layer was read from the same file.
  if (!('kptfile' in kptfile)) throw noKptfileError(kptfile);
  const runtimes = new Map<PipelineFunction, FilledRuntime>();
  const entries: EntryPlan[] = [];
  const failures: KrmhubError[] = [];
  for (const entry of kptfile.kptfile.pipeline) {
    const listed = context.functions.find(
      (one) => one.layer === layer.folder && one.field === entry.field && one.entry?.index === entry.index,
    );
    try {
      const { plan, runtime } = await planEntry(io, entry, listed, context);
      // A frozen lock has to have what is left, too.
      if (plan.outcome === 'left' && listed?.written?.type === 'container') {
        pinnedDigest(listed.written.image, context.lock);
      }
      if (runtime !== undefined) runtimes.set(entry, runtime);
      entries.push(plan);
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
      failures.push(inEntry(name, kptfile, entry, error));
    }
  }
  if (failures.length > 0) throw combined(failures);
  return {
    file: layer.file,
    name,
    text: kptfile.text,
    after: editKptfile(kptfile.text, name, runtimes),
    entries,
  };
}

async function planEntry(
  io: Io,
  entry: PipelineFunction,
  listed: ListedFunction | undefined,
  context: PlanContext,
): Promise<{ plan: EntryPlan; runtime?: FilledRuntime }> {
  const written = entry.image ?? entry.exec;
  const name = `pipeline.${entry.field}[${entry.index}]`;
  if (entry.configPath === undefined || listed === undefined) {
    if (written === undefined) {
      throw new KrmhubError('invalid-document', 'it has no image and no configPath', {
        hint: 'Set configPath to the file of a functionConfig, or set an image.',
      });
    }
    const reason = 'it has no configPath, so its kind is unknown';
    return { plan: { entry: name, outcome: 'left', ...runtimeFields(entry), reason, warnings: [] } };
  }
  const { apiVersion, kind, catalogs, inline, range } = listed.request;
  // The field `runtime` of KEP-2906 comes before all catalogs.
  if (inline !== undefined) return planInline(entry, name, { apiVersion, kind, inline });
  if (catalogs.length === 0 && !context.hasCatalogs) {
    const reason = 'its Kptfile has no catalog';
    if (written === undefined) {
      throw new KrmhubError('not-found', `cannot find ${apiVersion} ${kind}: ${reason}`, {
        hint: 'Add the annotation krmhub.dev/catalogs to the Kptfile, or use --catalog URL.',
      });
    }
    const plan = { entry: name, apiVersion, kind, outcome: 'left' as const, ...runtimeFields(entry), reason };
    return { plan: { ...plan, warnings: [] } };
  }
  let resolution: Resolution;
  try {
    resolution = await context.resolver.resolve({ apiVersion, kind, catalogs, ...defined({ range }) });
  } catch (error) {
    if (written === undefined || !isUnresolved(error)) throw error;
    const plan = { entry: name, apiVersion, kind, outcome: 'left' as const, ...runtimeFields(entry) };
    return { plan: { ...plan, reason: `no catalog has ${apiVersion} ${kind}`, warnings: [] } };
  }
  const unchecked = (await checkListed(io, listed, resolution)) ?? [];
  const runtime = entryRuntime(resolution);
  const { field, value } = runtime;
  const isUnchanged = hasRuntime(entry, runtime);
  const plan: EntryPlan = {
    entry: name,
    apiVersion,
    kind,
    outcome: isUnchanged ? 'unchanged' : written === undefined ? 'filled' : 'replaced',
    [field]: value,
    ...defined({
      before: isUnchanged || written === undefined ? undefined : written,
      release: resolution.release,
      catalog: resolution.catalog?.reference,
    }),
    warnings: [runtime.warnings, unchecked].flat(),
  };
  return { plan, runtime };
}

/** kpt does not read the runtime that a functionConfig names itself: an image is filled in as it is written there. */
function planInline(
  entry: PipelineFunction,
  name: string,
  { apiVersion, kind, inline }: { apiVersion: string; kind: string; inline: InlineRuntime },
): { plan: EntryPlan; runtime?: FilledRuntime } {
  const written = entry.image ?? entry.exec;
  const plan = { entry: name, apiVersion, kind, warnings: [] };
  if (inline.type !== 'container') {
    const reason = 'its functionConfig has its own runtime';
    if (written !== undefined) return { plan: { ...plan, outcome: 'left', ...runtimeFields(entry), reason } };
    throw new KrmhubError('unsupported', `${reason}, which is not an image`, {
      hint: 'Set `exec` or `image` in the entry of the Kptfile manually.',
    });
  }
  const runtime: FilledRuntime = { field: 'image', value: qualified(inline.image), warnings: [] };
  const isUnchanged = hasRuntime(entry, runtime);
  const outcome = isUnchanged ? 'unchanged' : written === undefined ? 'filled' : 'replaced';
  const before = isUnchanged || written === undefined ? {} : { before: written };
  return { plan: { ...plan, outcome, image: runtime.value, ...before }, runtime };
}

function runtimeFields({ image, exec }: PipelineFunction): Pick<EntryPlan, 'image' | 'exec'> {
  return defined({ image: image || undefined, exec: exec || undefined });
}

function inEntry(
  file: string,
  { locate }: KptfileSource,
  { field, index }: PipelineFunction,
  error: KrmhubError,
): KrmhubError {
  const { code, hint, diagnostics } = error;
  const line = locate(['pipeline', field, index])?.start.line ?? 1;
  const place = `${file}:${line}: pipeline.${field}[${index}]`;
  return new KrmhubError(code, `${place}: ${error.message}`, {
    ...defined({ hint }),
    diagnostics,
    cause: error,
  });
}

/** The first error decides the exit code and the hint; the others follow in its message. */
function combined([first, ...more]: readonly KrmhubError[]): KrmhubError {
  const diagnostics: Diagnostic[] = [first!, ...more].flatMap((error) => error.diagnostics);
  return new KrmhubError(first!.code, [first!, ...more].map(({ message }) => message).join('\n'), {
    ...defined({ hint: first!.hint }),
    diagnostics,
    cause: first,
  });
}
