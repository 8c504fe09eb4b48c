import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readSourceFiles } from '@krmhub/schema/documents/source-files';
import { afterAll, describe, expect, it } from 'vitest';
import type { FetchRequest } from './context.js';
import { catchFailure, temporaryFolder, testFetcher } from './testing/servers.js';

const { folder, remove } = temporaryFolder();
afterAll(remove);

const sources = path.join(folder, 'sources');
mkdirSync(path.join(sources, 'team'), { recursive: true });
writeFileSync(path.join(sources, 'team/catalog.yaml'), 'kind: x\n');
writeFileSync(path.join(folder, 'secret'), 'secret');
const fetcher = testFetcher(folder, { fileFolder: sources });

function asking(file: string, more: Partial<FetchRequest> = {}): FetchRequest {
  return { address: { type: 'file', path: file }, bundles: false, ...more };
}

describe('a file source', () => {
  it('is read with its bundles, and again after a change', async () => {
    const { bytes, bundles, validators } = await fetcher.fetch(
      asking('team/catalog.yaml', { bundles: true }),
    );
    expect(Buffer.from(bytes!).toString()).toBe('kind: x\n');
    expect(bundles).toEqual([]);
    writeFileSync(path.join(sources, 'team/catalog.yaml.sigstore.json'), 'bundle');
    const again = asking('team/catalog.yaml', { bundles: true, validators });
    const second = await fetcher.fetch(again);
    expect(second.bytes).toBeUndefined();
    expect(second.bundles.map((bundle) => Buffer.from(bundle).toString())).toEqual(['bundle']);
    writeFileSync(path.join(sources, 'team/catalog.yaml'), 'kind: y\n');
    const third = await fetcher.fetch(again);
    expect(Buffer.from(third.bytes!).toString()).toBe('kind: y\n');
    expect(third.validators.digest).not.toBe(validators.digest);
    const absolute = await fetcher.fetch(asking(path.join(sources, 'team/catalog.yaml')));
    expect(absolute.bytes).toBeDefined();
  });

  it('is rejected without a folder, outside of the folder, and through links to other folders', async () => {
    const nowhere = testFetcher(folder);
    expect(await catchFailure(nowhere.fetch(asking('team/catalog.yaml')))).toMatchObject({
      problem: 'forbidden-address',
      message: 'file sources are disabled: "team/catalog.yaml"',
    });
    symlinkSync('../secret', path.join(sources, 'link'));
    symlinkSync('..', path.join(sources, 'up'));
    symlinkSync('/proc/self/environ', path.join(sources, 'environment'));
    symlinkSync('team/catalog.yaml', path.join(sources, 'inside'));
    for (const file of [
      '../secret',
      '/etc/passwd',
      'link',
      'up/secret',
      'team/../../secret',
      'environment',
      '..',
      // No answer tells which files of the machine exist.
      '../none',
      '/etc/none/none',
      '/etc/passwd/none',
      'up/none',
      'team/../../none/none',
    ]) {
      expect([file, await catchFailure(fetcher.fetch(asking(file)))]).toMatchObject([
        file,
        { problem: 'forbidden-address', message: `"${file}" is outside the folder for file sources` },
      ]);
    }
    expect((await fetcher.fetch(asking('inside'))).bytes).toBeDefined();
  });

  it('must be an existing regular file', async () => {
    execFileSync('mkfifo', [path.join(sources, 'pipe')]);
    expect(await catchFailure(fetcher.fetch(asking('pipe')))).toMatchObject({
      problem: 'bad-answer',
      message: '"pipe" is not a regular file',
    });
    expect(await catchFailure(fetcher.fetch(asking('team')))).toMatchObject({
      problem: 'bad-answer',
      message: '"team" is a folder',
    });
    for (const file of ['team/none.yaml', 'team/catalog.yaml/none']) {
      expect(await catchFailure(fetcher.fetch(asking(file)))).toMatchObject({ problem: 'not-found' });
    }
  });

  it('is rejected above the size limit', async () => {
    const large = path.join(sources, 'large.yaml');
    writeFileSync(large, '');
    truncateSync(large, 1e12);
    const small = testFetcher(folder, { fileFolder: sources });
    expect(await catchFailure(small.fetch(asking('large.yaml')))).toMatchObject({
      problem: 'too-large',
      message: '"large.yaml" is larger than 67108864 bytes',
    });
    rmSync(large);
  });
});

describe('a folder source', () => {
  const wanted = (name: string) => asking(name, { folder: { releases: 'folders' } });

  it('is the YAML and JSON files below the folder, without links', async () => {
    mkdirSync(path.join(sources, 'fns/set-labels/v0.2'), { recursive: true });
    mkdirSync(path.join(sources, 'fns/.git'), { recursive: true });
    writeFileSync(path.join(sources, 'fns/set-labels/v0.2/metadata.yaml'), 'image: a\n');
    writeFileSync(path.join(sources, 'fns/.git/config.yaml'), 'hidden');
    writeFileSync(path.join(sources, 'fns/README.md'), 'text');
    symlinkSync('../../../secret', path.join(sources, 'fns/secret.yaml'));
    const { bytes, validators } = await fetcher.fetch(wanted('fns/'));
    expect(readSourceFiles(bytes!)).toEqual([{ path: 'set-labels/v0.2/metadata.yaml', text: 'image: a\n' }]);
    expect((await fetcher.fetch({ ...wanted('fns/'), validators })).bytes).toBeUndefined();
    expect((await catchFailure(fetcher.fetch(asking('fns')))).message).toBe('"fns" is a folder');
  });

  it('is rejected outside of the folder for file sources, and without a file', async () => {
    symlinkSync('..', path.join(sources, 'above'));
    mkdirSync(path.join(sources, 'empty'));
    expect((await catchFailure(fetcher.fetch(wanted('..')))).problem).toBe('forbidden-address');
    expect((await catchFailure(fetcher.fetch(wanted('above')))).problem).toBe('forbidden-address');
    expect((await catchFailure(fetcher.fetch(wanted('empty')))).message).toBe(
      '"empty" has no YAML or JSON files',
    );
  });
});
