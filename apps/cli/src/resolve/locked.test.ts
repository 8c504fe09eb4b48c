import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Lock, LockedFunction, PinnedRuntime } from '@krmhub/catalog';
import { openResolver } from '@krmhub/consume/resolve/open-resolver';
import type { Resolution, ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { describe, expect, it } from 'vitest';
import { lockedFunctions } from '../lock/locked-functions.js';
import { consumePorts } from '../registry/consume-ports.js';
import { catalogText, definitionText } from '../testing/catalog-build.js';
import { runTest, testIo } from '../testing/command-line.js';
import { writeKeyFiles } from '../testing/key-files.js';
import { GROUP, proxiedRegistry } from '../testing/proxied-registry.js';

/** Functions of a lock file: they stay what they were, and no lock file chooses what runs. */

const opened = proxiedRegistry();

let kinds = 0;
/** Publishes a new function and returns its kind. */
async function published(...releases: string[]): Promise<string> {
  const kind = `Function${kinds++}`;
  for (const release of releases) await opened.publish(kind, release);
  return kind;
}
async function resolve(
  kind: string,
  options: Partial<ResolverOptions> = {},
  cache = opened.env().KRMHUB_CACHE,
): Promise<Resolution> {
  const io = testIo({ cwd: opened.folder, env: { ...opened.env(), KRMHUB_CACHE: cache } });
  const resolver = await openResolver(consumePorts(io), {
    catalogs: [opened.catalogUrl()],
    trustedCatalogs: [],
    offline: false,
    ...options,
  });
  try {
    return await resolver.resolve({ apiVersion: `${GROUP}/v1`, kind, catalogs: [] });
  } finally {
    await resolver.close();
  }
}

/** Locks a function as it is resolved now, with changes. */
async function locked(kind: string, change: Partial<LockedFunction> = {}): Promise<Lock> {
  const found = await resolve(kind, { platforms: false });
  const { reference, trustedBy: _, ...state } = found.catalog!;
  return {
    catalogs: [{ reference, ...state }],
    functions: [
      {
        catalog: reference,
        apiVersion: found.apiVersion,
        kind,
        definition: found.definition!,
        ...(found.release === undefined ? {} : { release: found.release }),
        runtime: found.runtime as PinnedRuntime,
        ...change,
      },
    ],
  };
}

function withLock(lock: Lock, frozen = false): Pick<ResolverOptions, 'lock'> {
  return {
    lock: lockedFunctions({ env: {} }, lock, { folder: opened.folder, frozen, command: 'krmhub lock app' }),
  };
}

/** Path of the bytes of a release. */
const DEFINITION = /\/releases\/1\.0\.0\/definition\.yaml$/;
const untrusted = (message: string) => ({ code: 'untrusted', message: expect.stringContaining(message) });

describe('a locked function', () => {
  it('stays what it was when a newer release is published', async () => {
    const kind = await published('1.0.0');
    const before = await resolve(kind);
    const lock = await locked(kind);
    await opened.publish(kind, '2.0.0');
    expect((await resolve(kind)).release).toBe('2.0.0');
    const { entry, ...rest } = before;
    const { group, names, versions } = entry!;
    const declared = { group, names, versions: [{ name: 'v1', schema: versions[0]!.schema }] };
    const same = { ...rest, declared };
    expect(await resolve(kind, withLock(lock))).toEqual(same);
    opened.proxy.requests.length = 0;
    expect(await resolve(kind, withLock(lock, true))).toEqual(same);
    expect(opened.proxy.requests).toEqual([]);
  });

  it('needs a trusted catalog all the same', async () => {
    const kind = await published('1.0.0');
    const lock = await locked(kind);
    const io = testIo({ cwd: opened.folder, env: opened.env() });
    const misspelled = `${opened.catalogUrl()}x`;
    const exact = `--trusted-catalog ${opened.catalogUrl()}@${lock.catalogs[0]!.digest}`;
    for (const [frozen, trustedCatalogs, hint] of [
      [true, [], exact],
      [false, [], exact],
      [true, [misspelled], `--trusted-catalog names ${misspelled}, not this catalog. Review it with`],
      [false, [misspelled], `--trusted-catalog names ${misspelled}, not this catalog. Review it with`],
    ] as const) {
      const resolver = await openResolver(consumePorts(io), {
        catalogs: [],
        trustedCatalogs,
        offline: false,
        ...withLock(lock, frozen),
      });
      const request = {
        apiVersion: `${GROUP}/v1`,
        kind,
        catalogs: [{ text: opened.catalogUrl(), folder: opened.folder }],
      };
      await expect(resolver.resolve(request)).rejects.toMatchObject({
        ...untrusted('no option trusts it'),
        hint: expect.stringContaining(hint),
      });
      await resolver.close();
    }
  });

  it.each([
    ['an older snapshot', { serial: 1_000_000 }, 'which is older than the locked snapshot 1000000'],
    [
      'another snapshot of the same serial',
      { digest: `sha256:${'b'.repeat(64)}` as const },
      'differs from the locked snapshot',
    ],
    ['another catalog', { name: 'other' }, 'but other is locked'],
  ])('is refused from %s, but not if the lock is frozen', async (_, change, message) => {
    const kind = await published('1.0.0');
    const lock = await locked(kind);
    Object.assign(lock.catalogs[0]!, change);
    await expect(resolve(kind, withLock(lock))).rejects.toMatchObject(untrusted(message));
    expect((await resolve(kind, withLock(lock, true))).kind).toBe(kind);
    // A function that is not locked comes from no older state either.
    const other = await published('1.0.0');
    if ('serial' in change)
      await expect(resolve(other, withLock(lock))).rejects.toMatchObject(untrusted(message));
  });

  it('is refused if its catalog was taken away, but not if the lock is frozen', async () => {
    const kind = await published('1.0.0');
    const lock = await locked(kind);
    opened.proxy.intercept = (_, response) => {
      response.destroy();
      return true;
    };
    await expect(resolve(kind, withLock(lock))).rejects.toMatchObject({ code: 'unreachable' });
    expect((await resolve(kind, withLock(lock, true))).release).toBe('1.0.0');
  });

  it('runs with a warning if it was yanked, and not if it was taken down', async () => {
    const kind = await published('1.0.0', '1.1.0');
    const lock = await locked(kind);
    await opened.client.yank(GROUP, kind, '1.1.0', 'it is wrong');
    expect((await resolve(kind, withLock(lock))).warnings).toEqual([
      `${GROUP}/${kind}@1.1.0 was yanked: it is wrong`,
    ]);
    await opened.client.takedown(GROUP, kind, '1.1.0', { reason: 'a secret' });
    // With the cache of the machine that locked it, and without.
    for (const cache of ['cache', 'empty']) {
      const refused = resolve(kind, withLock(lock), path.join(opened.folder, cache));
      await expect(refused).rejects.toMatchObject({
        code: 'gone',
        message: expect.stringContaining(`${GROUP}/${kind}@1.1.0 was taken down`),
        hint: `Use another release. Show the reason: krmhub show ${GROUP}/${kind}`,
      });
    }
  });

  it('says that it is no longer in the catalog', async () => {
    const kind = await published('1.0.0');
    const lock = await locked(kind);
    await opened.client.yank(GROUP, kind, '1.0.0', 'it is wrong');
    await opened.publish(await published('1.0.0'), '2.0.0');
    expect((await resolve(kind, withLock(lock))).warnings).toContain(
      `${GROUP}/v1 ${kind} is no longer in the catalog`,
    );
  });

  it('does not run if its signer was revoked', async () => {
    const run = (...args: string[]) =>
      runTest(args, {
        cwd: opened.folder,
        env: { ...opened.registry.env, HOME: opened.folder },
      });
    await writeKeyFiles(opened.folder, 'ours');
    const kind = `Function${kinds++}`;
    await writeFile(path.join(opened.folder, 'definition.yaml'), definitionText({ group: GROUP, kind }));
    expect(
      (await run('publish', 'definition.yaml', '--release', '1.0.0', '--key', 'ours.key')).exitCode,
    ).toBe(0);
    const policy = (more: string) => `apiVersion: krmhub.dev/v1alpha1
kind: SigningPolicy
metadata: {name: ours}
spec:
  groups: [${GROUP}]
  signers:
  - key: ${JSON.stringify(pem)}
${more}`;
    const { readFile, mkdir } = await import('node:fs/promises');
    const pem = await readFile(path.join(opened.folder, 'ours.pub'), 'utf8');
    const file = path.join(opened.folder, '.config/krmhub/trust.yaml');
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, policy(''), { mode: 0o600 });
    const lock = await locked(kind);
    expect((await resolve(kind, withLock(lock))).signedBy).toContain('policy ours');
    await writeFile(file, policy('    revoked: stolen\n'), { mode: 0o600 });
    for (const frozen of [false, true]) {
      await expect(resolve(kind, withLock(lock, frozen))).rejects.toMatchObject(untrusted('stolen'));
    }
  });
});

describe('a lock file that someone changed', () => {
  const evil: PinnedRuntime = {
    type: 'container',
    image: `evil.example.com/run@sha256:${'e'.repeat(64)}`,
    network: false,
    storage: false,
  };

  it('does not choose what runs', async () => {
    const kind = await published('1.0.0');
    const lock = await locked(kind, { runtime: evil });
    await expect(resolve(kind, withLock(lock))).rejects.toMatchObject(
      untrusted('the lock file does not match the locked definition'),
    );
    // The definition is in the cache now.
    await expect(resolve(kind, withLock(lock, true))).rejects.toMatchObject(
      untrusted('the lock file does not match the locked definition'),
    );
  });

  it.each(['release', 'definition'] as const)('does not name another %s', async (field) => {
    const kind = await published('1.0.0', '1.1.0');
    const change =
      field === 'release' ? { release: '1.0.0' } : { definition: `sha256:${'b'.repeat(64)}` as const };
    const lock = await locked(kind, change);
    await expect(resolve(kind, withLock(lock))).rejects.toMatchObject({ code: 'untrusted' });
  });

  it('does not choose what runs of a file either, after it was locked', async () => {
    await writeFile(path.join(opened.folder, 'catalog.yaml'), catalogText(GROUP, ['Local']));
    const options = { catalogs: ['catalog.yaml'] };
    const found = await resolve('Local', { ...options, platforms: true });
    const fn = (runtime: PinnedRuntime): Lock => ({
      catalogs: [{ reference: './catalog.yaml', digest: found.catalog!.digest! }],
      functions: [
        {
          catalog: './catalog.yaml',
          apiVersion: `${GROUP}/v1`,
          kind: 'Local',
          definition: found.definition!,
          runtime,
        },
      ],
    });
    const good = fn(found.runtime as PinnedRuntime);
    for (const frozen of [false, true]) {
      expect((await resolve('Local', { ...options, ...withLock(good, frozen) })).runtime).toEqual(
        found.runtime,
      );
      await expect(resolve('Local', { ...options, ...withLock(fn(evil), frozen) })).rejects.toMatchObject(
        untrusted('the lock file does not match the locked definition'),
      );
    }
  });
});

describe('the schema of a locked function that its catalog has another release of', () => {
  const unchecked = 'its functionConfig is not checked: the locked definition is not available';
  async function replaced(): Promise<{ kind: string; lock: Lock; schema: unknown }> {
    const kind = await published('1.0.0');
    const { entry } = await resolve(kind);
    const lock = await locked(kind);
    await opened.publish(kind, '2.0.0');
    opened.proxy.requests.length = 0;
    return { kind, lock, schema: entry?.versions[0]?.schema };
  }
  const resolveWithout = (kind: string, lock: Lock) =>
    resolve(kind, withLock(lock), path.join(opened.folder, 'other-cache'));
  const intercept = (status: number, body: string, paths: RegExp) => {
    opened.proxy.intercept = ({ url = '' }, response) => {
      if (!paths.test(url)) return false;
      response.writeHead(status).end(body);
      return true;
    };
  };

  it('is that of the release, which the registry has, in a new cache', async () => {
    const { kind, lock, schema } = await replaced();
    const found = await resolveWithout(kind, lock);
    expect([found.declared?.versions[0]?.schema, found.warnings]).toEqual([schema, []]);
    expect(opened.paths()).toContainEqual(expect.stringMatching(DEFINITION));
  });

  it('is that of the locked snapshot, if the registry does not have the release', async () => {
    const { kind, lock, schema } = await replaced();
    intercept(404, '', DEFINITION);
    const found = await resolveWithout(kind, lock);
    expect([found.declared?.versions[0]?.schema, found.warnings]).toEqual([schema, []]);
  });

  it('is not used where the registry has other bytes', async () => {
    const { kind, lock } = await replaced();
    intercept(200, definitionText({ group: GROUP, kind, release: '2.0.0' }), DEFINITION);
    await expect(resolveWithout(kind, lock)).rejects.toMatchObject(untrusted('got the definition sha256:'));
  });

  it('is unknown if nothing has it, which is a warning', async () => {
    const { kind, lock } = await replaced();
    intercept(404, '', /\/definition|\/snapshots\//);
    const { declared, warnings } = await resolveWithout(kind, lock);
    expect([declared, warnings]).toEqual([undefined, [unchecked]]);
  });
});

describe('a function that is not locked', () => {
  it('is resolved with a warning, and if the lock is frozen it is not', async () => {
    const [kind, other] = [await published('1.0.0'), await published('1.0.0')];
    const lock = await locked(kind);
    expect((await resolve(other, withLock(lock))).warnings).toEqual([
      `${GROUP}/v1 ${other} is not locked; lock it with \`krmhub lock app\``,
    ]);
    await expect(resolve(other, withLock(lock, true))).rejects.toMatchObject({
      code: 'not-found',
      message: `cannot resolve ${GROUP}/v1 ${other}: it is not locked`,
      hint: 'Lock it: krmhub lock app',
    });
  });
});
