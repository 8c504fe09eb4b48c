import { arch, platform as system } from 'node:os';
import type { PinnedPlatform } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema/error';

/** OCI and Go names by the names of Node. */
const ARCHITECTURES: Record<string, string> = { x64: 'amd64', ia32: '386' };
const SYSTEMS: Record<string, string> = { win32: 'windows' };

/** Returns the platform of this machine, for example `linux/amd64`. */
export function hostPlatform(): string {
  const [os, architecture] = [system(), arch()];
  return `${SYSTEMS[os] ?? os}/${ARCHITECTURES[architecture] ?? architecture}`;
}

/** Returns the executable for a platform. Throws `unsupported`, which names the platforms that there are. */
export function executableFor(
  name: string,
  platforms: readonly PinnedPlatform[],
  platform: string = hostPlatform(),
): PinnedPlatform {
  const found = platforms.find(({ os, arch }) => `${os}/${arch}` === platform);
  if (found !== undefined) return found;
  const known = platforms.map(({ os, arch }) => `${os}/${arch}`).join(', ');
  throw new KrmhubError(
    'unsupported',
    `cannot run ${name}: it has no executable for ${platform}, only for ${known || 'no platform'}`,
    {
      hint: 'If it also has a container, use --runtime container. Otherwise, ask its publisher for this platform.',
    },
  );
}
