import { imageTag, type LifecycleRecord } from '@krmhub/catalog';
import { compareReleases } from '@krmhub/schema';
import { functionPath } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { NamePart, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { sentence } from '../sentence.js';
import { useSite } from '../site.js';
import type { FunctionView } from './read-function.js';
import { ReplacementLink } from './replacement-link.js';

/** What a reader must know about the release first. */
export function Banners({ view }: { view: FunctionView }) {
  const { at } = useSite();
  const { name, known, entries } = view;
  if (known === undefined) {
    const tag = imageTag(view.definition);
    const catalogs = entries.map(({ catalog }) => catalog).join(', ');
    return (
      <Banner title="Imported from an upstream catalog">
        <p>
          This registry has no release of this function. This page shows the entry that{' '}
          {entries.length === 1 ? 'the catalog' : 'the catalogs'} <Text value={catalogs} />{' '}
          {entries.length === 1 ? 'includes' : 'include'}. It does not name the release
          {tag === undefined ? (
            '.'
          ) : (
            <>
              , and its image has the tag <Text value={tag} max={128} />.
            </>
          )}
        </p>
      </Banner>
    );
  }
  const { release, shown } = known;
  const isShown = release.release === shown;
  // A pre-release after the newest stable release: `shown` is not newer.
  const isAhead = compareReleases(release.release, shown) > 0;
  const other = (
    <a href={at(functionPath(name))}>
      <NamePart value={name.kind} /> {shown}
    </a>
  );
  const { reason } = known.verdict;
  return (
    <>
      {release.yanked === undefined ? null : (
        <Banner tone="danger" title="This release was yanked">
          <LifecycleText mark={release.yanked} />
          <p>
            Catalogs no longer include it. Its bytes stay available to users who pinned it.{' '}
            {isShown ? 'All releases are yanked.' : <>Use {other} instead.</>}
          </p>
        </Banner>
      )}
      {release.deprecated === undefined ? null : (
        <Banner tone="warning" title="This release is deprecated">
          <LifecycleText mark={release.deprecated} />
          <ReplacementLink replacement={release.deprecated.replacement} />
          {isShown ? null : <p>The newest release is {other}.</p>}
        </Banner>
      )}
      {reason === undefined ? null : (
        <Banner tone="danger" title="This release is not trusted">
          <p>
            <Text value={sentence(reason)} />
          </p>
        </Banner>
      )}
      {isShown || release.yanked !== undefined || release.deprecated !== undefined ? null : (
        <Banner
          title={isAhead ? 'This is a pre-release' : `This is not the newest release: ${shown} is newer`}
        >
          <p>{isAhead ? <>The newest release is {other}.</> : <>Go to {other}.</>}</p>
        </Banner>
      )}
    </>
  );
}

function LifecycleText({ mark }: { mark: LifecycleRecord }) {
  return (
    <p>
      <Text value={sentence(mark.reason)} />{' '}
      <span class="quiet">
        By <Text value={mark.by} />, <Time at={mark.at} />.
      </span>
    </p>
  );
}
