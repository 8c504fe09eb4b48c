import type { Readiness, Source } from '@krmhub/api/model';
import type { AccessRules } from '@krmhub/catalog';
import { recipePath, sourcesPath } from '../addresses.js';
import { counted } from '../counted.js';
import { Banner } from '../parts/banner.js';
import { Label } from '../parts/label.js';
import { Text } from '../parts/text.js';
import { useSite } from '../site.js';
import type { Waiting } from './find-waiting.js';
import { FirstTokenBanner } from './first-token-banner.js';
import { OpenGroups } from './open-groups.js';
import { missingChangeScopes, useOperator } from './operator.js';
import { OwnSections, type OwnThings } from './own-sections.js';
import { openTabs } from './tabs.js';
import { WaitingSection } from './waiting-section.js';

export interface Overview {
  readiness: Readiness;
  /** Catalogs that cannot be built, and why. */
  failing: readonly { catalog: string; message: string }[];
  sources: readonly Source[];
  catalogs: number;
  rules: AccessRules;
  /** Of a user; absent for a token. */
  own: OwnThings | undefined;
  waiting: Waiting;
}

const CHECKS: Readonly<Record<Readiness['checks'][number]['name'], string>> = {
  store: 'The database is writable',
  blobs: 'The blob folder is writable',
  catalogs: 'Catalog builds succeed',
  search: 'Searches find all functions',
  shutdown: 'The registry continues to run',
};

export function OverviewPage({
  overview: { readiness, failing, sources, catalogs, rules, own, waiting },
}: {
  overview: Overview;
}) {
  const { at } = useSite();
  const operator = useOperator();
  const lacking = missingChangeScopes(operator);
  const wrong = sources.filter(({ state }) => state !== 'current').length;
  return (
    <>
      <h1>Operate this registry</h1>
      {lacking === undefined || operator.token.user !== undefined ? null : (
        <Banner title="Read-only access">
          <p>
            To sync sources, apply recipes, or create tokens, you need a token with the scope{' '}
            <code>admin</code> for all groups. Your token does not have <Text value={lacking} />.
          </p>
        </Banner>
      )}
      <FirstTokenBanner />
      <OpenGroups rules={rules} />
      <WaitingSection waiting={waiting} />
      {own === undefined ? null : <OwnSections own={own} />}
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
              ? `${counted(catalogs, 'catalog')} ${catalogs === 1 ? 'builds' : 'build'} without problems`
              : `${failing.length} of ${counted(catalogs, 'catalog')} cannot be built; old snapshots are served`}
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
              'No catalog has an upstream source'
            ) : wrong === 0 ? (
              `${sources.length} of ${sources.length} ${sources.length === 1 ? 'source' : 'sources'} synced without problems`
            ) : (
              <a href={at(sourcesPath({ hasProblems: true }))}>
                {wrong} of {sources.length} sources {wrong === 1 ? 'has' : 'have'} problems
              </a>
            )}
          </li>
        </ul>
        <p class="quiet">
          For machines: <a href={at('/readyz')}>/readyz</a> and <a href={at('/metrics')}>/metrics</a>.
        </p>
      </section>
      <section aria-labelledby="places">
        <h2 id="places">Pages</h2>
        <dl class="operate-pages">
          {openTabs(operator).map(({ name, path, about }) =>
            about === undefined ? null : (
              <>
                <dt>
                  <a href={at(path)}>{name}</a>
                </dt>
                <dd>{about}</dd>
              </>
            ),
          )}
        </dl>
      </section>
    </>
  );
}

const MAX_FAILING = 20;
