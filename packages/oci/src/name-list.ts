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
  let target: string | URL | undefined = NAME_LISTS[list].target;
  for (let count = 1; target !== undefined; count++) {
    const page: Page | undefined = await fetchPage(target);
    if (page === undefined) return undefined;
    if (page.bytes !== undefined) names.push(...readPage(page.bytes, list, what));
    if (page.bytes === undefined || names.length > MAX_NAMES || count > MAX_PAGES) {
      throw new KrmhubError('too-large', `the list of ${list} of ${what} is too long`);
    }
    target = page.next;
  }
  return names;
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
