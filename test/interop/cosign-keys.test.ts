import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../running.js';
import { type ArtifactRegistry, artifactRegistries, startArtifactRegistry } from './artifact-registries.js';
import { noCosign } from './cosign.js';
import { manifestAt, titleWithReason } from './oci-tools.js';
import { SigningUser } from './signing-user.js';

/**
 * Signatures with keys between cosign and krmhub, in both directions: each accepts and refuses the
 * signatures of the other.
 */

const { folder, remove } = temporaryFolder();
const provenance = 'https://slsa.dev/provenance/v1';
const offline = ['--use-signing-config=false', '--tlog-upload=false'];
const noLog = '--insecure-ignore-tlog=true';

/** A user with a pair of keys of either program; `other` is an unrelated pair. */
class KeyHolder extends SigningUser {
  static async withKeys(): Promise<KeyHolder> {
    const user = new KeyHolder(folder);
    user.env.COSIGN_PASSWORD = 'correct horse';
    await user.cosign('generate-key-pair', '--output-key-prefix=theirs');
    for (const name of ['ours', 'other']) await user.succeeds('keygen', '--out', name);
    user.write('a.txt', 'hello\n');
    return user;
  }
}

describe.skipIf(noCosign !== undefined)(titleWithReason('keys and files of cosign', noCosign), () => {
  let user: KeyHolder;
  beforeAll(async () => {
    user = await KeyHolder.withKeys();
  });

  it('verifies signatures of cosign, of the file and of its digest alone', async () => {
    await user.cosign('sign-blob', '--yes', '--key=theirs.key', ...offline, '--bundle=b.json', 'a.txt');
    const digest = 'sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03';
    for (const artifact of ['a.txt', digest]) {
      await user.succeeds('verify', artifact, '--key', 'theirs.pub', '--bundle', 'b.json');
      await user.isUntrusted('verify', artifact, '--key', 'other.pub', '--bundle', 'b.json');
    }
    user.write('b.txt', 'other\n');
    expect(await user.isUntrusted('verify', 'b.txt', '--key', 'theirs.pub', '--bundle', 'b.json')).toContain(
      'FAILED  subject',
    );
  });

  it('makes signatures that cosign verifies, as a blob and as a statement', async () => {
    await user.succeeds('sign', 'a.txt', '--key', 'ours.key', '--bundle', 'ours.json');
    const type = '--type=https://sigstore.dev/cosign/sign/v1';
    for (const verify of [['verify-blob'], ['verify-blob-attestation', type]]) {
      const check = [...verify, noLog, '--bundle=ours.json'];
      await user.cosign(...check, '--key=ours.pub', 'a.txt');
      await user.cosignIsRefused(...check, '--key=other.pub', 'a.txt');
      user.write('b.txt', 'other\n');
      await user.cosignIsRefused(...check, '--key=ours.pub', 'b.txt');
    }
  });

  it('signs predicates that cosign verifies, and verifies those of cosign', async () => {
    user.write('predicate.json', '{"buildDefinition":{},"runDetails":{}}');
    const said = ['--predicate', 'predicate.json', '--type', provenance];
    await user.succeeds('sign', 'a.txt', '--key', 'ours.key', ...said, '--bundle', 'said.json');
    const check = ['verify-blob-attestation', noLog, '--type=slsaprovenance1', '--bundle=said.json'];
    await user.cosign(...check, '--key=ours.pub', 'a.txt');
    await user.cosignIsRefused(...check, '--key=other.pub', 'a.txt');
    const attest = ['attest-blob', '--yes', '--key=theirs.key', ...offline, '--type=slsaprovenance1'];
    await user.cosign(...attest, '--predicate=predicate.json', '--bundle=theirs.json', 'a.txt');
    const verify = ['verify', 'a.txt', '--key', 'theirs.pub', '--bundle', 'theirs.json'];
    expect(await user.isUntrusted(...verify)).toContain(`--type ${provenance}`);
    await user.succeeds(...verify, '--type', provenance);
    await user.isUntrusted(...verify, '--type', 'https://spdx.dev/Document');
  });

  it('opens keys of cosign, and cosign ours', async () => {
    await user.succeeds('sign', 'a.txt', '--key', 'theirs.key', '--bundle', 'by-theirs.json');
    await user.cosign('verify-blob', noLog, '--key=theirs.pub', '--bundle=by-theirs.json', 'a.txt');
    await user.cosign('sign-blob', '--yes', '--key=ours.key', ...offline, '--bundle=by-ours.json', 'a.txt');
    await user.succeeds('verify', 'a.txt', '--key', 'ours.pub', '--bundle', 'by-ours.json');
    expect((await user.cosign('public-key', '--key=ours.key')).trim()).toBe(user.read('ours.pub').trim());

    user.env.KRMHUB_KEY_PASSWORD = 'wrong';
    const { code, stderr } = await user.krmhub('sign', 'a.txt', '--key', 'theirs.key', '--bundle', 'x.json');
    delete user.env.KRMHUB_KEY_PASSWORD;
    expect([code, stderr]).toEqual([2, expect.stringContaining('wrong password for theirs.key')]);
  });
});

describe.each(artifactRegistries(noCosign))('artifacts in $name', ({ name, whyNo }) => {
  describe.skipIf(whyNo !== undefined)(titleWithReason('and cosign', whyNo), () => {
    let registry: ArtifactRegistry;
    let user: KeyHolder;
    let host: string;
    beforeAll(async () => {
      user = await KeyHolder.withKeys();
      registry = await startArtifactRegistry(name, folder, user);
      host = registry.host;
    });
    afterAll(() => registry?.stop());

    /** A new artifact, by its tag and by its digest. */
    async function pushed(repository: string): Promise<{ tag: string; exact: string; digest: string }> {
      user.write('script.star', `# ${repository}\n`);
      const tag = `${host}/team/${repository}:v1`;
      const { digest } = await user.krmhubMustSucceed('push', 'script.star', tag);
      return { tag, exact: `${host}/team/${repository}@${digest}`, digest: String(digest) };
    }
    const http = '--allow-http-registry';
    const cosignVerify = (key: string, exact: string) => ['verify', noLog, http, `--key=${key}`, exact];

    it('verifies signatures and attestations of cosign', async () => {
      const { tag, exact } = await pushed('theirs');
      expect(await user.isUntrusted('verify', tag, '--key', 'theirs.pub')).toContain('has no signature');
      await user.cosign('sign', '--yes', '--key=theirs.key', ...offline, http, exact);
      for (const reference of [tag, exact]) await user.succeeds('verify', reference, '--key', 'theirs.pub');
      expect(await user.isUntrusted('verify', tag, '--key', 'other.pub')).toContain('FAILED  signature');

      user.write('predicate.json', '{"buildDefinition":{},"runDetails":{}}');
      const attest = ['attest', '--yes', '--key=theirs.key', ...offline, '--type=slsaprovenance1', http];
      await user.cosign(...attest, '--predicate=predicate.json', exact);
      await user.succeeds('verify', tag, '--key', 'theirs.pub', '--type', provenance);
      const { bundles } = await user.krmhubMustSucceed('verify', tag, '--key', 'theirs.pub');
      expect((bundles as { kind: string; verified: boolean }[]).map(({ kind }) => kind).sort()).toEqual([
        'attestation',
        'signature',
      ]);
    });

    it('does not accept an attestation as a signature', async () => {
      const { tag, exact } = await pushed('attested');
      user.write('predicate.json', '{"result":"failed"}');
      const attest = ['attest', '--yes', '--key=theirs.key', ...offline, '--type=https://example.com/scan'];
      await user.cosign(...attest, http, '--predicate=predicate.json', exact);
      expect(await user.isUntrusted('verify', tag, '--key', 'theirs.pub')).toContain('has no signature');
    });

    it('verifies signatures of cosign in the old format', async () => {
      const { tag, exact } = await pushed('old');
      const old = ['sign', '--yes', '--key=theirs.key', ...offline, '--new-bundle-format=false'];
      await user.cosign(...old, http, exact);
      expect(await user.succeeds('verify', tag, '--key', 'theirs.pub')).toContain('simplesigning');
      expect(await user.isUntrusted('verify', tag, '--key', 'other.pub')).toContain('FAILED  signature');
    });

    it('signs and attests in a way that cosign verifies', async () => {
      const { tag, exact, digest } = await pushed('ours');
      await user.cosignIsRefused(...cosignVerify('ours.pub', exact));
      const { stderr } = await user.krmhub('sign', tag, '--key', 'ours.key');
      expect(stderr).toContain(`resolved ${tag} to ${digest}`);
      await user.cosign(...cosignVerify('ours.pub', exact));
      await user.cosignIsRefused(...cosignVerify('other.pub', exact));
      await user.succeeds('verify', exact, '--key', 'ours.pub');
      await user.isUntrusted('verify', exact, '--key', 'other.pub');

      user.write('predicate.json', '{"buildDefinition":{},"runDetails":{}}');
      const said = ['--predicate', 'predicate.json', '--type', provenance];
      await user.succeeds('sign', exact, '--key', 'ours.key', ...said);
      const verify = ['verify-attestation', noLog, http, '--type=slsaprovenance1'];
      await user.cosign(...verify, '--key=ours.pub', exact);
      await user.cosignIsRefused(...verify, '--key=other.pub', exact);
    });

    it('refers to an artifact as cosign does', async () => {
      const { tag, exact, digest } = await pushed('layout');
      await user.cosign('sign', '--yes', '--key=theirs.key', ...offline, http, exact);
      const { stderr } = await user.krmhub('sign', tag, '--key', 'ours.key');
      const own = /^bundle: (\S+)$/m.exec(stderr)![1]!;
      const { bundles } = await user.krmhubMustSucceed('verify', tag, '--key', 'ours.pub');
      const sources = (bundles as { source: string }[]).map(({ source }) => source);
      expect(sources).toHaveLength(2);
      const read = async (source: string) =>
        (await manifestAt(`http://${host}`, 'team/layout', source)).manifest as {
          config: Record<string, unknown>;
          layers: Record<string, unknown>[];
          annotations: Record<string, string>;
        };
      const shape = ({ config, layers, annotations, ...manifest }: Awaited<ReturnType<typeof read>>) => ({
        ...manifest,
        // Cosign declares even the empty object as a bundle.
        config: { ...config, artifactType: undefined },
        layers: layers.map(({ digest: _digest, size: _size, ...layer }) => layer),
        annotations: { ...annotations, 'org.opencontainers.image.created': 'then' },
      });
      const theirs = sources.find((source) => source !== own)!;
      expect(shape(await read(own))).toEqual(shape(await read(theirs)));
      expect(shape(await read(own))).toMatchObject({ subject: { digest } });
    });

    it('refuses a valid signature of another artifact', async () => {
      const [signed, unsigned] = [await pushed('signed'), await pushed('unsigned')];
      await user.succeeds('sign', signed.tag, '--key', 'ours.key', '--bundle', 'moved.json', '--overwrite');
      const bundle = 'moved.json';
      await user.isUntrusted('verify', unsigned.digest, '--key', 'ours.pub', '--bundle', bundle);
      await user.succeeds('verify', signed.digest, '--key', 'ours.pub', '--bundle', bundle);
    });
  });
});

afterAll(remove);
