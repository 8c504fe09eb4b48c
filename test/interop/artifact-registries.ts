import path from 'node:path';
import { type RunningRegistry, startRegistry } from '../running.js';
import { type DockerRegistry, hasDockerRegistry, startDockerRegistry } from './docker-registry.js';
import { registryHost, type User } from './oci-tools.js';

/** Where artifacts are signed: our registry, which has referrers, and another one, which has none. */
export const artifactRegistries = (whyNot: string | undefined) => [
  { name: 'our registry', whyNo: whyNot },
  {
    name: 'a registry without referrers',
    whyNo: whyNot ?? (hasDockerRegistry ? undefined : 'docker-registry is not installed'),
  },
];

export interface ArtifactRegistry {
  host: string;
  stop(): Promise<unknown>;
}

/** Starts one of them; a user gets the credentials for ours. */
export async function startArtifactRegistry(
  name: string,
  folder: string,
  user: User,
): Promise<ArtifactRegistry> {
  if (name !== 'our registry') {
    const docker: DockerRegistry = await startDockerRegistry(path.join(folder, 'docker'));
    return { host: docker.host, stop: () => docker.stop() };
  }
  const registry: RunningRegistry = await startRegistry(path.join(folder, 'data'));
  const host = registryHost(registry);
  user.storeCredentials(host, registry.token);
  return { host, stop: () => registry.stop() };
}
