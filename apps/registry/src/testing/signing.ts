import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type Digest, publicKey } from '@krmhub/schema';
import { keySigner, type Statement, signStatement } from '@krmhub/signing';

/** A publisher's key pair. */
export interface TestKey {
  privateKey: KeyObject;
  pem: string;
  fingerprint: Digest;
}

export function newKey(): TestKey {
  const pair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const { pem, fingerprint } = publicKey(pair.publicKey, 'a key');
  return { privateKey: pair.privateKey, pem, fingerprint };
}

export interface PolicyOptions {
  name?: string;
  groups?: string[];
  releases?: string;
  signer?: string;
}

/** Returns a signing policy that names these keys. */
export function policy(
  keys: readonly TestKey[],
  { name = 'team', groups = ['example.com'], releases, signer = '' }: PolicyOptions = {},
) {
  const signers = keys.map(
    ({ pem }) =>
      `  - key: |\n${pem.replace(/^/gm, '      ').trimEnd()}\n${signer === '' ? '' : `    ${signer}\n`}`,
  );
  return `apiVersion: krmhub.dev/v1alpha1
kind: SigningPolicy
metadata: {name: ${name}}
spec:
  groups: [${groups.map((glob) => JSON.stringify(glob)).join(', ')}]
${releases === undefined ? '' : `  releases: "${releases}"\n`}  signers:
${signers.join('')}`;
}

export function signedBy(key: TestKey, statement: Statement): Promise<Uint8Array> {
  return signStatement(statement, keySigner(key.privateKey));
}
