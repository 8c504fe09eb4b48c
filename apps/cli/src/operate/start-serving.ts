import { preloadWorker } from '@krmhub/registry/preload';
import type { Io } from '../io/io.js';
import type { ServeOptions } from './serve-registry.js';

/** Runs a registry until a signal arrives. */
export async function startServing(io: Io, options: ServeOptions): Promise<void> {
  // The registry is ready when this thread has built its catalogs; both load for as long.
  preloadWorker('snapshot-thread');
  const { serveRegistry } = await import('./serve-registry.js');
  await serveRegistry(io, options);
}
