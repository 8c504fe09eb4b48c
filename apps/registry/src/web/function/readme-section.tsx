import { fillPath } from '@krmhub/api/paths';
import { isSound } from '@krmhub/catalog';
import { raw } from 'hono/html';
import { Label } from '../parts/label.js';
import { useSite } from '../site.js';
import type { FunctionView } from './read-function.js';

export function ReadmeSection({ view: { name, known } }: { view: FunctionView }) {
  const { at } = useSite();
  const readme = known?.readme;
  return (
    <section aria-labelledby="readme">
      <h2 id="readme">README</h2>
      {known === undefined ? (
        <p class="quiet">Catalogs do not contain READMEs. See the usage document below.</p>
      ) : readme === undefined ? (
        <p class="quiet">This release was published without a README.</p>
      ) : (
        <>
          {known.verdict.isReadmeSigned === true ? null : (
            <p>
              <Label tone={isSound(known.verdict) ? 'warning' : 'plain'}>not signed</Label> No signature
              covers this README.
            </p>
          )}
          <div class="readme" dir="auto">
            {raw(readme.html)}
          </div>
          {readme.isCut ? (
            <p class="quiet">
              The README is too long to show in full:{' '}
              <a href={at(fillPath('readme', { ...name, release: known.release.release }))}>
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
