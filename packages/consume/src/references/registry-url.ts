import type { Environment } from '../ports.js';

export const DEFAULT_REGISTRY = 'http://localhost:8080';

/** Returns the URL of the registry: `--registry`, else KRMHUB_REGISTRY, else that of the user, else the default. */
export function registryUrl(io: Environment, option: string | undefined): string {
  return option ?? configuredRegistry(io) ?? io.defaultRegistry?.() ?? DEFAULT_REGISTRY;
}

/** Returns KRMHUB_REGISTRY, if it is set. */
export function configuredRegistry({ env }: Environment): string | undefined {
  return env.KRMHUB_REGISTRY === '' ? undefined : env.KRMHUB_REGISTRY;
}
