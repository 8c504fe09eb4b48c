import { rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../running.js';
import { Random } from '../../starlark/differential/random.js';
import { missingReason, titleWithReason } from '../oci-tools.js';
import { differencesOf, isBroken } from './differences.js';
import { PackageGenerator } from './generate.js';
import { makeFunctions, type Outcome, type Program, runOver } from './oracle.js';

/**
 * Generated packages through `kpt fn` and `krmhub fn`: both leave the same files, or fail and leave them as they were.
 * `KRMHUB_TEST_SEED` generates other packages, `KRMHUB_TEST_COUNT` sets how many there are.
 */

const whyNoKpt = missingReason('kpt');
const seed = Number(process.env.KRMHUB_TEST_SEED ?? 1200);
const COUNT = Number(process.env.KRMHUB_TEST_COUNT ?? 8);
const seeds = Array.from({ length: COUNT }, (_, at) => seed + at);
const SHELL = /^[\w./-]+$/;

const { folder, remove } = temporaryFolder();
let exec: (name: string) => string;

describe.skipIf(whyNoKpt !== undefined)(titleWithReason(`packages from seed ${seed}`, whyNoKpt), () => {
  beforeAll(async () => {
    exec = await makeFunctions(folder);
    expect(
      exec('identity')
        .split(' ')
        .every((word) => SHELL.test(word)),
    ).toBe(true);
  });
  afterAll(remove);

  /** Runs both programs, and expects the same. */
  function compare(
    name: string,
    files: Readonly<Record<string, string>>,
    args: readonly string[],
    stdin?: string,
  ): Record<Program, Outcome> {
    const place = path.join(folder, name);
    const outcomes = {
      kpt: runOver('kpt', place, files, args, stdin),
      krmhub: runOver('krmhub', place, files, args, stdin),
    };
    const differences = differencesOf(files, outcomes.kpt, outcomes.krmhub);
    expect(differences, `${args.join(' ')}\n${differences.join('\n')}`).toEqual([]);
    rmSync(place, { recursive: true, force: true });
    return outcomes;
  }

  it.each(seeds)('render as kpt does: %i', (one) => {
    const { files } = new PackageGenerator(new Random(one), exec).package();
    compare(`render-${one}`, files, ['fn', 'render', 'PACKAGE', '--allow-exec', '--results-dir', 'RESULTS']);
  });

  it.each(seeds)('render to another place as kpt does: %i', (one) => {
    const { files } = new PackageGenerator(new Random(one + 1_000_000), exec).package();
    // kpt loses a header that an empty line follows when it writes to another place, and krmhub keeps it.
    for (const [name, text] of Object.entries(files))
      files[name] = text.replaceAll('# Licensed\n\n', '# Licensed\n');
    for (const output of ['stdout', 'unwrap', 'PACKAGE/out']) {
      compare(`output-${one}`, files, [
        'fn',
        'render',
        'PACKAGE',
        '--allow-exec',
        '--truncate-output=false',
        '-o',
        output,
      ]);
    }
  });

  it.each(seeds)('run one function as kpt does: %i', (one) => {
    const generator = new PackageGenerator(new Random(one + 2_000_000), exec);
    const { files } = generator.package();
    const { name, settings } = generator.call();
    const pairs = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
    const args = ['fn', 'eval', 'PACKAGE', '--exec', exec(name), '--results-dir', 'RESULTS'];
    compare(`eval-${one}`, files, [...args, ...generator.selection(), '--', ...pairs]);
  });

  it.each(seeds)('pipe as kpt does: %i', (one) => {
    const generator = new PackageGenerator(new Random(one + 3_000_000), exec);
    const { files } = generator.package();
    const { kpt } = compare(`source-${one}`, files, ['fn', 'source', 'PACKAGE']);
    const { name, settings } = generator.call();
    const pairs = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
    const args = ['fn', 'eval', '-', '--exec', exec(name), '--', ...pairs];
    const changed = compare(`pipe-${one}`, {}, args, kpt.stdout);
    if (changed.kpt.failed) return;
    const place = path.join(folder, `sink-${one}`);
    const sunk = (program: Program) => {
      const input = changed[isBroken(changed.kpt.stdout) ? 'krmhub' : program].stdout;
      return runOver(program, place, {}, ['fn', 'sink', 'PACKAGE'], input);
    };
    expect(differencesOf({}, sunk('kpt'), sunk('krmhub'))).toEqual([]);
  });
});
