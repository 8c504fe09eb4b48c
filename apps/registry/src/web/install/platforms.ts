/** The systems for which there are executables of krmhub, by the names that Node.js gives them. */
export const PLATFORMS = {
  'linux-x64': { title: 'Linux, x86-64', check: 'sha256sum --check' },
  'linux-arm64': { title: 'Linux, ARM64', check: 'sha256sum --check' },
  'darwin-arm64': { title: 'macOS, Apple silicon', check: 'shasum -a 256 --check' },
  'darwin-x64': { title: 'macOS, Intel', check: 'shasum -a 256 --check' },
  'win-x64': { title: 'Windows, x86-64' },
} as const satisfies Record<string, { title: string; check?: string }>;

export type Platform = keyof typeof PLATFORMS;

/** Returns the name of the file of an executable. */
export function executableName(version: string, platform: Platform): string {
  return `krmhub-${version}-${platform}${platform.startsWith('win-') ? '.exe' : ''}`;
}
