import type { RunningRegistry } from '../running.js';
import { Pace } from './pace.js';

const PATHS = ['/healthz', '/catalogs/default/catalog.yaml', '/api/v1/functions?q=labels'];

/** Another client that sends the registry requests all the time, and the same ones to a calm registry. */
export function startNeighbor(attacked: RunningRegistry, calm: RunningRegistry): Pace {
  const inTurn = ({ url }: RunningRegistry) => {
    let turn = 0;
    return () => fetch(url + PATHS[turn++ % PATHS.length]!);
  };
  return new Pace(inTurn(attacked), inTurn(calm));
}

/** Bytes of memory of the registry's process, from its own metrics. */
export async function readMemory({ url }: RunningRegistry): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const value = /^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1];
  if (value === undefined) throw new Error('the metrics have no memory');
  return Number(value);
}

/** Bytes that hostile work may add to the process: garbage that is not collected yet, and no more. */
export const MAX_GROWTH = 800 * 1_048_576;
/**
 * Responses of a calm registry per response of the attacked one: a hostile request that blocks it would
 * give far more.
 */
export const MAX_WAIT = 40;

export interface Problem {
  status: number;
  code: string;
  detail: string;
}

/**
 * Returns the problem of a response to a hostile request: it must be an allowed success, or a problem
 * document with the reason.
 */
export async function findFault(
  response: Response,
  allowed: readonly number[] = [],
): Promise<string | undefined> {
  const { status } = response;
  const text = await response.text();
  if (allowed.includes(status)) return undefined;
  if (status < 400 || status >= 500) return `${status}: ${text.slice(0, 200)}`;
  const type = response.headers.get('content-type');
  if (type !== 'application/problem+json') return `${status} as ${type}: ${text.slice(0, 200)}`;
  const problem = JSON.parse(text) as Problem;
  return problem.status === status && problem.detail.length > 0
    ? undefined
    : `${status}: ${text.slice(0, 200)}`;
}
