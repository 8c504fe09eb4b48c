import type { FunctionRecord, ReleaseSummary } from '@krmhub/catalog';
import { operateReleasePath, RELEASES } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { Label } from '../parts/label.js';
import { ReleaseName } from '../parts/release-name.js';
import { QualifiedName, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';

export interface ReleasesPageData {
  /** The typed name. */
  typed: string;
  fn?: FunctionRecord | undefined;
  problem?: string | undefined;
  /** The release that was just taken down. */
  takenDown?: { group: string; kind: string; release: string } | undefined;
}

/** Newest releases of a function; older ones have the page of their name. */
const MAX_RELEASES = 100;

export function ReleasesPage({ shown: { typed, fn, problem, takenDown } }: { shown: ReleasesPageData }) {
  const { at } = useSite();
  return (
    <>
      <h1>Releases</h1>
      {takenDown === undefined ? null : (
        <Banner tone="good" title="The release was taken down">
          <p>
            <QualifiedName name={takenDown} /> is no longer served.
          </p>
        </Banner>
      )}
      <form class="form" action={at(RELEASES)}>
        <p class="entry">
          <label for="name">Function or release</label>
          <span class="quiet" id="name-hint">
            For example <code>example.com/SetLabels</code> or <code>example.com/SetLabels@1.2.0</code>
          </span>
          <input
            id="name"
            name="name"
            value={typed}
            required
            maxlength={500}
            autocapitalize="none"
            spellcheck={false}
            aria-describedby={problem === undefined ? 'name-hint' : 'name-problem name-hint'}
            aria-invalid={problem === undefined ? undefined : 'true'}
          />
          {problem === undefined ? null : (
            <span class="field-problem" id="name-problem">
              <Text value={problem} max={1_000} />
            </span>
          )}
        </p>
        <div class="buttons">
          <button type="submit">Show</button>
        </div>
      </form>
      {fn === undefined ? null : (
        <ul class="operate-list">
          {fn.releases.slice(0, MAX_RELEASES).map((release) => (
            <li>
              <div class="operate-head">
                <h2>
                  <a href={at(operateReleasePath({ ...fn, release: release.release }))}>
                    <ReleaseName name={{ group: fn.group, kind: fn.kind, release: release.release }} />
                  </a>
                </h2>
                <ReleaseLabels release={release} />
              </div>
              <p class="quiet">
                published <Time at={release.publishedAt} /> by <Text value={release.publishedBy} max={100} />
              </p>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

export function ReleaseLabels({ release }: { release: Pick<ReleaseSummary, 'yanked' | 'deprecated'> }) {
  return (
    <>
      {release.yanked === undefined ? null : <Label tone="danger">yanked</Label>}
      {release.deprecated === undefined ? null : <Label tone="warning">deprecated</Label>}
    </>
  );
}
