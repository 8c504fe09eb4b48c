import type { PinnedContainer, PinnedExec, PinnedStarlark } from '@krmhub/catalog';
import type { Resolution } from '../../resolve/resolution.js';
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
  if (runtime.type === 'exec' && 'platforms' in runtime) {
    return [...lines, ...execChanges(pin.runtime as PinnedExec, runtime)];
  }
  if (runtime.type === 'starlark' && 'reference' in runtime) {
    return [...lines, ...changed('script', (pin.runtime as PinnedStarlark).sha256, runtime.sha256)];
  }
  return lines;
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

function execChanges(before: PinnedExec, after: PinnedExec): string[] {
  const digests = ({ platforms }: PinnedExec) =>
    new Map(platforms.map(({ os, arch, sha256 }) => [`${os}/${arch}`, sha256]));
  const [earlier, later] = [digests(before), digests(after)];
  return [...new Set([...earlier.keys(), ...later.keys()])]
    .sort()
    .flatMap((platform) => changed(`executable for ${platform}`, earlier.get(platform), later.get(platform)));
}

function changed(what: string, before: string | undefined, after: string | undefined): string[] {
  return before === after ? [] : [`${what}: ${before ?? 'none'} → ${after ?? 'none'}`];
}
