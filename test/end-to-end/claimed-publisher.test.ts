import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CatalogFunction, FunctionDetail, Release, SearchResult } from '@krmhub/api/model';
import { NOT_VERIFIED } from '@krmhub/schema/facets';
import { beforeAll, describe, expect, it } from 'vitest';
import { fileRegistry, temporaryFolder } from '../../apps/cli/src/testing/command-line.js';
import { krmhubHere } from '../run-here.js';
import { fixtures } from '../running.js';

/** A token for a group of its own publishes under the name of a team that owns another group. */

const EVIL = 'evil.example.net';
const REAL = 'functions.kpt.example.com';
const CLAIM = 'not verified: says it is published by kpt project';
const OWNER = { team: 'kpt', displayName: 'kpt project', proof: 'administrator' };
const DOCUMENT = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: platform}
spec:
  openGroups: [${EVIL}]
  teams: [{name: kpt, displayName: kpt project}]
  groups: [{pattern: "*.kpt.example.com", owner: kpt}]
`;

const registry = fileRegistry();
const folder = temporaryFolder();

const run = async (args: string[], token = registry.token): Promise<string> => {
  const env = { KRMHUB_REGISTRY: registry.url, KRMHUB_TOKEN: token };
  const { code, stdout, stderr } = await krmhubHere(args, { cwd: folder, env });
  expect([args, code, stderr]).toEqual([args, 0, expect.any(String)]);
  return stdout.trim();
};
const put = (name: string, text: string): string => {
  writeFileSync(path.join(folder, name), text);
  return name;
};
const api = async <Body>(target: string): Promise<Body> =>
  (await (await fetch(`${registry.url}/api/v1${target}`)).json()) as Body;
/** The words that a page shows. */
const page = async (target: string): Promise<string> => {
  const response = await fetch(registry.url + target, { headers: { accept: 'text/html' } });
  expect([target, response.status]).toEqual([target, 200]);
  return (await response.text())
    .replaceAll(/<wbr\/>/g, '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ');
};

beforeAll(async () => {
  await run(['access', 'apply', put('access.yaml', DOCUMENT), '--yes']);
  const text = readFileSync(path.join(fixtures, 'claimed-publisher/definition.yaml'), 'utf8');
  // The team's function says the same, and is older. Both match every word equally.
  const real = text.replaceAll(EVIL, REAL);
  await run(['publish', put('real.yaml', real), '--release', '0.2.0']);
  const token = await run(['token', 'create', 'evil', '--scope', 'publish', '--group', EVIL]);
  await run(['publish', put('evil.yaml', text), '--release', '0.3.0'], token);
});

describe('a publisher that claims the name of an owner', () => {
  it('is not verified on any page', async () => {
    for (const target of ['/', '/functions?q=labels', `/functions/${EVIL}/SetLabels`, `/functions/${EVIL}`])
      expect(await page(target), target).toContain(CLAIM);
    const shown = await page(`/functions/${EVIL}/SetLabels`);
    // Once above, and once beside the documentation.
    expect(shown.split('kpt project')).toHaveLength(shown.split(CLAIM).length);
  });

  it('is not listed above the owner', async () => {
    const shown = await page('/functions?q=labels');
    expect(shown.indexOf(`${REAL}/ SetLabels`)).toBeGreaterThan(0);
    expect(shown.indexOf(`${REAL}/ SetLabels`)).toBeLessThan(shown.indexOf(`${EVIL}/ SetLabels`));
    expect(shown).toContain('kpt project verified by an administrator');
    const lines = (await run(['search', 'labels'])).split('\n');
    expect(lines).toEqual([
      `${REAL}/SetLabels\t0.2.0\tAdd a list of labels to all resources.\tmutator\t\tkpt project (verified by an administrator)`,
      `${EVIL}/SetLabels\t0.3.0\tAdd a list of labels to all resources.\tmutator\t\t${CLAIM}`,
    ]);
  });

  it('is not counted with the owner', async () => {
    expect(await page('/')).toContain('Owners kpt project 1 not verified 1');
    const { items, facets } = await api<SearchResult>('/functions?q=labels');
    expect(items.map(({ group, owner }) => [group, owner])).toEqual([
      [REAL, OWNER],
      [EVIL, undefined],
    ]);
    expect(facets.owner).toEqual([
      { value: 'kpt', text: 'kpt project', count: 1 },
      { value: NOT_VERIFIED, count: 1 },
    ]);
    for (const [owner, group] of [
      ['kpt', REAL],
      [NOT_VERIFIED, EVIL],
    ] as const) {
      for (const query of [
        `owner=${encodeURIComponent(owner)}`,
        `q=${encodeURIComponent(`owner:"${owner}"`)}`,
      ]) {
        const found = await api<SearchResult>(`/functions?${query}`);
        expect([query, found.items.map((item) => item.group)]).toEqual([query, [group]]);
      }
    }
    const named = await api<SearchResult>(`/functions?q=${encodeURIComponent('publisher:"kpt project"')}`);
    expect(named.total).toBe(2);
  });

  it('has no owner in the details, and the command says so', async () => {
    const details = async (group: string) => {
      const fn = await api<FunctionDetail>(`/functions/${group}/SetLabels`);
      const { release } = fn.newest!;
      return [
        fn.owner,
        fn.newest!.owner,
        (await api<Release>(`/functions/${group}/SetLabels/releases/${release}`)).owner,
        (await api<CatalogFunction>(`/catalogs/default/functions/${group}/SetLabels`)).owner,
        JSON.parse(await run(['show', `${group}/SetLabels`, '-o', 'json'])).owner,
      ];
    };
    expect(await details(REAL)).toEqual(Array.from({ length: 5 }, () => OWNER));
    expect(await details(EVIL)).toEqual(Array.from({ length: 5 }, () => undefined));
    expect(await run(['show', `${EVIL}/SetLabels`])).toMatch(new RegExp(`\\nowner +${CLAIM}\\n`));
    expect(await run(['show', `${REAL}/SetLabels`])).toMatch(
      /\nowner +kpt project \(verified by an administrator\)\n/,
    );
  });

  it('is followed at once by every answer when the owner changes', async () => {
    const before = await page(`/functions/${REAL}/SetLabels`);
    const other = DOCUMENT.replaceAll('owner: kpt', 'owner: web').replace(
      'teams: [',
      'teams: [{name: web, displayName: Web Team}, ',
    );
    await run(['access', 'apply', put('other.yaml', other), '--yes']);
    const { facets } = await api<SearchResult>('/functions?q=labels');
    expect(facets.owner[0]).toEqual({ value: 'web', text: 'Web Team', count: 1 });
    const after = await page(`/functions/${REAL}/SetLabels`);
    expect(before).not.toContain('Web Team');
    expect(after).toContain('Web Team verified by an administrator , says it is published by kpt project');
    await run(['access', 'apply', 'access.yaml', '--yes']);
  });
});
