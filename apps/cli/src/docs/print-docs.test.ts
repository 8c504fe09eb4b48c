import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runTest } from '../testing/command-line.js';

const folder = fileURLToPath(new URL('../../../../docs/', import.meta.url));
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.md') && file !== 'README.md')
  .map((file) => file.slice(0, -'.md'.length));

describe('krmhub docs', () => {
  it('lists pages that exist, each once, in lines for a terminal of 80 columns', async () => {
    const io = await runTest(['docs']);
    const listed = [...io.out().matchAll(/^ {2}([\w-]+) {2,}\S/gm)].map(([, name]) => name!);
    expect(listed.length).toBeGreaterThan(30);
    expect(new Set(listed).size).toBe(listed.length);
    expect(listed.filter((name) => !names.includes(name))).toEqual([]);
    expect(
      io
        .out()
        .split('\n')
        .filter((line) => line.length > 80),
    ).toEqual([]);
  });

  it.each(['build', 'docs/build.md', 'build.md'])('prints the page %s as it is', async (name) => {
    expect((await runTest(['docs', name])).out()).toBe(readFileSync(path.join(folder, 'build.md'), 'utf8'));
  });

  it('is what help prints for a page that is not a command', async () => {
    expect((await runTest(['help', 'glossary'])).out()).toMatch(/^# Glossary/);
    expect((await runTest(['help', 'build'])).out()).toMatch(/^Usage: krmhub build/);
  });

  it.each([
    ['publis', 'Did you mean `krmhub docs publish`?'],
    ['../README', 'List the pages: krmhub docs'],
    ['xyzzy', 'List the pages: krmhub docs'],
  ])('says what to do about a page that does not exist: %s', async (name, hint) => {
    const io = await runTest(['docs', name]);
    expect([io.exitCode, io.err()]).toEqual([
      3,
      `error: the documentation has no page ${name}\n  hint: ${hint}\n`,
    ]);
  });

  it('names pages that have the word', async () => {
    expect((await runTest(['docs', 'NGINX'])).err()).toMatch(/ Pages with the word: .*operate-security/);
  });

  it('is where every help text leads to', async () => {
    const commands = readFileSync(path.join(folder, 'commands.md'), 'utf8');
    expect(commands).not.toMatch(/docs\/[\w-]+\.md/);
    const pages = [...commands.matchAll(/krmhub docs ([a-z][\w-]+)/g)].map(([, name]) => name!);
    expect(pages.length).toBeGreaterThan(5);
    expect(pages.filter((name) => !names.includes(name))).toEqual([]);
  });
});
