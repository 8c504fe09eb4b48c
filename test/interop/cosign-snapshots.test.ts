import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { BUNDLE_LIMITS } from '@krmhub/catalog';
import { bundleManifest, computeDigest, MEDIA_TYPES, type OciDigest } from '@krmhub/oci';
import { BUNDLE_MEDIA_TYPE } from '@krmhub/schema';
import { signatureStatement, signStatement } from '@krmhub/signing';
import { keySigner } from '@krmhub/signing/sign';
import { testKey } from '@krmhub/signing/testing/bundles';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { krmhubHere } from '../run-here.js';
import { fixtures, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { Cosigner, noCosign } from './cosign.js';
import { missingReason, newToken, registryHost, titleWithReason } from './oci-tools.js';
import { SigningUser } from './signing-user.js';

const { folder, remove } = temporaryFolder();
let registry: RunningRegistry;

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'));
  const file = path.join(fixtures, 'functions/set-labels/1.0.0.yaml');
  const { code, stderr } = await krmhubHere(['publish', file], { cwd: folder, env: registry.env });
  expect([code, stderr]).toEqual([0, expect.any(String)]);
});
afterAll(async () => {
  await registry?.stop();
  remove();
});

it.skipIf(noCosign !== undefined)(
  titleWithReason('a snapshot is verified by cosign unchanged', noCosign),
  async () => {
    const announced = await fetch(`${registry.url}/.well-known/krmhub-keys.json`);
    const { keys } = (await announced.json()) as { keys: { publicKey: string }[] };
    const user = new Cosigner(folder);
    writeFileSync(user.at('current.pub'), keys[0]!.publicKey);
    const image = `${registryHost(registry)}/catalogs/default:latest`;
    const verified = await user.cosign(
      ...['verify', '--key', 'current.pub', '--insecure-ignore-tlog=true', '--allow-http-registry', image],
    );
    const manifest = await fetch(`${registry.url}/v2/catalogs/default/manifests/latest`, { method: 'HEAD' });
    expect(verified).toContain(manifest.headers.get('docker-content-digest'));
  },
);

/** Pushes a bundle of the snapshot by a new key. Returns the status. */
async function pushBundle(digest: OciDigest, size: number, token: string, at: number): Promise<number> {
  const { privateKey } = testKey();
  const bytes = await signStatement(signatureStatement({ manifest: digest }), keySigner(privateKey));
  const manifest = bundleManifest({
    subject: { mediaType: MEDIA_TYPES.image, digest, size },
    bundle: { digest: computeDigest(bytes), size: bytes.byteLength },
    predicateType: 'https://example.com/',
    created: new Date(1_900_000_000_000 + at * 1_000).toISOString(),
  });
  const send = (method: string, target: string, body: Uint8Array, type: string) =>
    fetch(`${registry.url}/v2/catalogs/default/${target}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': type },
      body: body as Uint8Array<ArrayBuffer>,
    });
  await send('POST', `blobs/uploads/?digest=${computeDigest(bytes)}`, bytes, 'application/octet-stream');
  return (await send('PUT', `manifests/${manifest.digest}`, manifest.bytes, MEDIA_TYPES.image)).status;
}

const noPeers = noCosign ?? missingReason('oras');
it.skipIf(noPeers !== undefined)(
  titleWithReason('the signature of the registry is found beside the most referrers of others', noPeers),
  async () => {
    const token = await newToken(registry, 'signer', '--scope', 'push', '--repository', 'catalogs/*');
    const user = new SigningUser(folder).storeCredentials(registryHost(registry), token);
    const manifest = await fetch(`${registry.url}/v2/catalogs/default/manifests/latest`, { method: 'HEAD' });
    const digest = manifest.headers.get('docker-content-digest') as OciDigest;
    const size = Number(manifest.headers.get('content-length'));
    const image = `${registryHost(registry)}/catalogs/default@${digest}`;
    const listed = async (): Promise<string[]> => {
      const text = await user.mustSucceed('oras', 'discover', '--plain-http', '--format=json', image);
      const { referrers } = JSON.parse(text) as { referrers: { digest: string }[] };
      return referrers.map((one) => one.digest);
    };
    const [own, ...none] = await listed();
    expect(none).toEqual([]);

    await user.cosign('generate-key-pair', '--output-key-prefix=theirs');
    const cosign = ['--yes', '--key=theirs.key', '--use-signing-config=false', '--tlog-upload=false'];
    await user.cosign('sign', ...cosign, '--allow-http-registry', image);
    user.write('predicate.json', '{}');
    const attest = ['attest', ...cosign, '--type=custom', '--predicate=predicate.json'];
    await user.cosign(...attest, '--allow-http-registry', image);
    user.write('junk.json', '{"junk":true}');
    const attach = ['attach', '--plain-http', '--artifact-type', BUNDLE_MEDIA_TYPE, image];
    expect(await user.isRefused('oras', ...attach, `junk.json:${BUNDLE_MEDIA_TYPE}`)).toContain(
      'is not a bundle of its subject',
    );
    const statuses: number[] = [];
    while (statuses.at(-1) !== 409) statuses.push(await pushBundle(digest, size, token, statuses.length));
    expect(statuses).toHaveLength(BUNDLE_LIMITS.maxReferrersPerSnapshot - 3 + 1);
    user.write('spdx.json', '{}');
    expect(await user.isRefused('oras', 'attach', '--plain-http', '--artifact-type=x/y', image, 'spdx.json'))
      // The client shows the error of the registry.
      .toContain('has reached the limit');

    const all = await listed();
    expect([all.length, all[0]]).toEqual([BUNDLE_LIMITS.maxReferrersPerSnapshot, own]);
    const { keys } = (await (await fetch(`${registry.url}/.well-known/krmhub-keys.json`)).json()) as {
      keys: { publicKey: string }[];
    };
    user.write('current.pub', keys[0]!.publicKey);
    for (const key of ['current.pub', 'theirs.pub']) {
      const check = ['verify', `--key=${key}`, '--insecure-ignore-tlog=true', '--allow-http-registry', image];
      expect(await user.cosign(...check)).toContain(digest);
      await user.succeeds('verify', image, '--key', key);
    }
    await user.succeeds(
      'trust',
      'add',
      `https://${registryHost(registry)}/catalogs/default`,
      '--key',
      'current.pub',
    );
    const pulled = await user.krmhub('pull', image, '--out', 'pulled');
    expect([pulled.code, pulled.stderr]).toEqual([0, expect.stringMatching(/verified snapshot \d+ of /)]);
    await user.succeeds('catalog', 'verify', `${registry.url}/catalogs/default`, '--key', 'current.pub');
  },
);
