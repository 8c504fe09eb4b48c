import { ARTIFACT_MEDIA_TYPES, type OciDigest } from '@krmhub/oci';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { descriptor, EMPTY_DESCRIPTOR, testClient } from '../../testing/oci.js';
import { definitionText, openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

let registry: TestRegistry;
const client = testClient(() => registry);

beforeAll(async () => {
  registry = await openTestRegistry();
});
afterAll(() => registry.close());

const SCRIPT = `load("encoding/json.star", "json")

# Sets <b>labels</b>.</script>
def transform(items):
    for item in items:
        item["metadata"]["labels"] = {"count": 42}

transform(ctx.resource_list["items"])
`;

/** Pushes a script as `krmhub publish` does. Returns the digest of its manifest. */
async function pushScript(repository: string, script: string, more: object = {}): Promise<OciDigest> {
  const { artifact, layer } = ARTIFACT_MEDIA_TYPES.starlark;
  return client.image(repository, 'latest', [], {
    artifactType: artifact,
    config: EMPTY_DESCRIPTOR,
    layers: [descriptor(script, layer)],
    ...more,
  });
}

async function push(repository: string, script: string, more?: object): Promise<OciDigest> {
  await client.blob(repository, script);
  return pushScript(repository, script, more);
}

async function publish(kind: string, reference: string, release = '1.0.0'): Promise<void> {
  const text = definitionText({ kind, release }).replace(
    /container:\n.*\n.*\n/,
    `starlark: ${JSON.stringify(reference)}\n`,
  );
  const query = '?wait=true&allowBreaking=true';
  const { status, body } = await registry.publish({ kind, release }, query, { text });
  expect(status, JSON.stringify(body)).toBe(201);
}

async function page(kind: string, headers: Record<string, string> = {}) {
  const response = await registry.request(`/functions/example.com/${kind}/source`, {
    headers: { Accept: 'text/html', ...headers },
  });
  return { status: response.status, etag: response.headers.get('etag')!, text: await response.text() };
}

const REPOSITORY = 'scripts/example.com/setlabels';
const SOURCE = '<details class="script"';

describe('the page of a Starlark function', () => {
  it('has a command that runs the newest release, and none for an earlier one', async () => {
    const digest = await push('scripts/example.com/runit', SCRIPT);
    const reference = `oci://localhost:8080/scripts/example.com/runit@${digest}`;
    await publish('RunIt', reference);
    await publish('RunIt', reference, '2.0.0');
    const read = async (path: string) =>
      (await registry.request(path, { headers: { Accept: 'text/html' } })).text();
    const command = 'krmhub fn eval . -c ';
    expect(await read('/functions/example.com/RunIt')).toContain(command);
    expect(await read('/functions/example.com/RunIt/releases/1.0.0')).not.toContain(command);
  });

  it('shows the script with its size and what it loads', async () => {
    const digest = await push(REPOSITORY, SCRIPT);
    await publish('SetLabels', `oci://registry.test/${REPOSITORY}@${digest}`);
    const { status, text } = await page('SetLabels');
    expect(status).toBe(200);
    expect(text).toContain(`<code class="digest">${digest}</code>`);
    expect(text).toContain(`<dd>${SCRIPT.length} bytes</dd>`);
    expect(text).toMatch(/<dt>Loads<\/dt><dd>.*encoding\/json\.star.*json/);
    expect(text).toContain('<details class="script" open="">');
    expect(text).toContain('aria-hidden="true">1\n2\n3\n4\n5\n6\n7\n8</pre>');
    expect(text).toContain(
      '<span class="code-comment"># Sets &lt;b&gt;labels&lt;/b&gt;.&lt;/script&gt;</span>\n<span class="code-keyword">def</span> transform(items):\n',
    );
    expect(text).toContain('<span class="code-number">42</span>');
    expect(text).not.toContain('<b>labels');
  });

  it('shows the script no longer when it is deleted, and again when it is pushed again', async () => {
    const repository = 'scripts/example.com/deleted';
    const digest = await push(repository, SCRIPT);
    await publish('Deleted', `oci://registry.test/${repository}@${digest}`);
    const before = await page('Deleted');
    expect(before.text).toContain(SOURCE);
    expect((await page('Deleted', { 'If-None-Match': before.etag })).status).toBe(304);
    expect((await client.request('DELETE', `${repository}/manifests/${digest}`)).status).toBe(202);
    const after = await page('Deleted', { 'If-None-Match': before.etag });
    expect(after.status).toBe(200);
    expect(after.text).not.toContain(SOURCE);
    expect(after.text).not.toContain('<dt>Size</dt>');
    expect(after.text).toContain(`oci://registry.test/${repository}@${digest}`);
    expect(await push(repository, SCRIPT)).toBe(digest);
    expect((await page('Deleted')).text).toContain(SOURCE);
  });

  it('shows it when the script arrives after the definition', async () => {
    const repository = 'scripts/example.com/late';
    const digest = await push('scripts/example.com/early', SCRIPT);
    await publish('Late', `oci://registry.test/${repository}@${digest}`);
    expect((await page('Late')).text).not.toContain(SOURCE);
    expect(await push(repository, SCRIPT)).toBe(digest);
    expect((await page('Late')).text).toContain(SOURCE);
  });

  it('shows the script of each release', async () => {
    const repository = 'scripts/example.com/changed';
    const first = await push(repository, 'x = "first"\n');
    const second = await push(repository, 'x = "second"\n');
    await publish('Changed', `oci://registry.test/${repository}@${first}`);
    await publish('Changed', `oci://registry.test/${repository}@${second}`, '1.1.0');
    const newest = (await page('Changed')).text;
    expect(newest).toContain('&quot;second&quot;');
    expect(newest).not.toContain('&quot;first&quot;');
    expect((await page('Changed/releases/1.0.0')).text).toContain('&quot;first&quot;');
  });

  it.each([
    ['NoDigest', () => `oci://registry.test/${REPOSITORY}:latest`],
    ['OtherRepository', (digest: string) => `oci://registry.test/scripts/other@${digest}`],
    ['Web', () => `https://registry.test/script.star#sha256=${'a'.repeat(64)}`],
    ['Unknown', () => `oci://registry.test/${REPOSITORY}@sha256:${'a'.repeat(64)}`],
  ])('only names a reference: %s', async (kind, referenceTo) => {
    const reference = referenceTo(await push(REPOSITORY, SCRIPT));
    await publish(kind, reference);
    const { status, text } = await page(kind);
    expect(status).toBe(200);
    expect(text.replaceAll('<wbr/>', '')).toContain(`<bdi>${reference}</bdi>`);
    expect(text).not.toContain(SOURCE);
    expect(text).not.toContain('<dt>Size</dt>');
  });

  it('does not show other artifacts as scripts', async () => {
    const repository = 'scripts/example.com/other';
    const other = await push(repository, SCRIPT, { artifactType: ARTIFACT_MEDIA_TYPES.exec.artifact });
    const { layer } = ARTIFACT_MEDIA_TYPES.starlark;
    const two = await push(repository, SCRIPT, {
      layers: [descriptor(SCRIPT, layer), descriptor(SCRIPT, layer)],
    });
    const long = await push(repository, SCRIPT, { annotations: { note: 'x'.repeat(20_000) } });
    for (const [at, digest] of [other, two, long].entries()) {
      await publish(`Other${at}`, `oci://registry.test/${repository}@${digest}`);
      const { status, text } = await page(`Other${at}`);
      expect([at, status, text.includes(SOURCE)]).toEqual([at, 200, false]);
    }
  });

  it('shows a script with errors as it is', async () => {
    const repository = 'scripts/example.com/broken';
    const digest = await push(repository, 'def f(:\n');
    await publish('Broken', `oci://registry.test/${repository}@${digest}`);
    const { text } = await page('Broken');
    expect(text).toContain('Line 1, column 7: got ');
    expect(text).toContain('<code dir="ltr">def f(:</code>');
  });

  it('shows the beginning of a large script', async () => {
    const repository = 'scripts/example.com/large';
    const digest = await push(repository, '# \u202e</script>\u0000\n'.repeat(250_000));
    await publish('Large', `oci://registry.test/${repository}@${digest}`);
    const { status, text } = await page('Large');
    expect(status).toBe(200);
    expect(text).toContain('The first 5,000 lines of the script');
    expect(text).toContain('<dd>4,000,000 bytes</dd>');
    expect(text).toContain('# \ufffd&lt;/script&gt;␀');
    expect(text).not.toMatch(/[\u0000\u202e]/);
    expect(Buffer.byteLength(text)).toBeLessThan(1_000_000);
  });
});

it.each([{}, { publicUrl: 'https://hub.example.com' }])(
  'scripts are those of the digest, whatever address of the registry they were pushed to: %j',
  async (config) => {
    const outer = registry;
    registry = await openTestRegistry({ config });
    try {
      const digest = await push(REPOSITORY, SCRIPT);
      for (const [at, host] of ['hub.example.com', 'localhost:8080', '127.0.0.1:8080'].entries()) {
        await publish(`At${at}`, `oci://${host}/${REPOSITORY}@${digest}`);
        expect((await page(`At${at}`)).text, host).toContain(SOURCE);
        const data = await registry.request(`/functions/example.com/At${at}/try.json`);
        expect(await data.json(), host).toHaveProperty('script.path');
      }
    } finally {
      await registry.close();
      registry = outer;
    }
  },
);
