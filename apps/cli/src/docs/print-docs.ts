/**
 * The documentation that krmhub brings with it.
 *
 * @module
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readDocsIndex } from '@krmhub/api/docs-index';
import { KrmhubError } from '@krmhub/schema/error';
import { suggest } from '@krmhub/schema/suggest';
import { hasColor, type Io, paint, write, writeVisible } from '../io/io.js';

const FOLDER = fileURLToPath(new URL('../../../../docs/', import.meta.url));

/** Reports whether the documentation has a page with this name, such as `build`. */
export function hasDocsPage(name: string): boolean {
  return /^[\w-]+$/.test(name) && existsSync(`${FOLDER}${name}.md`);
}

/** Prints a page, or the list of all. Throws `not-found` for a page that does not exist. */
export async function printDocs(io: Io, name: string | undefined): Promise<void> {
  if (name === undefined) return listPages(io);
  const page = name.replace(/^docs\//, '').replace(/\.md$/, '');
  if (!hasDocsPage(page)) {
    const similar = suggest(page, pageNames());
    throw new KrmhubError('not-found', `the documentation has no page ${name}`, {
      hint:
        similar === undefined
          ? `List the pages: krmhub docs${pagesWith(page)}`
          : `Did you mean \`krmhub docs ${similar}\`?`,
    });
  }
  await writeVisible(io.stdout, styled(io, readPage(page)));
}

function pageNames(): string[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .map((file) => file.slice(0, -'.md'.length));
}

/** Names the pages that have a word most often. */
function pagesWith(word: string): string {
  if (!/^\w/.test(word)) return '';
  const pages = pageNames()
    .map((name) => ({ name, times: readPage(name).toLowerCase().split(word.toLowerCase()).length - 1 }))
    .filter(({ times }) => times > 0)
    .sort((a, b) => b.times - a.times)
    .slice(0, 3);
  return pages.length === 0 ? '' : `. Pages with the word: ${pages.map(({ name }) => name).join(', ')}`;
}

function readPage(name: string): string {
  return readFileSync(`${FOLDER}${name}.md`, 'utf8');
}

/** Headings are bold on a terminal; the rest is Markdown as it is. */
function styled(io: Io, text: string): string {
  if (!hasColor(io, io.stdout)) return text;
  let isCode = false;
  return text
    .split('\n')
    .map((line) => {
      if (line.startsWith('```')) isCode = !isCode;
      return !isCode && /^#+ /.test(line) ? paint(io, io.stdout, 'bold', line) : line;
    })
    .join('\n');
}

/** Prints the lists of the first page: the name of a page, and what it is for. */
async function listPages(io: Io): Promise<void> {
  const groups = readDocsIndex(readFileSync(`${FOLDER}README.md`, 'utf8'));
  const width = Math.max(...groups.flatMap(({ pages }) => pages.map(({ name }) => name.length)));
  const lines = groups.flatMap(({ title, pages }) => [
    `${title}:`,
    ...pages.map((page) => `  ${page.name.padEnd(width)}  ${page.title}`),
    '',
  ]);
  lines.push('Print a page: krmhub docs PAGE. A registry serves them at /docs.', '');
  await write(io.stdout, lines.join('\n'));
}
