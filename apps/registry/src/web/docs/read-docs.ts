/**
 * The documentation of krmhub, as pages of the registry: `docs/` of the program, split into pages of a bounded size.
 *
 * @module
 */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type DocsGroup, readDocsIndex } from '@krmhub/api/docs-index';
import { headingId } from '../markdown.js';

const FOLDER = fileURLToPath(new URL('../../../../../docs/', import.meta.url));
const INDEX = 'README';
/** The registry in the commands of the documents. */
export const DOCUMENTED_URL = 'http://localhost:8080';
/** UTF-16 code units of Markdown on a page; a longer document has a page for each of its sections. */
const MAX_PAGE_LENGTH = 32_000;

/** A page of the documentation. */
export interface DocsPage {
  /** `build`, or `commands/krmhub-build` for a section of a long document; empty for the first page. */
  name: string;
  title: string;
  /** Markdown, which starts with the title. */
  text: string;
}

export interface Docs {
  pages: ReadonlyMap<string, DocsPage>;
  groups: readonly DocsGroup[];
  /** Returns the page and the heading that a link in a document leads to; undefined for other files. */
  find(link: string, from: DocsPage): { page: string; id: string } | undefined;
}

/** Reads the documents once; a folder for tests. */
export function readDocs(folder = FOLDER): Docs {
  const pages = new Map<string, DocsPage>();
  /** Where the headings of a document are that has several pages, by document and heading. */
  const places = new Map<string, { page: string; id: string }>();
  for (const file of readdirSync(folder).sort()) {
    if (!file.endsWith('.md')) continue;
    const document = file.slice(0, -'.md'.length);
    const name = document === INDEX ? '' : document;
    const whole = readFileSync(folder + file, 'utf8');
    const text = withoutCheckout(whole, name);
    if (text.length <= MAX_PAGE_LENGTH) {
      pages.set(name, page(name, text));
      continue;
    }
    const [intro, ...sections] = splitAtHeadings(text, 2);
    const parts = sections.map((section) => page(name, section.slice(1)));
    const list = parts.map(({ title }) => {
      const id = headingId(title);
      return `- [${title}](${document}.md#${id})\n`;
    });
    pages.set(name, page(name, `${intro}\n${list.join('')}`));
    for (const part of parts) {
      const own = `${name}/${headingId(part.title)}`;
      pages.set(own, { ...part, name: own });
      for (const title of headingsOf(part.text, '##+')) {
        const id = headingId(title);
        places.set(`${name}#${id}`, { page: own, id });
      }
      places.set(`${name}#${headingId(part.title)}`, { page: own, id: '' });
    }
  }
  const find: Docs['find'] = (link, from) => {
    const match = /^(?:\.\/)?(?:([\w-]+)\.md)?(?:#([\w-]+))?$/.exec(link);
    if (match === null || link === '') return undefined;
    const [, file, id = ''] = match;
    const own = from.name.split('/')[0]!;
    const document = file === undefined ? own : file === INDEX ? '' : file;
    const place = places.get(`${document}#${id}`);
    if (place !== undefined) return place;
    if (file === undefined) return { page: from.name, id };
    return pages.has(document) ? { page: document, id } : undefined;
  };
  return { pages, groups: readDocsIndex(pages.get('')?.text ?? ''), find };
}

/** What readers of a registry do first, instead of starting one in a checkout. */
const FIRST_STEPS = `## Before you start

[Install the command line](install.md), and connect it to this registry. If you may publish, log in with [a token](operate-tokens.md):

\`\`\`sh
export KRMHUB_REGISTRY=${DOCUMENTED_URL}
krmhub login
\`\`\`

Pages that use sample files have the command to download them. They show the output from a new registry: releases and
serials of yours can differ.

`;

/** Leaves out, of the first page, what needs a checkout, and of generated pages how. */
function withoutCheckout(text: string, name: string): string {
  if (name !== '') return text.replace(/^`npm run docs` generates this page\.\n+/m, '');
  const isHere = (section: string): boolean => !/\]\((?:\.\.|internals)\//.test(section);
  return splitAtHeadings(text, 2)
    .filter(isHere)
    .map((section) => (section.startsWith('## Before you start\n') ? FIRST_STEPS : section))
    .join('');
}

function page(name: string, text: string): DocsPage {
  return {
    name,
    title: headingsOf(text, '#')[0] ?? name,
    text,
  };
}

/** The headings with these marks, a pattern, as plain text. */
function headingsOf(text: string, marks: string): string[] {
  const headings = withoutCode(text).matchAll(new RegExp(`^${marks} +(.+)$`, 'gm'));
  return [...headings].map(([, title]) => title!.replaceAll('`', '').trim());
}

/** Splits a document before its headings of at most this level. */
export function splitAtHeadings(text: string, level: number): string[] {
  const heading = new RegExp(`^#{1,${level}} `, 'gm');
  const starts = [...withoutCode(text).matchAll(heading)].map(({ index }) => index);
  return [0, ...starts.filter((start) => start > 0)].map((start, at, all) => text.slice(start, all[at + 1]));
}

/** The text with its offsets, where a comment of a command is no longer like a heading. */
function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, (code) => code.replaceAll('#', ' '));
}
