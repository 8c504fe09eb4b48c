import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SourceFailure } from '@krmhub/sources';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startUpstream } from '../testing/upstream-server.js';
import { readCredentialsFile } from './credentials-file.js';
import { sourceFetcher } from './source-fetcher.js';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-credentials-'));
  file = path.join(folder, 'credentials.json');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = async (text: string, mode = 0o600) => {
  await writeFile(file, text);
  await chmod(file, mode);
};

describe('source credentials', () => {
  it('are read by origin', async () => {
    await write(
      JSON.stringify({
        'https://a.example.com': { token: 't' },
        'https://b.example.com:8443': { username: 'u', password: 'p' },
        'https://c.example.com': { token: 't', tokenServices: ['https://auth.example.com'] },
      }),
    );
    expect([...(await readCredentialsFile(file))]).toEqual([
      ['https://a.example.com', { token: 't' }],
      ['https://b.example.com:8443', { username: 'u', password: 'p' }],
      ['https://c.example.com', { token: 't', tokenServices: ['https://auth.example.com'] }],
    ]);
  });

  it.each([
    ['{"https://a.example.com": {"token": "SECRET"}', /is not valid JSON/],
    ['["SECRET"]', /expected an object/],
    ['{"a.example.com": {"token": "SECRET"}}', /"a\.example\.com" is not an origin/],
    ['{"https://a.example.com/": {"token": "SECRET"}}', /is not an origin/],
    ['{"https://user@a.example.com": {"token": "SECRET"}}', /is not an origin/],
    ['{"https://a.example.com": {"token": "SECRET", "username": "u"}}', /expected either a token/],
    ['{"https://a.example.com": {"username": "u", "password": ""}}', /expected either a token/],
    ['{"https://a.example.com": "SECRET"}', /expected either a token/],
    ['{"https://a.example.com": {"token": "SECRET", "other": 1}}', /expected either a token/],
    ['{"https://a.example.com": {"token": "SECRET", "tokenServices": "https://b"}}', /a list of origins/],
    ['{"https://a.example.com": {"token": "SECRET", "tokenServices": ["b"]}}', /a list of origins/],
    ['{"https://a.example.com": {"token": "SECRET", "tokenServices": ["https://b/t"]}}', /a list of origins/],
  ])('are rejected if invalid, without repeating the content: %s', async (text, message) => {
    await write(text);
    const error = await readCredentialsFile(file).then(
      () => undefined,
      (reason: Error) => reason,
    );
    expect(error).toMatchObject({ code: 'usage', message: expect.stringMatching(message) });
    expect(error?.message).not.toContain('SECRET');
  });

  it('are rejected if other accounts can read the file', async () => {
    for (const mode of [0o640, 0o604, 0o620]) {
      await write('{}', mode);
      await expect(readCredentialsFile(file)).rejects.toMatchObject({
        code: 'usage',
        hint: expect.stringContaining('chmod 600'),
      });
    }
    await write('{}', 0o400);
    expect(await readCredentialsFile(file)).toEqual(new Map());
    await expect(readCredentialsFile(path.join(folder, 'none'))).rejects.toMatchObject({
      message: expect.stringContaining('ENOENT'),
    });
  });

  it('are read again for each fetch; errors do not name the folder of a bad file', async () => {
    const upstream = await startUpstream();
    const sent: (string | undefined)[] = [];
    upstream.misbehave = (request, response) => {
      sent.push(request.headers.authorization);
      response.end('x');
    };
    const fetcher = sourceFetcher(
      { sourceAddresses: ['127.0.0.1'], sourceCredentials: file },
      { temporaryFolder: folder, log: pino({ level: 'silent' }) },
    );
    const fetching = () =>
      fetcher.fetch({ address: { type: 'http', url: `${upstream.origin}/x` }, bundles: false });
    await write('{}');
    await fetching();
    await write(JSON.stringify({ [upstream.origin]: { token: 'first' } }));
    await fetching();
    await write(JSON.stringify({ [upstream.origin]: { token: 'second' } }));
    await fetching();
    expect(sent).toEqual([undefined, 'Bearer first', 'Bearer second']);
    await write('{}', 0o644);
    const failure = await fetching().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(SourceFailure);
    expect(failure).toMatchObject({ problem: 'unauthorized' });
    expect((failure as Error).message).not.toContain(folder);
    await upstream.close();
  });
});
