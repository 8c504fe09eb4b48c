import type { DeclaredRuntime } from '@krmhub/functions/plan/declared-functions';
import { KrmhubError } from '@krmhub/schema/error';
import { shellWord } from '../io/text.js';
import { absoluteMount } from '../run/mounts.js';
import type { FnSettings } from './settings.js';

type DeclaredContainer = Extract<DeclaredRuntime, { type: 'container' }>;

/** What a container of a declaration gets. */
export interface DeclaredAccess {
  network: boolean;
  mounts: readonly string[];
  env: readonly string[];
}

/**
 * Returns the access that a declaration asks for, and the user allowed. Throws `untrusted` with the options that would
 * allow the rest. kustomize mounts nothing without its own options either.
 */
export function requireDeclared(
  where: string,
  { network, mounts, envs }: DeclaredContainer,
  { permissions, images }: Pick<FnSettings, 'permissions' | 'images'>,
  folder: string,
): DeclaredAccess {
  const wanted = mounts.map((text) => absoluteMount(text, folder));
  const missing = [
    ...(network && !permissions.network ? ['--network'] : []),
    ...wanted.filter((one) => !permissions.mounts.includes(one)).map((one) => `--mount ${shellWord(one)}`),
    ...envs.filter((one) => !images.env.includes(one)).map((one) => `--env ${shellWord(one)}`),
  ];
  if (missing.length > 0) {
    throw new KrmhubError('untrusted', `${where}: it asks for access that you did not allow`, {
      hint: `If you trust the function, add: ${missing.join(' ')}`,
    });
  }
  return { network, mounts: wanted, env: envs };
}
