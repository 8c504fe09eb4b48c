import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { krmhub, temporaryFolder } from '../../running.js';

/** Published bundles of other projects from the crate sigstore-verify, and the expected verdict of each. */

const folder = process.env.KRMHUB_TEST_BUNDLES ?? '';
const isThere = folder !== '' && existsSync(folder);
const whyNot = isThere ? '' : ' (skipped: KRMHUB_TEST_BUNDLES is not set)';
const at = (name: string) => path.join(folder, name);
const { folder: empty, remove } = temporaryFolder();
afterAll(remove);

const actions = 'https://token.actions.githubusercontent.com';
const github = 'https://github.com';
const people = `${github}/login/oauth`;
const beacon = `${github}/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main`;
const staging = '../../sigstore-trust-root/src/trusted_root_staging.json';

interface Published {
  bundle: string;
  /** The signer: a name and its issuer. */
  by: [string, string];
  /** A file; without it, the subject that the bundle itself names. */
  artifact?: string;
  root?: string;
}

const good: Published[] = [
  {
    bundle: 'bundles/bundle_v3_github.whl.sigstore',
    by: [`${github}/trailofbits/rfc8785.py/.github/workflows/release.yml@refs/tags/v0.1.2`, actions],
  },
  {
    bundle: 'bundles/conda-attestation.sigstore.json',
    by: [`${github}/prefix-dev/sigstore-example/.github/workflows/action.yaml@refs/heads/main`, actions],
    artifact: 'bundles/signed-package-2.1.0-hb0f4dca_0.conda',
  },
  {
    bundle: 'bundles/cosign-v3-blob.sigstore.json',
    by: ['w.vollprecht@gmail.com', people],
    artifact: 'bundles/cosign-v3-blob.txt',
  },
  { bundle: 'bundles/conda-attestation-rekor2.sigstore.json', by: ['jku@goto.fi', people], root: staging },
  {
    bundle: 'upstream/sigstore-python/staging-rekor-v2.txt.sigstore.json',
    by: ['jku@goto.fi', people],
    artifact: 'upstream/sigstore-python/staging-rekor-v2.txt',
    root: staging,
  },
  {
    bundle: 'upstream/sigstore-python/a.dsse.staging-rekor-v2.txt.sigstore.json',
    by: [beacon, actions],
    root: staging,
  },
  {
    bundle: 'sct-multi-intermediate/staging_bundle.sigstore.json',
    by: [
      `${github}/sigstore/root-signing-staging/.github/workflows/custom-test.yml@refs/heads/main`,
      actions,
    ],
    root: 'sct-multi-intermediate/staging_trusted_root.json',
  },
  {
    bundle: 'timestamps/valid_bundle.json',
    by: [beacon, actions],
    root: 'timestamps/valid_trusted_root.json',
  },
];

const bad: { bundle: string; check: string; root?: string }[] = [
  { bundle: 'bundles/bundle_invalid_version.txt.sigstore', check: 'bundle' },
  { bundle: 'bundles/bundle_no_cert_v1.txt.sigstore', check: 'bundle' },
  { bundle: 'bundles/bundle_no_checkpoint.txt.sigstore', check: 'bundle' },
  { bundle: 'bundles/dsse-2sigs.sigstore.json', check: 'bundle' },
  { bundle: 'bundles/bundle_no_log_entry.txt.sigstore', check: 'time' },
  { bundle: 'bundles/bundle_v3_no_signed_time.txt.sigstore.json', check: 'time' },
  { bundle: 'bundles/bundle_cve_2022_36056.txt.sigstore', check: 'certificate' },
  {
    bundle: 'invalid-ct-key_fail/bundle.sigstore.json',
    root: 'invalid-ct-key_fail/trusted_root.json',
    check: 'certificate',
  },
];

/** The subject of a bundle, for those whose artifact is not stored beside them; some have no sha256. */
function digestIn(bundle: string): string {
  const { messageSignature, dsseEnvelope } = JSON.parse(readFileSync(at(bundle), 'utf8'));
  const hex =
    messageSignature === undefined
      ? JSON.parse(Buffer.from(dsseEnvelope.payload, 'base64').toString('utf8')).subject[0].digest.sha256
      : Buffer.from(messageSignature.messageDigest.digest, 'base64').toString('hex');
  return `sha256:${hex ?? 'a'.repeat(64)}`;
}

function verify(bundle: string, artifact: string, [identity, issuer]: [string, string], root?: string) {
  const who = ['--identity', identity, '--issuer', issuer, '--type', 'any'];
  const trust = root === undefined ? [] : ['--trusted-root', at(root)];
  return krmhub(['verify', artifact, '--bundle', at(bundle), ...who, ...trust], { cwd: empty });
}

describe.skipIf(!isThere)(`published bundles${whyNot}`, () => {
  it.for(good)('$bundle is verified', async ({ bundle, by, artifact, root }) => {
    const of = artifact === undefined ? digestIn(bundle) : at(artifact);
    const { code, stdout, stderr } = await verify(bundle, of, by, root);
    expect(code, stdout + stderr).toBe(0);
    const others: [string, string][] = [
      [`${by[0]}x`, by[1]],
      [by[0], `${by[1]}/`],
    ];
    for (const other of others) {
      const refused = await verify(bundle, of, other, root);
      expect([refused.code, refused.stdout]).toEqual([4, expect.stringContaining('FAILED  identity')]);
    }
    const somethingElse = `sha256:${createHash('sha256').update('something else').digest('hex')}`;
    const refused = await verify(bundle, somethingElse, by, root);
    expect([refused.code, refused.stdout]).toEqual([4, expect.stringContaining('FAILED  subject')]);
  });

  it.for(bad)('$bundle is refused', async ({ bundle, check, root }) => {
    const { code, stdout } = await verify(bundle, digestIn(bundle), [beacon, actions], root);
    expect([code, stdout]).toEqual([4, expect.stringContaining(`FAILED  ${check}`)]);
  });

  it('with a key are verified by that key, and by no other', async () => {
    const args = [
      'verify',
      at('managed-key/artifact.txt'),
      '--bundle',
      at('managed-key/bundle.sigstore.json'),
    ];
    expect((await krmhub([...args, '--key', at('managed-key/key.pub')], { cwd: empty })).code).toBe(0);
    const env = { KRMHUB_KEY_PASSWORD: '' };
    await krmhub(['keygen'], { cwd: empty, env });
    expect((await krmhub([...args, '--key', 'krmhub.pub'], { cwd: empty })).code).toBe(4);
  });
});
