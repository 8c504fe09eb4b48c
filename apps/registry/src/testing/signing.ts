import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { releaseFiles, releaseManifest } from '@krmhub/oci';
import { type Digest, publicKey, sha256 } from '@krmhub/schema';
import { keySigner, releaseStatement, type Statement, signStatement } from '@krmhub/signing';
import { definitionText, type TestDefinition } from './test-registry.js';

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

/** Returns the digests of a definition, and of the manifest that the registry makes for its release. */
export function releaseDigests(
  definition: TestDefinition,
  readme?: string,
): { definition: Digest; manifest: Digest } {
  const bytes = Buffer.from(definitionText(definition));
  const digest = sha256(bytes);
  const files = releaseFiles({
    definition: { digest, size: bytes.byteLength, mediaType: 'application/yaml' },
    readme: readme === undefined ? undefined : { digest: sha256(readme), size: Buffer.byteLength(readme) },
  });
  return { definition: digest, manifest: sha256(releaseManifest(definition.release, files)) };
}

/** Returns the statement that a publisher signs for a release; `claimed` is what it says of other releases. */
export function createStatement(
  definition: TestDefinition,
  { readme, claimed = {} }: { readme?: string; claimed?: Partial<TestDefinition> } = {},
): Statement {
  const { group = 'example.com', kind, release } = { ...definition, ...claimed };
  return releaseStatement({ group, kind, release }, releaseDigests(definition, readme));
}
