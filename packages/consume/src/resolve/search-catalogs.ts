import { judgeLockedCatalog } from '@krmhub/catalog/lock/judge-catalog';
import type { LockedFunctions } from '@krmhub/catalog/lock/lock';
import type { NearFunction } from '@krmhub/catalog/resolve/near-functions';
import {
  type CatalogAnswer,
  parseFunction,
  planResolve,
  type ResolvePlan,
  type SearchedCatalog,
} from '@krmhub/catalog/resolve/plan-resolve';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import type { NamedCatalog } from '../references/parse-catalog.js';
import type { OpenedCatalog } from './open/open-context.js';
import type { EntryOrigin, FoundFunction } from './read/catalog-reader.js';
import type { ReleaseChoice } from './releases/choose-release.js';
import type { Resolution } from './resolution.js';
import { type MatchedEntry, resolveEntry } from './resolve-entry.js';
import { catalogError, UnresolvedFunction } from './resolve-errors.js';
import type { SearchContext, SearchedFunction } from './search-context.js';

/** What was read of one catalog. */
interface SearchStep {
  opened: OpenedCatalog;
  found: FoundFunction;
}

/** Searches catalogs in order, and pins what the first match runs. Reads no catalog that is not needed. */
export async function searchCatalogs(
  context: SearchContext,
  request: SearchedFunction,
  catalogs: readonly NamedCatalog[],
  { lock, choice }: { lock: LockedFunctions | undefined; choice: ReleaseChoice | undefined },
): Promise<Resolution> {
  const searched: SearchedCatalog[] = catalogs.map(({ reference }) => ({ reference: reference.text }));
  const steps: SearchStep[] = [];
  const errors = new Map<number, KrmhubError>();
  for (;;) {
    const plan = planResolve(request, searched);
    if (plan.type === 'read') {
      searched[plan.index]!.answer = await readCatalog(
        context,
        request,
        { catalog: catalogs[plan.index]!, lock },
        (outcome) => {
          if (outcome instanceof KrmhubError) errors.set(plan.index, outcome);
          else steps[plan.index] = outcome;
        },
      );
      continue;
    }
    if (plan.type === 'unavailable') {
      throw catalogError(request, catalogs[plan.index]!.reference.text, errors.get(plan.index)!);
    }
    if (plan.type === 'unresolved') throw await unresolved(request, searched, steps);
    const match = matchedEntry(request, catalogs, steps, plan);
    return resolveEntry(context, choice === undefined ? match : await chooseEntry(context, match, choice));
  }
}

async function readCatalog(
  context: SearchContext,
  request: SearchedFunction,
  { catalog, lock }: { catalog: NamedCatalog; lock: LockedFunctions | undefined },
  keep: (outcome: SearchStep | KrmhubError) => void,
): Promise<CatalogAnswer> {
  try {
    const opened = await context.open(catalog);
    const found = await opened.reader.find(parseFunction(request));
    const locked = lock?.catalog(catalog.reference);
    // Also a function that is not locked comes from no older state of a locked catalog.
    const refusal = locked === undefined ? undefined : judgeLockedCatalog(locked, found.state);
    if (refusal !== undefined) throw new KrmhubError('untrusted', refusal.message, { hint: refusal.hint });
    keep({ opened, found });
    return { type: 'entries', entries: found.entries.map(({ definition }) => definition) };
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    // Trust is about the catalog, not about what is in it: the message needs no more.
    if (error.code === 'untrusted') throw error;
    keep(error);
    return { type: 'unavailable', reason: error.message };
  }
}

/** The first catalog that has the function decides, also if it has no release that the package accepts. */
async function chooseEntry(
  context: SearchContext,
  match: MatchedEntry,
  choice: ReleaseChoice,
): Promise<MatchedEntry> {
  const { chooseRelease } = await import('./releases/choose-release.js');
  try {
    return await chooseRelease(context, match, choice);
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    throw catalogError(match.request, match.catalog.reference.text, error);
  }
}

function matchedEntry(
  { apiVersion, kind }: SearchedFunction,
  catalogs: readonly NamedCatalog[],
  steps: readonly SearchStep[],
  { index, definition, version }: Extract<ResolvePlan, { type: 'found' }>,
): MatchedEntry {
  const { opened, found } = steps[index]!;
  const entry = found.entries.find((one) => one.definition === definition);
  const origin: EntryOrigin | undefined = entry?.origins?.find(({ name }) => name === version.name);
  return {
    request: { apiVersion, kind },
    catalog: catalogs[index]!,
    opened,
    state: found.state,
    store: found.store,
    definition,
    version,
    ...defined({ origin }),
    searched: steps
      .slice(0, index)
      .map((step, at) => ({ reference: catalogs[at]!.reference.text, ...step.found.state })),
  };
}

/** Names are compared only when nothing was found: that reads the whole index of a catalog. */
async function unresolved(
  request: SearchedFunction,
  searched: readonly SearchedCatalog[],
  steps: readonly SearchStep[],
): Promise<UnresolvedFunction> {
  const withNear: SearchedCatalog[] = [];
  for (const [index, { reference, answer }] of searched.entries()) {
    const near: NearFunction[] = await steps[index]!.opened.reader.near(parseFunction(request)).catch(
      () => [],
    );
    withNear.push({
      reference,
      ...defined({ answer: answer?.type === 'entries' ? { ...answer, near } : undefined }),
    });
  }
  const plan = planResolve(request, withNear);
  if (plan.type !== 'unresolved') throw new TypeError('a search for similar names resolved a function');
  return new UnresolvedFunction(request, plan);
}
