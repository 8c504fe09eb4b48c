import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type CatalogServer,
  catalogServer,
  catalogText,
  definitionText,
  OUR_FUNCTIONS,
  recipeText,
  sourceText,
} from '../testing/catalog-build.js';
import {
  expectEnd,
  fileRegistry,
  runTest,
  type TestIoOptions,
  temporaryFolder,
} from '../testing/command-line.js';

/** Sources and reports, as an administrator sees them beside a real registry and a real server of catalogs. */

const folder = temporaryFolder();
const registry = fileRegistry({ KRMHUB_SOURCE_ADDRESSES: '127.0.0.1' });
let server: CatalogServer;

beforeAll(async () => {
  server = await catalogServer();
  const client = new RegistryClient(registry);
  for (const release of ['1.0.0', '1.1.0']) {
    const definition = new TextEncoder().encode(definitionText({ kind: 'SetLabels', release }));
    const name = { group: 'example.com', kind: 'SetLabels', release, mediaType: 'application/yaml' as const };
    await client.publish({ ...name, definition, wait: true });
  }
  await client.yank('example.com', 'SetLabels', '1.1.0', 'bad');
  server.served.set('/banana.yaml', catalogText('banana.co', ['Split', 'Peel'], { more: '  - group: 1\n' }));
  server.served.set('/melon.yaml', catalogText('banana.co', ['Split']));
  server.served.set('/claimer.yaml', catalogText('example.com', ['SetLabels']));
  const { origin } = server;
  await writeFile(
    path.join(folder, 'recipe.yaml'),
    recipeText(
      OUR_FUNCTIONS +
        ['banana', 'melon', 'claimer', 'gone']
          .map((name) => sourceText(name, `${origin}/${name}.yaml`))
          .join(''),
      '  policy: {deny: [{kind: Peel, reason: sharp}]}\n',
    ),
  );
});
afterAll(async () => {
  server.close();
});

const run = (args: string[], options: TestIoOptions = {}) =>
  runTest(args, { cwd: folder, env: registry.env, ...options });

describe('a recipe with upstream catalogs', () => {
  it('is applied after its sources are synced, and reports each of them', async () => {
    const applied = await run(['catalog', 'apply', 'recipe.yaml'], { tty: true });
    expect(applied.exitCode, applied.err()).toBe(0);
    expect(applied.err()).toMatch(/^.*banana: 2 entries, 1 invalid$/m);
    expect(applied.err()).toMatch(/gone: .*failed.*: .+\n {2}hint: Check the url in the recipe/);
    expect(applied.err()).toMatch(/Until\s+then, the catalog contains no entries of this source\./);
    expect(applied.err()).toContain(
      '1 of 4 sources not current, 2 refused (1 claim, 1 denied), 1 shadowed, 1 yanked, 1 invalid: krmhub catalog report platform',
    );
    const shown = await run(['catalog', 'show', 'platform']);
    expect(shown.out()).toContain('1 of 4 upstream catalogs not current; see krmhub source list platform\n');
    const again = await run(['catalog', 'apply', 'recipe.yaml'], { tty: true });
    expect(again.err()).not.toContain('banana: 2 entries');
  });
});

describe('sources', () => {
  it('are listed with their entries and problems', async () => {
    const listed = await run(['source', 'list', 'platform']);
    expect(listed.exitCode, listed.err()).toBe(0);
    const rows = listed
      .out()
      .trim()
      .split('\n')
      .map((line) => line.split('\t'));
    expect(rows.map(([catalog, source, state, entries]) => [catalog, source, state, entries])).toEqual([
      ['platform', 'banana', 'current', '2'],
      ['platform', 'claimer', 'current', '1'],
      ['platform', 'gone', 'missing', ''],
      ['platform', 'melon', 'current', '1'],
    ]);
    const isTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
    expect(rows[0]!.slice(4)).toEqual([isTime, isTime, `${server.origin}/banana.yaml`, '', '', '']);
    expect(rows[2]!.slice(4)).toEqual([
      '',
      isTime,
      `${server.origin}/gone.yaml`,
      isTime,
      'not-found',
      expect.stringContaining('responded with 404 for /gone.yaml'),
    ]);
    const json = JSON.parse((await run(['source', 'list', '-o', 'json'])).out());
    expect(json.sources).toHaveLength(4);
    const shown = await run(['source', 'list'], { tty: true });
    for (const line of shown.out().split('\n'))
      expect(line.length).toBeLessThanOrEqual(80 + '\u001b[1m\u001b[22m'.length);
    expect(shown.out()).toMatch(
      /\n\nplatform\/gone: not-found, first failed .+\n {2}http:.+\/gone\.yaml\n {2}.+ responded with 404 for \/gone\.yaml\n {2}hint: /,
    );
  });

  it('are empty for a catalog without upstreams, and an error for an unknown catalog', async () => {
    const none = await run(['source', 'list', 'default']);
    expect([none.exitCode, none.out()]).toEqual([0, '']);
    expect(none.err()).toContain('default includes only functions of this registry');
    const asked = await run(['source', 'refresh', 'default'], { tty: true });
    expect([asked.exitCode, asked.out()]).toEqual([0, '']);
    expect(asked.err()).toContain('default includes only functions of this registry');
    expect((await run(['source', 'list', 'nothing'])).exitCode).toBe(3);
  });

  it('are synced on demand, by name or all, with an exit code for failures', async () => {
    server.served.set('/banana.yaml', catalogText('banana.co', ['Split', 'Peel', 'Slice']));
    const one = await run(['source', 'refresh', 'platform', 'banana'], { tty: true });
    expect(one.exitCode, one.err()).toBe(0);
    expect(one.err()).toContain('syncing banana');
    expect(one.err()).toMatch(/banana: 3 entries$/m);
    expect(one.err()).toContain('built snapshot 2 of platform; see krmhub catalog diff platform 1\n');
    const diff = await run(['catalog', 'diff', 'platform', '1']);
    expect(diff.out()).toContain('banana.co/Slice');
    const same = await run(['source', 'refresh', 'platform', 'banana', '-o', 'json']);
    expect(same.err()).toContain('unchanged: snapshot 2 is the newest of platform');
    expect(JSON.parse(same.out())).toMatchObject({ changed: false, snapshot: { serial: 2 } });
    const all = await run(['source', 'refresh', 'platform', '-o', 'json']);
    expect(all.exitCode).toBe(5);
    expect(JSON.parse(all.out()).sources.map(({ source }: { source: string }) => source)).toEqual([
      'banana',
      'claimer',
      'gone',
      'melon',
    ]);
    expect(all.err()).toMatch(/^gone: failed: /m);
    expect(all.err()).toContain('unchanged: snapshot 2 is the newest of platform');
    expect(all.err()).toContain('cannot sync 1 of 4 sources of platform: gone');
  });

  it('must be in the recipe, and require an administrator', async () => {
    const unknown = await run(['source', 'refresh', 'platform', 'banan']);
    expectEnd(unknown, 3, 'Use one of: banana, claimer, gone, melon');
    const anonymous = await run(['source', 'refresh', 'platform'], {
      env: { KRMHUB_REGISTRY: registry.url },
    });
    expectEnd(anonymous, 6, 'requires a token');
  });
});

describe('a report', () => {
  it('lists the omitted entries by section with reasons', async () => {
    const report = await run(['catalog', 'report', 'platform', '--snapshot', '1'], { tty: true });
    expect(report.exitCode, report.err()).toBe(0);
    const text = report.out().replaceAll(/\u001b\[\d+m/g, '');
    const headings = text.split('\n').filter((line) => /^[A-Z]/.test(line));
    expect(headings).toEqual([
      'Sources',
      'Claims of groups that belong to another source',
      'Refused',
      'Shadowed',
      'Yanked',
      'Invalid entries',
    ]);
    expect(text).toMatch(/^ {2}banana +current +- +1 +http/m);
    expect(text).toMatch(/^ {4}gone: .+/m);
    expect(text).toContain(
      '  example.com/SetLabels v1 from claimer\n    claim: the group example.com belongs to',
    );
    expect(text).toContain('  banana.co/Peel v1 from banana\n    denied: the recipe denies it: sharp');
    expect(text).toMatch(/^ {2}banana\.co\/Split +v1 +melon +banana$/m);
    expect(text).toMatch(/^ {2}example\.com\/SetLabels +1\.1\.0 +ours$/m);
    expect(text).toContain('  banana, entry 2\n    ');
    for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
    expect(report.err()).toContain('platform, snapshot 1: 1 of 4 sources not current, 2 refused');
  });

  it('is tab-separated in a pipe, and the report as JSON', async () => {
    const lines = (await run(['catalog', 'report', 'platform', '--snapshot', '1'])).out().trim().split('\n');
    expect(lines.map((line) => line.split('\t').slice(0, 2).join(' '))).toEqual([
      'source banana',
      'source melon',
      'source claimer',
      'source gone',
      'refused example.com/SetLabels',
      'refused banana.co/Peel',
      'shadowed banana.co/Split',
      'yanked example.com/SetLabels',
      'invalid ',
    ]);
    const json = JSON.parse((await run(['catalog', 'report', 'platform', '-o', 'json'])).out());
    expect(json).toEqual(await new RegistryClient(registry).catalogReport('platform'));
    const now = await run(['catalog', 'report', 'platform']);
    expect(now.err()).toContain('hint: Show the failing sources: krmhub source list platform\n');
  });

  it('reports that no entries are excluded', async () => {
    const report = await run(['catalog', 'report', 'default']);
    expect(report.err()).toContain('1 yanked');
    expect((await run(['catalog', 'report', 'nothing'])).exitCode).toBe(3);
    expect((await run(['catalog', 'report', 'default', '--snapshot', 'x'])).exitCode).toBe(2);
  });
});

describe('an applied recipe with an empty catalog', () => {
  const applied = async (name: string, source: string, exitCode = 0) => {
    await writeFile(path.join(folder, `${name}.yaml`), recipeText(source, '', name));
    const result = await run(['catalog', 'apply', `${name}.yaml`]);
    expect(result.exitCode, result.err()).toBe(exitCode);
    return result.err();
  };

  it('reports the reason and the command for the report', async () => {
    expect(await applied('lost', sourceText('gone', `${server.origin}/gone.yaml`), 5)).toContain(
      'the catalog is empty: no upstream catalog is available\n1 of 1 source not current: krmhub catalog report lost\n',
    );
    server.served.set('/good.yaml', catalogText('good.co', ['Good']));
    const young = sourceText('young', `${server.origin}/good.yaml`, ', minimumAge: 72h');
    expect(await applied('young', young)).toContain(
      'the recipe policy rejects every entry; the report shows when the entries reach the minimum age\n1 refused (minimum-age): krmhub',
    );
    const good = await applied('good', sourceText('good', `${server.origin}/good.yaml`));
    expect(good).toContain('no entries excluded\n');
    expect(good).not.toContain('catalog diff');
  });

  it('reports what changed since the last snapshot', async () => {
    const mistyped = await applied('good', sourceText('good', `${server.origin}/mistyped.yaml`), 5);
    expect(mistyped).toContain('Until then, the catalog uses the last good copy');
    expect(mistyped).toContain('but catalog good has only earlier copies: every source failed');
    expect(mistyped).not.toContain('catalog diff');
    const lost = await applied('good', sourceText('other', `${server.origin}/mistyped.yaml`), 5);
    expect(lost).toContain(
      'catalog good has 0 functions, snapshot 1 had 1; see krmhub catalog diff good 1\n',
    );
    const found = await applied('good', sourceText('good', `${server.origin}/good.yaml`));
    expect(found).toContain('to see what changed since snapshot 2, run: krmhub catalog diff good 2\n');
  });
});

describe('a recipe whose every source failed', () => {
  it('is applied, but the command fails and says why of each source', async () => {
    const { origin } = server;
    const recipe = (...sources: string[]) => recipeText(sources.join(''), '', 'nowhere');
    const missing = ['lost', 'astray'].map((name) => sourceText(name, `${origin}/${name}.yaml`));
    await writeFile(path.join(folder, 'nowhere.yaml'), recipe(...missing));
    for (const outcome of ['created', 'unchanged']) {
      const io = await run(['catalog', 'apply', 'nowhere.yaml', '-o', 'json']);
      expect(io.exitCode).toBe(5);
      expect(io.err()).toMatch(
        /catalog nowhere is empty: every source failed\n +astray: .+ 404 for \/astray\.yaml\n +lost: .+ 404 for \/lost\.yaml\n/,
      );
      expect(io.out()).toContain(`"outcome": "${outcome}"`);
    }
    await writeFile(
      path.join(folder, 'nowhere.yaml'),
      recipe(...missing, sourceText('banana', `${origin}/banana.yaml`)),
    );
    expectEnd(await run(['catalog', 'apply', 'nowhere.yaml']), 0, '2 of 3 sources not current');
  });
});
