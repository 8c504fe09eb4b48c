import { KrmhubError } from '@krmhub/schema/error';
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
import type { Resolution, Resolver } from '../resolve/resolution.js';
import { isUnresolved } from '../resolve/resolve-errors.js';
import { checkListed } from './config-check.js';

/** A functionConfig, and what runs for it or why nothing does. */
export type ResolvedFunction =
  | { listed: ListedFunction; resolution: Resolution; error?: undefined }
  | { listed: ListedFunction; error: KrmhubError; resolution?: undefined };

/**
 * Resolves functions, and goes on where one cannot be resolved. Left out are candidates that no catalog has. An entry
 * of a Kptfile that no catalog has is what the Kptfile says.
 */
export async function resolveFunctions(
  resolver: Pick<Resolver, 'resolve'>,
  functions: readonly ListedFunction[],
): Promise<ResolvedFunction[]> {
  const resolved: ResolvedFunction[] = [];
  for (const listed of functions) {
    const { request, written } = listed;
    try {
      const resolution = await resolver.resolve(request);
      resolved.push({ listed, resolution });
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
      const { apiVersion, kind } = request;
      if (isUnresolved(error) && listed.isCandidate === true) continue;
      if (isUnresolved(error) && written !== undefined) {
        const name = { apiVersion, kind, searched: [], warnings: [] };
        resolved.push({ listed, resolution: { ...name, runtime: written, inline: true } });
      } else resolved.push({ listed, error });
    }
  }
  return resolved;
}

/** Turns functions into errors whose functionConfig does not satisfy its schema. */
export async function checkConfigs(
  io: Io,
  resolved: readonly ResolvedFunction[],
): Promise<ResolvedFunction[]> {
  return Promise.all(
    resolved.map(async (one) => {
      if (one.error !== undefined) return one;
      try {
        await checkListed(io, one.listed, one.resolution);
        return one;
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
