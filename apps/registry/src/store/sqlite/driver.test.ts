import { expect, it } from 'vitest';
import { Database, driverFor, loadDriver } from './driver.js';

it.each([
  ['20.17.0', 'better-sqlite3', 12],
  ['22.0.0', 'better-sqlite3-13', 13],
  ['24.19.0', 'better-sqlite3-13', 13],
  ['26.1.0', 'better-sqlite3-13', 13],
])('on Node %s uses the driver %s', (nodeVersion, name, version) => {
  expect(driverFor(nodeVersion)).toEqual({ name, version });
});

/** A `require` in an installation with these packages. */
function installed(packages: Record<string, string>): NodeJS.Require {
  return ((name: string) => {
    const [, folder = '', file] = /^(.+?)(\/package\.json)?$/.exec(name)!;
    const version = packages[folder];
    if (version === undefined) throw Object.assign(new Error(`no ${name}`), { code: 'MODULE_NOT_FOUND' });
    return file === undefined ? `${folder} ${version}` : { version };
  }) as NodeJS.Require;
}

it.each([
  ['20.17.0', { 'better-sqlite3': '12.11.0' }, 'better-sqlite3 12.11.0'],
  ['24.19.0', { 'better-sqlite3': '13.2.0' }, 'better-sqlite3 13.2.0'],
  ['24.19.0', { 'better-sqlite3': '12.4.1', 'better-sqlite3-13': '13.2.0' }, 'better-sqlite3-13 13.2.0'],
])('on Node %s loads the driver of an installation with %j', (nodeVersion, packages, driver) => {
  expect(loadDriver(installed(packages), nodeVersion)).toBe(driver);
});

it.each([
  ['20.17.0', {}, 'SQLite is not installed', 12],
  ['24.19.0', {}, 'SQLite is not installed', 13],
  ['24.19.0', { 'better-sqlite3': '12.4.1' }, 'better-sqlite3 12.4.1 does not support Node.js 24.19.0', 13],
  ['20.17.0', { 'better-sqlite3': '12.10.1' }, 'better-sqlite3 12.10.1 is older than 12.11', 12],
  ['24.19.0', { 'better-sqlite3-13': '13.1.0' }, 'better-sqlite3 13.1.0 is older than 13.2', 13],
])('on Node %s names what to install beside %j', (nodeVersion, packages, problem, version) => {
  expect(() => loadDriver(installed(packages), nodeVersion)).toThrow(
    expect.objectContaining({
      code: 'unsupported',
      message: `${problem}, which a registry needs`,
      hint: `Run: npm install --global better-sqlite3@${version}`,
    }),
  );
});

it('survives the garbage collection of statements', () => {
  const client = new Database(':memory:');
  for (let index = 0; index < 100_000; index++) client.prepare(`SELECT ${index}`).get();
  expect(client.prepare('SELECT 1').pluck().get()).toBe(1);
  client.close();
});
