import type { RunningRegistry } from '../running.js';
import { functionOf } from './upstream-server.js';

/** Milliseconds in which 99 of 100 answers came. */
export interface Latency {
  read: number;
  publish: number;
}

export interface LatencyMeter {
  /** Throws the first answer that was no success. */
  stop(): Promise<Latency>;
}

let releases = 0;

/** Reads a catalog and publishes to the registry, over and over, until it is stopped. */
export function meterLatency(registry: RunningRegistry, catalog: string): LatencyMeter {
  let running = true;
  let failure: unknown;
  const reads: number[] = [];
  const publishes: number[] = [];
  const repeat = async (waits: number[], pause: number, ask: () => Promise<Response>) => {
    while (running) {
      const begin = performance.now();
      try {
        const response = await ask();
        await response.arrayBuffer();
        if (!response.ok) throw new Error(`${response.url} answered ${response.status}`);
      } catch (error) {
        failure ??= error;
      }
      waits.push(performance.now() - begin);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  };
  const done = Promise.all([
    repeat(reads, 20, () => fetch(`${registry.url}/catalogs/${catalog}/catalog.yaml`)),
    repeat(publishes, 50, () => publishOwn(registry)),
  ]);
  return {
    async stop() {
      running = false;
      await done;
      if (failure !== undefined) throw failure;
      return { read: p99(reads), publish: p99(publishes) };
    },
  };
}

/** Another release of a function of this registry. */
export function publishOwn({ url, token }: RunningRegistry): Promise<Response> {
  const release = `1.0.${releases++}`;
  const spec = functionOf('own.example.com', 'Own', `The release ${release}`);
  const definition = { apiVersion: 'config.kubernetes.io/v1alpha1', kind: 'KRMFunctionDefinition', spec };
  return fetch(`${url}/api/v1/functions/own.example.com/Own/releases/${release}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/yaml' },
    body: JSON.stringify(definition),
  });
}

function p99(waits: readonly number[]): number {
  return [...waits].sort((a, b) => a - b)[Math.floor(waits.length * 0.99)] ?? 0;
}
