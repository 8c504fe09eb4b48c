import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readBundle } from '@krmhub/signing';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectEnd, fileRegistry, runTest, type TestIo, temporaryFolder } from '../testing/command-line.js';
import { writeKeyFiles } from '../testing/key-files.js';

/** Reports of tests that are signed and attached to releases. */

const folder = temporaryFolder();
const at = (name: string) => path.join(folder, name);
const registry = fileRegistry();

const run = (...args: string[]): Promise<TestIo> =>
  runTest(args, {
    cwd: folder,
    env: { HOME: folder, KRMHUB_CACHE: at('.cache'), PATH: '/usr/bin:/bin', ...registry.env },
  });

async function succeeds(...args: string[]): Promise<TestIo> {
  const io = await run(...args);
  expect(io.exitCode, `krmhub ${args.join(' ')}\n${io.out()}${io.err()}`).toBe(0);
  return io;
}

const edit = (name: string, from: string | RegExp, to: string) => {
  const before = readFileSync(at(name), 'utf8');
  const after = before.replace(from, to);
  expect(after).not.toBe(before);
  writeFileSync(at(name), after);
};

interface Report {
  result?: string;
  failedTests?: string[];
  signer: string;
  text: string;
}
async function listReports(release: string): Promise<Report[]> {
  return JSON.parse((await succeeds('show', release, '-o', 'json')).out()).tests ?? [];
}

/** Starts and publishes a function with one example. */
async function publish(kind: string, folderName = kind.toLowerCase()): Promise<string> {
  await succeeds('init', `example.com/${kind}`, '--runtime', 'starlark', '--out', folderName);
  const file = `${folderName}/definition.yaml`;
  edit(file, /# CHANGE:/g, '#');
  await succeeds('publish', file, '--release', '1.0.0');
  return folderName;
}

beforeAll(async () => {
  await writeKeyFiles(folder, 'tester', 'other');
});

describe('test --release', () => {
  let fn: string;
  beforeAll(async () => {
    fn = await publish('SetOwner');
  });

  it('tests what is published, not what is in the folder', async () => {
    const script = readFileSync(at(`${fn}/main.star`), 'utf8');
    writeFileSync(at(`${fn}/main.star`), 'fail("broken")\n');
    expect((await run('test', fn)).exitCode).toBe(1);
    const io = await succeeds('test', fn, '--release', '1.0.0', '-o', 'json');
    expect(JSON.parse(io.out())).toMatchObject({
      release: '1.0.0',
      digest: expect.stringMatching(/^sha256:/),
      failed: 0,
    });
    writeFileSync(at(`${fn}/main.star`), script);
    expect(await listReports('example.com/SetOwner@1.0.0')).toEqual([]);
  });

  it('signs the report, attaches it, and shows it', async () => {
    const io = await succeeds('test', fn, '--release', '1.0.0', '--key', 'tester.key');
    expect(io.out()).toContain('[PASS] example basic\n');
    expect(io.err()).toContain('signed the report: example.com/SetOwner@1.0.0 passed\n');
    expect(io.err()).toContain('added the report to example.com/SetOwner@1.0.0\n');
    const [report] = await listReports('example.com/SetOwner@1.0.0');
    expect(report).toMatchObject({ result: 'passed', signer: expect.stringContaining('the key sha256:') });
    const page = (await succeeds('show', 'example.com/SetOwner')).out();
    expect(page).toContain(`tests       ${report!.text}\n`);
    expect(page).not.toContain('attestation');
    // The same again adds nothing.
    const again = await succeeds('test', fn, '--release', 'v1.0', '--key', 'tester.key');
    expect(again.err()).toContain('unchanged: example.com/SetOwner@1.0.0 already has this result\n');
  });

  it('states what ran, and with which examples', async () => {
    await succeeds('test', fn, '--release', '1.0.0', '--key', 'tester.key', '--bundle', 'report.json');
    const bundle = readBundle(readFileSync(at('report.json')));
    if (typeof bundle === 'string' || bundle.content.$case !== 'dsseEnvelope') throw new Error('no envelope');
    const { subject, predicateType, predicate } = JSON.parse(String(bundle.content.dsseEnvelope.payload));
    expect(predicateType).toBe('https://in-toto.io/attestation/test-result/v0.1');
    expect(subject.map(({ name }: { name: string }) => name)).toEqual(['manifest', 'definition']);
    const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(predicate).toMatchObject({
      result: 'PASSED',
      configuration: [
        { name: 'krmhub', uri: expect.stringContaining('pkg:npm/krmhub@') },
        {
          name: 'v1alpha1 starlark',
          uri: expect.stringContaining('/scripts/example.com/'),
          digest: { sha256 },
        },
        { name: 'examples', digest: { sha256 } },
      ],
      passedTests: expect.arrayContaining(['resource-list', 'idempotent', 'example basic']),
      failedTests: [],
      krmhub_examples: [
        {
          name: 'basic',
          functionConfig: expect.stringContaining('owner: platform'),
          input: { 'resources.yaml': expect.not.stringContaining('owner: platform') },
          output: { 'resources.yaml': expect.stringContaining('owner: platform') },
          messages: [],
        },
      ],
    });
    // Another person can attach it.
    const attached = await succeeds('attach', 'report.json', 'example.com/SetOwner@1.0.0');
    expect(attached.err()).toContain('unchanged: ');
    // The digest of the examples is that of the list that sha256sum writes.
    const digest = predicate.configuration[2].digest.sha256;
    writeFileSync(at(`${fn}/examples/basic/note.txt`), 'more');
    await succeeds('test', fn, '--release', '1.0.0', '--key', 'tester.key', '--bundle', 'changed.json');
    const changed = readBundle(readFileSync(at('changed.json')));
    if (typeof changed === 'string' || changed.content.$case !== 'dsseEnvelope')
      throw new Error('no envelope');
    expect(String(changed.content.dsseEnvelope.payload)).not.toContain(digest);
    rmSync(at(`${fn}/examples/basic/note.txt`));
  });

  it('can be verified, with the result', async () => {
    const tests = ['verify', 'example.com/SetOwner@1.0.0', '--type', 'tests'];
    const io = await succeeds(...tests, '--key', 'tester.pub');
    expect(io.out()).toMatch(/^ok {6}result {6}\d+ tests passed$/m);
    expectEnd(await run(...tests, '--key', 'other.pub'), 4, 'which is not trusted');
    // It is not a signature of the release.
    const signature = await run('verify', 'example.com/SetOwner@1.0.0', '--key', 'tester.pub');
    expectEnd(signature, 4, 'has no signature');
  });

  it('attaches a report of failures too, which does not verify', async () => {
    edit(`${fn}/examples/basic/expected/resources.yaml`, 'owner: platform', 'owner: shop');
    const io = await run('test', fn, '--release', '1.0.0', '--key', 'other.key');
    expectEnd(io, 1, 'signed the report: example.com/SetOwner@1.0.0 failed\n');
    const reports = await listReports('example.com/SetOwner@1.0.0');
    expect(reports.map(({ result }) => result)).toEqual(['failed', 'passed']);
    expect(reports[0]!.failedTests).toEqual(['example basic']);
    const verified = await run(
      'verify',
      'example.com/SetOwner@1.0.0',
      '--key',
      'other.pub',
      '--type',
      'tests',
    );
    expect(verified.exitCode).toBe(4);
    expect(verified.out()).toMatch(/^FAILED {2}result {6}1 of \d+ tests failed, first: example basic$/m);
    edit(`${fn}/examples/basic/expected/resources.yaml`, 'owner: shop', 'owner: platform');
  });

  it('does not attach the report of one release to another, or to another function', async () => {
    await succeeds('publish', `${fn}/definition.yaml`, '--release', '1.1.0');
    const other = await publish('SetTeam');
    await succeeds('test', fn, '--release', '1.0.0', '--key', 'tester.key', '--bundle', 'moved.json');
    for (const [target, reason] of [
      // The definitions of the two releases have the same bytes.
      ['example.com/SetOwner@1.1.0', 'it signs another manifest of example.com/SetOwner@1.1.0'],
      ['example.com/SetTeam@1.0.0', 'not for this artifact'],
    ] as const) {
      expectEnd(await run('attach', 'moved.json', target), 4, reason);
      expect(await listReports(target)).toEqual([]);
    }
    rmSync(at(other), { recursive: true });
  });

  it.each([
    [['--key', 'tester.key'], 'require --release'],
    [['--release', '1.0.0', '--bundle', 'b.json'], '--bundle requires --key'],
    [['--release', '1.0.0', '--key', 'tester.key', '--keyless'], 'cannot be combined with --keyless'],
    [['--release', '1.0.0', '--exec', 'cat'], 'cannot be combined with --exec'],
    [['--release', '1.0.0', '--key', 'tester.key', '--example', 'basic'], 'with --example or --update'],
    [['--release', '1.0.0', '--key', 'tester.key', '--update'], 'with --example or --update'],
    [['--release', 'newest'], 'is not a valid release'],
  ])('rejects %j', async (options, reason) => {
    expectEnd(await run('test', fn, ...options), 2, reason);
  });

  it('does not find a release that does not exist', async () => {
    expect((await run('test', fn, '--release', '9.9.9')).exitCode).toBe(3);
  });
});
