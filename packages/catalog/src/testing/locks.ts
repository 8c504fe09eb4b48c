import type { Digest } from '@krmhub/schema';
import type { Lock, LockedFunction } from '../lock/lock.js';

/** Locks for tests. */

export const digestOf = (character: string): Digest => `sha256:${character.repeat(64)}`;

export const HUB = 'https://hub.example.com/catalogs/platform';
export const TEAM = 'catalogs/team.yaml';

export function lockedFunction(fields: Partial<LockedFunction> = {}): LockedFunction {
  return {
    catalog: HUB,
    apiVersion: 'example.com/v1',
    kind: 'JavaApplication',
    release: '1.0.0',
    definition: digestOf('d'),
    runtime: {
      type: 'container',
      image: `hub.example.com/functions/java@${digestOf('1')}`,
      network: false,
      storage: false,
    },
    ...fields,
  };
}

/** A lock with everything that one may hold, in no order. */
export function fullLock(): Lock {
  return {
    catalogs: [
      {
        reference: HUB,
        name: 'platform',
        serial: 12,
        digest: digestOf('c'),
        key: digestOf('f'),
      },
      { reference: TEAM, digest: digestOf('b') },
    ],
    functions: [
      lockedFunction({
        kind: 'Logger',
        notIn: [TEAM],
        signedBy: 'release.yaml of https://git.example.com/functions',
        runtime: {
          type: 'exec',
          platforms: [
            {
              os: 'linux',
              arch: 'arm64',
              bin: 'bin/logger',
              uri: 'https://files.example.com/logger-arm64.tar.gz',
              sha256: digestOf('3'),
            },
            {
              os: 'linux',
              arch: 'amd64',
              bin: 'bin/logger',
              uri: 'https://files.example.com/logger-amd64.tar.gz',
              sha256: digestOf('2'),
            },
          ],
        },
      }),
      lockedFunction({
        serial: 11,
        signedBy: `key ${digestOf('e')}`,
        notIn: [TEAM],
        runtime: {
          type: 'container',
          image: `hub.example.com/functions/java@${digestOf('1')}`,
          network: true,
          storage: true,
          platforms: { 'linux/arm64': digestOf('5'), 'linux/amd64': digestOf('4') },
        },
      }),
      {
        catalog: TEAM,
        apiVersion: 'team.example.com/v1alpha1',
        kind: 'SecretSidecar',
        definition: digestOf('a'),
        runtime: {
          type: 'starlark',
          reference: `oci://hub.example.com/functions/secrets@${digestOf('6')}`,
          sha256: digestOf('6'),
        },
      },
    ],
  };
}
