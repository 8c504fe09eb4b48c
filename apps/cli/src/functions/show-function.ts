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
        `${client.url} tells neither releases nor entries of the function`,
        {
          hint: 'Check the URL of the registry.',
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

/** The group of a kind that was named alone; rejects with `not-found` where none or several have it. */
async function resolveName(
  client: RegistryClient,
  { group, kind }: FunctionReference,
): Promise<{ group: string; kind: string }> {
  if (group !== undefined) return { group, kind };
  const exact = await client.search({ kind: [kind], limit: 100 });
  // The filter knows no case, people do not care for it.
  const { items } = exact.items.length > 0 ? exact : await client.search({ q: kind, limit: 100 });
  const called = items.filter((item) => item.kind.toLowerCase() === kind.toLowerCase());
  // Nobody elsewhere takes a name away from a function that this registry has.
  const ours = called.filter(({ release }) => release !== undefined);
  const candidates = ours.length > 0 ? ours : called;
  if (candidates.length === 1) return { group: candidates[0]!.group, kind: candidates[0]!.kind };
  if (candidates.length > 1) {
    throw new KrmhubError('not-found', `${candidates.length} functions are called ${kind}`, {
      hint: `Name one of them: ${names(candidates)}.`,
    });
  }
  throw await notFoundError(client, { kind }, `there is no function called ${kind}`);
}

/** What is asked for; where it is not there, the error names what comes near. */
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
    // The function is there, so it is the release that is not, and the registry has named others.
    if (known) throw error;
    throw await notFoundError(client, { kind, group }, `there is no function ${group}/${kind}`);
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
      ? `The nearest are ${names(near)}. \`krmhub search\` finds by words and tags.`
      : '`krmhub search` finds by words and tags.';
  return new KrmhubError('not-found', message, { hint });
}

const MAX_SIMILAR = 5;

/** Functions that share words with a kind, the likeliest spelling first. */
async function similarFunctions(
  client: RegistryClient,
  kind: string,
  group: string | undefined,
): Promise<SearchItem[]> {
  const { suggest } = await import('@krmhub/schema/suggest');
  const words = kebabCase(kind).split('-').slice(0, 4);
  const items = new Map<string, SearchItem>();
  // Beginnings of words, so that what is misspelt towards the end of one is found as well.
  for (const q of new Set([words.join(' '), ...words, ...words.map((word) => word.slice(0, 3))])) {
    for (const item of (await client.search({ q, limit: 50 })).items)
      items.set(`${item.group}/${item.kind}`, item);
  }
  // The group that was named comes first.
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
