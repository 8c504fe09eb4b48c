import type { Environment } from '../ports.js';

export const DEFAULT_REGISTRY = 'http://localhost:8080';

/** Returns the URL of the registry: `--registry`, else KRMHUB_REGISTRY, else the default. */
export function registryUrl(io: Environment, option: string | undefined): string {
  const configured = io.env.KRMHUB_REGISTRY;
  return option ?? (configured === undefined || configured === '' ? DEFAULT_REGISTRY : configured);
}
