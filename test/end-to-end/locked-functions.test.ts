import childProcess from 'node:child_process';
import dns from 'node:dns';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { definitionText, recipeText, sourceText } from '../../apps/cli/src/testing/catalog-build.js';
import {
  runTest,
  type TestIo,
  type TestRegistry,
  testRegistry,
} from '../../apps/cli/src/testing/command-line.js';
import { type RecordingProxy, recordingProxy } from '../../apps/cli/src/testing/recording-proxy.js';
import {
  type RecordedResponses,
  recordResponses,
  replayResponses,
} from '../../apps/cli/src/testing/replayed-responses.js';

/**
 * A function of an aggregated catalog is locked; then the registry that the user reads is rolled back, rewritten and
 * taken away in turn. With --frozen the same runs as before; without, each is refused with its reason.
 */

const GROUP = 'banana.example.com';
let root: string;
let vendor: TestRegistry;
let hub: TestRegistry;
let proxy: RecordingProxy;

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'krmhub-locked-'));
  vendor = await testRegistry();
  hub = await testRegistry({ KRMHUB_SOURCE_ADDRESSES: '127.0.0.1' });
  await publish(vendor, 'Peel', '1.0.0');
  const url = `${vendor.url}/catalogs/default/catalog.yaml`;
  await writeFile(path.join(root, 'recipe.yaml'), recipeText(sourceText('banana', url)));
  await succeed(['catalog', 'apply', 'recipe.yaml'], hub.env);
  proxy = await recordingProxy(hub.url);
  const keys = await fetch(`${hub.url}/.well-known/krmhub-keys.json`);
  await writeFile(
    path.join(root, 'hub.pub'),
    ((await keys.json()) as { keys: { publicKey: string }[] }).keys[0]!.publicKey,
  );
});
afterAll(async () => {
  proxy.close();
  await hub.close();
  await vendor.close();
  await rm(root, { recursive: true, force: true });
});
afterEach(() => {
  proxy.intercept = () => false;
});

async function publish(registry: TestRegistry, kind: string, release: string): Promise<void> {
  const text = definitionText({ group: GROUP, kind, release, description: `Peels, release ${release}.` });
  const definition = new TextEncoder().encode(
    text.replaceAll('registry.example.com', 'localhost:9').replaceAll('a'.repeat(64), hexOf(release)),
  );
  const name = { group: GROUP, kind, release, mediaType: 'application/yaml' as const };
  await new RegistryClient(registry).publish({ ...name, definition, wait: true });
}
const hexOf = (release: string) => release.replaceAll('.', '').padEnd(64, 'e');

/** A package that reads the aggregated catalog, and the environment of its user. */
class User {
  readonly folder: string;
  readonly #env: Record<string, string>;
  constructor(name: string) {
    this.folder = path.join(root, name);
    this.#env = {
      HOME: this.folder,
      KRMHUB_CACHE: path.join(this.folder, '.cache'),
    };
  }

  async write(files: Record<string, string>): Promise<void> {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(this.folder, name)), { recursive: true });
      await writeFile(path.join(this.folder, name), text);
    }
  }

  clearCache(): Promise<void> {
    return rm(path.join(this.folder, '.cache'), { recursive: true, force: true });
  }

  run(args: string[]): Promise<TestIo> {
    return runTest(args, { cwd: this.folder, env: this.#env });
  }
}

const catalogUrl = () => `${proxy.url}/catalogs/platform`;
const files = () => ({
  'app/kustomization.yaml': `catalogs: ["${catalogUrl()}"]\ntransformers: [peel.yaml]\n`,
  'app/peel.yaml': `apiVersion: ${GROUP}/v1\nkind: Peel\nmetadata: {name: peel}\n`,
});

async function succeed(args: string[], env: Record<string, string>): Promise<string> {
  const io = await runTest(args, { cwd: root, env: { HOME: root, ...env } });
  if (io.exitCode !== 0) throw new Error(`krmhub ${args.join(' ')}: ended with ${io.exitCode}\n${io.err()}`);
  return io.out();
}

/** Runs a command, and counts what it connects to, looks up and starts. */
async function connections(run: () => Promise<TestIo>): Promise<{ io: TestIo; count: number }> {
  const spies = [
    vi.spyOn(net.Socket.prototype, 'connect'),
    vi.spyOn(dns, 'lookup'),
    vi.spyOn(childProcess, 'spawn'),
  ];
  try {
    const io = await run();
    return { io, count: spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0) };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

const image = (io: TestIo) => JSON.parse(io.out()).functions[0].runtime?.image;
const reason = (io: TestIo) => JSON.parse(io.out()).functions[0].reason;

describe.each([
  ['named on the command line', ['--trusted-catalog']],
  ['whose key is pinned', []],
])('a function of an aggregated catalog %s', (name, trust) => {
  const user = () => new User(name.replaceAll(' ', '-'));
  const args = () => trust.flatMap((option) => [option, catalogUrl()]);
  const explain = (...more: string[]) => user().run(['explain', 'app', ...args(), ...more, '-o', 'json']);
  let old: RecordedResponses;
  let now: RecordedResponses;
  let locked: string;

  beforeAll(async () => {
    await user().write(files());
    if (trust.length === 0) {
      const pinned = await user().run(['trust', 'add', catalogUrl(), '--key', path.join(root, 'hub.pub')]);
      expect([pinned.exitCode, pinned.err()]).toEqual([0, expect.anything()]);
    }
    proxy.requests.length = 0;
    const first = await explain();
    expect([first.exitCode, first.err()]).toEqual([0, '']);
    old = await recordResponses(proxy, hub.url);
    // Another release at the vendor makes another snapshot here.
    await publish(vendor, 'Peel', trust.length === 0 ? '1.2.0' : '1.1.0');
    await succeed(['source', 'refresh', 'platform'], hub.env);
    const io = await user().run(['lock', 'app', ...args()]);
    expect([io.exitCode, io.err()]).toEqual([0, expect.stringContaining('wrote app/krmhub.lock')]);
    locked = await readFile(path.join(user().folder, 'app/krmhub.lock'), 'utf8');
    await user().clearCache();
    proxy.requests.length = 0;
    expect((await explain()).exitCode).toBe(0);
    now = await recordResponses(proxy, hub.url);
  });

  const lockedImage = () => /image: (.*)/.exec(locked)![1]!;
  const isFrozen = async () => {
    const { io, count } = await connections(() => explain('--frozen'));
    expect([io.exitCode, image(io), count]).toEqual([0, lockedImage(), 0]);
  };

  it('is locked with its snapshot, definition, image, and the key that is pinned', async () => {
    expect(locked).toMatch(/ {2}name: platform\n {2}serial: [2-9]\n {2}digest: sha256:[0-9a-f]{64}\n/);
    expect(/ {2}key: sha256:[0-9a-f]{64}\n/.test(locked)).toBe(trust.length === 0);
    const io = await explain();
    expect([io.exitCode, image(io)]).toEqual([0, lockedImage()]);
    await isFrozen();
  });

  it('is refused where the registry is rolled back, and frozen runs the same', async () => {
    replayResponses(proxy, old);
    const io = await explain();
    expect([io.exitCode, reason(io)]).toEqual([
      4,
      expect.stringMatching(
        /older than the locked snapshot|serves snapshot \d+ as the newest, but snapshot \d+ was verified/,
      ),
    ]);
    await isFrozen();
  });

  it('is refused where the snapshot is rewritten, and frozen runs the same', async () => {
    const [definition] = /definition: (sha256:[0-9a-f]{64})/.exec(locked)!.slice(1);
    const hex = lockedImage().split('sha256:')[1]!;
    replayResponses(proxy, now, (body) =>
      body.replaceAll(definition!, `sha256:${'b'.repeat(64)}`).replaceAll(hex, 'b'.repeat(64)),
    );
    await user().clearCache();
    const io = await explain();
    expect([io.exitCode, reason(io)]).toEqual([
      4,
      expect.stringMatching(
        /differs from the locked definition|got sha256:[0-9a-f]{64}, expected the signed \w+ sha256:/,
      ),
    ]);
    await isFrozen();
  });

  it('is refused where the registry is taken away, and frozen runs the same', async () => {
    proxy.intercept = (request) => {
      request.socket.destroy();
      return true;
    };
    const gone = await explain();
    expect([gone.exitCode, reason(gone)]).toEqual([5, expect.stringContaining('the connection was closed')]);
    proxy.intercept = (_, response) => {
      response.writeHead(404).end();
      return true;
    };
    const missing = await explain();
    // Without its signature, a pinned catalog is not trusted.
    expect([missing.exitCode, image(missing)]).toEqual([trust.length === 0 ? 4 : 3, undefined]);
    await isFrozen();
  });

  it('runs as before when the registry is back', async () => {
    const io = await explain();
    expect([io.exitCode, image(io)]).toEqual([0, lockedImage()]);
  });
});

describe('a lock file that was made before the key was pinned', () => {
  it('names the key when it is written again, and then needs no option', async () => {
    const user = new User('later');
    await user.write(files());
    const trust = ['--trusted-catalog', catalogUrl()];
    expect((await user.run(['lock', 'app', ...trust])).exitCode).toBe(0);
    const text = () => readFile(path.join(user.folder, 'app/krmhub.lock'), 'utf8');
    const before = await text();
    expect(before).not.toContain('key:');
    await user.run(['trust', 'add', catalogUrl(), '--key', path.join(root, 'hub.pub')]);
    const frozen = await user.run(['explain', 'app', '--frozen']);
    expect([frozen.exitCode, frozen.out() + frozen.err()]).toEqual([
      4,
      expect.stringContaining('its key is pinned, but the lock file does not contain the key'),
    ]);
    expect(frozen.out() + frozen.err()).toContain('krmhub lock');
    // Where the catalog can be read, its signature says enough.
    expect((await user.run(['explain', 'app'])).exitCode).toBe(0);
    await writeFile(
      path.join(user.folder, 'app/krmhub.lock'),
      before.replace(/^( {2}digest: .*\n)/m, `$1  key: sha256:${'e'.repeat(64)}\n`),
    );
    const other = await user.run(['explain', 'app', '--frozen']);
    expect([other.exitCode, other.out() + other.err()]).toEqual([
      4,
      expect.stringContaining('but another key is pinned'),
    ]);
    await writeFile(path.join(user.folder, 'app/krmhub.lock'), before);
    const io = await user.run(['lock', 'app']);
    expect([io.exitCode, io.out(), io.err()]).toEqual([0, '', expect.stringContaining('wrote')]);
    expect((await text()).replace(/^ {2}key: .*\n/m, '')).toBe(before);
    for (const args of [[], ['--frozen']]) {
      expect((await user.run(['explain', 'app', ...args])).exitCode).toBe(0);
    }
    expect((await user.run(['lock', 'app', '--check'])).exitCode).toBe(0);
  });
});

describe('a locked release', () => {
  let user: User;
  beforeAll(() => {
    user = new User('releases');
  });
  const url = () => `${hub.url}/catalogs/default`;
  const explain = (...more: string[]) =>
    user.run(['explain', 'app', '--trusted-catalog', url(), ...more, '-o', 'json']);
  const client = () => new RegistryClient(hub);

  /** Locks a release of a new function, and gives what becomes of it. */
  async function lockRelease(kind: string): Promise<void> {
    await publish(hub, kind, '1.0.0');
    await user.write({
      'app/kustomization.yaml': `catalogs: ["${url()}"]\ntransformers: [fn.yaml]\n`,
      'app/fn.yaml': `apiVersion: ${GROUP}/v1\nkind: ${kind}\nmetadata: {name: fn}\n`,
    });
    const io = await user.run(['lock', 'app', '--trusted-catalog', url()]);
    expect([io.exitCode, io.err()]).toEqual([0, expect.stringContaining('wrote')]);
  }

  it('that was yanked runs with a warning', async () => {
    await lockRelease('Yanked');
    await publish(hub, 'Yanked', '1.1.0');
    await client().yank(GROUP, 'Yanked', '1.0.0', 'it forgets some');
    const io = await explain();
    const [fn] = JSON.parse(io.out()).functions;
    expect([io.exitCode, fn.release, fn.isLocked]).toEqual([0, '1.0.0', true]);
    expect(fn.warnings).toEqual([`${GROUP}/Yanked@1.0.0 was yanked: it forgets some`]);
  });

  it('that was taken down does not run', async () => {
    await lockRelease('TakenDown');
    await publish(hub, 'TakenDown', '1.1.0');
    await succeed(['takedown', `${GROUP}/TakenDown@1.0.0`, '--reason', 'a leaked token', '--yes'], hub.env);
    const io = await explain();
    const [fn] = JSON.parse(io.out()).functions;
    expect([io.exitCode, fn.runtime, fn.reason]).toEqual([
      3,
      undefined,
      expect.stringContaining('@1.0.0 was taken down by its registry'),
    ]);
  });

  it('whose signer is no longer trusted does not run, also frozen', async () => {
    await succeed(['keygen', '--out', 'signer'], { KRMHUB_KEY_PASSWORD: 'of the test' });
    const text = definitionText({ group: 'signed.example.com', kind: 'Signed' });
    await writeFile(path.join(root, 'signed.yaml'), text.replaceAll('registry.example.com', 'localhost:9'));
    await succeed(['publish', 'signed.yaml', '--release', '1.0.0', '--key', 'signer.key'], {
      ...hub.env,
      KRMHUB_KEY_PASSWORD: 'of the test',
    });
    await user.write({
      'app/kustomization.yaml': `catalogs: ["${url()}"]\ntransformers: [fn.yaml]\n`,
      'app/fn.yaml': 'apiVersion: signed.example.com/v1\nkind: Signed\nmetadata: {name: fn}\n',
    });
    const trust = (...more: string[]) =>
      user.run([
        'trust',
        'add',
        'team',
        '--group',
        'signed.example.com',
        '--key',
        path.join(root, 'signer.pub'),
        ...more,
      ]);
    expect((await trust()).exitCode).toBe(0);
    const lock = await user.run(['lock', 'app', '--trusted-catalog', url()]);
    expect([lock.exitCode, lock.err()]).toEqual([0, expect.stringContaining('wrote')]);
    expect(await readFile(path.join(user.folder, 'app/krmhub.lock'), 'utf8')).toMatch(/ {2}signedBy: .+\n/);
    for (const args of [[], ['--frozen']]) expect((await explain(...args)).exitCode).toBe(0);
    // The key was stolen: what it signed is trusted no more.
    expect((await trust('--replace', '--valid-until', '2020-01-01')).exitCode).toBe(0);
    for (const args of [[], ['--frozen']]) {
      const io = await explain(...args);
      const [fn] = JSON.parse(io.out()).functions;
      expect([io.exitCode, fn.state, fn.runtime]).toEqual([4, 'not-trusted', undefined]);
    }
  });
});
