import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { readPublicKey, sha256 } from '@krmhub/schema';
import { keySigner, releaseStatement, signStatement, snapshotStatement } from '@krmhub/signing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectEnd, runTest, type TestIo, temporaryFolder } from '../testing/command-line.js';

/** `catalog verify` against a server that answers what a test wants. */

const newKey = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const pem = String(publicKey.export({ type: 'spki', format: 'pem' }));
  return { privateKey, pem, fingerprint: readPublicKey(pem, 'a key').fingerprint };
};
const ours = newKey();
const strange = newKey();
const HOUR = 3_600_000;
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR).toISOString();
const text = (value: string) => new TextEncoder().encode(value);

interface Made {
  bundle: Uint8Array | undefined;
  'snapshot.json': string;
  'catalog.yaml': string;
}

async function snapshot(
  serial: number,
  more: { catalog?: string; expires?: string; signedAt?: string; key?: KeyObject; content?: string } = {},
): Promise<Made> {
  const {
    catalog = 'default',
    expires = inHours(24),
    key = ours.privateKey,
    content = `# ${serial}\n`,
    signedAt,
  } = more;
  const files = {
    'snapshot.json': `{"catalog":"${catalog}","serial":${serial},"of":"${content.trim()}"}\n`,
    'catalog.yaml': content,
  };
  const statement = snapshotStatement(
    { catalog, serial, previous: null, expires, ...(signedAt === undefined ? {} : { signedAt }) },
    {
      'snapshot.json': sha256(files['snapshot.json']),
      'catalog.yaml': sha256(files['catalog.yaml']),
      manifest: sha256('manifest'),
    },
  );
  return { bundle: await signStatement(statement, keySigner(key)), ...files };
}

let server: Server;
let origin: string;
/** By path; what is not there is 404. */
let answers: Map<string, { body: string | Uint8Array; status?: number; type?: string }>;
let asked: string[];
let authorizations: (string | undefined)[];
let folder: string;
let home: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url!);
    authorizations.push(request.headers.authorization);
    const answer = answers.get(request.url!);
    if (answer === undefined) {
      response.writeHead(404, { 'Content-Type': 'text/html' }).end('<h1>no</h1>');
      return;
    }
    response.writeHead(answer.status ?? 200, { 'Content-Type': answer.type ?? 'application/octet-stream' });
    response.end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});
beforeEach(async () => {
  answers = new Map();
  asked = [];
  authorizations = [];
  folder = temporaryFolder();
  home = path.join(folder, 'home');
  await writeFile(path.join(folder, 'registry.pub'), ours.pem);
});

/** Shows a snapshot at its own address, and its bundle as that of the newest. */
function show(made: Made, serial: number, { catalog = 'default', newest = true } = {}): void {
  const base = `/catalogs/${catalog}`;
  for (const name of ['snapshot.json', 'catalog.yaml'] as const) {
    answers.set(`${base}/snapshots/${serial}/${name}`, { body: made[name] });
  }
  if (made.bundle === undefined) return;
  answers.set(`${base}/snapshots/${serial}/snapshot.sigstore.json`, { body: made.bundle });
  if (newest) answers.set(`${base}/snapshot.sigstore.json`, { body: made.bundle });
}

const verify = (...args: string[]): Promise<TestIo> =>
  runTest(['catalog', 'verify', ...args], {
    cwd: folder,
    env: { HOME: home, KRMHUB_REGISTRY: origin },
  });
const KEY = ['--key', 'registry.pub'];
const seenFile = () => path.join(home, '.config/krmhub/seen-catalogs.json');
const seen = async () => JSON.parse(await readFile(seenFile(), 'utf8')).catalogs;
const exists = (file: string) =>
  stat(file).then(
    () => true,
    () => false,
  );

/** Refused: exit code 4, the failed check last, nothing written and nothing remembered. */
async function expectRefused(io: TestIo, check: string, reason: string | RegExp): Promise<void> {
  expect([io.exitCode, io.err()]).toEqual([
    4,
    expect.stringMatching(new RegExp(`error: .* is not trusted: ${check}: `)),
  ]);
  if (typeof reason === 'string') expect(io.err()).toContain(reason);
  else expect(io.err()).toMatch(reason);
  expect(io.err()).toContain('hint: ');
  expect(io.out().trimEnd().split('\n').at(-1)).toMatch(new RegExp(`^${check}\tfailed\t`));
  expect(await exists(path.join(folder, 'out'))).toBe(false);
}

describe('catalog verify', () => {
  it('verifies the newest snapshot, writes it, and stores its serial', async () => {
    const made = await snapshot(3);
    show(made, 3);
    const io = await verify('default', ...KEY, '--out', 'out');
    expectEnd(io, 0, `verified snapshot 3 of ${origin}/catalogs/default`);
    expect(
      io
        .out()
        .trimEnd()
        .split('\n')
        .map((line) => line.split('\t').slice(0, 2).join(' ')),
    ).toEqual(
      [
        'bundle',
        'statement',
        'signature',
        'catalog',
        'serial',
        'expiry',
        'rollback',
        'snapshot.json',
        'catalog.yaml',
      ].map((check) => `${check} passed`),
    );
    expect((await readdir(path.join(folder, 'out'))).sort()).toEqual([
      'catalog.yaml',
      'snapshot.json',
      'snapshot.sigstore.json',
    ]);
    expect(await readFile(path.join(folder, 'out/catalog.yaml'), 'utf8')).toBe(made['catalog.yaml']);
    expect(await seen()).toEqual({
      [`${ours.fingerprint} default`]: {
        serial: 3,
        digest: sha256(made['snapshot.json']),
        at: expect.any(String),
      },
    });
    expect((await stat(seenFile())).mode & 0o777).toBe(0o600);
    // Exactly these: what is read is asked for by the serial that is signed.
    expect(asked).toEqual(
      ['snapshot.sigstore.json', 'snapshots/3/snapshot.json', 'snapshots/3/catalog.yaml'].map(
        (name) => `/catalogs/default/${name}`,
      ),
    );
  });

  it('prints all checks as JSON', async () => {
    show(await snapshot(3), 3);
    const io = await verify('default', ...KEY, '-o', 'json');
    const told = JSON.parse(io.out());
    expect(told).toMatchObject({
      catalog: 'default',
      url: `${origin}/catalogs/default`,
      verified: true,
      serial: 3,
    });
    expect(told.checks).toHaveLength(9);
    answers.set('/catalogs/default/snapshot.sigstore.json', { body: '{}' });
    const refused = await verify('default', ...KEY, '-o', 'json');
    expect(refused.exitCode).toBe(4);
    expect(JSON.parse(refused.out())).toMatchObject({
      verified: false,
      checks: [{ check: 'bundle', passed: false, message: 'it has no mediaType' }],
    });
  });

  it.each([
    ['the URL of a catalog', '/catalogs/default'],
    ['the URL of a catalog with a slash', '/catalogs/default/'],
    ['the URL of its newest bytes', '/catalogs/default/catalog.yaml'],
    ['the URL of a snapshot', '/catalogs/default/snapshots/3'],
    ['the URL of a file of a snapshot', '/catalogs/default/snapshots/3/snapshot.sigstore.json'],
  ])('takes %s', async (_, target) => {
    show(await snapshot(3), 3);
    const io = await verify(origin + target, ...KEY);
    expect([io.exitCode, io.err()]).toEqual([0, expect.any(String)]);
    expect(Object.keys(await seen())).toEqual([`${ours.fingerprint} default`]);
  });

  it.each([
    ['/catalogs', 'is not the URL of a catalog'],
    ['/catalogs/default/snapshots/0', 'is not the URL of a catalog'],
    ['/catalogs/De%2ffault', 'is not a valid catalog name'],
    ['/catalogs/default?x', 'has a query'],
  ])('takes no %s', async (target, reason) => {
    expectEnd(await verify(origin + target, ...KEY), 2, reason);
    expect(asked).toEqual([]);
  });

  it('accepts a registry URL with a path', async () => {
    show(await snapshot(3), 3);
    for (const [target, answer] of [...answers]) answers.set(`/krm${target}`, answer);
    expect((await verify(`${origin}/krm/catalogs/default`, ...KEY)).exitCode).toBe(0);
    expect((await verify('default', '--registry', `${origin}/krm/`, ...KEY)).exitCode).toBe(0);
    expect(Object.keys(await seen())).toEqual([`${ours.fingerprint} default`]);
  });

  it('sends the token to no registry, because reading needs none', async () => {
    show(await snapshot(3), 3);
    const token = `krmhub_${'a'.repeat(72)}`;
    const verifyFrom = (registry: string) =>
      runTest(['catalog', 'verify', `${origin}/catalogs/default`, ...KEY], {
        cwd: folder,
        env: { HOME: home, KRMHUB_TOKEN: token, KRMHUB_REGISTRY: registry },
      });
    for (const registry of ['https://krm.example.com', 'http://127.0.0.1:1', 'nonsense']) {
      expect((await verifyFrom(registry)).exitCode).toBe(0);
    }
    expect(new Set(authorizations)).toEqual(new Set([undefined]));
    // Nor to this one, because reading needs none.
    expect((await verifyFrom(origin)).exitCode).toBe(0);
    expect(new Set(authorizations)).toEqual(new Set([undefined]));
  });

  it('verifies with one of several keys', async () => {
    show(await snapshot(3), 3);
    await writeFile(path.join(folder, 'next.pub'), strange.pem);
    expect((await verify('default', '--key', 'next.pub', ...KEY)).exitCode).toBe(0);
    const io = await verify('default', '--key', 'next.pub');
    expect(io.exitCode).toBe(4);
  });

  it('requires a public key', async () => {
    expect((await verify('default')).exitCode).toBe(2);
    await writeFile(
      path.join(folder, 'private.pem'),
      ours.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    );
    expectEnd(await verify('default', '--key', 'private.pem'), 1, 'private key');
    expect((await verify('default', '--key', 'missing.pub')).exitCode).toBe(3);
    expect(asked).toEqual([]);
  });
});

describe('catalog verify rejects', () => {
  const bundleAnswer = '/catalogs/default/snapshot.sigstore.json';

  it.each<[string, { body: string; status?: number; type?: string } | undefined, string]>([
    ['a missing bundle', undefined, 'no signature: '],
    ['a bundle that is gone', { status: 410, body: 'gone' }, 'no signature: '],
    [
      'a bundle that the registry does not have',
      {
        status: 404,
        type: 'application/problem+json',
        body: JSON.stringify({
          type: 'x',
          title: 'x',
          status: 404,
          code: 'not-found',
          detail: 'Snapshot 3 is not signed',
        }),
      },
      'no signature: Snapshot 3 is not signed',
    ],
    ['{}', { body: '{}' }, 'it has no mediaType'],
    ['a page of HTML', { body: '<html></html>' }, 'it is not valid JSON'],
  ])('%s', async (_, answer, reason) => {
    show(await snapshot(3), 3);
    if (answer === undefined) answers.delete(bundleAnswer);
    else answers.set(bundleAnswer, answer);
    await expectRefused(await verify('default', ...KEY, '--out', 'out'), 'bundle', reason);
    expect(await exists(seenFile())).toBe(false);
    expect(asked).toEqual([bundleAnswer]);
  });

  it('a signature by another key, and prints the key', async () => {
    show(await snapshot(3, { key: strange.privateKey }), 3);
    const io = await verify('default', ...KEY, '--out', 'out');
    await expectRefused(io, 'signature', /by the key sha256:[a-f0-9]{64}, expected sha256:[a-f0-9]{64}/);
    expect(io.err()).toContain(`${origin}/.well-known/krmhub-keys.json`);
    expect(asked).toEqual([bundleAnswer]);
  });

  it('a valid bundle of another catalog', async () => {
    const made = await snapshot(3, { catalog: 'other' });
    show(made, 3, { catalog: 'default' });
    await expectRefused(
      await verify('default', ...KEY, '--out', 'out'),
      'catalog',
      'signature of other, expected default',
    );
  });

  it('a valid signature that is not of a snapshot', async () => {
    const statement = releaseStatement(
      { group: 'example.com', kind: 'SetLabels', release: '1.0.0' },
      { definition: sha256('x') },
    );
    answers.set(bundleAnswer, { body: await signStatement(statement, keySigner(ours.privateKey)) });
    await expectRefused(
      await verify('default', ...KEY, '--out', 'out'),
      'statement',
      'not a valid statement of a catalog snapshot',
    );
  });

  it.each(['snapshot.json', 'catalog.yaml'] as const)('another %s than was signed', async (name) => {
    show(await snapshot(3), 3);
    answers.set(`/catalogs/default/snapshots/3/${name}`, { body: 'something else' });
    await expectRefused(
      await verify('default', ...KEY, '--out', 'out'),
      name,
      `got ${sha256('something else')}`,
    );
    expect(await exists(seenFile())).toBe(false);
  });

  it('an expired snapshot as the newest, but not with --snapshot', async () => {
    show(await snapshot(3, { expires: inHours(-1) }), 3);
    const io = await verify('default', ...KEY, '--out', 'out');
    await expectRefused(io, 'expiry', /expired at .*, the time is /);
    for (const args of [['default', '--snapshot', '3'], [`${origin}/catalogs/default/snapshots/3`]]) {
      const named = await verify(...args, ...KEY);
      expect([named.exitCode, named.out()]).toEqual([
        0,
        expect.stringContaining('not checked for an explicit snapshot'),
      ]);
    }
  });

  it('the bundle of another snapshot with --snapshot', async () => {
    show(await snapshot(3), 3);
    const { bundle } = await snapshot(2);
    answers.set('/catalogs/default/snapshots/3/snapshot.sigstore.json', { body: bundle! });
    const io = await verify('default', '--snapshot', '3', ...KEY, '--out', 'out');
    await expectRefused(io, 'serial', 'signature of snapshot 2, expected 3');
    expect((await verify(`${origin}/catalogs/default/snapshots/3`, '--snapshot', '2', ...KEY)).exitCode).toBe(
      2,
    );
  });

  it('an older snapshot as the newest, but not with --snapshot', async () => {
    show(await snapshot(4), 4);
    expect((await verify('default', ...KEY)).exitCode).toBe(0);
    show(await snapshot(3), 3);
    const io = await verify('default', ...KEY, '--out', 'out');
    await expectRefused(
      io,
      'rollback',
      'the registry serves snapshot 3 as the newest, but snapshot 4 was verified',
    );
    expect(io.err()).toContain(seenFile());
    expect((await verify('default', '--snapshot', '3', ...KEY)).exitCode).toBe(0);
    expect(Object.values(await seen())).toMatchObject([{ serial: 4 }]);
    show(await snapshot(5), 5);
    expect((await verify('default', ...KEY)).exitCode).toBe(0);
    expect(Object.values(await seen())).toMatchObject([{ serial: 5 }]);
  });

  it('another snapshot with the same serial, also with --snapshot', async () => {
    show(await snapshot(4), 4);
    expect((await verify('default', ...KEY)).exitCode).toBe(0);
    // A signature that was renewed is of the same snapshot.
    show(await snapshot(4, { expires: inHours(48) }), 4);
    expect((await verify('default', ...KEY)).exitCode).toBe(0);
    show(await snapshot(4, { content: '# forked\n' }), 4);
    for (const args of [['default'], ['default', '--snapshot', '4']]) {
      await expectRefused(
        await verify(...args, ...KEY, '--out', 'out'),
        'rollback',
        'this snapshot 4 differs from the one that was verified',
      );
    }
  });

  it('an older snapshot, with any spelling of the URL and any of its keys', async () => {
    show(await snapshot(4), 4);
    expect((await verify('default', ...KEY)).exitCode).toBe(0);
    show(await snapshot(3, { key: strange.privateKey }), 3);
    await writeFile(path.join(folder, 'next.pub'), strange.pem);
    const local = origin.replace('127.0.0.1', 'localhost');
    const io = await verify(`${local}/catalogs/default`, ...KEY, '--key', 'next.pub', '--out', 'out');
    await expectRefused(io, 'rollback', 'but snapshot 4 was verified');
    expect(io.err()).toContain(`remove "${ours.fingerprint} default" from ${seenFile()}`);
    // The catalog of a registry with only the other key is another one.
    expect((await verify('default', '--key', 'next.pub')).exitCode).toBe(0);
  });

  it('a snapshot older than the serial in a file of an earlier version', async () => {
    show(await snapshot(3), 3);
    expect((await verify('default', ...KEY)).exitCode).toBe(0);
    const at = new Date().toISOString();
    const catalogs = { [`${origin}/catalogs/default`]: { serial: 4, digest: sha256('x'), at } };
    await writeFile(seenFile(), JSON.stringify({ version: 1, catalogs }));
    await expectRefused(await verify('default', ...KEY, '--out', 'out'), 'rollback', 'but snapshot 4');
  });

  it.each([
    [['--min-serial', '5'], 'min-serial', 'snapshot 4, expected at least 5'],
    [['--max-age', '30m'], 'max-age', 'signed at '],
  ])('what is older than a new machine requires with %s', async (options, check, reason) => {
    show(await snapshot(4, { signedAt: inHours(-1) }), 4);
    await expectRefused(await verify('default', ...KEY, ...options, '--out', 'out'), check, reason);
    const enough = await verify('default', ...KEY, '--min-serial', '4', '--max-age', '2h', '-o', 'json');
    expect([enough.exitCode, JSON.parse(enough.out()).checks.length]).toEqual([0, 11]);
    show(await snapshot(4), 4);
    const io = await verify('default', ...KEY, '--max-age', '2h', '--out', 'out');
    await expectRefused(io, 'max-age', 'does not contain its signing time');
  });

  it('a catalog if seen-catalogs.json is not readable', async () => {
    show(await snapshot(4), 4);
    expect((await verify('default', ...KEY)).exitCode).toBe(0);
    for (const damaged of ['', 'null', '{"version":2}', '{"version":1,"catalogs":{"x":{"serial":"4"}}}']) {
      await writeFile(seenFile(), damaged);
      expectEnd(await verify('default', ...KEY, '--out', 'out'), 5, 'seen-catalogs.json is not valid');
      expect(await exists(path.join(folder, 'out'))).toBe(false);
    }
  });

  it('a snapshot with a missing file, and writes nothing', async () => {
    show(await snapshot(4), 4);
    answers.delete('/catalogs/default/snapshots/4/catalog.yaml');
    const io = await verify('default', ...KEY, '--out', 'out');
    expect(io.exitCode).toBe(5);
    expect([await exists(path.join(folder, 'out')), await exists(seenFile())]).toEqual([false, false]);
  });

  it('an endless response', async () => {
    answers.set(bundleAnswer, { body: new Uint8Array(1_048_577) });
    expectEnd(await verify('default', ...KEY, '--out', 'out'), 5, 'larger than 1048576 bytes');
  });
});

describe('catalog verify --files', () => {
  beforeEach(async () => {
    show(await snapshot(3), 3);
    expect((await verify('default', ...KEY, '--out', 'kept')).exitCode).toBe(0);
    asked = [];
    answers.clear();
  });

  it('verifies the written files without a network request', async () => {
    const io = await verify('default', ...KEY, '--files', 'kept', '-o', 'json');
    expect([io.exitCode, JSON.parse(io.out())]).toMatchObject([0, { verified: true, serial: 3 }]);
    expect(asked).toEqual([]);
    expect((await verify('default', ...KEY, '--files', 'kept', '--out', 'x')).exitCode).toBe(2);
  });

  it.each(['snapshot.json', 'catalog.yaml'])('refuses a %s that was changed', async (name) => {
    await writeFile(path.join(folder, 'kept', name), text('changed'));
    await expectRefused(await verify('default', ...KEY, '--files', 'kept'), name, /./);
  });

  it('rejects a folder without a bundle, or of another catalog', async () => {
    await expectRefused(await verify('other', ...KEY, '--files', 'kept'), 'catalog', /expected other/);
    await rm(path.join(folder, 'kept/snapshot.sigstore.json'));
    await expectRefused(
      await verify('default', ...KEY, '--files', 'kept'),
      'bundle',
      'bundle: no snapshot.sigstore.json in ',
    );
    expect(asked).toEqual([]);
  });

  it('fails if a file is missing', async () => {
    await rm(path.join(folder, 'kept/catalog.yaml'));
    expect((await verify('default', ...KEY, '--files', 'kept')).exitCode).toBe(3);
  });
});
