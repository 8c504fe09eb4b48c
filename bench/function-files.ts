import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Catalogs and programs for rows that resolve or run functions. */

const DIGEST = 'ab'.repeat(32);
const repository = (index: number) => `registry.example.com/functions/kind${index}`;

/** A container engine whose functions take no time, so that only what is around them is measured. */
export const COPYING_ENGINE = `#!/bin/sh
case "$1" in
run) exec cat ;;
version) echo 1.0.0 ;;
esac
`;

export const API_VERSION = 'example.com/v1';

export function kindOf(index: number): string {
  return `Kind${index}`;
}

/** Returns the reference that a catalog pins for a function. */
export function pinnedImage(index: number): string {
  return `${repository(index)}@sha256:${DIGEST}`;
}

/** Returns a catalog with this many functions as JSON. */
export function catalogText(functions: number): string {
  const entries = Array.from({ length: functions }, (_, index) => ({
    group: 'example.com',
    names: { kind: kindOf(index) },
    description: `Function ${index} of many.`,
    publisher: 'example.com',
    versions: [{ name: 'v1', runtime: { container: { image: `${repository(index)}:v1`, sha256: DIGEST } } }],
  }));
  const document = { metadata: { name: 'bench' }, spec: { krmFunctions: entries } };
  return JSON.stringify({ apiVersion: 'config.kubernetes.io/v1alpha1', kind: 'Catalog', ...document });
}

export async function writeFiles(
  folder: string,
  contents: Record<string, string>,
  mode = 0o644,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(contents))
    await writeFile(path.join(folder, name), text, { mode });
}

/** Returns the environment of a user whose home is this folder, and whose docker is the one in `bin` there. */
export function userEnvironment(home: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    HOME: home,
    KRMHUB_CACHE: path.join(home, 'cache'),
    XDG_CONFIG_HOME: path.join(home, '.config'),
    NO_COLOR: '1',
    PATH: `${path.join(home, 'bin')}:${process.env.PATH}`,
  };
}
