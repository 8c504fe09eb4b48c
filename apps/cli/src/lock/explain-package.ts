import type { LockedFunctions, PinnedRuntime } from '@krmhub/catalog';
import { openResolver } from '@krmhub/consume/resolve/open-resolver';
import type { ResolvedInline, ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { findTakedown, knownRegistries, takenDown, withTakedowns } from '@krmhub/consume/trust/takedowns';
import type { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { type Diagnostic, hasErrors } from '@krmhub/schema/diagnostic';
import { withoutPasswords } from '@krmhub/schema/hide-passwords';
import { shellWord } from '@krmhub/schema/text';
import { entryRuntime } from '../function-configs/entry-runtime.js';
import { pinnedCode } from '../function-configs/exec-line.js';
import type { ListedFunction } from '../function-configs/layers.js';
import { openRemoteBases } from '../function-configs/open-remote-bases.js';
import { inspectLayers } from '../function-configs/read-layers.js';
import { EXIT_CODE, isUnanswered, NOT_ALLOWED, NOT_FOUND, NOT_TRUSTED } from '../io/exit-code.js';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData } from '../io/print.js';
import { consumePorts } from '../registry/consume-ports.js';
import { displayListed, displayPath } from './display-path.js';
import type { ExplainedUpdate, Explanation } from './explanation.js';
import { lockCommand, packageFolder } from './lock-file.js';
import { openLock, packageSettings } from './open-lock.js';
import { checkConfigs, type ResolvedFunction, resolveFunctions, worstExitCode } from './resolve-functions.js';
import { packageFunctions, searchOrder } from './search-order.js';

export interface ExplainOptions extends ResolverOptions {
  output: OutputFormat;
  all: boolean;
  frozen: boolean;
  lockFile?: string;
  imagePrefix?: string;
  /** Asks what registries say of the functions now; not offline. */
  explainUpdates: (
    io: Io,
    resolved: readonly ResolvedFunction[],
    options: ResolverOptions,
  ) => Promise<ExplainedUpdate[]>;
}

/**
 * Prints what runs for each functionConfig of a package, and why, or why nothing does. Runs nothing. The exit code is
 * that of the worst finding.
 */
export async function explainPackage(io: Io, target: string, options: ExplainOptions): Promise<void> {
  const { frozen, lockFile, output, all, imagePrefix } = options;
  const named = { folder: target, lock: lockFile, imagePrefix };
  const command = lockCommand(io, named);
  const lock = await openLock(io, { ...named, frozen });
  const bases = await openRemoteBases(io, { offline: options.offline || frozen });
  try {
    const { layer, diagnostics } = await inspectLayers(io, target, {
      fetchRemote: bases.fetch,
      all,
      withKptfile: true,
      ...defined({ imagePrefix }),
    });
    const functions = layer === undefined ? [] : packageFunctions(layer, lock);
    const resolving = { ...options, ...(await packageSettings(io, await packageFolder(io, target))) };
    const resolved = await resolveAll(io, functions, lock, resolving);
    const updates = options.offline || frozen ? [] : await options.explainUpdates(io, resolved, resolving);
    const explanations = await Promise.all(
      resolved.map(async (one, at) => ({ ...(await explain(io, one, options, command)), ...updates[at] })),
    );
    const problems = diagnostics.map(withoutPasswords);
    const data = { path: displayPath(io, target), functions: explanations, problems };
    await printData(io, output, data, async () => {
      const { printExplanations } = await import('./print-explanations.js');
      await printExplanations(io, explanations, problems);
    });
    io.exitCode = exitCode(resolved, problems);
  } finally {
    await bases.close();
  }
}

async function resolveAll(
  io: Io,
  functions: readonly ListedFunction[],
  lock: LockedFunctions | undefined,
  options: ResolverOptions,
): Promise<ResolvedFunction[]> {
  const resolver = await openResolver(consumePorts(io), { ...options, ...defined({ lock }) });
  try {
    const resolved = await checkConfigs(io, await resolveFunctions(resolver, functions));
    return options.offline || lock?.frozen === true ? resolved : await checkTakedowns(io, resolved, options);
  } finally {
    await resolver.close();
  }
}

/** Turns functions into errors for which a Kptfile names what was taken down, and no catalog has it any more. */
function checkTakedowns(
  io: Io,
  resolved: readonly ResolvedFunction[],
  options: ResolverOptions,
): Promise<ResolvedFunction[]> {
  return withTakedowns(consumePorts(io), async (cache) => {
    const checked: ResolvedFunction[] = [];
    for (const one of resolved) {
      const { request, written } = one.listed;
      const isFrom = one.resolution?.inline === false;
      const text = written?.type === 'container' ? written.image : written?.path;
      let error: KrmhubError | undefined;
      const codes = isFrom ? [] : pinnedCode(text);
      const registries = await knownRegistries(
        io,
        [options.official ?? [], options.catalogs, request.catalogs.map((named) => named.text)].flat(),
      );
      const reason = await findTakedown(consumePorts(io), cache, codes, registries);
      if (reason !== undefined) error = takenDown(`${request.apiVersion} ${request.kind}`, codes, reason);
      checked.push(error === undefined ? one : { listed: one.listed, error });
    }
    return checked;
  });
}

function exitCode(resolved: readonly ResolvedFunction[], diagnostics: readonly Diagnostic[]): number {
  return worstExitCode(
    resolved.flatMap(({ listed, error }) => {
      const runs = listed.written ?? listed.request.inline;
      return error === undefined || (runs !== undefined && isUnknownDigest(error)) ? [] : error;
    }),
    hasErrors(diagnostics),
  );
}

async function explain(
  io: Io,
  resolved: ResolvedFunction,
  options: ExplainOptions,
  command: string,
): Promise<Explanation> {
  const { listed, resolution, error } = resolved;
  const { unchecked = [] } = error === undefined ? resolved : {};
  const { request, written, name, line, column, field } = listed;
  const { file, layer } = displayListed(io, listed);
  const where = {
    apiVersion: request.apiVersion,
    kind: request.kind,
    ...defined({ name }),
    file,
    line,
    column,
    field,
    layer,
  };
  const own = written ?? request.inline;
  if (error !== undefined && own !== undefined && isUnknownDigest(error)) {
    return {
      ...where,
      state: 'inline',
      reason: inlineReason(listed),
      searched: [],
      runtime: own,
      isLocked: false,
      warnings: [unknownDigest(own, error), ...catalogWarnings(resolved, own, syncCommand(io, listed))],
    };
  }
  if (error !== undefined) {
    const { hint } = error;
    return {
      ...where,
      state: errorState(error),
      reason: error.message,
      ...defined({ hint }),
      searched: [],
      isLocked: false,
      warnings: [],
    };
  }
  const { catalog, searched, release, definition, signedBy, runtime, inline, entry } = resolution;
  return {
    ...where,
    state: inline ? 'inline' : 'resolved',
    reason: inline ? `${inlineReason(listed)}${pinReason(runtime)}` : resolvedReason(io, resolved, options),
    ...defined({ catalog }),
    searched,
    ...defined({ release, definition, signedBy }),
    runtime,
    isLocked: inline ? 'digestFrom' in runtime && runtime.digestFrom === 'lock' : entry === undefined,
    warnings: [resolution.warnings, unchecked, inline ? inlineWarnings(io, resolved, command) : []].flat(),
  };
}

function errorState(error: KrmhubError): Explanation['state'] {
  const exit = EXIT_CODE[error.code];
  if (exit === NOT_FOUND) return 'not-found';
  if (exit === NOT_TRUSTED) return 'not-trusted';
  return isUnanswered(error) ? 'unreachable' : 'invalid';
}

/** What runs is known, but not its digest: its registry was not reached, or it wants other credentials. */
function isUnknownDigest(error: KrmhubError): boolean {
  return isUnanswered(error) || EXIT_CODE[error.code] === NOT_ALLOWED;
}

function unknownDigest(runtime: ListedFunction['written'], { message }: KrmhubError): string {
  const image = runtime?.type === 'container' ? runtime.image : '';
  return `the image ${image} is not pinned by digest, and its digest is unknown: ${message}`;
}

function inlineReason({ written, request }: ListedFunction): string {
  if (written !== undefined) return 'it is from the Kptfile';
  const place = request.inline === undefined ? 'the Kptfile' : 'the functionConfig';
  return `it is from ${place}, so no catalog was searched`;
}

function pinReason(runtime: ResolvedInline | PinnedRuntime): string {
  if (!('digestFrom' in runtime) || runtime.digestFrom !== 'lock') return '';
  return runtime.tag === undefined
    ? '; its digest is locked'
    : `; its tag ${runtime.tag} is locked by digest`;
}

function resolvedReason(
  io: Io,
  { listed, resolution }: Extract<ResolvedFunction, { error?: undefined }>,
  options: ExplainOptions,
): string {
  const { catalog, searched, entry, chosen } = resolution;
  const order = searchOrder(io, options, listed.request);
  const at = order[searched.length]?.at;
  const named = at === undefined ? '' : `, from ${at.file}:${at.line}:${at.column}`;
  const place = order.length === 1 ? 'the only catalog' : `catalog ${searched.length + 1} of ${order.length}`;
  const locked = entry === undefined ? 'locked; ' : '';
  const range = chosen?.range === undefined ? '' : `newest release in ${chosen.range}; `;
  return `${locked}${range}${place}${named}; trusted by ${catalog?.trustedBy ?? 'nothing'}`;
}

function syncCommand(io: Io, { layer }: ListedFunction): string {
  return `krmhub kpt sync ${shellWord(displayPath(io, layer))}`;
}

/** What is not pinned, and what catalogs have for the same functionConfig or the same repository. */
function inlineWarnings(io: Io, resolved: Resolved, command: string): string[] {
  const { listed, resolution } = resolved;
  const { runtime } = resolution;
  const warnings: string[] = [];
  const sync = syncCommand(io, listed);
  if (runtime.type === 'container' && 'digestFrom' in runtime && runtime.digestFrom === 'registry') {
    const tag = runtime.tag === undefined ? '' : `${runtime.tag} as `;
    const now = `its registry has ${tag}${runtime.digest} now`;
    warnings.push(`the image ${runtime.image} is not pinned by digest; ${now}; lock it with \`${command}\``);
  }
  warnings.push(...catalogWarnings(resolved, runtime, sync));
  const own = listed.request.inline;
  if (listed.written !== undefined && own?.type === 'container' && own.image !== containerImage(runtime)) {
    warnings.push(`the functionConfig names ${own.image}; update the Kptfile with \`${sync}\``);
  }
  return warnings;
}

/** What catalogs have for the functionConfig or the image. */
function catalogWarnings(
  { offer, match, warning }: ResolvedFunction,
  runtime: ResolvedInline | PinnedRuntime,
  sync: string,
): string[] {
  const warnings = warning === undefined ? [] : [warning];
  if (offer !== undefined) {
    const { value } = entryRuntime(offer);
    const what = `catalog ${offer.catalog?.reference} has ${offer.kind} as ${value}`;
    warnings.push(`${what}; to run that, update the Kptfile with \`${sync}\``);
  }
  if (match !== undefined) {
    const digest = 'digest' in runtime ? runtime.digest : undefined;
    const isSame = digest !== undefined && match.image.endsWith(digest);
    const what = `${match.apiVersion} ${match.kind} of catalog ${match.catalog}`;
    warnings.push(
      isSame ? `the image is ${what}` : `${what} has another image of this repository: ${match.image}`,
    );
  }
  return warnings;
}

type Resolved = Extract<ResolvedFunction, { error?: undefined }>;

function containerImage(runtime: ResolvedInline | PinnedRuntime): string | undefined {
  return runtime.type === 'container' ? runtime.image : undefined;
}
