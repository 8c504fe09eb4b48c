import { type ReleaseSummary, summarizeChanges } from '@krmhub/catalog';
import { type FunctionName, isPrerelease } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { DeriveDeps } from '../../workers/derive/derivation.js';
import { readDefinition } from '../../workers/derive/stored-definition.js';
import { type RenderedMarkdown, renderMarkdown } from '../markdown.js';
import { cutText } from '../visible-text.js';
import { cachedViews } from './cached-views.js';

/** What the list of releases derives for a row. */
export interface ReleaseRow {
  /** The release before it; absent for the first. */
  before?: string;
  /** For example `2 breaking`; absent if the definitions are too large to compare for a page. */
  changes?: string;
  notes?: RenderedMarkdown;
}

/** UTF-16 code units of notes on the list: a page has those of many releases. */
const MAX_NOTES = 4_000;

/** Returns the rows of releases by release. The result of a comparison is cached. */
export async function readRows(
  deps: DeriveDeps,
  name: FunctionName,
  releases: readonly ReleaseSummary[],
  shown: readonly ReleaseSummary[],
): Promise<Map<string, ReleaseRow>> {
  const before = predecessors(releases);
  const byName = new Map(releases.map((one) => [one.release, one]));
  const views = cachedViews(deps);
  const { group, kind } = name;
  const head = (release: ReleaseSummary) => ({ ...release, group, kind });
  const found = await deps.store.notesAndRuns(shown.map(head));
  const rows = new Map<string, ReleaseRow>();
  for (const [at, release] of shown.entries()) {
    const earlier = byName.get(before.get(release.release) ?? '');
    const changes =
      earlier && (await views.changes(head(earlier), head(release), (one) => readDefinition(deps, one)));
    const text = found[at]?.notes;
    rows.set(release.release, {
      ...defined({
        before: earlier?.release,
        changes: changes && summarizeChanges(changes),
        notes: text === undefined ? undefined : renderNotes(text, release.release),
      }),
    });
  }
  return rows;
}

function renderNotes(text: string, release: string): RenderedMarkdown {
  return renderMarkdown(cutText(text, MAX_NOTES), new Map(), {
    headingShift: 3,
    idPrefix: `notes-${release}-`,
  });
}

/**
 * Returns what `findPredecessor` returns for each release, in one walk: a function may have thousands. The releases
 * are newest first.
 */
export function predecessors(
  releases: readonly Pick<ReleaseSummary, 'release' | 'yanked'>[],
): Map<string, string | undefined> {
  const found = new Map<string, string | undefined>();
  let stable: string | undefined;
  let any: string | undefined;
  for (const { release, yanked } of releases.toReversed()) {
    found.set(release, stable ?? any);
    if (yanked !== undefined) continue;
    any = release;
    if (!isPrerelease(release)) stable = release;
  }
  return found;
}
