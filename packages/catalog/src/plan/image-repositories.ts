import type { FunctionDefinition } from '@krmhub/schema';
import { isDigest } from '@krmhub/schema/digests/is-digest';
// Imports single modules, because separate processes load everything that is imported here.
import { parseImageReference } from '@krmhub/schema/image-reference';
import { eachRuntime } from '../runtimes/runtimes.js';
import { runtimePins } from './runtime-pins.js';

/** Maximum number of repositories of one function. Most have one. */
const MAX_REPOSITORIES = 50;

/**
 * Returns what a definition runs from OCI registries: images, and executables and scripts with `oci://`. A digest in a
 * field of its own follows its image.
 */
export function imageReferences({ versions }: FunctionDefinition): string[] {
  const references = versions.flatMap(({ runtime }) =>
    eachRuntime(runtime, (rules, declared, kind) =>
      rules.programs(declared).flatMap(({ reference, beside, inside }) => {
        if (kind !== 'container') return reference.startsWith('oci://') ? reference : [];
        return beside === undefined || inside !== undefined ? reference : `${reference}@sha256:${beside}`;
      }),
    ).flat(),
  );
  return [...new Set(references)];
}

/** Returns the OCI repositories of what a definition runs. Search finds functions by them. */
export function imageRepositories(definition: FunctionDefinition): string[] {
  const repositories = imageReferences(definition).flatMap((reference) => imageRepository(reference) ?? []);
  return [...new Set(repositories)].slice(0, MAX_REPOSITORIES);
}

/**
 * Returns the repositories, the digests, and the tag of what an entry runs: those of a release are in its own records.
 */
export function imageNames(definition: FunctionDefinition): string[] {
  const digests = runtimePins(definition).filter(isDigest).slice(0, MAX_REPOSITORIES);
  const repositories = imageRepositories(definition);
  const tag = imageTag(definition);
  return [...repositories, ...digests, ...(tag === undefined ? [] : [`${repositories[0]}:${tag}`])];
}

/**
 * Returns the tag of the images of a definition: what is known of the release of an upstream function. Undefined if they
 * have several, or none.
 */
export function imageTag(definition: FunctionDefinition): string | undefined {
  const tags = new Set(
    imageReferences(definition).flatMap((text) => {
      const reference = parseImageReference(text);
      return reference.ok && reference.tag !== undefined ? [reference.tag] : [];
    }),
  );
  return tags.size === 1 ? [...tags][0] : undefined;
}

/** Returns the tag in the names of `imageNames`. */
export function tagInNames(names: readonly string[]): string | undefined {
  return names.flatMap((name) => /\/[^/:]+:([^/:]+)$/.exec(name)?.[1] ?? [])[0];
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
