import type { RegistryClient } from '@krmhub/api/client';
import type { SearchItem } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { KrmhubError } from '@krmhub/schema/error';
import { kebabCase } from '@krmhub/schema/kebab-case';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData } from '../io/print.js';
import { type FunctionReference, parseFunctionReference } from '../registry/function-reference.js';

export interface ShowOptions {
  output: OutputFormat;
  registry?: string;
}

export async function showFunction(io: Io, text: string, options: ShowOptions): Promise<void> {
  const reference = parseFunctionReference(text);
  const { connect } = await import('../registry/connection.js');
  const client = await connect(io, options.registry);
  const { group, kind } = await resolveName(client, reference);
  if (reference.release !== undefined && options.output !== 'table') {
    const release = await withSuggestions(client, reference, () =>
      client.release(group, kind, reference.release!),
    );
    return printData(io, options.output, release, async () => undefined);
  }
  const fn = await withSuggestions(client, reference, () => client.function(group, kind));
  await printData(io, options.output, fn, async () => {
    const release =
      reference.release === undefined ? fn.newest : await client.release(group, kind, reference.release);
    const entries = fn.entries ?? [];
    const definition = release?.definition ?? entries[0]?.definition;
    if (definition === undefined) {
      throw new KrmhubError(
        'unreachable',
        `unexpected response from ${client.url}: ${fn.group}/${fn.kind} has no release and no catalog entry`,
        {
          hint: 'Check the URL of the registry (--registry or KRMHUB_REGISTRY).',
        },
      );
    }
    const { printFunctionPage } = await import('./function-page.js');
    const name = { group: fn.group, kind: fn.kind };
    await printFunctionPage(io, {
      ...name,
      definition,
      ...(release === undefined
        ? {}
        : {
            known: {
              release,
              newest: fn.newest?.release ?? release.release,
              releaseUrl: client.url + fillPath('release', { ...name, release: release.release }),
            },
          }),
      releases: fn.releases,
      takedowns: fn.takedowns ?? [],
      catalogs: fn.catalogs,
      entries,
      schemaUrl: (version) => client.functionConfigSchemaUrl(fn.group, version, fn.kind),
    });
  });
}

/** Finds the group of a kind. Rejects with `not-found` if no group or several groups have it. */
async function resolveName(
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
  throw await notFoundError(client, { kind }, `function ${kind} not found`);
}

/** Runs a request; for `not-found`, the error lists similar functions. */
async function withSuggestions<T>(
  client: RegistryClient,
  { kind, group }: FunctionReference,
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof KrmhubError) || error.code !== 'not-found' || group === undefined) throw error;
    const known = await client.function(group, kind).then(
      () => true,
      () => false,
    );
    // The function exists, so the release does not, and the error of the registry lists others.
    if (known) throw error;
    throw await notFoundError(client, { kind, group }, `function ${group}/${kind} not found`);
  }
}

async function notFoundError(
  client: RegistryClient,
  { kind, group }: FunctionReference,
  message: string,
): Promise<KrmhubError> {
  const near = await similarFunctions(client, kind, group);
  const hint =
    near.length > 0
      ? `Similar functions: ${names(near)}. To find others, run: krmhub search WORDS`
      : 'Search for it: krmhub search WORDS';
  return new KrmhubError('not-found', message, { hint });
}

const MAX_SIMILAR = 5;

/** Finds functions with similar kinds, the most similar first. */
async function similarFunctions(
  client: RegistryClient,
  kind: string,
  group: string | undefined,
): Promise<SearchItem[]> {
  const { suggest } = await import('@krmhub/schema/suggest');
  const words = kebabCase(kind).split('-').slice(0, 4);
  const items = new Map<string, SearchItem>();
  // Also searches for prefixes of words, to find misspelled ones.
  for (const q of new Set([words.join(' '), ...words, ...words.map((word) => word.slice(0, 3))])) {
    for (const item of (await client.search({ q, limit: 50 })).items)
      items.set(`${item.group}/${item.kind}`, item);
  }
  // The requested group comes first.
  const found = [...items.values()].sort((a, b) => Number(b.group === group) - Number(a.group === group));
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
