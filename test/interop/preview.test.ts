import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { ManifestChange } from '../../apps/cli/src/preview/manifests.js';
import type { PreviewReport } from '../../apps/cli/src/preview/preview-report.js';
import { hostPlatform } from '../../apps/cli/src/run/platform.js';
import { runTest } from '../../apps/cli/src/testing/command-line.js';
import { KPTFILE } from '../../apps/cli/src/testing/fn-package.js';
import { spawnSync } from '../processes.js';
import { command, krmhub, type RunningRegistry, root, startRegistry } from '../running.js';
import { BuildUser, missingOracles } from './build-user.js';
import { type ContainerEngine, openContainerEngine, whyNoContainers } from './container-engine.js';
import { CONFIG_MAP, configText, definitionText } from './function-catalog.js';
import { ImageBuilder } from './function-images.js';
import { registryHost, titleWithReason } from './oci-tools.js';
import { KINDS, type PreviewPackage, previewPackages, RELEASES, RUNTIMES } from './preview-packages.js';

/**
 * A preview equals the difference of two real builds, byte for byte: the package is built with the lock as it is, and
 * again after `krmhub lock --upgrade` wrote the new one. `git` decides what the diffs of the preview mean.
 */

const why = whyNoContainers() ?? missingOracles();
const minutes = 60_000;
const PAGE = path.join(root, 'docs/internals/conformance.md');
const HEADER = '| packages | runtime | packages compared | resources | changed | added | removed | results |';

const RULE = '|---|---|---:|---:|---:|---:|---:|---:|';

/** What is counted for the page. */
interface Row {
  packages: number;
  resources: number;
  counts: Record<ManifestChange['type'], number>;
  results: number;
}

describe.skipIf(why !== undefined)(titleWithReason('a preview of an upgrade', why), () => {
  const packages = previewPackages();
  const rows = new Map<string, Row>();
  let engine: ContainerEngine;
  let registry: RunningRegistry;
  let user: BuildUser;
  let catalog: string;

  beforeAll(async () => {
    engine = await openContainerEngine({ withBase: false });
    registry = await startRegistry(path.join(engine.folder, 'registry'));
    user = new BuildUser(path.join(engine.folder, 'user'), engine);
    catalog = `${registry.url}/catalogs/default`;
    await publish(0);
    for (const one of packages) {
      const folder = path.basename(folderOf(one));
      user.write(
        Object.fromEntries(Object.entries(one.files).map(([name, text]) => [`${folder}/app/${name}`, text])),
      );
      const { exitCode, err } = await run(one, 'lock', 'app');
      expect(exitCode, `${one.name}: ${err()}`).toBe(0);
    }
    await publish(1);
  }, 15 * minutes);
  afterAll(async () => {
    await registry?.stop();
    await engine?.remove();
  }, 2 * minutes);

  const folderOf = (one: PreviewPackage) => path.join(user.folder, String(packages.indexOf(one)));
  const run = (one: PreviewPackage, ...args: string[]) =>
    runTest([...args, '-c', catalog], { cwd: folderOf(one), env: user.env as Record<string, string> });

  async function publish(which: 0 | 1): Promise<void> {
    const release = `${which + 1}.0.0`;
    const images = new ImageBuilder(engine, registry);
    for (const runtime of RUNTIMES) {
      const text = RELEASES[runtime][which];
      const cwd = path.join(engine.folder, `${runtime}-${which}`);
      mkdirSync(cwd);
      writeFileSync(path.join(cwd, 'main.star'), text, { mode: 0o755 });
      let runs: object = { starlark: './main.star' };
      if (runtime === 'container') {
        const { tagged, sha256 } = await images.push(`set-${which + 1}`, text);
        runs = { container: { image: tagged, sha256 } };
      } else if (runtime === 'exec') {
        const reference = `${registryHost(registry)}/scripts/set:v${which + 1}`;
        await done(['push', '--exec', `${hostPlatform()}=main.star`, reference], cwd);
        const [os, arch] = hostPlatform().split('/');
        const sha256 = createHash('sha256').update(text).digest('hex');
        runs = { exec: { platforms: [{ bin: 'main.star', os, arch, uri: `oci://${reference}`, sha256 }] } };
      }
      writeFileSync(path.join(cwd, 'definition.yaml'), definitionText(KINDS[runtime], runs));
      await done(['publish', 'definition.yaml', '--release', release], cwd);
    }
  }
  async function done(args: string[], cwd: string): Promise<void> {
    const { code, stderr } = await krmhub(args, { cwd, env: registry.env });
    expect(code, stderr).toBe(0);
  }

  /** What a user gets with the lock file that is there. */
  async function build(one: PreviewPackage): Promise<string> {
    const built =
      one.type === 'Kptfile' ? ['fn', 'render'] : one.type === 'folder' ? ['fn', 'run'] : ['build'];
    const output = built[0] === 'fn' ? ['-o', 'unwrap'] : [];
    const io = await run(one, ...built, 'app', '--allow-exec', ...output);
    expect(io.exitCode, io.err()).toBe(0);
    return io.out();
  }

  it('has many packages', () => {
    expect(packages.length).toBeGreaterThanOrEqual(40);
  });

  it.each(
    packages.map((one) => [`${one.source} ${one.name}, a ${one.type} with ${one.runtime}`, one] as const),
  )(
    'equals two builds: %s',
    async (_, one) => {
      const io = await run(one, 'lock', 'app', '--upgrade', '--preview', '--allow-exec', '-o', 'json');
      expect(io.exitCode, io.out() + io.err()).toBe(0);
      const report = JSON.parse(io.out()) as PreviewReport;
      expect(report).toMatchObject({ failures: {}, notDeterministic: [], functions: [{ after: '2.0.0' }] });
      const before = await build(one);
      const upgrade = await run(one, 'lock', 'app', '--upgrade');
      expect(upgrade.exitCode, upgrade.err()).toBe(0);
      const after = await build(one);
      expectEqual(report, before, after);
      expect(user.leftovers()).toEqual([]);
      count(one, report);
    },
    3 * minutes,
  );

  function count({ source, runtime }: PreviewPackage, { manifests, results }: PreviewReport): void {
    const row = rows.get(`${source} | ${runtime}`) ?? {
      ...{ packages: 0, resources: 0, results: 0 },
      counts: { added: 0, removed: 0, changed: 0 },
    };
    row.packages++;
    row.resources += manifests.after;
    for (const { type } of manifests.changes) row.counts[type]++;
    row.results += results.appeared.length + results.disappeared.length;
    rows.set(`${source} | ${runtime}`, row);
  }

  it(
    'shows what the image of a Kptfile changes whose tag has moved',
    async () => {
      const images = new ImageBuilder(engine, registry);
      const [first, second] = [
        await images.push('moving', RELEASES.container[0]),
        await images.push('moved', RELEASES.container[1]),
      ];
      const step = `  - image: ${first.tagged}\n    configMap: {a: b}\n`;
      user.write({
        'moving/app/Kptfile': `${KPTFILE}pipeline:\n  mutators:\n${step}`,
        'moving/app/settings.yaml': CONFIG_MAP,
      });
      const cwd = path.join(user.folder, 'moving');
      const inFolder = (...args: string[]) => runTest(args, { cwd, env: user.env as Record<string, string> });
      const render = async () => (await inFolder('fn', 'render', 'app', '-o', 'unwrap')).out();
      expect((await inFolder('lock', 'app')).exitCode).toBe(0);
      await done(['copy', second.tagged, first.tagged], cwd);
      // podman itself uses TLS.
      const digests = [first, second].map(({ pinned }) =>
        first.pinned.replace(/@.*/, pinned.slice(pinned.indexOf('@'))),
      );
      for (const image of digests) await engine.podman('pull', '--quiet', '--tls-verify=false', image);
      const io = await inFolder('lock', 'app', '--upgrade', '--preview', '-o', 'json');
      expect(io.exitCode, io.out() + io.err()).toBe(0);
      const report = JSON.parse(io.out()) as PreviewReport;
      expect(report.imageChanges).toMatchObject([{ type: 'changed', image: first.tagged, class: 'rebuilt' }]);
      const before = await render();
      expect((await inFolder('lock', 'app', '--upgrade')).exitCode).toBe(0);
      const after = await render();
      expect(before).not.toBe(after);
      expectEqual(report, before, after);
    },
    3 * minutes,
  );

  it('leaves nothing if it is killed in the middle', async () => {
    user.write({
      'killed/app/kustomization.yaml': 'resources: [settings.yaml]\ntransformers: [slow.yaml]\n',
      'killed/app/settings.yaml': CONFIG_MAP,
      'killed/app/slow.yaml': configText('Slow', { runtime: 'exec:\n  path: ./slow.sh\n' }),
      'killed/app/slow.sh': '#!/bin/sh\n: > "$HOME/started"\nexec sleep 1000\n',
    });
    chmodSync(path.join(user.folder, 'killed/app/slow.sh'), 0o755);
    const before = user.snapshot('killed');
    const flags = ['--', '--enable-alpha-plugins', '--enable-exec'];
    const child = user.start(process.execPath, [command, 'lock', 'killed/app', '--preview', ...flags]);
    await expect.poll(() => existsSync(path.join(user.folder, 'started')), { timeout: minutes }).toBe(true);
    expect(user.leftovers()).not.toEqual([]);
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    await expect.poll(() => user.leftovers(), { timeout: minutes }).toEqual([]);
    expect(user.snapshot('killed')).toEqual(before);
  });

  it('is counted in the conformance page (UPDATE=1 writes it)', ({ skip }) => {
    const compared = [...rows.values()].reduce((sum, one) => sum + one.packages, 0);
    skip(process.env.UPDATE !== '1' && compared < packages.length, 'not all packages were compared');
    const lines = [...rows].map(([name, { packages: number, resources, counts, results }]) => {
      const cells = [name, number, resources, counts.changed, counts.added, counts.removed, results];
      return `| ${cells.join(' | ')} |`;
    });
    const text = readFileSync(PAGE, 'utf8');
    const [, rest = ''] = text.split(`${HEADER}\n${RULE}\n`);
    const table = rest.split('\n\n', 1)[0]!;
    if (process.env.UPDATE === '1')
      writeFileSync(
        PAGE,
        text.replace(table, () => lines.join('\n')),
      );
    else expect(lines.filter((line) => !table.includes(line))).toEqual([]);
  });
});

interface Document {
  identity: string;
  text: string;
}

/** The documents of an output, apart from the code of krmhub. */
function documents(output: string): Document[] {
  if (output === '') return [];
  const counts = new Map<string, number>();
  return output.split(/^---\n/m).map((text) => {
    const { apiVersion, kind, metadata } = parse(text, { maxAliasCount: -1, version: '1.1' }) as {
      [Field in 'apiVersion' | 'kind']: string;
    } & { metadata?: { name: string; namespace?: string } };
    const name = JSON.stringify([apiVersion, kind, metadata?.namespace ?? '', String(metadata?.name)]);
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return { identity: `${name} ${count}`, text };
  });
}

function expectEqual({ manifests }: PreviewReport, before: string, after: string): void {
  const [old, now] = [documents(before), documents(after)];
  const [was, is] = [old, now].map((list) => new Map(list.map(({ identity, text }) => [identity, text])));
  expect([manifests.before, manifests.after, manifests.unstable]).toEqual([old.length, now.length, []]);
  const counts = new Map<string, number>();
  const changes = new Map<string, ManifestChange>();
  for (const change of manifests.changes) {
    const { apiVersion, kind, namespace = '', name } = change;
    const base = JSON.stringify([apiVersion, kind, namespace, name]);
    // Of several resources of one name, the preview lists those that changed in their order.
    let at = counts.get(base) ?? 0;
    while (was!.get(`${base} ${at}`) === is!.get(`${base} ${at}`) && at < 100) at++;
    counts.set(base, at + 1);
    changes.set(`${base} ${at}`, change);
  }
  for (const identity of new Set([...was!.keys(), ...is!.keys()])) {
    const [one, other] = [was!.get(identity), is!.get(identity)];
    const change = changes.get(identity);
    if (one === other) {
      expect([identity, change]).toEqual([identity, undefined]);
      continue;
    }
    const type = one === undefined ? 'added' : other === undefined ? 'removed' : 'changed';
    expect([identity, change?.type]).toEqual([identity, type]);
    expect(applied(one ?? '', change!.diff)).toBe(other ?? '');
    expect(changedLines(change!.diff)).toBe(minimalLines(one ?? '', other ?? ''));
  }
  const common = (list: readonly Document[], others: ReadonlyMap<string, string>) =>
    list.flatMap(({ identity }) => (others.has(identity) ? [identity] : []));
  expect(manifests.isReordered).toBe(common(old, is!).join() !== common(now, was!).join());
}

const changedLines = (diff: readonly string[]) => diff.filter((line) => /^[+-]/.test(line)).length;

/** What git makes of a text with a diff. */
function applied(text: string, diff: readonly string[]): string {
  return inFolder((folder) => {
    const name = path.join(folder, 'file');
    writeFileSync(name, text);
    const input = ['--- a/file', '+++ b/file', ...diff, ''].join('\n');
    const { status, stderr } = spawnSync('git', ['apply', '--whitespace=nowarn', '-'], {
      cwd: folder,
      input,
    });
    expect([status, String(stderr)]).toEqual([0, '']);
    return readFileSync(name, 'utf8');
  });
}

/** How many lines differ at least. */
function minimalLines(one: string, other: string): number {
  return inFolder((folder) => {
    for (const [name, text] of [['a', one] as const, ['b', other] as const])
      writeFileSync(path.join(folder, name), text);
    const args = ['diff', '--no-index', '--minimal', '--numstat', 'a', 'b'];
    const [added, removed] = spawnSync('git', args, { cwd: folder, encoding: 'utf8' }).stdout.split('\t');
    return Number(added) + Number(removed);
  });
}

function inFolder<Result>(work: (folder: string) => Result): Result {
  const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-diff-'));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
