import type { FunctionDefinition } from '@krmhub/schema';
// Imports single modules, because separate processes load everything that is imported here.
import { parseImageReference } from '@krmhub/schema/image-reference';

/** Maximum number of repositories of one function. Most have one. */
const MAX_REPOSITORIES = 50;

/**
 * Returns the OCI repositories of what a definition runs: images, and executables and scripts with `oci://`. Search
 * finds functions by them.
 */
export function imageRepositories({ versions }: Pick<FunctionDefinition, 'versions'>): string[] {
  const references = versions.flatMap(({ runtime: { container, exec, starlark } }) => [
    ...(container === undefined ? [] : [container.image]),
    ...(exec?.platforms ?? []).map(({ uri }) => uri).filter(isOci),
    ...(starlark !== undefined && isOci(starlark) ? [starlark] : []),
  ]);
  const repositories = references.flatMap((reference) => imageRepository(reference) ?? []);
  return [...new Set(repositories)].slice(0, MAX_REPOSITORIES);
}

function isOci(uri: string): boolean {
  return uri.startsWith('oci://');
}

/**
 * Returns the repository of an image reference, without tag and digest. A name without a host is of Docker Hub, as for
 * container engines. Undefined for other texts.
 */
export function imageRepository(text: string): string | undefined {
  const reference = parseImageReference(text.replace(/^(?:oci|docker):\/\//, ''));
  if (!reference.ok) return undefined;
  const { host, repository } = reference;
  if (host !== undefined) return `${host.toLowerCase()}/${repository}`;
  return `docker.io/${repository.includes('/') ? repository : `library/${repository}`}`;
}
