import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixtures, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { SigningUser } from './signing-user.js';
import { type Identity, type Sigstore, startSigstore } from './sigstore-stand-in.js';

/** A workflow publishes without a key, to a registry whose policy names the workflow. */

const definition = path.join(fixtures, 'functions/set-labels/2.0.0.yaml');
const NAME = 'functions.example.com/SetLabels@2.0.0';
const workflow: Identity = {
  subject: 'https://example.com/team/.ci/release.yaml@refs/tags/v2.0.0',
  issuer: 'https://token.example.com',
  claims: {
    repository: 'example/functions',
    repository_id: '123',
    ref: 'refs/tags/v2.0.0',
    sha: '1a2b3c4d5e6f708192a3b4c5d6e7f80910a1b2c3',
    event_name: 'push',
    workflow_ref: 'example/functions/.github/workflows/release.yml@refs/tags/v2.0.0',
  },
};
const BUILT = 'built from github.com/example/functions at 1a2b3c4 by release.yml on the tag v2.0.0';

const { folder, remove } = temporaryFolder();
const user = new SigningUser(folder);
let sigstore: Sigstore;
let stranger: Sigstore;
let registry: RunningRegistry;

beforeAll(async () => {
  [sigstore, stranger] = await Promise.all([startSigstore(), startSigstore()]);
  writeFileSync(path.join(folder, 'root.json'), sigstore.trustedRoot);
  registry = await startRegistry(path.join(folder, 'data'), {
    KRMHUB_TRUSTED_ROOT: path.join(folder, 'root.json'),
  });
  user.write(
    'policies.yaml',
    `apiVersion: krmhub.dev/v1alpha1
kind: SigningPolicy
metadata: {name: workflows}
spec:
  groups: ["*.example.com"]
  signers:
  - issuer: ${workflow.issuer}
    subjectPattern: ^https://example\\.com/team/\\.ci/release\\.yaml@refs/tags/v[0-9.]+$
    repositoryId: "123"
    ref: refs/tags/v*
    trigger: push
`,
  );
  Object.assign(user.env, registry.env);
  await user.succeeds('policy', 'apply', 'policies.yaml', '--yes');
});
afterAll(async () => {
  await registry?.stop();
  await Promise.all([sigstore?.close(), stranger?.close()]);
  remove();
});

async function publish(
  identity: Identity,
  { fulcioUrl, rekorUrl, timestampUrl, token, trustedRoot }: Sigstore,
) {
  user.write('token', token(identity));
  writeFileSync(path.join(folder, 'signer-root.json'), trustedRoot);
  Object.assign(user.env, {
    KRMHUB_FULCIO_URL: fulcioUrl,
    KRMHUB_REKOR_URL: rekorUrl,
    KRMHUB_TIMESTAMP_URL: timestampUrl,
    KRMHUB_TRUSTED_ROOT: path.join(folder, 'signer-root.json'),
  });
  const signs = ['--keyless', '--identity-token-file', 'token'];
  return user.krmhub('publish', definition, '--release', '2.0.0', ...signs);
}

it('is refused for another workflow, another issuer and another sigstore', async () => {
  const branch = { ...workflow, subject: workflow.subject.replace('refs/tags/v2.0.0', 'refs/heads/main') };
  const again = {
    ...workflow,
    claims: { ...workflow.claims, repository_id: '456', event_name: 'workflow_dispatch' },
  };
  const elsewhere = { ...workflow, issuer: 'https://token.example.net' };
  for (const [identity, by, reason] of [
    [branch, sigstore, 'refs/heads/main'],
    [elsewhere, sigstore, 'token.example.net'],
    [
      again,
      sigstore,
      'requires another source: repositoryId is "456", expected 123; trigger is "workflow_dispatch", expected push',
    ],
    [workflow, stranger, 'could not be verified (the sigstore instance of this registry)'],
  ] as const) {
    const { code, stderr } = await publish(identity, by);
    expect([code, stderr]).toEqual([4, expect.stringContaining(`cannot publish ${NAME}`)]);
    expect(stderr).toContain(reason);
  }
});

it('is published by the workflow, with the time from the log and the authority', async () => {
  const { code, stderr } = await publish(workflow, sigstore);
  expect(code, stderr).toBe(0);
  const page = await user.succeeds('show', NAME);
  expect(page).toContain(
    `verified as ${workflow.subject} (${workflow.issuer}) by the registry policy workflows`,
  );
  expect(page).toContain(BUILT);
  const { bundles } = (await (
    await fetch(`${registry.url}/api/v1/functions/functions.example.com/SetLabels/releases/2.0.0/bundles`)
  ).json()) as {
    bundles: { signedAt?: string; receivedAt: string }[];
  };
  expect(Math.abs(Date.parse(bundles[0]!.signedAt!) - Date.parse(bundles[0]!.receivedAt))).toBeLessThan(
    60_000,
  );
});

it('is verified by a trust policy of a user that names the repository', async () => {
  const trust = (repositoryId: string) => {
    const signer = { issuer: workflow.issuer, repositoryId, ref: 'refs/tags/*' };
    const spec = { groups: ['functions.example.com'], signers: [signer] };
    const document = {
      apiVersion: 'krmhub.dev/v1alpha1',
      kind: 'SigningPolicy',
      metadata: { name: 'mine' },
      spec,
    };
    writeFileSync(path.join(folder, 'trust.yaml'), JSON.stringify(document), { mode: 0o600 });
    user.env.KRMHUB_TRUST = path.join(folder, 'trust.yaml');
  };
  trust('123');
  const { code, stdout, stderr } = await user.krmhub('verify', NAME, '-o', 'json');
  expect(code, stderr).toBe(0);
  expect(stderr).toContain(BUILT);
  expect(JSON.parse(stdout)).toMatchObject({
    verified: true,
    policy: 'mine',
    bundles: [
      { builtFrom: BUILT, signer: { source: { sourceRepositoryIdentifier: '123', buildTrigger: 'push' } } },
    ],
  });
  trust('456');
  const refused = await user.krmhub('verify', NAME);
  expect([refused.code, refused.stderr]).toEqual([
    4,
    expect.stringContaining('the policy mine requires another source: repositoryId is "123", expected 456'),
  ]);
});
