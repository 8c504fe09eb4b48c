import { KrmhubError } from '@krmhub/schema/error';
import { z } from 'zod';
import type { Exchange } from './connection.js';
import { isRepository, isTag } from './reference.js';

/** Lists that a registry returns in pages. */
export const NAME_LISTS = {
  /** distribution-spec, "Listing Tags". */
  tags: {
    target: 'tags/list',
    exchange: { actions: 'pull', expected: [200] },
    isName: isTag,
  },
  /**
   * Not in distribution-spec: `_catalog` of Docker. Registries without it respond with 404, some with 400, 405, or 501.
   */
  repositories: {
    target: '_catalog',
    exchange: { actions: 'catalog', expected: [200, 400, 404, 405, 501] },
    isName: isRepository,
  },
} as const satisfies Record<
  string,
  { target: string; exchange: Pick<Exchange, 'actions' | 'expected'>; isName: (text: string) => boolean }
>;
export type NameList = keyof typeof NAME_LISTS;

export const MAX_NAME_PAGE_BYTES = 4_194_304;
/** Of all pages. */
const MAX_NAMES = 100_000;
const MAX_PAGES = 1_000;

/** Some registries return `null` for an empty list. */
const NAMES = z.array(z.string()).nullish();
const PAGE = z.object({ tags: NAMES, repositories: NAMES });

/** One page: without bytes if it is too large. */
interface Page {
  bytes: Uint8Array | undefined;
  next: URL | undefined;
}

/**
 * Returns the names of all pages; undefined if the registry does not offer the list. `what` is the registry or
 * repository, for messages. Rejects with `unreachable` for invalid pages and names, and with `too-large`.
 */
export async function listNames(
  list: NameList,
  what: string,
  fetchPage: (target: string | URL) => Promise<Page | undefined>,
): Promise<string[] | undefined> {
  const names: string[] = [];
  for await (const page of followPages(`list of ${list} of ${what}`, NAME_LISTS[list].target, fetchPage)) {
    if (page === undefined) return undefined;
    if (page.bytes !== undefined) names.push(...readPage(page.bytes, list, what));
    if (page.bytes === undefined || names.length > MAX_NAMES) throw tooLong(`list of ${list} of ${what}`);
  }
  return names;
}

/**
 * Fetches the pages of a list, each with the URL of the next one in its `Link` header. Throws `unreachable` for a page
 * that refers to itself or to one before it, and `too-large` for too many pages. `what` names the list in messages.
 */
export async function* followPages<P extends { next: URL | undefined } | undefined>(
  what: string,
  first: string,
  fetchPage: (target: string | URL) => Promise<P>,
  maxPages = MAX_PAGES,
): AsyncGenerator<P, void, undefined> {
  const seen = new Set<string>();
  for (let target: string | URL | undefined = first; target !== undefined; ) {
    const page: P = await fetchPage(target);
    yield page;
    target = page?.next;
    if (target === undefined) return;
    if (seen.has(target.href)) {
      throw new KrmhubError(
        'unreachable',
        `unexpected ${what}: page ${seen.size + 1} refers to an earlier page`,
      );
    }
    seen.add(target.href);
    if (seen.size >= maxPages) throw tooLong(what);
  }
}

function tooLong(what: string): KrmhubError {
  return new KrmhubError('too-large', `the ${what} is too long`);
}

function readPage(bytes: Uint8Array, list: NameList, what: string): string[] {
  const wrong = (problem: string) =>
    new KrmhubError('unreachable', `unexpected list of ${list} of ${what}: ${problem}`);
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw wrong('it is not JSON');
  }
  const names = PAGE.safeParse(json).data?.[list];
  if (names === undefined) throw wrong(`it has no field ${list}`);
  if (names === null) return [];
  if (!names.every(NAME_LISTS[list].isName)) throw wrong('it contains an invalid name');
  return names;
}
