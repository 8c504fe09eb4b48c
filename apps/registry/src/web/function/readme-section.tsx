import { fillPath } from '@krmhub/api/paths';
import { isSound } from '@krmhub/catalog';
import { raw } from 'hono/html';
import type { MarkdownHeading } from '../markdown.js';
import { Label } from '../parts/label.js';
import { OnThisPage } from '../parts/on-this-page.js';
import { ExternalLink } from '../parts/text.js';
import { useSite } from '../site.js';
import type { FunctionView } from './read-function.js';

export function ReadmeSection({ view }: { view: FunctionView }) {
  const { name, known } = view;
  const { at } = useSite();
  const readme = known?.readme;
  return (
    <section aria-labelledby="readme">
      <h2 id="readme">{known?.readme === undefined ? 'Documentation' : 'README'}</h2>
      {readme === undefined ? (
        <WithoutReadme view={view} />
      ) : (
        <>
          {known!.verdict.isReadmeSigned === true ? null : (
            <p>
              <Label tone={isSound(known!.verdict) ? 'warning' : 'plain'}>not signed</Label> No signature
              covers this README.
            </p>
          )}
          {known!.verdict.isReadmeSigned === true && known!.hasAttachedImages === true ? (
            <p>
              <Label>not signed</Label> No signature covers the images of this README.
            </p>
          ) : null}
          <OnThisPage label="In this README" headings={contents(readme.headings)} />
          <div class="readme" dir="auto">
            {raw(readme.html)}
          </div>
          {readme.isCut ? (
            <p class="quiet">
              The README is too long to show in full:{' '}
              <a href={at(fillPath('readme', { ...name, release: known!.release.release }))}>
                the whole README
              </a>
              .
            </p>
          ) : null}
        </>
      )}
    </section>
  );
}

/** Maximum number of headings in the list. */
const MAX_HEADINGS = 30;

/** The sections of a README: the highest level that has several headings. */
function contents(headings: readonly MarkdownHeading[]): MarkdownHeading[] {
  const levels = [...new Set(headings.map(({ level }) => level))].sort((a, b) => a - b);
  const sections = levels.map((level) => headings.filter((heading) => heading.level === level));
  return (sections.find(({ length }) => length > 1) ?? []).slice(0, MAX_HEADINGS);
}

/** Maximum number of listed examples; the definition has all. */
const MAX_EXAMPLES = 5;

/** The documents that the definition names. */
function WithoutReadme({ view: { known, version } }: { view: FunctionView }) {
  const { usage, examples } = version.version;
  return (
    <>
      <p class="quiet">
        {known === undefined
          ? 'Catalogs do not contain READMEs.'
          : 'This release was published without a README.'}
      </p>
      {usage === '' && examples.length === 0 ? null : (
        <ul class="plain-list">
          {usage === '' ? null : (
            <li>
              How to use it: <ExternalLink url={usage} />
            </li>
          )}
          {examples.slice(0, MAX_EXAMPLES).map((one) => (
            <li>
              Example: <ExternalLink url={one} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
