import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { KrmhubError } from './error.js';
import {
  hideBeginning,
  hideInValue,
  hidePasswords,
  isSecretParameter,
  withoutPasswords,
} from './hide-passwords.js';
import { printable } from './network-reason.js';
import { quote } from './quote.js';

describe('secrets of URLs', () => {
  it.each([
    ['a password', 'https://user:secret@host/x', 'https://…@host/x'],
    ['a token as the user', 'cannot read https://secret@host', 'cannot read https://…@host'],
    [
      'a port that is none',
      '"https://user:secret@host:99999/x" is no URL',
      '"https://…@host:99999/x" is no URL',
    ],
    ['an @ in it', 'https://user:se@cret@host/x@y', 'https://…@host/x@y'],
    ['a slash in it', 'https://user:se/cret@host/x', 'https://…@host/x'],
    ['a backslash in it', 'https://user:se\\cret@host/x', 'https://…@host/x'],
    ['a number sign in it', 'https://user:se#cret@host', 'https://…@host'],
    ['no name', 'redis://:secret@host', 'redis://…@host'],
    ['a scheme in upper case', 'HTTPS://USER:SECRET@HOST', 'HTTPS://…@HOST'],
    ['a git URL', 'git::https://user:secret@host/r.git//x?ref=a', 'git::https://…@host/r.git//x?ref=a'],
    ['an OCI reference', 'oci://user:secret@host/x:1', 'oci://…@host/x:1'],
    ['a database', 'postgres://krmhub:secret@host/db', 'postgres://…@host/db'],
    ['a resolved path', 'cannot read https:/user:secret@host/x', 'cannot read https:/…@host/x'],
    ['no scheme', "'user:secret@host:99999/x'", "'…@host:99999/x'"],
    ['no scheme, and a path', 'pull user:secret@host/x:1', 'pull …@host/x:1'],
    ['a path', 'cannot read /work/user:secret@host/x', 'cannot read /work/…@host/x'],
    ['an option', '--registry=user:secret@host/x', '--registry=…@host/x'],
    ['several URLs', 'a=https://u:secret@h,b=https://u:secret@i', 'a=https://…@h,b=https://…@i'],
    ['several words', 'https://u:secret@h and https://u:secret@i', 'https://…@h and https://…@i'],
    ['a text that was cut', 'https://user:sec…', 'https://…'],
    ['a parameter', 'https://host/x?a=b&token=secret&c=d', 'https://host/x?a=b&token=…&c=d'],
    ['a signature', 'https://host/x?X-Amz-Signature=secret', 'https://host/x?X-Amz-Signature=…'],
  ])('are hidden in %s', (_, text, shown) => {
    expect(hidePasswords(text)).toBe(shown);
    expect(hidePasswords(shown)).toBe(shown);
  });

  it.each([
    'https://host:8080/x@sha256:1234',
    'oci://registry.example.com/team/catalog:v1@sha256:1234',
    'busybox:1.36@sha256:1234/x',
    'oci://name:v1@sha256:1234',
    'ssh://git@github.com/org/repo',
    'git@github.com:org/repo',
    'postgres://krmhub@db.example.com/krmhub',
    'http://[::1]:8080/x',
    '"http://localhost:8080", "b@example.com"',
    'https://host/@scope/name@1.0.0',
    'user:alice@example.com: not found',
    'alice@example.com',
    'file:///home/me@work/x',
    'C:/a@b',
    'example.com/SetLabels@1.2.0',
    'Use https://HOST:PORT/catalogs/NAME, or oci://HOST/REPOSITORY@sha256:….',
    'https://host/x?ref=secret&profile=a',
  ])('are not found in %s', (text) => {
    expect(hidePasswords(text)).toBe(text);
  });

  it.each([
    ['https://user:se cret@host/x', 'https://…@host/x'],
    ['https://user: secret@host/x', 'https://…@host/x'],
    ['https://user:se@c ret@host/x', 'https://…@host/x'],
    ['https://user:se/c ret@host', 'https://…@host'],
    ['https://user:se\tcret@host:99999/x@y', 'https://…@host:99999/x@y'],
    ['git::https://user:se cret@host/r.git//x', 'git::https://…@host/r.git//x'],
    ['oci://user:se cret@host/x:1?token=a', 'oci://…@host/x:1?token=…'],
    ['https://user:secret@host/x', 'https://…@host/x'],
    ['see https://user:secret@host/x', 'see https://…@host/x'],
  ])('are hidden in the value %s, also with spaces', (value, shown) => {
    expect(hideInValue(value)).toBe(shown);
    expect(hideInValue(shown)).toBe(shown);
    expect(quote(value)).toBe(`"${shown}"`);
    expect(printable(value)).toBe(shown.replaceAll('…', '...'));
  });

  it.each([
    'https://host/x, or ask alice@example.com',
    'https://host:8080 and oci://host/x@sha256:1234',
    'https://host said no to alice@example.com',
    'alice@example.com: https://host',
    'https://host\nalice@example.com',
  ])('are not found in the value %j', (value) => {
    expect(hideInValue(value)).toBe(value);
  });

  it('keep their length where columns matter', () => {
    const line = 'url: https://user:secret@host/x';
    const shown = hidePasswords(line, (secret) => '*'.repeat(secret.length));
    expect(shown).toBe('url: https://***********@host/x');
  });

  it('are hidden before a text is cut', () => {
    const url = `https://user:${'secret'.repeat(60)}@host/x`;
    for (const text of [printable(url), quote(url)]) expect(text).not.toContain('secret');
  });

  it('are in no error, hint, or diagnostic', () => {
    const url = 'https://user:secret@host/x';
    const place = { file: 'a.yaml', path: 'a', severity: 'error' as const, code: 'a/b' };
    const diagnostic = { ...place, message: `no ${url}`, hint: `Not ${url}.` };
    const plain = { ...place, message: 'no' };
    const error = new KrmhubError('usage', `no ${url}`, {
      hint: `Not ${url}.`,
      diagnostics: [diagnostic, plain],
    });
    expect(JSON.stringify(error) + error.message + error.stack).not.toContain('secret');
    expect(error.diagnostics).toEqual([withoutPasswords(diagnostic), plain]);
    expect(error.diagnostics[0]).toMatchObject({
      message: 'no https://…@host/x',
      hint: 'Not https://…@host/x.',
    });
    expect(error.diagnostics[1]).toBe(plain);
  });

  it('are parameters with the names of secrets', () => {
    expect(['token', 'API_KEY', 'x-goog-signature'].every(isSecretParameter)).toBe(true);
    expect(['ref', 'tokens', 'profile'].some(isSecretParameter)).toBe(false);
  });

  it('are hidden in any text around them, whatever they are', () => {
    const random = new Random(1);
    const around = ['', ' ', '"', "'", '(', 'a ', 'error: ', '\n', '`'];
    const characters = 'aZ0~!$&*+,;=._-%|^{}é'.split('');
    for (let round = 0; round < 3_000; round++) {
      const word = () => Array.from({ length: 1 + random.below(12) }, () => random.pick(characters)).join('');
      const secret = `${word()}7f3a${word()}`;
      const scheme = random.pick(['https', 'http', 'oci', 'git+https', 'postgres', 'HTTPS']);
      const rest = random.pick(['host', 'host:1/x', 'host:99999/x@y', '[::1]:8/x?a=b', 'host/x?ref=a']);
      const text = `${random.pick(around)}${scheme}://${word()}:${secret}@${rest}${random.pick(around)}`;
      expect([text, hidePasswords(text)]).toEqual([text, expect.not.stringContaining('7f3a')]);
    }
  });

  it('are looked for only in the beginning of a text that is shortened', () => {
    const long = `${'a '.repeat(10_000)}https://user:secret@host/x`;
    expect(hideBeginning(long)).toBe(`${long.slice(0, 8_192)}…`);
    expect(hideBeginning('https://user:secret@host/x')).toBe('https://…@host/x');
    // Otherwise these would take seconds.
    for (const text of [',a:', 'aa:/a:a', 'a:b=', 'https://', '@', '?token='])
      quote(`@ ${text.repeat(300_000)}`);
  });
});
