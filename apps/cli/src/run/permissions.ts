import { KrmhubError } from '@krmhub/schema/error';
import type { RunPermissions } from './runner.js';

/** What a function of a container gets. */
export interface ContainerAccess {
  network: boolean;
  mounts: readonly string[];
  /** What the user allowed and the catalog does not declare. */
  notes: string[];
}

/**
 * Returns the access of a container: what the catalog declares and the user allows. Throws `untrusted`, with the flag,
 * for what is declared and not allowed: without it, the function would fail in its own words.
 */
export function containerAccess(
  name: string,
  declared: { network: boolean; storage: boolean },
  allowed: Pick<RunPermissions, 'network' | 'mounts'>,
): ContainerAccess {
  const missing = [
    ...(declared.network && !allowed.network ? [{ what: 'network access', flag: '--network' }] : []),
    ...(declared.storage && allowed.mounts.length === 0
      ? [{ what: 'mounts', flag: '--mount type=bind,source=FOLDER,target=/PATH' }]
      : []),
  ];
  if (missing.length > 0) {
    const whats = missing.map(({ what }) => what).join(' and ');
    throw new KrmhubError('untrusted', `cannot run ${name}: it requires ${whats}, and you did not allow it`, {
      hint: `If you trust the function, add: ${missing.map(({ flag }) => flag).join(' ')}`,
    });
  }
  return {
    network: declared.network,
    mounts: declared.storage ? allowed.mounts : [],
    notes: [
      ...(allowed.network && !declared.network
        ? [
            'it ran without network access: you allowed it (--network), but the catalog entry does not have requireNetwork',
          ]
        : []),
      ...(allowed.mounts.length > 0 && !declared.storage
        ? [
            'it ran without mounts: you allowed them (--mount), but the catalog entry does not have requireStorageMount',
          ]
        : []),
    ],
  };
}

/** Throws `untrusted` unless the user allows executables. */
export function requireExecAllowed(name: string, permissions: Pick<RunPermissions, 'allowExec'>): void {
  if (permissions.allowExec) return;
  throw new KrmhubError(
    'untrusted',
    `cannot run ${name}: it is an executable, and you did not allow executables`,
    {
      hint: 'An executable runs on this machine with your permissions. If you trust its publisher, use --allow-exec.',
    },
  );
}
