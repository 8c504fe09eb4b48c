import type { FunctionRuntime } from '@krmhub/schema/definition';
import { pinRuntime } from '../resolve/pin-runtime.js';
import type { PinnedContainer, PinnedExec, PinnedRuntime, PinnedStarlark } from '../resolve/runtimes.js';

export interface RuntimeComparison {
  /** The declared runtime may name another place of the same bytes: catalogs rewrite references to their mirrors. */
  anyPlace?: boolean;
}

/**
 * Returns in what a locked runtime differs from the one that a definition declares; undefined if it follows from that.
 * A lock file can come from a repository of another person, so what it names must not be more than the definition says:
 * the same image or executable, and no more permissions. The digest of a declared tag is the only thing that a lock
 * adds.
 */
export function lockedRuntimeDifference(
  locked: PinnedRuntime,
  declared: FunctionRuntime,
  { anyPlace = false }: RuntimeComparison = {},
): string | undefined {
  const plan = pinRuntime(declared, { runtime: locked.type });
  if (plan.type === 'refused') return plan.reason;
  if (plan.type === 'ask') {
    if (locked.type !== 'container') return 'the type of the runtime differs';
    // The reference has a tag, which the lock resolved.
    const place = plan.reference.slice(0, plan.reference.lastIndexOf(':'));
    const { requireNetwork = false, requireStorageMount = false } = declared.container ?? {};
    const needs = { network: requireNetwork, storage: requireStorageMount };
    return placeOf(locked.image) === place
      ? permissionDifference(locked, needs)
      : `the image is ${locked.image}, expected ${place}`;
  }
  const { runtime } = plan;
  if (locked.type === 'container' && runtime.type === 'container') {
    return containerDifference(locked, runtime, anyPlace);
  }
  if (locked.type === 'exec' && runtime.type === 'exec') return execDifference(locked, runtime, anyPlace);
  if (locked.type === 'starlark' && runtime.type === 'starlark') {
    return starlarkDifference(locked, runtime, anyPlace);
  }
  return 'the type of the runtime differs';
}

function containerDifference(
  locked: PinnedContainer,
  declared: PinnedContainer,
  anyPlace: boolean,
): string | undefined {
  const isSame = anyPlace
    ? digestOf(locked.image) === digestOf(declared.image)
    : locked.image === declared.image;
  if (!isSame) return `the image is ${locked.image}, expected ${declared.image}`;
  return permissionDifference(locked, declared);
}

function permissionDifference(
  locked: PinnedContainer,
  declared: Pick<PinnedContainer, 'network' | 'storage'>,
): string | undefined {
  if (locked.network && !declared.network) return 'it requires network access, but the definition does not';
  return locked.storage && !declared.storage ? 'it requires mounts, but the definition does not' : undefined;
}

function execDifference(locked: PinnedExec, declared: PinnedExec, anyPlace: boolean): string | undefined {
  const platformName = ({ os, arch }: { os: string; arch: string }) => `${os}/${arch}`;
  const names = new Set([...locked.platforms, ...declared.platforms].map(platformName));
  for (const name of names) {
    // Of several for one platform, the first is what runs.
    const now = locked.platforms.find((one) => platformName(one) === name);
    const wanted = declared.platforms.find((one) => platformName(one) === name);
    if (now === undefined) return `the executable for ${name} is missing`;
    if (wanted === undefined) return `the definition has no executable for ${name}`;
    if (now.sha256 !== wanted.sha256) {
      return `the executable for ${name} has the digest ${now.sha256}, expected ${wanted.sha256}`;
    }
    if (now.bin !== wanted.bin) return `the executable for ${name} is ${now.bin}, expected ${wanted.bin}`;
    if (!anyPlace && now.uri !== wanted.uri) {
      return `the executable for ${name} is at ${now.uri}, expected ${wanted.uri}`;
    }
  }
  return undefined;
}

function starlarkDifference(
  locked: PinnedStarlark,
  declared: PinnedStarlark,
  anyPlace: boolean,
): string | undefined {
  if (locked.sha256 !== declared.sha256) {
    return `the script has the digest ${locked.sha256}, expected ${declared.sha256}`;
  }
  if (anyPlace || locked.reference === declared.reference) return undefined;
  return `the script is ${locked.reference}, expected ${declared.reference}`;
}

function placeOf(image: string): string {
  return image.slice(0, image.lastIndexOf('@'));
}

function digestOf(image: string): string {
  return image.slice(image.lastIndexOf('@') + 1);
}
