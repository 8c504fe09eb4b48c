import path from 'node:path';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { fixtures, krmhub, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { MAX_GROWTH, MAX_WAIT, memoryOf, startNeighbour } from './neighbor.js';
import type { Pace } from './pace.js';

/** A registry that the tests of a file attack, with a neighbour that uses it meanwhile. */
export interface Attacked {
  /** A folder of theirs. */
  readonly folder: string;
  readonly registry: RunningRegistry;
  readonly neighbour: Pace;
  /** Nobody else has waited, and memory is bounded. */
  expectUnharmed(): Promise<void>;
}

/** Nothing that it answers is refused for coming too soon: that would hide what the registry makes of it. */
const SETTINGS = { KRMHUB_REQUESTS_PER_MINUTE: '0', KRMHUB_WRITES_PER_MINUTE: '0' };

/** Starts the registry before the tests of a file, with one function in it; behind them it has to be unharmed still. */
export function attackRegistry(): Attacked {
  const { folder, remove } = temporaryFolder();
  let registry: RunningRegistry;
  let neighbour: Pace;
  let calm: RunningRegistry;
  let memory: number;
  const attacked: Attacked = {
    folder,
    get registry() {
      return registry;
    },
    get neighbour() {
      return neighbour;
    },
    async expectUnharmed() {
      expect(neighbour.waitOf(0.95)).toBeLessThan(MAX_WAIT);
      expect((await memoryOf(registry)) - memory).toBeLessThan(MAX_GROWTH);
    },
  };
  beforeAll(async () => {
    // What is not collected in time would otherwise count as growth, up to the size of the machine.
    vi.stubEnv('NODE_OPTIONS', '--max-old-space-size=400');
    registry = await startRegistry(path.join(folder, 'data'), SETTINGS);
    vi.unstubAllEnvs();
    calm = await startRegistry(path.join(folder, 'calm'), SETTINGS);
    const publish = ['publish', path.join(fixtures, 'functions/set-labels/2.0.0.yaml')];
    expect(await krmhub(publish, { env: registry.env })).toMatchObject({ code: 0 });
    memory = await memoryOf(registry);
    neighbour = startNeighbour(registry, calm);
  });
  afterAll(async () => {
    try {
      await neighbour.stop();
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
