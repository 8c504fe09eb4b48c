import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { platform } from 'node:os';
import path from 'node:path';
import { Random } from '@krmhub/yaml/testing/random';
import { afterAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../testing/command-line.js';
import { type NetrcEntry, netrcCredentials, parseNetrc } from './netrc.js';

const home = temporaryFolder();
afterAll(() => rmSync(home, { recursive: true, force: true }));

function written(text: string, mode = 0o600): { env: Record<string, string> } {
  const file = path.join(home, 'netrc');
  writeFileSync(file, text);
  chmodSync(file, mode);
  return { env: { NETRC: file } };
}

const PIECES = ['a', 'Z', '9', '.', '-', '_', '#', '"', '\\', ' ', '\t', 'machine', 'default', 'é', ':', '@'];

function word(random: Random, pieces = PIECES): string {
  return Array.from({ length: 1 + random.below(4) }, () => random.pick(pieces)).join('');
}

/** One of the ways to write a word. */
function spelled(random: Random, text: string): string {
  const plain = /^[^\s"][^\s]*$/.test(text);
  if (plain && random.chance(0.6)) return text;
  return `"${text.replace(/["\\]/g, '\\$&').replaceAll('\t', random.chance(0.5) ? '\\t' : '\t')}"`;
}

function gap(random: Random): string {
  return random.pick([' ', '  ', '\t', '\n', '\r\n', '\n  ']);
}

describe('parseNetrc', () => {
  it('reads what is written, in any spelling, between comments, macros, and default entries', () => {
    for (let seed = 0; seed < 2_000; seed++) {
      const random = new Random(seed);
      const entries: NetrcEntry[] = [];
      let text = random.pick(['', '\uFEFF', '\n', '# a machine x login y\n']);
      for (let count = random.below(5); count > 0; count--) {
        const kind = random.pick(['machine', 'machine', 'machine', 'default', 'macdef', 'comment'] as const);
        if (kind === 'comment') {
          text += `# ${word(random)} machine evil.example password x\n`;
          continue;
        }
        if (kind === 'macdef') {
          text += `macdef init\nmachine evil.example login a password b\n  default\n\n`;
          continue;
        }
        const machine = word(random, ['a', 'B', '9', '.', '-']);
        text += kind === 'default' ? 'default' : `machine${gap(random)}${spelled(random, machine)}`;
        const entry: NetrcEntry = { machine };
        for (const field of ['login', 'account', 'password'] as const) {
          if (random.chance(0.2)) continue;
          const value = word(random).replaceAll(field === 'login' ? ':' : '\0', '_');
          text += `${gap(random)}${field}${gap(random)}${spelled(random, value)}`;
          if (field !== 'account') entry[field] = value;
        }
        text += random.pick(['\n', '\n\n', '\r\n']);
        if (kind === 'machine') entries.push(entry);
      }
      expect([seed, parseNetrc(text)]).toEqual([seed, entries]);
    }
  });

  it('ends for any text, without an entry for a machine that it does not name', () => {
    const pieces = [...PIECES, 'login', 'password', 'macdef', 'account', '\n', '\r', '\0', ' ', ' '];
    for (let seed = 0; seed < 5_000; seed++) {
      const random = new Random(seed);
      const text = Array.from({ length: random.below(30) }, () => random.pick(pieces)).join('');
      const read = parseNetrc(text);
      if (!Array.isArray(read)) {
        expect(read.line).toBeLessThanOrEqual(text.split('\n').length);
        continue;
      }
      for (const { machine } of read) {
        const plain = (one: string) => one.replace(/[\\"\s]/g, '');
        expect(plain(text)).toContain(`machine${plain(machine)}`);
      }
    }
  });

  it.each([
    ['machine', 1, 'a value is missing'],
    ['machine a\nlogin', 2, 'a value is missing'],
    ['login a', 1, '"login" before the first machine'],
    ['machine a\n\npasword secret', 3, 'unknown keyword'],
    ['machine a password "open\nlogin x"', 1, 'a quote is not closed'],
    ['machine a password "open"login', 1, 'a quote is not closed'],
    ['machine a login x:y password z', 1, 'a user name has a colon'],
  ])('says where %j is not valid', (text, line, problem) => {
    expect(parseNetrc(text)).toEqual({ line, problem });
  });
});

describe('netrcCredentials', () => {
  it('finds the first entry of the host, in any case, and never uses a default entry', async () => {
    const io = written(`default login anyone password everywhere
machine KRM.example.com login first password one
machine krm.example.com login second password two
machine [half] login only-a-login
machine ::1 login here password loopback
`);
    expect(await netrcCredentials(io, 'krm.example.com')).toEqual({ username: 'first', password: 'one' });
    expect(await netrcCredentials(io, '[::1]')).toEqual({ username: 'here', password: 'loopback' });
    for (const host of ['example.com', 'a.krm.example.com', 'krm.example.com.', 'half', '']) {
      expect(await netrcCredentials(io, host)).toBeUndefined();
    }
  });

  it('reads ~/.netrc, and nothing where there is no file', async () => {
    const env = { HOME: path.join(home, 'user') };
    expect(await netrcCredentials({ env }, 'a')).toBeUndefined();
    expect(await netrcCredentials({ env: { ...env, NETRC: path.join(home, 'none') } }, 'a')).toBeUndefined();
  });

  it.skipIf(platform() === 'win32')('refuses a file that other users can read', async () => {
    const text = 'machine a login b password secret';
    for (const mode of [0o640, 0o604, 0o660, 0o644]) {
      const io = written(text, mode);
      await expect(netrcCredentials(io, 'a')).rejects.toMatchObject({
        code: 'unavailable',
        hint: `Run: chmod 600 ${io.env.NETRC}`,
      });
    }
    for (const mode of [0o600, 0o400]) expect(await netrcCredentials(written(text, mode), 'a')).toBeDefined();
  });

  it('does not quote a file that is not valid', async () => {
    const error: unknown = await netrcCredentials(written('machine a hunter2 x'), 'a').catch((one) => one);
    expect(error).toMatchObject({
      code: 'usage',
      message: expect.stringContaining('line 1: unknown keyword'),
    });
    expect(JSON.stringify(error)).not.toContain('hunter2');
  });
});
