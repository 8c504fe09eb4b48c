import type { LockedFunction } from '@krmhub/catalog';
import type { ImageMatch, Resolution, Resolver } from '@krmhub/consume/resolve/resolution';
import { isUnresolved } from '@krmhub/consume/resolve/resolve-errors';
import { KrmhubError } from '@krmhub/schema/error';
import { compareWritten } from '../function-configs/entry-runtime.js';
import type { ListedFunction } from '../function-configs/layers.js';
import {
  EXIT_CODE,
  FAILED,
  FINDINGS,
  NOT_ALLOWED,
  NOT_FOUND,
  NOT_TRUSTED,
  SUCCESS,
} from '../io/exit-code.js';
import type { Io } from '../io/io.js';
import { checkListed } from './config-check.js';

/** A functionConfig, and what runs for it or why nothing does. */
export type ResolvedFunction =
  | ({
      listed: ListedFunction;
      resolution: Resolution;
      /** Why its functionConfig is not checked. */
      unchecked?: string;
      error?: undefined;
    } & CatalogFindings)
  | ({
      listed: ListedFunction;
      error: KrmhubError;
      resolution?: undefined;
      /** Its functionConfig is wrong for the release of an upgrade, and not for the locked one, as far as that is known. */
      upgrade?: { locked: LockedFunction; release: string };
    } & CatalogFindings);

/** What catalogs have, if a package names itself what runs. */
interface CatalogFindings {
  /** For its functionConfig. */
  offer?: Resolution;
  /** An entry with an image of the same repository. */
  match?: ImageMatch;
  /** Why the catalogs were not searched. */
  warning?: string;
}

/**
 * Resolves functions, and goes on where one cannot be resolved. Left out are candidates that no catalog has. A step of a
 * Kptfile that names an image or a program runs that, as in kpt: it is the function of a catalog only if it is the same.
 */
export async function resolveFunctions(
  resolver: Resolver,
  functions: readonly ListedFunction[],
): Promise<ResolvedFunction[]> {
  const resolved: ResolvedFunction[] = [];
  for (const listed of functions) {
    try {
      resolved.push(await resolveOne(resolver, listed));
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
      if (isUnresolved(error) && listed.isCandidate === true) continue;
      resolved.push({ listed, error });
    }
  }
  return resolved;
}

async function resolveOne(resolver: Resolver, listed: ListedFunction): Promise<ResolvedFunction> {
  const { request, written } = listed;
  if (written === undefined && request.inline === undefined) {
    return { listed, resolution: await resolver.resolve(request) };
  }
  const runs = written ?? request.inline!;
  const found = request.inline === undefined ? await findOffer(resolver, request) : {};
  const { offer } = found;
  const { catalogs } = request;
  if (offer !== undefined && compareWritten(runs, offer) === 'same') return { listed, resolution: offer };
  let result: ResolvedFunction;
  try {
    result = { listed, resolution: await resolver.resolve({ ...request, inline: runs }), ...found };
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    result = { listed, error, ...found };
  }
  const runtime: Resolution['runtime'] = result.resolution?.runtime ?? runs;
  if (offer !== undefined || runtime.type !== 'container') return result;
  const digest = 'digest' in runtime ? runtime.digest : undefined;
  const match = await resolver.matchImage(runtime.image, digest, catalogs);
  return match === undefined ? result : { ...result, match };
}

/** What runs does not depend on the catalogs, so a catalog that cannot be used is only a warning. */
async function findOffer(resolver: Resolver, request: ListedFunction['request']): Promise<CatalogFindings> {
  try {
    return { offer: await resolver.resolve(request) };
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    // Not in a catalog, or not in a frozen lock.
    if (error.code === 'not-found') return {};
    return { warning: `the catalogs were not searched for ${request.kind}: ${error.message}` };
  }
}

/** Turns functions into errors whose functionConfig does not satisfy its schema, and marks those that are not checked. */
export async function checkConfigs(
  io: Io,
  resolved: readonly ResolvedFunction[],
): Promise<ResolvedFunction[]> {
  return Promise.all(
    resolved.map(async (one) => {
      if (one.error !== undefined) return one;
      try {
        const unchecked = await checkListed(io, one.listed, one.resolution);
        return unchecked === undefined ? one : { ...one, unchecked };
      } catch (error) {
        if (error instanceof KrmhubError) return { listed: one.listed, error };
        throw error;
      }
    }),
  );
}

/** From the worst: trying again helps only where nothing else is wrong. */
const WORST_FIRST = [NOT_TRUSTED, NOT_FOUND, FINDINGS, NOT_ALLOWED, FAILED];

/** The exit code of a run that goes on after errors: that of the worst one. */
export function worstExitCode(errors: readonly KrmhubError[], hasProblems: boolean): number {
  const codes: number[] = errors.map(({ code }) => EXIT_CODE[code]);
  const found = new Set([...codes, ...(hasProblems ? [FINDINGS] : [])]);
  return WORST_FIRST.find((code) => found.has(code)) ?? (found.size === 0 ? SUCCESS : FINDINGS);
}
