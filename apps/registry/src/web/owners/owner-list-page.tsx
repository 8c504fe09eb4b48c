import { fillPath } from '@krmhub/api/paths';
import { NOT_VERIFIED } from '@krmhub/schema/facets';
import { docsPath, OWNERS, ownerPath, ownersPath, searchPath } from '../addresses.js';
import { counted } from '../counted.js';
import { Empty } from '../parts/empty.js';
import { Pages } from '../parts/pages.js';
import { NameList, Text } from '../parts/text.js';
import { useSite } from '../site.js';
import { proofsOf } from './group-list.js';
import type { TeamView } from './owners-by-team.js';

/** Groups of a team in the list; its page has all. */
const MAX_GROUPS = 3;

/** Lists the teams that own groups, and how many functions are from no owner. */
export function OwnerListPage({
  teams,
  notVerified,
  isFirst,
  next,
}: {
  teams: readonly TeamView[];
  notVerified: number;
  isFirst: boolean;
  next: string | undefined;
}) {
  const { at } = useSite();
  return (
    <div class="owners">
      <h1>Owners</h1>
      <p class="lead">
        A group of functions is a domain, and belongs to at most one team. An administrator assigns it, or the
        team proves that it controls the domain.
      </p>
      {teams.length === 0 ? (
        <Empty title="No owners">
          <p>
            A team <a href={at(docsPath('own-names'))}>proves its domain</a> with{' '}
            <code>krmhub owner claim</code>.
          </p>
        </Empty>
      ) : (
        <ul class="found-list">
          {teams.map(({ team, displayName, groups }) => (
            <li class="found-function">
              <h2>
                <a href={at(ownerPath(team))}>
                  <Text value={displayName} max={200} />
                </a>
              </h2>
              <p class="found-description">
                <NameList values={groups.map(({ group }) => group)} max={MAX_GROUPS} />
              </p>
              <ul class="found-facts">
                <li>team {team}</li>
                {proofsOf(groups).map((proof) => (
                  <li>{proof}</li>
                ))}
              </ul>
            </li>
          ))}
        </ul>
      )}
      <Pages
        first={isFirst ? undefined : OWNERS}
        next={next === undefined ? undefined : ownersPath({ after: next })}
      />
      {notVerified === 0 ? null : (
        <section aria-labelledby="not-verified">
          <h2 id="not-verified">Not verified</h2>
          <p>
            <a href={at(searchPath({ owner: [NOT_VERIFIED] }))}>{counted(notVerified, 'function')}</a> in
            groups without an owner, or only in upstream catalogs. Nobody checked who publishes them.
          </p>
        </section>
      )}
      <p>
        <a href={at(fillPath('owners', {}))}>Owners as JSON</a>
      </p>
    </div>
  );
}
