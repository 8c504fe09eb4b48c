import type { RegistryClient } from '@krmhub/api/client';
import type { SearchItem } from '@krmhub/api/model';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { kebabCase } from '@krmhub/schema/kebab-case';
import type { FunctionReference } from './function-reference.js';

/**
 * Returns the full name of a function, and finds the group of a kind. Rejects with `not-found` if no group or several
 * groups have it.
 */
export async function findFunctionName(
  client: RegistryClient,
  { group, kind }: FunctionReference,
): Promise<{ group: string; kind: string }> {
  if (group !== undefined) return { group, kind };
  const exact = await client.search({ kind: [kind], limit: 100 });
  // The filter is case-sensitive, so this searches by text if it finds nothing.
  const { items } = exact.items.length > 0 ? exact : await client.search({ q: kind, limit: 100 });
  const called = items.filter((item) => item.kind.toLowerCase() === kind.toLowerCase());
  // A function of this registry takes precedence over upstream entries.
  const ours = called.filter(({ release }) => release !== undefined);
  const candidates = ours.length > 0 ? ours : called;
  if (candidates.length === 1) return { group: candidates[0]!.group, kind: candidates[0]!.kind };
  if (candidates.length > 1) {
    throw new KrmhubError('not-found', `${kind} is ambiguous: ${candidates.length} groups have this kind`, {
      hint: `Use one of: ${names(candidates)}`,
    });
  }
  const near = await similarFunctions(client, kind);
  throw new KrmhubError('not-found', `function ${kind} not found`, {
    hint:
      near.length > 0
        ? `Did you mean ${names(near)}? To find others, run: krmhub search WORDS`
        : 'Search for it: krmhub search WORDS',
  });
}

/** Returns the full name of a release, given as `[GROUP/]KIND@RELEASE`. Rejects as `findFunctionName`. */
export async function findReleaseName(
  client: RegistryClient,
  { group, kind, release }: FunctionReference & { release: string },
): Promise<Required<FunctionReference>> {
  return {
    ...(await findFunctionName(client, { kind, ...defined({ group }) })),
    release,
  };
}

const MAX_SIMILAR = 5;

/** Finds functions with similar kinds, the most similar first. */
async function similarFunctions(client: RegistryClient, kind: string): Promise<SearchItem[]> {
  const { suggest } = await import('@krmhub/schema/suggest');
  const words = kebabCase(kind).split('-').slice(0, 4);
  const items = new Map<string, SearchItem>();
  // Also searches for prefixes of words, to find misspelled ones.
  for (const q of new Set([words.join(' '), ...words, ...words.map((word) => word.slice(0, 3))])) {
    for (const item of (await client.search({ q, limit: 50 })).items)
      items.set(`${item.group}/${item.kind}`, item);
  }
  const found = [...items.values()];
  const kinds = new Set(found.map((item) => item.kind.toLowerCase()));
  const near: SearchItem[] = [];
  while (near.length < MAX_SIMILAR) {
    const best = suggest(kind.toLowerCase(), [...kinds]);
    if (best === undefined) break;
    kinds.delete(best);
    near.push(...found.filter((item) => item.kind.toLowerCase() === best));
  }
  return near.slice(0, MAX_SIMILAR);
}

function names(items: readonly SearchItem[]): string {
  return items.map((item) => `${item.group}/${item.kind}`).join(', ');
}
