import { computeDigest, MEDIA_TYPES, readmeImagesManifest, releaseFiles, releaseManifest } from '@krmhub/oci';
import { sha256 } from '@krmhub/schema';
import { releaseStatement } from '@krmhub/signing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testClient } from '../../testing/oci.js';
import { newKey, policy, signedBy } from '../../testing/signing.js';
import {
  definitionText,
  openTestRegistry,
  type ReleaseFiles,
  releasePath,
  type TestRegistry,
} from '../../testing/test-registry.js';

let registry: TestRegistry;
let admin: string;
const key = newKey();

beforeAll(async () => {
  registry = await openTestRegistry();
  ({ secret: admin } = await registry.token({}));
});
afterAll(() => registry.close());

async function page(target: string): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await registry.request(target, { headers: { Accept: 'text/html' } });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

async function publish(kind: string, release: string, more: ReleaseFiles = {}): Promise<void> {
  const query = '?wait=true&allowBreaking=true';
  const { status, body } = await registry.publish({ kind, release }, query, more);
  expect(status, JSON.stringify(body)).toBe(201);
}

async function mark(
  kind: string,
  release: string,
  verb: string,
  reason: string,
  replacement?: object,
): Promise<void> {
  const response = await registry.send('POST', `${releasePath({ kind, release })}/${verb}`, {
    reason,
    replacement,
  });
  expect(response.status).toBe(200);
}

/** Expects one h1, unique ids, and fragment links with targets. */
function expectWhole(text: string): void {
  expect(text.match(/<h1[ >]/g)).toHaveLength(1);
  const ids = [...text.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id!);
  expect(new Set(ids).size).toBe(ids.length);
  const decoded = (id: string) =>
    id
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&');
  const known = new Set(ids.map(decoded));
  for (const [, target] of text.matchAll(/\shref="#([^"]*)"/g))
    expect(known).toContain(decodeURIComponent(target!));
  for (const id of known) expect(id).not.toMatch(/\s/);
  expect(text).not.toMatch(
    /<script(?! (?:type="module" )?src="\/assets)|\son\w+=|\sstyle=|href="(?!\/|#|https?:|mailto:)/,
  );
  // A page loads only its own images.
  for (const [, source] of text.matchAll(/\ssrc="([^"]*)"/g))
    expect(source).toMatch(/^\/(?:assets|badges)\//);
}

describe('the page of a function', () => {
  beforeAll(async () => {
    await publish('SetLabels', '1.0.0');
    await publish('SetLabels', '1.1.0', { readme: '# Set labels\n\nSee [usage](#usage).\n\n## Usage\n' });
  });

  it('shows signature, owner, access, and what runs first, then how to use it, then the README', async () => {
    const { status, text, headers } = await page('/functions/example.com/SetLabels');
    expect(status).toBe(200);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expectWhole(text);
    const order = [
      '>Signature<',
      '>Owner<',
      '>May touch<',
      '>Runs<',
      'id="use"',
      'id="about"',
      'id="readme"',
    ];
    const positions = order.map((part) => text.indexOf(part));
    expect(positions.every((position) => position > 0)).toBe(true);
    expect(positions).toEqual([...positions].sort((a, b) => a - b));
    expect(text).toContain('id="readme-usage"');
    expect(text).toContain(`registry.example.com/setlabels@sha256:${'a'.repeat(64)}`);
    expect(text).toContain('krmhub pull');
    expect(text).toMatch(/>Signature<\/a><\/dt><dd><span[^>]*>not signed</);
    expect(text).toMatch(/>May touch<\/a><\/dt><dd><span[^>]*>only its input</);
    expect(text).toContain('<dd>not verified: says it is published by <bdi>Example Co</bdi></dd>');
    expect(text).toMatch(
      />Runs<\/a><\/dt><dd>.*registry.example.com\/<wbr\/>setlabels:v1.1.0<.*>pinned<\/span> <code[^>]*title="sha256:a{64}"/,
    );
    expect(text).toContain('href="/catalogs/default"');
    expect(text).toContain('/functions/example.com/SetLabels/releases.atom');
    expect(text).not.toContain('name="robots"');
  });

  it('warns of a tag that can move, also where the release is signed', async () => {
    await publish('Moves', '1.0.0', {
      text: definitionText({ kind: 'Moves', release: '1.0.0' }).replace(/^ *sha256:.*\n/m, ''),
    });
    expect((await page('/functions/example.com/Moves')).text).toMatch(
      /label-warning">tag v1.0.0 can move<\/span>/,
    );
  });

  it.each([
    ['configuration', 'id="field-labels"'],
    ['releases', '/functions/example.com/SetLabels/compare?from=1.0.0&amp;to=1.1.0'],
    ['signatures', 'krmhub verify'],
    ['source', 'apiVersion</span>: config.kubernetes.io/v1alpha1'],
  ])('has a tab %s with an address of its own, to which old fragments lead', async (tab, content) => {
    const { status, text } = await page(`/functions/example.com/SetLabels/${tab}`);
    expect(status).toBe(200);
    expectWhole(text);
    expect(text).toContain(content);
    const title = tab === 'source' ? 'Permissions' : tab[0]!.toUpperCase() + tab.slice(1);
    expect(text.match(/aria-current="page">[^<]*/g)?.map((link) => link.trim())).toContain(
      `aria-current="page">${title}`,
    );
    expect(text).not.toContain('id="use"');
    const overview = (await page('/functions/example.com/SetLabels')).text;
    const fragment = { configuration: 'config', source: 'runtime' }[tab] ?? tab;
    expect(overview).toMatch(
      new RegExp(`<a href="/functions/example.com/SetLabels/${tab}" id="${fragment}"`),
    );
    // A release has the same tabs; the list of releases is one for all.
    const release = await page(`/functions/example.com/setlabels/releases/v1/${tab}`);
    const right = `/functions/example.com/SetLabels/releases/1.0.0/${tab}`;
    if (tab === 'releases') expect(release.status).toBe(404);
    else expect([release.status, release.headers.get('location')]).toEqual([302, right]);
  });

  it('shows many releases page by page', async () => {
    for (let patch = 0; patch < 32; patch += 1) await publish('Many', `1.0.${patch}`);
    const first = (await page('/functions/example.com/Many/releases')).text;
    expect(first.match(/<th scope="row">/g)).toHaveLength(30);
    expect(first).toContain('href="/functions/example.com/Many/releases?after=1.0.2" rel="next"');
    const second = (await page('/functions/example.com/Many/releases?after=1.0.2')).text;
    expect(second.match(/<th scope="row">/g)).toHaveLength(2);
    expect(second).toContain('compare?from=1.0.0&amp;to=1.0.1');
    expect(second).toContain('rel="first"');
    expect(second).toContain('content="noindex"');
    expectWhole(second);
  });

  it('redirects every spelling of its name to one URL', async () => {
    for (const [asked, right] of [
      ['/functions/example.com/setlabels', '/functions/example.com/SetLabels'],
      ['/functions/example.com/SETLABELS/releases/v1.1', '/functions/example.com/SetLabels/releases/1.1.0'],
      [
        '/functions/example.com/SetLabels/releases/v1?version=v1',
        '/functions/example.com/SetLabels/releases/1.0.0?version=v1',
      ],
    ]) {
      const { status, headers } = await page(asked!);
      expect([status, headers.get('location')]).toEqual([302, right]);
    }
  });

  it('of a pre-release does not call an older stable release newer', async () => {
    await publish('SetEarly', '1.0.0');
    await publish('SetEarly', '2.0.0-rc.1');
    const { text } = await page('/functions/example.com/SetEarly/releases/2.0.0-rc.1');
    expect(text).toContain('This is a pre-release');
    expect(text).not.toContain('is newer');
    expect(text).toContain('registry.example.com/<wbr/>setearly:v2.0.0-rc.1');
  });

  it('of a release links to the newest one, and is not indexed', async () => {
    const { text } = await page('/functions/example.com/SetLabels/releases/1.0.0');
    expectWhole(text);
    expect(text).toContain('This is not the newest release: 1.1.0 is newer');
    expect(text).toContain('go to newest, 1.1.0');
    expect(text).toContain('published without a README');
    expect(text).toContain('<meta name="robots" content="noindex"/>');
    const source = (await page('/functions/example.com/SetLabels/releases/1.0.0/source')).text;
    expect(source).toContain('registry.example.com/setlabels:v1.0.0');
    expect(source).toContain('href="/functions/example.com/SetLabels/releases/1.0.0/configuration"');
  });

  it('shows one API version, and links to the others', async () => {
    const versions = ['v1', 'v1beta1'];
    await publish('TwoVersions', '1.0.0', {
      text: definitionText({ kind: 'TwoVersions', release: '1.0.0', versions }),
    });
    const first = await page('/functions/example.com/TwoVersions/configuration');
    const path = '/functions/example.com/TwoVersions/configuration?version=v1beta1';
    expect(first.text).toContain(`href="${path}"`);
    const other = await page(path);
    expect(other.text).toContain('href="/functions/example.com/TwoVersions?version=v1beta1"');
    expect(other.text).toContain('apiVersion: example.com/v1beta1');
    expect(other.text).toContain('content="noindex"');
    const none = await page('/functions/example.com/TwoVersions?version=v7');
    expect(none.status).toBe(404);
    expect(none.text).toContain('Use one of v1, v1beta1.');
  });

  it.each([
    ['/functions/example.com/Nothing', 404, 'Function example.com/Nothing not found'],
    ['/functions/example.com/SetLabels/releases/9.9.9', 404, 'The newest releases are: </bdi><a href='],
    ['/functions/example.com/SetLabels/releases/latest', 400, 'is not a valid release'],
    ['/functions/nogroup/SetLabels', 400, 'is not a valid group'],
    ['/functions/example.com/SetLabels?versoin=v1', 400, 'did you mean &quot;version&quot;'],
    [
      '/functions/example.com/SetLabel',
      404,
      'Did you mean </bdi><a href="/functions/example.com/SetLabels">example.com/SetLabels</a>',
    ],
    [
      '/functions/example.com/SetLabels/releases/1.0.1',
      404,
      '>1.1.0</a><bdi>, </bdi><a href="/functions/example.com/SetLabels/releases/1.0.0">1.0.0</a>',
    ],
    ['/catalogs/defalt', 404, 'Did you mean </bdi><a href="/catalogs/default">default</a>'],
  ])('explains the error, with links to similar names: %s', async (target, status, words) => {
    const reply = await page(target);
    expect([reply.status, reply.headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8']);
    expect(reply.text).toContain(words);
  });
});

describe('the lifecycle of a release', () => {
  it('links what replaces a deprecated release', async () => {
    for (const release of ['1.0.0', '2.0.0']) await publish('Replaced', release);
    const replacement = { group: 'example.com', kind: 'Replaced', releases: '>1.0.0' };
    await mark('Replaced', '1.0.0', 'deprecate', 'outdated', replacement);
    expect((await page('/functions/example.com/Replaced/releases/1.0.0')).text).toMatch(
      /Use <a href="[^"]*\/functions\/example.com\/Replaced"><span class="found-group">example.com\/<\/span><wbr\/>Replaced@<wbr\/>&gt;1.0.0<\/a> instead/,
    );
    await mark('Replaced', '1.0.0', 'undeprecate', 'not outdated');
    const restored = (await page('/functions/example.com/Replaced/releases/1.0.0')).text;
    expect(restored).not.toContain('deprecated');
  });

  it('is shown first: deprecated, yanked, taken down', async () => {
    for (const release of ['1.0.0', '1.1.0', '1.2.0', '1.3.0']) await publish('Marked', release);
    await mark('Marked', '1.0.0', 'deprecate', 'use 1.2.0 <b>');
    await mark('Marked', '1.1.0', 'yank', 'loses labels');
    const deprecated = (await page('/functions/example.com/Marked/releases/1.0.0')).text;
    expect(deprecated).toContain('This release is deprecated');
    expect(deprecated).toContain('Use 1.2.0 &lt;b&gt;.');
    expect(deprecated).toContain('id="use"');
    const yanked = (await page('/functions/example.com/Marked/releases/1.1.0')).text;
    expect(yanked).toContain('This release was yanked');
    expect(yanked).toContain('Loses labels.');
    expect(yanked).toContain('href="/functions/example.com/Marked"');
    expect(yanked).not.toContain('id="use"');
    expect(yanked).not.toContain('kpt fn eval');
    expectWhole(yanked);
    await mark('Marked', '1.2.0', 'takedown', 'holds a password');
    const gone = await page('/functions/example.com/Marked/releases/1.2.0');
    expect(gone.status).toBe(410);
    expect(gone.text).toContain('holds a password');
    expect(gone.text).toContain('another release of </bdi><a href="/functions/example.com/Marked">');
    const left = (await page('/functions/example.com/Marked/releases')).text;
    expect(left).toContain('Taken down');
    expect(left).toContain('<strong>1.3.0</strong>');
  });

  it('is shown if all releases are gone', async () => {
    await publish('Removed', '1.0.0');
    await mark('Removed', '1.0.0', 'takedown', 'malware');
    for (const target of [
      '/functions/example.com/Removed',
      '/functions/example.com/Removed/releases/1.0.0',
    ]) {
      const gone = await page(target);
      expect([gone.status, gone.text.includes('malware')]).toEqual([410, true]);
    }
  });
});

describe('hostile text', () => {
  const SCRIPT = '</title><script>alert(1)</script>"\'onload=x ';
  it('is escaped in every field, and breaks nothing', async () => {
    const yaml = JSON.stringify({
      apiVersion: 'config.kubernetes.io/v1alpha1',
      kind: 'KRMFunctionDefinition',
      spec: {
        group: 'example.com',
        names: { kind: 'Hostile' },
        description: SCRIPT,
        publisher: SCRIPT,
        home: 'https://example.com/"><script>',
        maintainers: [SCRIPT],
        tags: ['tag'],
        versions: [
          {
            name: 'v1',
            idempotent: true,
            usage: 'https://example.com/u',
            examples: ['https://example.com/e'],
            license: 'Apache-2.0',
            runtime: {
              exec: {
                platforms: [
                  {
                    os: 'linux',
                    arch: 'amd64',
                    bin: '$(reboot) <b>',
                    uri: 'https://example.com/x?"><script>',
                    sha256: 'a'.repeat(64),
                  },
                ],
              },
            },
            schema: {
              openAPIV3Schema: {
                type: 'object',
                description: SCRIPT,
                properties: {
                  [SCRIPT]: { type: 'string', description: SCRIPT, default: SCRIPT, enum: [SCRIPT] },
                  'x y': { type: 'object', properties: { 'x y': { type: 'string', pattern: '<script>' } } },
                  'x  y': { type: 'string' },
                  ['l'.repeat(500)]: { type: 'string' },
                },
                'x-kubernetes-validations': [{ rule: '"<script>" == self', message: SCRIPT }],
              },
            },
          },
        ],
      },
    });
    const readme = `# <script>\n[a](javascript:alert(1)) \u202e ${SCRIPT} ![x](https://evil.example/x.png)`;
    await publish('Hostile', '1.0.0', { text: yaml, readme });
    const tabs = ['', '/configuration', '/releases', '/signatures', '/source'];
    const pages = await Promise.all(tabs.map((tab) => page(`/functions/example.com/Hostile${tab}`)));
    const text = pages.map((one) => one.text).join('');
    for (const one of pages) {
      expect(one.status).toBe(200);
      expectWhole(one.text);
    }
    expect(text).not.toContain('<script>');
    expect(text).not.toContain('\u202e');
    expect(text).toContain('&lt;script&gt;');
    expect(text).not.toContain('<img src="https');
    expect(Buffer.byteLength(text)).toBeLessThan(100_000);
    for (const [link] of text.matchAll(/<a [^>]*class="external"[^>]*>/g)) {
      expect(link).toContain('rel="nofollow noopener noreferrer"');
    }
  });
});

describe('signatures', () => {
  it('are shown with their state, and with the command that verifies them', async () => {
    const bytes = Buffer.from(definitionText({ kind: 'Signed', release: '1.0.0' }));
    const definition = sha256(bytes);
    const files = releaseFiles({
      definition: { digest: definition, size: bytes.byteLength, mediaType: 'application/yaml' },
    });
    const manifest = computeDigest(releaseManifest('1.0.0', files));
    const statement = releaseStatement(
      { group: 'example.com', kind: 'Signed', release: '1.0.0' },
      { definition, manifest },
    );
    await publish('Signed', '1.0.0', { bundles: [await signedBy(key, statement)] });
    const before = (await page('/functions/example.com/Signed/signatures')).text;
    const atTop = (text: string) => />Signature<\/a><\/dt><dd>(.*?)<\/dd>/s.exec(text)![1]!;
    const by = `the key ${key.fingerprint}`;
    expect(atTop(before)).toContain('>signed</span>');
    expect(before).toContain(`Signed by ${by}; no registry policy covers the release.`);
    expect(before).not.toContain('erified as');
    const put = (text: string) => registry.send('PUT', '/api/v1/policies', text);
    expect((await put(policy([key]))).status).toBe(200);
    const trusted = (await page('/functions/example.com/Signed/signatures')).text;
    expect(trusted).toContain(`Verified as ${by} by the registry policy team.`);
    expect(atTop(trusted)).toContain('>verified</span>');
    expect(atTop(trusted)).toContain(key.fingerprint);
    expect(atTop(trusted)).toContain('<a href="/policies/team">policy team</a>');
    expect(trusted).toMatch(/krmhub verify .*functions\/example\.com\/signed:1\.0\.0 --key KEY\.pub/s);
    expect((await put(policy([key], { signer: 'revoked: stolen' }))).status).toBe(200);
    const revoked = (await page('/functions/example.com/Signed')).text;
    expect(atTop(revoked)).toContain('not trusted');
    expect(revoked).toContain('This release is not trusted');
    expect(revoked).toContain('stolen');
    expect(revoked).not.toContain('erified as');
    const unsigned = (await page('/functions/example.com/SetLabels')).text;
    expect(unsigned).toContain('it is not signed, but the policy team requires a signature');
  });

  it('show where no signature covers the README', async () => {
    const put = await registry.send('PUT', '/api/v1/policies', policy([key]));
    expect(put.status).toBe(200);
    const sign = async (kind: string, readme: string, isWhole: boolean) => {
      const bytes = Buffer.from(definitionText({ kind, release: '1.0.0' }));
      const definition = sha256(bytes);
      const files = releaseFiles({
        definition: { digest: definition, size: bytes.byteLength, mediaType: 'application/yaml' },
        readme: { digest: sha256(readme), size: readme.length },
      });
      const manifest = computeDigest(releaseManifest('1.0.0', files));
      const digests = { definition, ...(isWhole ? { manifest } : {}) };
      const statement = releaseStatement({ group: 'example.com', kind, release: '1.0.0' }, digests);
      await publish(kind, '1.0.0', { readme, bundles: [await signedBy(key, statement)] });
      return (await page(`/functions/example.com/${kind}`)).text;
    };
    const whole = await sign('WholeSigned', '# Signed', true);
    expect(whole).toContain('>verified</span>');
    expect(whole).not.toContain('No signature covers this README');
    const partly = await sign('PartlySigned', '# Not signed', false);
    expect(partly).toContain('No signature covers this README');
    expect(partly).toContain('verified, but not the README');
    expect(partly).not.toContain('>verified</span>');
  });

  it('show that no signature covers attached images', async () => {
    const image = '<svg xmlns="http://www.w3.org/2000/svg"/>';
    const repository = 'functions/example.com/withimage';
    const client = testClient(
      () => registry,
      () => `Bearer ${admin}`,
    );
    const readme = '# Signed\n\n![image](image.svg)';
    const text = definitionText({ kind: 'WithImage', release: '1.0.0' });
    const definition = sha256(text);
    const files = releaseFiles({
      definition: { digest: definition, size: text.length, mediaType: 'application/yaml' },
      readme: { digest: sha256(readme), size: readme.length },
    });
    const release = releaseManifest('1.0.0', files);
    const digests = { definition, manifest: computeDigest(release) };
    const statement = releaseStatement(
      { group: 'example.com', kind: 'WithImage', release: '1.0.0' },
      digests,
    );
    await publish('WithImage', '1.0.0', { readme, bundles: [await signedBy(key, statement)] });
    const before = (await page('/functions/example.com/WithImage')).text;
    expect(before).toContain('>verified</span>');
    expect(before).not.toContain('No signature covers');
    const subject = { mediaType: MEDIA_TYPES.image, digest: digests.manifest, size: release.byteLength };
    const digest = await client.blob(repository, image);
    const images = [{ path: 'image.svg', mediaType: 'image/svg+xml', digest, size: image.length } as const];
    const manifest = readmeImagesManifest({ subject, images, created: '2026-01-01T00:00:00Z' });
    const put = await client.put(repository, manifest.digest, new TextDecoder().decode(manifest.bytes));
    expect(put.status).toBe(201);
    const after = (await page('/functions/example.com/WithImage')).text;
    expect(after).toContain('>verified</span>');
    expect(after).toContain('No signature covers the images of this README');
  });
});
