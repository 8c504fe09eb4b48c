import type { AuditRow } from '@krmhub/api/model';
import { expect, it } from 'vitest';
import { parseMoment } from '../io/time.js';
import { expectEnd, fileRegistry, runTest } from '../testing/command-line.js';

const registry = fileRegistry();
const run = (args: string[], options: { tty?: boolean; token?: string } = {}) => {
  const { token, ...terminal } = options;
  return runTest(args, {
    ...terminal,
    env: { ...registry.env, ...(token === undefined ? {} : { KRMHUB_TOKEN: token }) },
  });
};
const rowsOf = async (...args: string[]) =>
  (JSON.parse((await run(['audit', ...args, '-o', 'json'])).out()) as { rows: AuditRow[] }).rows;

it('shows the newest rows that match, and says if there are more', async () => {
  const secret = (await run(['token', 'create', 'ci', '--scope', 'publish'])).out().trim();
  const all = await rowsOf('--limit', '0');
  expect(all[0]).toMatchObject({ actor: 'admin', action: 'token.create', outcome: 'done' });
  expect(all.at(-1)?.sequence).toBe(1);
  const one = await run(['audit', '--limit', '1']);
  expect(one.out().split('\t').slice(1, 5)).toEqual(['admin', 'token.create', all[0]?.object, 'done']);
  expect(one.err()).toBe('only the newest 1 rows; for more, use --limit\n');
  expectEnd(await run(['audit'], { token: secret }), 6, 'audit');
  const refused = await rowsOf('--outcome', 'refused');
  expect(refused).toMatchObject([{ actor: 'ci', object: 'GET /api/v1/audit' }]);
  expect(await rowsOf('--actor', 'ci', '--action', 'token')).toMatchObject([{ action: 'token.use' }]);
  expect(await rowsOf('--object', 'token/', '--since', '1h', '--limit', '1')).toHaveLength(1);
  expect(await rowsOf('--until', '2020-01-01')).toEqual([]);
  const auditor = (await run(['token', 'create', 'auditor', '--scope', 'audit'])).out().trim();
  const table = await run(['audit', '--limit', '0'], { token: auditor, tty: true });
  expect(table.out()).toMatch(/TIME +ACTOR +ACTION +OBJECT +OUTCOME +ADDRESS/);
});

it.each([
  [['--until', '2020-01-01'], ''],
  [['--action', 'publish'], ': "publish" is not an action; did you mean release.publish?'],
  [['--action', 'tokens.create'], ': "tokens.create" is not an action; did you mean token.create?'],
  [['--action', 'login'], ''],
  [['--object', 'example.com'], ': objects begin with what they are, for example release/example.com/'],
])('says that no row matches %j, and why', async (args, why) => {
  const none = await run(['audit', ...args]);
  expect(none.out()).toBe('');
  expect(none.err()).toBe(`no rows match${why}\n`);
});

it.each([
  [['--since', 'yesterday'], '7d'],
  [['--limit', 'all'], 'number'],
  [['--outcome', 'maybe'], 'refused'],
])('refuses %j as wrong use', async (args, part) => {
  expectEnd(await run(['audit', ...args]), 2, part);
});

it.each([
  ['7d', '2030-01-24T12:00:00.000Z'],
  ['12h', '2030-01-31T00:00:00.000Z'],
  ['90m', '2030-01-31T10:30:00.000Z'],
  ['2030-01-01', '2030-01-01T00:00:00.000Z'],
  ['2030-01-01T10:00:00+02:00', '2030-01-01T08:00:00.000Z'],
  ['2030-13-01', undefined],
  ['7', undefined],
  ['', undefined],
])('reads %s as a time', (text, time) => {
  expect(parseMoment(text, new Date('2030-01-31T12:00:00Z'))).toBe(time);
});
