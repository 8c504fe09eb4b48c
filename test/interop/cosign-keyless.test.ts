import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../running.js';
import { type ArtifactRegistry, artifactRegistries, startArtifactRegistry } from './artifact-registries.js';
import { noCosign, signedBy } from './cosign.js';
import { titleWithReason } from './oci-tools.js';
import { SigningUser } from './signing-user.js';
import { type Identity, type Sigstore, startSigstore } from './sigstore-stand-in.js';

/** Signatures without keys: ours with ours, and with cosign in both directions. */

const { folder, remove } = temporaryFolder();
const builder: Identity = {
  subject: 'https://example.com/team/.ci/build.yaml@refs/heads/main',
  issuer: 'https://token.example.com',
};
const otherPerson: Identity = { ...builder, subject: `${builder.subject}x` };
const otherIssuer: Identity = { ...builder, issuer: 'https://token.example.net' };

let sigstore: Sigstore;
let stranger: Sigstore;

beforeAll(async () => {
  [sigstore, stranger] = await Promise.all([startSigstore(), startSigstore()]);
});
afterAll(async () => {
  await Promise.all([sigstore?.close(), stranger?.close()]);
  remove();
});

class IdentityUser extends SigningUser {
  constructor() {
    super(folder);
    this.write('a.txt', 'hello\n');
  }

  /** Options with which our command signs as an identity. */
  signs(identity: Identity, { fulcioUrl, rekorUrl, timestampUrl, trustedRoot, token } = sigstore): string[] {
    this.write('token', token(identity));
    this.write('root.json', trustedRoot);
    const services = ['--fulcio-url', fulcioUrl, '--rekor-url', rekorUrl, '--timestamp-url', timestampUrl];
    return ['--keyless', ...services, '--identity-token-file', 'token', '--trusted-root', 'root.json'];
  }

  trusts({ subject, issuer }: Identity, { trustedRoot } = sigstore): string[] {
    this.write('root.json', trustedRoot);
    return ['--identity', subject, '--issuer', issuer, '--trusted-root', 'root.json'];
  }
}

describe('files that an identity signs', () => {
  it('are verified with every check, and only for that identity', async () => {
    const user = new IdentityUser();
    await user.succeeds('sign', 'a.txt', ...user.signs(builder));
    const output = await user.succeeds('verify', 'a.txt', ...user.trusts(builder));
    const checks = [...output.matchAll(/^ok {6}(\w+)/gm)].map(([, check]) => check);
    const all = ['bundle', 'statement', 'subject', 'time', 'certificate', 'log', 'signature', 'identity'];
    expect(checks).toEqual(all);
    for (const nobody of [otherPerson, otherIssuer]) {
      expect(await user.isUntrusted('verify', 'a.txt', ...user.trusts(nobody))).toContain('FAILED  identity');
    }
    expect(await user.isUntrusted('verify', 'a.txt', ...user.trusts(builder, stranger))).toMatch(/^FAILED/m);
    // Of the public instance, which does not know it.
    const { subject, issuer } = builder;
    await user.isUntrusted('verify', 'a.txt', '--identity', subject, '--issuer', issuer);
  });

  it('are verified by a pattern over the whole name', async () => {
    const user = new IdentityUser();
    await user.succeeds('sign', 'a.txt', ...user.signs(builder));
    user.write('root.json', sigstore.trustedRoot);
    const by = (pattern: string) => [
      ...['verify', 'a.txt', '--trusted-root', 'root.json'],
      ...['--issuer', builder.issuer, '--identity-pattern', pattern],
    ];
    const workflow = 'https://example\\.com/team/\\.ci/build\\.yaml@';
    await user.succeeds(...by(`^${workflow}refs/heads/[a-z]+$`));
    await user.isUntrusted(...by(`^${workflow}$`));
    await user.isUntrusted(...by('^https://example\\.com|nobody$'));
    for (const wrong of ['.*', '^https://example', '^(?=a)$', '^($']) {
      expect([(await user.krmhub(...by(wrong))).code, wrong]).toEqual([2, wrong]);
    }
  });

  it('accept a token of GitLab, and show its identity', async () => {
    const user = new IdentityUser();
    const signs = user.signs(builder).filter((option) => !/^(--identity-token-file|token)$/.test(option));
    user.env.SIGSTORE_ID_TOKEN = sigstore.token(builder);
    const { code, stderr } = await user.krmhub('sign', 'a.txt', ...signs);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`signing as ${builder.subject}`)]);
    await user.succeeds('verify', 'a.txt', ...user.trusts(builder));
    delete user.env.SIGSTORE_ID_TOKEN;
    expect((await user.krmhub('sign', 'a.txt', ...signs)).code).toBe(2);
  });

  it('are not written if they do not verify', async () => {
    const user = new IdentityUser();
    const signs = user.signs(builder);
    user.write('root.json', stranger.trustedRoot);
    expect(await user.isUntrusted('sign', 'a.txt', ...signs)).toContain(
      'cannot verify the new signature of ',
    );
    expect(() => user.read('a.txt.sigstore.json')).toThrow();
  });

  it('are not signed with a token of another instance, and the token is not printed', async () => {
    const user = new IdentityUser();
    const token = stranger.token(builder);
    const signs = user.signs(builder, { ...sigstore, token: () => token });
    const { code, stderr } = await user.krmhub('sign', 'a.txt', ...signs);
    expect([code, stderr]).toEqual([6, expect.stringContaining('the certificate authority (Fulcio) at')]);
    for (const part of token.split('.')) expect(stderr).not.toContain(part);
  });

  it('are not verified by a key, nor the other way round', async () => {
    const user = new IdentityUser();
    user.env.KRMHUB_KEY_PASSWORD = '';
    await user.succeeds('keygen');
    await user.succeeds('sign', 'a.txt', ...user.signs(builder));
    expect(
      await user.isUntrusted('verify', 'a.txt', '--key', 'krmhub.pub', '--trusted-root', 'root.json'),
    ).toContain(`FAILED  identity    signed by ${builder.subject}`);
    await user.succeeds('sign', 'a.txt', '--key', 'krmhub.key', '--overwrite');
    await user.isUntrusted('verify', 'a.txt', ...user.trusts(builder));
  });
});

describe.skipIf(noCosign !== undefined)(titleWithReason('files and cosign, without keys', noCosign), () => {
  it('verifies signatures of cosign, of the file and of its digest', async () => {
    const user = new IdentityUser();
    const bundle = ['--bundle', 'theirs.json'];
    const signing = user.signingWith(sigstore, builder);
    await user.cosign('sign-blob', ...signing, '--bundle=theirs.json', 'a.txt');
    const digest = 'sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03';
    for (const artifact of ['a.txt', digest]) {
      await user.succeeds('verify', artifact, ...bundle, ...user.trusts(builder));
      await user.isUntrusted('verify', artifact, ...bundle, ...user.trusts(otherPerson));
      await user.isUntrusted('verify', artifact, ...bundle, ...user.trusts(builder, stranger));
    }
  });

  it('makes signatures that cosign verifies', async () => {
    const user = new IdentityUser();
    await user.succeeds('sign', 'a.txt', ...user.signs(builder));
    const bundle = ['--bundle=a.txt.sigstore.json', '--use-signed-timestamps'];
    const type = '--type=https://sigstore.dev/cosign/sign/v1';
    for (const verify of [['verify-blob'], ['verify-blob-attestation', type]]) {
      const check = [...verify, ...bundle, ...user.trusting(sigstore)];
      await user.cosign(...check, ...signedBy(builder), 'a.txt');
      for (const nobody of [otherPerson, otherIssuer]) {
        await user.cosignIsRefused(...check, ...signedBy(nobody), 'a.txt');
      }
      await user.cosignIsRefused(
        ...verify,
        ...bundle,
        ...user.trusting(stranger),
        ...signedBy(builder),
        'a.txt',
      );
    }
  });
});

describe.each(artifactRegistries(noCosign))('artifacts in $name, without keys', ({ name, whyNo }) => {
  describe.skipIf(whyNo !== undefined)(titleWithReason('and cosign', whyNo), () => {
    let registry: ArtifactRegistry;
    let user: IdentityUser;
    let host: string;
    const http = '--allow-http-registry';
    beforeAll(async () => {
      user = new IdentityUser();
      registry = await startArtifactRegistry(name, folder, user);
      host = registry.host;
    });
    afterAll(() => registry?.stop());

    async function pushed(repository: string): Promise<{ tag: string; exact: string }> {
      user.write('script.star', `# ${repository}\n`);
      const tag = `${host}/team/${repository}:v1`;
      const { digest } = await user.krmhubMustSucceed('push', 'script.star', tag);
      return { tag, exact: `${host}/team/${repository}@${digest}` };
    }

    const forms = ['as a bundle', 'in the old format'];
    it.for(forms)('verifies signatures of cosign %s', { timeout: 60_000 }, async (form) => {
      const isOld = form === forms[1];
      const { tag, exact } = await pushed(isOld ? 'older' : 'theirs');
      const { fulcioUrl, rekorUrl } = sigstore;
      const signing = isOld
        ? [
            ...['--yes', '--new-bundle-format=false', '--use-signing-config=false'],
            ...[`--fulcio-url=${fulcioUrl}`, `--rekor-url=${rekorUrl}`, ...user.trusting(sigstore)],
            `--identity-token=${sigstore.token(builder)}`,
          ]
        : user.signingWith(sigstore, builder);
      await user.cosign('sign', ...signing, http, exact);
      await user.succeeds('verify', tag, ...user.trusts(builder));
      for (const nobody of [otherPerson, otherIssuer]) {
        expect(await user.isUntrusted('verify', tag, ...user.trusts(nobody))).toContain('FAILED  identity');
      }
      await user.isUntrusted('verify', tag, ...user.trusts(builder, stranger));
    });

    it('signs and attests in a way that cosign verifies', async () => {
      const { tag, exact } = await pushed('ours');
      await user.succeeds('sign', tag, ...user.signs(builder));
      user.write('predicate.json', '{"buildDefinition":{},"runDetails":{}}');
      const said = ['--predicate', 'predicate.json', '--type', 'https://slsa.dev/provenance/v1'];
      await user.succeeds('sign', tag, ...user.signs(builder), ...said);
      const trusting = [...user.trusting(sigstore), http];
      for (const verify of [['verify'], ['verify-attestation', '--type=slsaprovenance1']]) {
        await user.cosign(...verify, ...trusting, ...signedBy(builder), exact);
        for (const nobody of [otherPerson, otherIssuer]) {
          await user.cosignIsRefused(...verify, ...trusting, ...signedBy(nobody), exact);
        }
      }
      await user.succeeds('verify', tag, ...user.trusts(builder));
      await user.isUntrusted('verify', tag, ...user.trusts(otherPerson));
    });
  });
});
