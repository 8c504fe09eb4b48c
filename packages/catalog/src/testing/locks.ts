import type { Digest } from '@krmhub/schema';
import type { Lock, LockedFunction } from '../lock/lock.js';

/** Locks for tests. */

export const sampleDigest = (character: string): Digest => `sha256:${character.repeat(64)}`;

export const HUB = 'https://hub.example.com/catalogs/platform';
export const TEAM = 'catalogs/team.yaml';

export function lockedFunction(fields: Partial<LockedFunction> = {}): LockedFunction {
  return {
    catalog: HUB,
    apiVersion: 'example.com/v1',
    kind: 'JavaApplication',
    release: '1.0.0',
    definition: sampleDigest('d'),
    runtime: {
      type: 'container',
      image: `hub.example.com/functions/java@${sampleDigest('1')}`,
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
        digest: sampleDigest('c'),
        key: sampleDigest('f'),
      },
      { reference: TEAM, digest: sampleDigest('b') },
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
              sha256: sampleDigest('3'),
            },
            {
              os: 'linux',
              arch: 'amd64',
              bin: 'bin/logger',
              uri: 'https://files.example.com/logger-amd64.tar.gz',
              sha256: sampleDigest('2'),
            },
          ],
        },
      }),
      lockedFunction({
        serial: 11,
        signedBy: `key ${sampleDigest('e')}`,
        notIn: [TEAM],
        runtime: {
          type: 'container',
          image: `hub.example.com/functions/java@${sampleDigest('1')}`,
          network: true,
          storage: true,
          platforms: { 'linux/arm64': sampleDigest('5'), 'linux/amd64': sampleDigest('4') },
        },
      }),
      {
        catalog: TEAM,
        apiVersion: 'team.example.com/v1alpha1',
        kind: 'SecretSidecar',
        definition: sampleDigest('a'),
        runtime: {
          type: 'starlark',
          reference: `oci://hub.example.com/functions/secrets@${sampleDigest('6')}`,
          sha256: sampleDigest('6'),
        },
      },
    ],
  };
}
