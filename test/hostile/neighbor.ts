import type { RunningRegistry } from '../running.js';
import { Pace } from './pace.js';

const PATHS = ['/healthz', '/catalogs/default/catalog.yaml', '/api/v1/functions?q=labels'];

/** Another client of the registry, that asks all the time, and asks a calm one the same. */
export function startNeighbour(attacked: RunningRegistry, calm: RunningRegistry): Pace {
  const inTurn = ({ url }: RunningRegistry) => {
    let turn = 0;
    return () => fetch(url + PATHS[turn++ % PATHS.length]!);
  };
  return new Pace(inTurn(attacked), inTurn(calm));
}

/** Bytes of memory that the registry's process takes, as its own metrics tell. */
export async function memoryOf({ url }: RunningRegistry): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const value = /^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1];
  if (value === undefined) throw new Error('the metrics tell nothing of memory');
  return Number(value);
}

/** Bytes by which hostile work may make the process grow: garbage that is not collected yet, and no more. */
export const MAX_GROWTH = 800 * 1_048_576;
/** Answers of a calm registry for each of the attacked one: it would be far more if anything hostile held it up. */
export const MAX_WAIT = 40;

export interface Problem {
  status: number;
  code: string;
  detail: string;
}

/** What is wrong with an answer to a hostile request: it is a success that may be, or a problem that says why. */
export async function faultOf(
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
