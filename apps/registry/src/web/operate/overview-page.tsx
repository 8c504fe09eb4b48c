import type { Readiness, Source } from '@krmhub/api/model';
import { RECIPES, recipePath, sourcesPath, TOKENS } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { Label } from '../parts/label.js';
import { Text } from '../parts/text.js';
import { useSite } from '../site.js';
import { missingChangeScopes, useOperator } from './operator.js';

export interface Overview {
  readiness: Readiness;
  /** Catalogs that cannot be cut, and why. */
  failing: readonly { catalog: string; message: string }[];
  sources: readonly Pick<Source, 'state'>[];
  catalogs: number;
}

const CHECKS: Readonly<Record<Readiness['checks'][number]['name'], string>> = {
  store: 'The database can be written',
  blobs: 'Files can be written',
  catalogs: 'Catalogs are cut',
};

export function OverviewPage({
  overview: { readiness, failing, sources, catalogs },
}: {
  overview: Overview;
}) {
  const { at } = useSite();
  const lacking = missingChangeScopes(useOperator());
  const wrong = sources.filter(({ state }) => state !== 'current').length;
  return (
    <>
      <h1>Operate this registry</h1>
      {lacking === undefined ? null : (
        <Banner title="You may look, and change nothing here">
          <p>
            Asking sources, applying recipes and making tokens need a token with the scope <code>admin</code>{' '}
            for every group. Yours lacks <Text value={lacking} />.
          </p>
        </Banner>
      )}
      <section aria-labelledby="health">
        <h2 id="health">Health</h2>
        <ul class="operate-list">
          {readiness.checks.map(({ name, status, detail }) => (
            <li>
              <Label tone={status === 'ok' ? 'good' : 'danger'}>{status}</Label> {CHECKS[name]}
              {detail === undefined || status === 'ok' ? null : (
                <p class="quiet">
                  <Text value={detail} max={500} />
                </p>
              )}
            </li>
          ))}
          <li>
            <Label tone={failing.length === 0 ? 'good' : 'danger'}>
              {failing.length === 0 ? 'ok' : 'failing'}
            </Label>{' '}
            {failing.length === 0
              ? `Each of ${catalogs} ${catalogs === 1 ? 'catalog' : 'catalogs'} can be cut`
              : `${failing.length} of ${catalogs} catalogs cannot be cut; what they serve is older than it should be`}
            {failing.length === 0 ? null : (
              <ul>
                {failing.slice(0, MAX_FAILING).map(({ catalog, message }) => (
                  <li>
                    <a href={at(recipePath(catalog))}>{catalog}</a>: <Text value={message} max={500} />
                  </li>
                ))}
              </ul>
            )}
          </li>
          <li>
            <Label tone={wrong === 0 ? 'good' : 'warning'}>{wrong === 0 ? 'ok' : 'failing'}</Label>{' '}
            {sources.length === 0 ? (
              'No catalog takes from elsewhere'
            ) : wrong === 0 ? (
              `Each of ${sources.length} ${sources.length === 1 ? 'source' : 'sources'} answers`
            ) : (
              <a href={at(sourcesPath({ hasProblems: true }))}>
                {wrong} of {sources.length} sources do not answer as they should
              </a>
            )}
          </li>
        </ul>
        <p class="quiet">
          For machines: <a href={at('/readyz')}>/readyz</a> and <a href={at('/metrics')}>/metrics</a>.
        </p>
      </section>
      <section aria-labelledby="places">
        <h2 id="places">What to do where</h2>
        <dl>
          <dt>
            <a href={at(sourcesPath())}>Sources</a>
          </dt>
          <dd>The catalogs elsewhere that recipes take from: how each is, why one fails; ask one at once.</dd>
          <dt>
            <a href={at(RECIPES)}>Recipes</a>
          </dt>
          <dd>What each catalog is made of: read, check and apply.</dd>
          <dt>
            <a href={at(TOKENS)}>Tokens</a>
          </dt>
          <dd>Who may publish, mark, push and administer: make tokens and revoke them.</dd>
        </dl>
      </section>
    </>
  );
}

const MAX_FAILING = 20;
