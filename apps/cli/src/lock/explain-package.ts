import type { LockedFunctions, PinnedRuntime } from '@krmhub/catalog';
import type { InlineRuntime } from '@krmhub/functions/plan/declared-runtime';
import type { KrmhubError } from '@krmhub/schema';
import { type Diagnostic, hasErrors } from '@krmhub/schema/diagnostic';
import type { ListedFunction } from '../function-configs/layers.js';
import { openRemoteBases } from '../function-configs/open-remote-bases.js';
import { inspectLayers } from '../function-configs/read-layers.js';
import { EXIT_CODE, isUnanswered, NOT_FOUND, NOT_TRUSTED } from '../io/exit-code.js';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData } from '../io/print.js';
import { openResolver } from '../resolve/open-resolver.js';
import type { ResolverOptions } from '../resolve/resolution.js';
import type { Explanation } from './explanation.js';
import { openLock } from './open-lock.js';
import { checkConfigs, type ResolvedFunction, resolveFunctions, worstExitCode } from './resolve-functions.js';
import { packageFunctions, searchOrder } from './search-order.js';

export interface ExplainOptions extends ResolverOptions {
  output: OutputFormat;
  all: boolean;
  frozen: boolean;
  lockFile?: string;
}

/**
 * Prints what runs for each functionConfig of a package, and why, or why nothing does. Runs nothing. The exit code is
 * that of the worst finding.
 */
export async function explainPackage(io: Io, target: string, options: ExplainOptions): Promise<void> {
  const { frozen, lockFile, output, all } = options;
  const lock = await openLock(io, { folder: target, lock: lockFile, frozen });
  const bases = await openRemoteBases(io, { offline: options.offline || frozen });
  try {
    const { layer, diagnostics } = await inspectLayers(io, target, { fetchRemote: bases.fetch, all });
    const functions = layer === undefined ? [] : packageFunctions(layer, lock);
    const resolved = await resolveAll(io, functions, lock, options);
    const explanations = await Promise.all(resolved.map((one) => explain(io, one, options)));
    const { displayPath } = await import('./display-path.js');
    const data = { path: displayPath(io, target), functions: explanations, problems: diagnostics };
    await printData(io, output, data, async () => {
      const { printExplanations } = await import('./print-explanations.js');
      await printExplanations(io, explanations, diagnostics);
    });
    io.exitCode = exitCode(resolved, diagnostics);
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
  const resolver = await openResolver(io, { ...options, ...(lock === undefined ? {} : { lock }) });
  try {
    return await checkConfigs(io, await resolveFunctions(resolver, functions));
  } finally {
    await resolver.close();
  }
}

function exitCode(resolved: readonly ResolvedFunction[], diagnostics: readonly Diagnostic[]): number {
  return worstExitCode(
    resolved.flatMap(({ error }) => error ?? []),
    hasErrors(diagnostics),
  );
}

async function explain(io: Io, resolved: ResolvedFunction, options: ExplainOptions): Promise<Explanation> {
  const { displayPath } = await import('./display-path.js');
  const { listed, resolution, error } = resolved;
  const { request, name, line, column, field } = listed;
  const where = {
    apiVersion: request.apiVersion,
    kind: request.kind,
    ...(name === undefined ? {} : { name }),
    file: displayPath(io, listed.file),
    line,
    column,
    field,
    layer: displayPath(io, listed.layer),
  };
  if (error !== undefined) {
    const { hint } = error;
    return {
      ...where,
      state: errorState(error),
      reason: error.message,
      ...(hint === undefined ? {} : { hint }),
      searched: [],
      isLocked: false,
      warnings: [],
    };
  }
  const { catalog, searched, release, definition, signedBy, runtime, inline, entry } = resolution;
  return {
    ...where,
    state: inline ? 'inline' : 'resolved',
    reason: inline ? inlineReason(listed) : resolvedReason(io, resolved, options),
    ...(catalog === undefined ? {} : { catalog }),
    searched,
    ...(release === undefined ? {} : { release }),
    ...(definition === undefined ? {} : { definition }),
    ...(signedBy === undefined ? {} : { signedBy }),
    runtime,
    isLocked: !inline && entry === undefined,
    warnings: [...resolution.warnings, ...runtimeWarnings(listed, runtime)],
  };
}

function errorState(error: KrmhubError): Explanation['state'] {
  const exit = EXIT_CODE[error.code];
  if (exit === NOT_FOUND) return 'not-found';
  if (exit === NOT_TRUSTED) return 'not-trusted';
  return isUnanswered(error) ? 'unreachable' : 'invalid';
}

function inlineReason({ request, written, isCandidate }: ListedFunction): string {
  if (written !== undefined && isCandidate !== true) {
    return request.inline === undefined
      ? 'no catalog contains it; the image is from the Kptfile'
      : 'it is from the Kptfile; no catalog was searched, because it has no functionConfig of its own kind';
  }
  return 'it is from the functionConfig, so no catalog was searched';
}

function resolvedReason(
  io: Io,
  { listed, resolution }: Extract<ResolvedFunction, { error?: undefined }>,
  options: ExplainOptions,
): string {
  const { catalog, searched, entry } = resolution;
  const order = searchOrder(io, options, listed.request);
  const at = order[searched.length]?.at;
  const named = at === undefined ? '' : `, from ${at.file}:${at.line}:${at.column}`;
  const place = order.length === 1 ? 'the only catalog' : `catalog ${searched.length + 1} of ${order.length}`;
  const locked = entry === undefined ? 'locked; ' : '';
  return `${locked}${place}${named}; trusted by ${catalog?.trustedBy ?? 'nothing'}`;
}

function runtimeWarnings({ written }: ListedFunction, runtime: PinnedRuntime | InlineRuntime): string[] {
  const warnings: string[] = [];
  if (runtime.type === 'container' && !runtime.image.includes('@sha256:')) {
    warnings.push(`the image ${runtime.image} is not pinned by digest`);
  }
  const now = written?.type === 'container' ? written.image : undefined;
  if (now !== undefined && runtime.type === 'container' && runtime.image !== now) {
    warnings.push(`the Kptfile runs ${now}; update it with \`krmhub kpt sync\``);
  }
  return warnings;
}
