import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectEnd, fileRegistry, runTest, type TestIo, temporaryFolder } from '../testing/command-line.js';
import { writeKeyFiles } from '../testing/key-files.js';

/** Commands that take an artifact by the name of its release. */

const fixtures = fileURLToPath(new URL('../../../../test/fixtures/functions/', import.meta.url));
const NAME = 'functions.example.com/SetLabels';
const folder = temporaryFolder();
const registry = fileRegistry();
let host: string;
let reference: string;

const run = (args: readonly string[], env: Record<string, string> = registry.env): Promise<TestIo> =>
  runTest(args, { cwd: folder, env: { HOME: folder, ...env } });

async function succeeds(...args: string[]): Promise<TestIo> {
  const io = await run(args);
  expect(io.exitCode, `krmhub ${args.join(' ')}\n${io.err()}`).toBe(0);
  return io;
}

beforeAll(async () => {
  ({ host } = new URL(registry.url));
  reference = `${host}/functions/functions.example.com/setlabels`;
  await writeKeyFiles(folder, 'krmhub', 'other');
  await succeeds('publish', path.join(fixtures, 'set-labels'), '--allow-breaking');
});

describe('GROUP/KIND[@RELEASE]', () => {
  it('is signed and verified as its OCI artifact, which the commands print', async () => {
    const signed = await succeeds('sign', `${NAME}@v1.0`, '--key', 'krmhub.key');
    expect(signed.err()).toContain(`${NAME}@1.0.0 is ${reference}:1.0.0\n`);
    const verified = await succeeds('verify', `${NAME}@1.0.0`, '--key', 'krmhub.pub', '-o', 'json');
    expect(JSON.parse(verified.out())).toMatchObject({ artifact: `${reference}:1.0.0`, verified: true });
    expect(verified.err()).toContain(`${NAME}@1.0.0 is ${reference}:1.0.0\n`);
    expect((await run(['verify', `${NAME}@1.0.0`, '--key', 'other.pub'])).exitCode).toBe(4);
    expect((await run(['verify', `${NAME}@1.1.0`, '--key', 'krmhub.pub'])).exitCode).toBe(4);
    const bare = await succeeds('verify', `${NAME.split('/')[1]}@1.0.0`, '--key', 'krmhub.pub');
    expect(bare.err()).toContain(`${NAME}@1.0.0 is ${reference}:1.0.0\n`);
  });

  it('pulls the files of the release, by default of the newest that is not yanked', async () => {
    const release = `${NAME}@2.0.0`;
    await succeeds('pull', release, '--out', 'named');
    await succeeds('pull', NAME, '--out', 'newest');
    const definition = readFileSync(path.join(fixtures, 'set-labels/2.0.0.yaml'));
    for (const out of ['named', 'newest']) {
      expect(readdirSync(path.join(folder, out))).toEqual(['definition.yaml']);
      expect(readFileSync(path.join(folder, out, 'definition.yaml'))).toEqual(definition);
    }
    await succeeds('yank', release, '--reason', 'broken');
    const older = await succeeds('pull', NAME, '--out', 'older', '-o', 'json');
    expect(JSON.parse(older.out())).toMatchObject({ reference: `${reference}:1.1.0` });
    for (const one of ['1.0.0', '1.1.0']) await succeeds('yank', `${NAME}@${one}`, '--reason', 'broken');
    expectEnd(await run(['pull', NAME, '--out', 'none']), 3, `${NAME}@2.0.0`);
    for (const one of ['1.0.0', '1.1.0', '2.0.0']) await succeeds('unyank', `${NAME}@${one}`);
  });

  it('sends KRMHUB_TOKEN to no other registry than KRMHUB_REGISTRY', async () => {
    const elsewhere = { KRMHUB_REGISTRY: 'http://localhost:9', KRMHUB_TOKEN: registry.token };
    const args = ['copy', `${NAME}@1.1.0`, `${host}/mirror/set-labels:1.1.0`];
    expect((await run(args, elsewhere)).exitCode).toBe(5);
    const io = await run([...args, '--registry', registry.url], elsewhere);
    expectEnd(io, 6, 'KRMHUB_TOKEN is for http://localhost:9');
    const named = await run(args, { KRMHUB_REGISTRY: registry.url, KRMHUB_TOKEN: registry.token });
    expectEnd(named, 0, `copied ${reference}:1.1.0 to`);
  });

  it('is refused if the registry does not have it', async () => {
    for (const args of [['pull'], ['verify', '--key', 'krmhub.pub'], ['sign', '--key', 'krmhub.key']]) {
      expectEnd(await run([args[0]!, `${NAME}@9.0.0`, ...args.slice(1)]), 3, 'has no release 9.0.0');
    }
  });

  it('is not a repository without a tag', async () => {
    expectEnd(await run(['pull', 'registry.example.com/catalog']), 2, 'neither a tag nor a digest');
  });
});

describe('attach', () => {
  it('adds a bundle to the newest release, and to an OCI artifact', async () => {
    await succeeds('pull', `${NAME}@2.0.0`, '--out', '.', '--overwrite');
    await succeeds('sign', 'definition.yaml', '--key', 'krmhub.key', '--release', '2.0.0');
    const released = await succeeds('attach', 'definition.yaml.sigstore.json', NAME);
    expect(released.err()).toContain(`${NAME}@2.0.0 is ${reference}:2.0.0\n`);
    await succeeds('copy', `${NAME}@2.0.0`, `${host}/team/set-labels:2`, '--no-referrers');
    expect((await run(['verify', `${host}/team/set-labels:2`, '--key', 'krmhub.pub'])).exitCode).toBe(4);
    const attached = await succeeds(
      ...['attach', 'definition.yaml.sigstore.json', `${host}/team/set-labels:2`, '-o', 'json'],
    );
    expect(JSON.parse(attached.out())).toMatchObject({ reference: `${host}/team/set-labels:2` });
    await succeeds('verify', `${host}/team/set-labels:2`, '--key', 'krmhub.pub');
  });

  it('does not push a bundle for another manifest', async () => {
    const io = await run(['attach', 'definition.yaml.sigstore.json', `${reference}:1.0.0`]);
    expectEnd(io, 4, 'does not sign the manifest');
    expectEnd(await run(['attach', NAME, 'definition.yaml.sigstore.json']), 2, 'Swap the arguments');
  });

  it('adds images of the README, which the page of the release then shows', async () => {
    const png = Buffer.from('iVBORw0KGgoAAAANSUhEUg==', 'base64');
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>';
    mkdirSync(path.join(folder, 'images'));
    writeFileSync(path.join(folder, 'images/the flow.png'), png);
    writeFileSync(path.join(folder, 'images/result.svg'), svg);
    writeFileSync(
      path.join(folder, 'images.md'),
      '![Flow](images/the%20flow.png) ![Result](images/result.svg)\n',
    );
    const definition = path.join(fixtures, 'set-namespace/1.4.2.yaml');
    await succeeds('publish', definition, '--release', '1.4.2', '--readme', 'images.md');
    const name = 'functions.example.com/SetNamespace';
    const files = ['images/the flow.png', './images/result.svg'];
    const attached = await succeeds('attach', ...files, `${name}@1.4.2`, '-o', 'json');
    expect(JSON.parse(attached.out())).toMatchObject({
      reference: `${host}/functions/functions.example.com/setnamespace:1.4.2`,
      images: [
        { path: 'images/the flow.png', mediaType: 'image/png', size: png.length },
        { path: 'images/result.svg', mediaType: 'image/svg+xml', size: svg.length },
      ],
    });
    const page = await (
      await fetch(`${registry.url}/functions/${name}`, { headers: { Accept: 'text/html' } })
    ).text();
    const sources = [...page.matchAll(/<img src="(\/functions[^"]*)" alt="(\w+)"/g)];
    expect(sources.map(([, , alternative]) => alternative)).toEqual(['Flow', 'Result']);
    const image = await fetch(registry.url + sources[0]![1]!);
    expect(Buffer.from(await image.arrayBuffer())).toEqual(png);
    const again = await succeeds('attach', 'images/result.svg', name);
    expect(again.err()).toContain('added images/result.svg to');
    expect(again.err()).toContain('(image/svg+xml, 41 bytes)');
  });

  it.each([
    [['images/none.png', NAME], 3, 'cannot read images/none.png'],
    [['images/result.svg', 'definition.yaml', NAME], 2, '"definition.yaml" is not a PNG'],
    [[`images/../../${path.basename(folder)}/images/result.svg`, NAME], 2, 'is not in the current folder'],
    [['images/result.svg'], 2, 'FILE or ARTIFACT is missing'],
    [['images/result.svg', `${NAME}@9.0.0`], 3, 'has no release 9.0.0'],
  ])('does not attach %j', async (args, code, message) => {
    expectEnd(await run(['attach', ...args]), code, message);
  });
});

describe('repo', () => {
  it('lists repositories and tags', async () => {
    const { repositories } = JSON.parse((await succeeds('repo', 'list', '-o', 'json')).out());
    expect(repositories).toContain('functions/functions.example.com/setlabels');
    expect((await succeeds('repo', 'list', host)).out()).toBe(`${repositories.join('\n')}\n`);
    const tags = ['1.0.0', '1.1.0', '2.0.0'];
    expect((await succeeds('repo', 'tags', NAME)).out()).toBe(`${tags.join('\n')}\n`);
    const json = JSON.parse((await succeeds('repo', 'tags', reference, '-o', 'json')).out());
    expect(json).toEqual({ repository: reference, tags });
  });

  it.each([
    [['repo', 'list', 'localhost/x'], 2, 'krmhub repo tags localhost/x'],
    [['repo', 'tags', 'localhost/x:1'], 2, 'has a tag or a digest'],
    [['repo', 'tags', `${NAME}@1.0.0`], 2, 'Remove the release'],
    [['repo', 'tags', 'setlabels'], 2, 'does not start with a registry host'],
  ])('refuses %j', async (args, code, text) => {
    expectEnd(await run(args), code, text);
  });

  it('reports a repository that does not exist', async () => {
    expect((await run(['repo', 'tags', `${host}/none`])).exitCode).toBe(3);
  });
});
