import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import path from 'node:path';
import { bundleFromJSON, bundleToJSON } from '@sigstore/bundle';
import { TrustedRoot } from '@sigstore/protobuf-specs';
import { DSSEBundleBuilder, FulcioSigner, RekorWitness, TSAWitness } from '@sigstore/sign';
import { toSignedEntity, toTrustMaterial, Verifier } from '@sigstore/verify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { Cosigner, noCosign, signedBy } from './cosign.js';
import { type DockerRegistry, hasDockerRegistry, startDockerRegistry } from './docker-registry.js';
import { manifestAt, missingReason, type Reason, registryHost, titleWithReason } from './oci-tools.js';
import { type Identity, type Sigstore, startSigstore } from './sigstore-stand-in.js';

/**
 * Checks the stand-in against other projects' signers and verifiers: without this, tests with it would
 * prove little.
 */

const { folder, remove } = temporaryFolder();
const builder: Identity = {
  subject: 'https://example.com/team/.ci/build.yaml@refs/heads/main',
  issuer: 'https://token.example.com',
};
const otherPerson: Identity = {
  ...builder,
  subject: 'https://example.com/team/.ci/other.yaml@refs/heads/main',
};
const otherIssuer: Identity = { ...builder, issuer: 'https://token.example.net' };
const person: Identity = { subject: 'somebody@example.com', issuer: 'https://login.example.com' };
const artifact = 'hello\n';

let sigstore: Sigstore;
let stranger: Sigstore;

beforeAll(async () => {
  [sigstore, stranger] = await Promise.all([startSigstore(), startSigstore()]);
});
afterAll(async () => {
  await Promise.all([sigstore?.close(), stranger?.close()]);
  remove();
});

/** Verifies like a library that trusts one sigstore and expects one signer, with all available evidence. */
function verified(bundle: unknown, { trustedRoot }: Sigstore, { subject, issuer }: Identity): string {
  const material = toTrustMaterial(TrustedRoot.fromJSON(JSON.parse(trustedRoot)));
  const thresholds = { tlogThreshold: 1, ctlogThreshold: 1, timestampThreshold: 2 };
  const literally = subject.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const policy = { subjectAlternativeName: `^${literally}$`, extensions: { issuer } };
  const entity = toSignedEntity(bundleFromJSON(bundle), Buffer.from(artifact));
  const signer = new Verifier(material, thresholds).verify(entity, policy);
  return String(signer.identity?.subjectAlternativeName);
}

/** A statement over the artifact, signed by the library like ours. */
async function statementSigned(by: Sigstore, identity: Identity): Promise<unknown> {
  const sha256 = createHash('sha256').update(artifact).digest('hex');
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: 'artifact', digest: { sha256 } }],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: { buildDefinition: {}, runDetails: {} },
  };
  const built = new DSSEBundleBuilder({
    signer: new FulcioSigner({
      fulcioBaseURL: by.fulcioUrl,
      identityProvider: { getToken: async () => by.token(identity) },
    }),
    witnesses: [
      new RekorWitness({ rekorBaseURL: by.rekorUrl }),
      new TSAWitness({ tsaBaseURL: by.timestampUrl }),
    ],
  }).create({ data: Buffer.from(JSON.stringify(statement)), type: 'application/vnd.in-toto+json' });
  return bundleToJSON(await built);
}

describe('the stand-in of sigstore', () => {
  it('signs for the library, which verifies the signer, and rejects others', async () => {
    for (const identity of [builder, person]) {
      const bundle = await statementSigned(sigstore, identity);
      expect(verified(bundle, sigstore, identity)).toBe(identity.subject);
      expect(() => verified(bundle, sigstore, otherPerson)).toThrow('certificate identity error');
    }
    const bundle = await statementSigned(sigstore, builder);
    expect(() => verified(bundle, sigstore, otherIssuer)).toThrow('invalid certificate extension');
    expect(() => verified(bundle, stranger, builder)).toThrow();
  });

  it('issues certificates for its own tokens only', async () => {
    const theirs = { ...sigstore, token: stranger.token };
    await expect(statementSigned(theirs, builder)).rejects.toThrow('error creating signing certificate');
    const [head, , signature] = sigstore.token(builder).split('.');
    const claims = Buffer.from(JSON.stringify({ iss: builder.issuer, sub: 'root' })).toString('base64url');
    const altered = { ...sigstore, token: () => `${head}.${claims}.${signature}` };
    await expect(statementSigned(altered, builder)).rejects.toThrow('error creating signing certificate');
  });

  it('issues a certificate only for a proven key', async () => {
    const [mine, theirs] = [0, 1].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }));
    const asks = async (privateKey: KeyObject) => {
      const content = mine!.publicKey.export({ type: 'spki', format: 'pem' });
      const proofOfPossession = sign('sha256', Buffer.from(builder.subject), privateKey).toString('base64');
      const body = {
        credentials: { oidcIdentityToken: sigstore.token(builder) },
        publicKeyRequest: { publicKey: { algorithm: 'ECDSA', content }, proofOfPossession },
      };
      const address = `${sigstore.fulcioUrl}/api/v2/signingCert`;
      return (await fetch(address, { method: 'POST', body: JSON.stringify(body) })).status;
    };
    expect(await asks(mine!.privateKey)).toBe(200);
    expect(await asks(theirs!.privateKey)).toBe(400);
  });

  it('has the start of validity of each key in its trusted root', () => {
    const root = JSON.parse(sigstore.trustedRoot);
    const anchors = [...root.certificateAuthorities, ...root.timestampAuthorities];
    const keys = [...root.tlogs, ...root.ctlogs].map(({ publicKey }) => publicKey);
    expect([...anchors, ...keys]).toHaveLength(4);
    for (const { validFor } of [...anchors, ...keys]) {
      expect(Date.parse(validFor.start)).toBeLessThan(Date.now());
      expect(validFor.end).toBeUndefined();
    }
  });
});

describe.skipIf(noCosign !== undefined)(titleWithReason('cosign', noCosign), () => {
  it('signs a file that cosign and the library verify', async () => {
    const user = new Cosigner(folder);
    user.write('artifact', artifact);
    for (const identity of [builder, person]) {
      const signing = user.signingWith(sigstore, identity);
      await user.cosign('sign-blob', ...signing, '--bundle=bundle.json', 'artifact');
      const bundle = JSON.parse(user.read('bundle.json'));
      expect(bundle.mediaType).toBe('application/vnd.dev.sigstore.bundle.v0.3+json');
      const verify = ['verify-blob', '--bundle=bundle.json', '--use-signed-timestamps'];
      const trusting = user.trusting(sigstore);

      await user.cosign(...verify, ...trusting, ...signedBy(identity), 'artifact');
      expect(verified(bundle, sigstore, identity)).toBe(identity.subject);

      const refused = await user.cosignIsRefused(
        ...verify,
        ...trusting,
        ...signedBy(otherIssuer),
        'artifact',
      );
      expect(refused).toMatch(/expected (SAN|issuer) value/);
      const unknown = user.trusting(stranger);
      expect(await user.cosignIsRefused(...verify, ...unknown, ...signedBy(identity), 'artifact')).toContain(
        'failed to verify',
      );
    }
  });

  it('verifies a statement that the library signed', async () => {
    const user = new Cosigner(folder);
    user.write('artifact', artifact);
    user.write('other', 'other\n');
    user.write('bundle.json', JSON.stringify(await statementSigned(sigstore, builder)));
    const verify = ['verify-blob-attestation', '--bundle=bundle.json', '--use-signed-timestamps'];
    const provenance = [...user.trusting(sigstore), '--type=slsaprovenance1'];

    await user.cosign(...verify, ...provenance, ...signedBy(builder), 'artifact');
    const refused = (...args: string[]) => user.cosignIsRefused(...verify, ...provenance, ...args);
    expect(await refused(...signedBy(otherPerson), 'artifact')).toContain('expected SAN value');
    expect(await refused(...signedBy(otherIssuer), 'artifact')).toContain('expected issuer value');
    expect(await refused(...signedBy(builder), 'other')).toContain('digest');
  });

  it('has the claims of a build in its certificate', async () => {
    const user = new Cosigner(folder);
    user.write('artifact', artifact);
    const build = { ...builder, claims: { repository: 'team/functions', ref: 'refs/heads/main' } };
    await user.cosign('sign-blob', ...user.signingWith(sigstore, build), '--bundle=bundle.json', 'artifact');
    const verify = ['verify-blob', '--bundle=bundle.json', ...user.trusting(sigstore), ...signedBy(build)];
    const repository = '--certificate-github-workflow-repository';
    await user.cosign(...verify, `${repository}=team/functions`, 'artifact');
    await user.cosignIsRefused(...verify, `${repository}=team/others`, 'artifact');
  });

  it('reaches only this machine', async () => {
    const user = new Cosigner(folder);
    user.write('artifact', artifact);
    await user.cosign(
      'sign-blob',
      ...user.signingWith(sigstore, builder),
      '--bundle=bundle.json',
      'artifact',
    );
    // Without a trusted root it would download one.
    const verify = ['verify-blob', '--bundle=bundle.json', ...signedBy(builder), 'artifact'];
    expect(await user.cosignIsRefused(...verify)).toContain('connect: connection refused');
  });
});

const noCrane = missingReason('crane');
const noImages: Reason = noCosign ?? noCrane;

describe.skipIf(noImages !== undefined)(titleWithReason('cosign and images', noImages), () => {
  let registry: RunningRegistry;
  let docker: DockerRegistry | undefined;

  beforeAll(async () => {
    registry = await startRegistry(path.join(folder, 'data'));
    if (hasDockerRegistry) docker = await startDockerRegistry(path.join(folder, 'docker'));
  });
  afterAll(async () => {
    await Promise.all([registry?.stop(), docker?.stop()]);
  });

  async function signsAndVerifies(user: Cosigner, host: string): Promise<string> {
    user.write('hello.tar', new Uint8Array(1024));
    await user.mustSucceed('crane', 'append', '--insecure', '-f', 'hello.tar', '-t', `${host}/team/image:v1`);
    const { digest } = await manifestAt(`http://${host}`, 'team/image', 'v1');
    const image = `${host}/team/image@${digest}`;
    const trusting = [...user.trusting(sigstore), '--allow-http-registry'];
    expect(await user.cosignIsRefused('verify', ...trusting, ...signedBy(builder), image)).toContain(
      'no signatures found',
    );
    const signing = [...user.signingWith(sigstore, builder), '--allow-http-registry'];
    await user.cosign('sign', ...signing, image);
    user.write('predicate.json', '{"buildDefinition":{},"runDetails":{}}');
    const provenance = '--type=slsaprovenance1';
    await user.cosign('attest', ...signing, provenance, '--predicate=predicate.json', image);

    for (const verify of [['verify'], ['verify-attestation', provenance]]) {
      await user.cosign(...verify, ...trusting, ...signedBy(builder), image);
      for (const nobody of [otherPerson, otherIssuer])
        expect(await user.cosignIsRefused(...verify, ...trusting, ...signedBy(nobody), image)).toMatch(
          /expected (SAN|issuer) value/,
        );
    }
    return String(digest);
  }

  it('signs an image in our registry, as a referrer, and verifies it', async () => {
    const host = registryHost(registry);
    const digest = await signsAndVerifies(new Cosigner(folder).storeCredentials(host, registry.token), host);
    const answer = await fetch(`${registry.url}/v2/team/image/referrers/${digest}`);
    const { manifests } = (await answer.json()) as { manifests: { artifactType: string }[] };
    expect(manifests.map(({ artifactType }) => artifactType)).toEqual([
      'application/vnd.dev.sigstore.bundle.v0.3+json',
      'application/vnd.dev.sigstore.bundle.v0.3+json',
    ]);
  });

  it.skipIf(!hasDockerRegistry)(
    titleWithReason(
      'signs an image in a registry without referrers, and verifies it',
      hasDockerRegistry ? undefined : 'docker-registry is not installed',
    ),
    async () => {
      const digest = await signsAndVerifies(new Cosigner(folder), docker!.host);
      const tag = digest.replace(':', '-');
      const { manifest } = await manifestAt(`http://${docker!.host}`, 'team/image', tag);
      expect(manifest.manifests).toHaveLength(2);
    },
  );
});
