import type { SearchResult } from '@krmhub/api/model';
import { OWNERS, ownerPath, searchPath } from '../addresses.js';
import { counted } from '../counted.js';
import { DefinitionList } from '../parts/definition-list.js';
import { Pages } from '../parts/pages.js';
import { ShortSigner } from '../parts/signer.js';
import { ExternalLink, Text } from '../parts/text.js';
import { SearchResultItem } from '../search/search-result.js';
import { useSite } from '../site.js';
import { GroupList } from './group-list.js';
import type { TeamView } from './owners-by-team.js';

/** A team: its groups, who signed the functions of these groups, and the functions. */
export function OwnerPage({
  owner: { team, displayName, contact, groups },
  result: { total, items, facets, next },
  cursor,
}: {
  owner: TeamView;
  result: SearchResult;
  cursor: string | undefined;
}) {
  const { at } = useSite();
  return (
    <div class="owner">
      <p>
        <a href={at(OWNERS)}>Owners</a>
      </p>
      <h1>
        <Text value={displayName} max={200} />
      </h1>
      <DefinitionList
        items={[
          ['Team', team],
          ['Contact', contact === undefined ? undefined : <Contact contact={contact} />],
        ]}
      />
      <section aria-labelledby="groups">
        <h2 id="groups">Groups</h2>
        <GroupList groups={groups} />
      </section>
      <section aria-labelledby="signers">
        <h2 id="signers">Signers</h2>
        <p class="quiet">
          {facets.signedBy.length === 0
            ? 'No displayed release has a signature.'
            : 'Who signed the displayed releases, whether or not a policy trusts them.'}
        </p>
        {facets.signedBy.length === 0 ? null : (
          <ul class="plain-list">
            {facets.signedBy.map(({ value, count }) => (
              <li>
                <a href={at(searchPath({ owner: [team], signedBy: [value] }))}>
                  <ShortSigner value={value} max={300} />
                </a>{' '}
                <span class="quiet">{counted(count, 'function')}</span>
              </li>
            ))}
          </ul>
        )}
      </section>
      <section aria-labelledby="functions">
        <h2 id="functions">
          Functions <span class="quiet">{total}</span>
        </h2>
        {items.length === 0 ? null : (
          <ol class="found-list">
            {items.map((item) => (
              <SearchResultItem item={item} />
            ))}
          </ol>
        )}
        <Pages
          first={cursor === undefined ? undefined : ownerPath(team)}
          next={next === undefined ? undefined : ownerPath(team, { cursor: next })}
        />
      </section>
    </div>
  );
}

/** An administrator writes the contact: a URL, an e-mail address, or any other text. */
function Contact({ contact }: { contact: string }) {
  if (!/^[\w.+-]+@[\w.-]+$/.test(contact)) return <ExternalLink url={contact} />;
  return <a href={`mailto:${contact}`}>{contact}</a>;
}
