import type { PinnedContainer, PinnedRuntime } from '@krmhub/catalog';
import { pinnedPrograms } from '@krmhub/catalog/runtimes/runtimes';
import { isPinned, type Resolution } from '@krmhub/consume/resolve/resolution';
import { RUNTIMES } from '@krmhub/schema/definition';
import type { PluginPin } from './plugin-record.js';

/** Returns what an update changes, one line each; empty if what runs and what it needs stay the same. */
export function describeUpdate(pin: PluginPin, resolution: Resolution): string[] {
  const { runtime } = resolution;
  const lines = [
    ...changed('catalog', pin.catalog.reference, resolution.catalog?.reference),
    ...changed('release', pin.release, resolution.release),
    ...(pin.release === resolution.release
      ? changed('definition', pin.definition, resolution.definition)
      : []),
    ...changed('signed by', pin.signedBy ?? 'no trusted signer', resolution.signedBy ?? 'no trusted signer'),
  ];
  if (runtime.type !== pin.runtime.type) return [...lines, `runtime: ${pin.runtime.type} → ${runtime.type}`];
  if (runtime.type === 'container' && 'storage' in runtime) {
    return [...lines, ...containerChanges(pin.runtime as PinnedContainer, runtime)];
  }
  return isPinned(runtime) ? [...lines, ...programChanges(pin.runtime, runtime)] : lines;
}

function containerChanges(before: PinnedContainer, after: PinnedContainer): string[] {
  const access = (name: string, had: boolean, has: boolean) =>
    had === has ? [] : [has ? `now needs ${name}` : `no longer needs ${name}`];
  return [
    ...changed('image', before.image, after.image),
    ...access('network access', before.network, after.network),
    ...access('mounts', before.storage, after.storage),
  ];
}

/** Compares the executables by platform, or the one script. */
function programChanges(before: PinnedRuntime, after: PinnedRuntime): string[] {
  const { noun } = RUNTIMES[after.type];
  const digests = (runtime: PinnedRuntime) =>
    new Map(
      pinnedPrograms(runtime).map(({ platform, sha256 }) => [
        platform === undefined ? noun : `${noun} for ${platform}`,
        sha256,
      ]),
    );
  const [earlier, later] = [digests(before), digests(after)];
  return [...new Set([...earlier.keys(), ...later.keys()])]
    .sort()
    .flatMap((what) => changed(what, earlier.get(what), later.get(what)));
}

function changed(what: string, before: string | undefined, after: string | undefined): string[] {
  return before === after ? [] : [`${what}: ${before ?? 'none'} → ${after ?? 'none'}`];
}
