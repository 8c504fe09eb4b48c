import type { ReleaseSummary, SigningPolicy } from '@krmhub/catalog';
import { compareReleases, type FunctionName, isPrerelease, type Takedown } from '@krmhub/schema';
import { raw } from 'hono/html';
import { compareReleasesPath, functionFeedPath, functionReleasesPath, releasePath } from '../addresses.js';
import { Label } from '../parts/label.js';
import { Pages } from '../parts/pages.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import type { FunctionView } from './read-function.js';
import type { ReleaseRow } from './release-rows.js';
import { releaseVerdict, signatureLabel } from './signature-states.js';

const RELEASES_OF_PAGE = 30;
const MAX_TAKEDOWNS = 50;
const FIRST = 'first of its major version';

/** Lists all releases by major version, with their changes and lifecycle. */
export function ReleasesSection({
  view,
  policies,
  after,
}: {
  view: FunctionView;
  policies: readonly SigningPolicy[];
  /** The last release of the previous page. */
  after?: string | undefined;
}) {
  const { at } = useSite();
  const { name, releases, takedowns, known, rows: derived = new Map() } = view;
  const { shown, isLast } = releasesOfPage(releases, after);
  const firsts = new Set(byMajor(releases).map((ofMajor) => ofMajor.at(-1)!));
  const last = isLast ? undefined : shown.at(-1)?.release;
  return (
    <section aria-labelledby="releases">
      <h2 id="releases">Releases</h2>
      {known === undefined ? (
        <p class="quiet">Unknown: upstream catalogs do not name the releases of their functions.</p>
      ) : null}
      {shown.length === 0 ? null : (
        <table class="releases stacked">
          <caption class="unseen">Releases, newest first</caption>
          <thead>
            <tr>
              <th scope="col">Release</th>
              <th scope="col">Published</th>
              <th scope="col">Signature</th>
              <th scope="col">Changes</th>
            </tr>
          </thead>
          {byMajor(shown).map((rows) => (
            <tbody>
              {rows.map((release) => (
                <Row
                  name={name}
                  release={release}
                  row={derived.get(release.release) ?? {}}
                  policies={policies}
                  isCurrent={release.release === known?.release.release}
                  isFirst={firsts.has(release)}
                />
              ))}
            </tbody>
          ))}
        </table>
      )}
      <Pages
        first={after === undefined ? undefined : functionReleasesPath(name)}
        next={last === undefined ? undefined : functionReleasesPath(name, { after: last })}
      />
      {takedowns.length === 0 || after !== undefined ? null : <Takedowns takedowns={takedowns} />}
      {known === undefined ? null : (
        <p>
          <a href={at(functionFeedPath(name))}>Atom feed of its releases</a>
          {releases.length > 1 ? (
            <>
              {' · '}
              <a
                href={at(
                  `/functions/${encodeURIComponent(name.group)}/${encodeURIComponent(name.kind)}/compare`,
                )}
              >
                Compare two releases
              </a>
            </>
          ) : null}
        </p>
      )}
    </section>
  );
}

/** Returns the releases of a page: those after one, newest first. */
export function releasesOfPage(
  releases: readonly ReleaseSummary[],
  after: string | undefined,
): { shown: ReleaseSummary[]; isLast: boolean } {
  // The release of the previous page may have been taken down meanwhile.
  const rest =
    after === undefined ? releases : releases.filter(({ release }) => compareReleases(release, after) < 0);
  const shown = rest.slice(0, RELEASES_OF_PAGE);
  return { shown, isLast: rest.length === shown.length };
}

function Row({
  name,
  release,
  row: { before, changes, notes },
  policies,
  isCurrent,
  isFirst,
}: {
  name: FunctionName;
  release: ReleaseSummary;
  row: ReleaseRow;
  policies: readonly SigningPolicy[];
  isCurrent: boolean;
  /** No earlier release has its major version. */
  isFirst: boolean;
}) {
  const { at } = useSite();
  const { release: text, publishedAt, publishedBy, yanked, deprecated } = release;
  const signature = signatureLabel(releaseVerdict(policies, { ...release, ...name }));
  return (
    <>
      <tr>
        <th scope="row">
          <a href={at(releasePath({ ...name, release: text }))} aria-current={isCurrent ? 'page' : undefined}>
            {text}
          </a>{' '}
          {isPrerelease(text) ? <Label>pre-release</Label> : null}{' '}
          {yanked === undefined ? null : (
            <Label tone="danger" title={yanked.reason.slice(0, 300)}>
              yanked
            </Label>
          )}{' '}
          {deprecated === undefined ? null : (
            <Label tone="warning" title={deprecated.reason.slice(0, 300)}>
              deprecated
            </Label>
          )}
        </th>
        <td>
          <Time at={publishedAt} />{' '}
          <span class="quiet">
            by <Text value={publishedBy} max={60} />
          </span>
        </td>
        <td>
          <span title={signature.title.slice(0, 400)} class={`tone-${signature.tone}`}>
            {signature.words}
          </span>
        </td>
        <td>
          {before === undefined ? (
            <span class="quiet">{isFirst ? FIRST : 'nothing earlier to compare with'}</span>
          ) : (
            <>
              <a href={at(compareReleasesPath(name, { from: before, to: text }))}>{changes ?? 'changes'}</a>{' '}
              <span class="quiet">
                since {before}
                {isFirst ? `, ${FIRST}` : ''}
              </span>
            </>
          )}
        </td>
      </tr>
      {notes === undefined ? null : (
        <tr>
          <td colspan={4}>
            <details>
              <summary>Notes of {text}</summary>
              <div class="readme" dir="auto">
                {raw(notes.html)}
              </div>
            </details>
          </td>
        </tr>
      )}
    </>
  );
}

function Takedowns({ takedowns }: { takedowns: readonly Takedown[] }) {
  return (
    <>
      <h3>Taken down</h3>
      <ul>
        {takedowns.slice(-MAX_TAKEDOWNS).map(({ release, at, by, reason }) => (
          <li>
            <strong>{release}</strong>, <Time at={at} />, by <Text value={by} max={60} />:{' '}
            <Text value={reason} max={500} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** Groups releases by major version in their order. */
function byMajor(releases: readonly ReleaseSummary[]): ReleaseSummary[][] {
  const groups = new Map<string, ReleaseSummary[]>();
  for (const release of releases) {
    const major = release.release.split('.', 1)[0]!;
    const group = groups.get(major);
    if (group === undefined) groups.set(major, [release]);
    else group.push(release);
  }
  return [...groups.values()];
}
