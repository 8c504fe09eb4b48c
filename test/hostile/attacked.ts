import path from 'node:path';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { fixtures, krmhub, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { MAX_GROWTH, MAX_WAIT, readMemory, startNeighbor } from './neighbor.js';
import type { Pace } from './pace.js';

/** A registry under attack by the tests of a file, with another client that uses it meanwhile. */
export interface Attacked {
  /** A folder for files of the attack. */
  readonly folder: string;
  readonly registry: RunningRegistry;
  readonly neighbor: Pace;
  /** Other clients did not wait, and memory is bounded. */
  expectUnharmed(): Promise<void>;
}

/** No rate limits: a refusal for too many requests would hide how the registry handles the content. */
const SETTINGS = { KRMHUB_REQUESTS_PER_MINUTE: '0', KRMHUB_WRITES_PER_MINUTE: '0' };

/** Starts the registry with one function before the tests of a file; afterwards it must be unharmed. */
export function attackRegistry(): Attacked {
  const { folder, remove } = temporaryFolder();
  let registry: RunningRegistry;
  let neighbor: Pace;
  let calm: RunningRegistry;
  let memory: number;
  const attacked: Attacked = {
    folder,
    get registry() {
      return registry;
    },
    get neighbor() {
      return neighbor;
    },
    async expectUnharmed() {
      expect(neighbor.waitQuantile(0.95)).toBeLessThan(MAX_WAIT);
      expect((await readMemory(registry)) - memory).toBeLessThan(MAX_GROWTH);
    },
  };
  beforeAll(async () => {
    // Garbage that is not collected would count as growth, up to the memory of the machine.
    vi.stubEnv('NODE_OPTIONS', '--max-old-space-size=400');
    registry = await startRegistry(path.join(folder, 'data'), SETTINGS);
    vi.unstubAllEnvs();
    calm = await startRegistry(path.join(folder, 'calm'), SETTINGS);
    const publish = ['publish', path.join(fixtures, 'functions/set-labels/2.0.0.yaml')];
    expect(await krmhub(publish, { env: registry.env })).toMatchObject({ code: 0 });
    memory = await readMemory(registry);
    neighbor = startNeighbor(registry, calm);
  });
  afterAll(async () => {
    try {
      await neighbor.stop();
      await attacked.expectUnharmed();
    } finally {
      const ended = await registry.stop();
      await calm.stop();
      remove();
      expect(ended).toBe(0);
    }
  });
  return attacked;
}
