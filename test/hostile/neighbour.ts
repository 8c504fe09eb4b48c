import type { RunningRegistry } from '../running.js';

/** Another client of the registry, that asks every few milliseconds and remembers how long it waited. */
export interface Neighbour {
  /** Milliseconds in which 95 of 100 answers came; throws the first answer that was not 200. */
  wait(): number;
  /** How many answers there were. */
  answers(): number;
  stop(): Promise<void>;
}

const PATHS = ['/healthz', '/catalogs/default/catalog.yaml', '/api/v1/functions?q=labels'];

export function startNeighbour({ url }: RunningRegistry): Neighbour {
  const waits: number[] = [];
  let failure: unknown;
  let running = true;
  const ask = async () => {
    for (let turn = 0; running; turn++) {
      const begin = performance.now();
      try {
        const response = await fetch(url + PATHS[turn % PATHS.length]!);
        await response.arrayBuffer();
        if (response.status !== 200) throw new Error(`${response.url} answered ${response.status}`);
      } catch (error) {
        failure ??= error;
      }
      waits.push(performance.now() - begin);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const asking = ask();
  return {
    wait: () => {
      if (failure !== undefined) throw failure;
      return [...waits].sort((a, b) => a - b)[Math.floor(waits.length * 0.95)] ?? 0;
    },
    answers: () => waits.length,
    stop: () => {
      running = false;
      return asking;
    },
  };
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
/** Milliseconds for `wait`: alone it is a few, and it would be seconds if anything hostile held everybody up. */
export const MAX_WAIT = 1_000;

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
