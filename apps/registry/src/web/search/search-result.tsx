import type { SearchItem } from '@krmhub/api/model';
import { verdictLabel } from '@krmhub/catalog';
import { isPrerelease } from '@krmhub/schema';
import { catalogPath, functionPath, groupPath, searchPath } from '../addresses.js';
import { importedRelease } from '../parts/imported-release.js';
import { Label } from '../parts/label.js';
import { PublisherLine } from '../parts/publisher-line.js';
import { ShortSigner } from '../parts/signer.js';
import { NamePart, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';

/** Maximum characters and items of a function in a list; its page shows all. */
const MAX_DESCRIPTION = 280;
const MAX_NAME = 80;
const MAX_TAGS = 8;

/** A function in a list. */
export function SearchResultItem({ item }: { item: SearchItem }) {
  const { at } = useSite();
  const { group, kind, release, description, yanked, deprecated } = item;
  return (
    <li class="found-function">
      <h3>
        <a class="found-group" href={at(groupPath(group))}>
          <NamePart value={`${group}/`} />
        </a>
        <wbr />
        <a href={at(functionPath(item))}>
          <NamePart value={kind} />
        </a>{' '}
        <span class="found-release">{release ?? importedRelease(item.imageTag)}</span>
        {release !== undefined && isPrerelease(release) ? (
          <>
            {' '}
            <Label>pre-release</Label>
          </>
        ) : null}
        {yanked ? (
          <>
            {' '}
            <Label tone="danger">yanked</Label>
          </>
        ) : null}
        {deprecated ? (
          <>
            {' '}
            <Label tone="warning">deprecated</Label>
          </>
        ) : null}
      </h3>
      <p class="found-description">
        <Text value={description} max={MAX_DESCRIPTION} />
      </p>
      <Facts item={item} />
      {item.tags.length === 0 ? null : (
        <ul class="tags" aria-label="Tags">
          {item.tags.slice(0, MAX_TAGS).map((tag) => (
            <li>
              <a href={at(searchPath({ tag: [tag] }))} rel="nofollow">
                <Text value={tag} max={MAX_NAME} />
              </a>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

function Facts({ item }: { item: SearchItem }) {
  const { at } = useSite();
  const { publishedAt, owner, publisher, runtimes, license, pinned, network, storage, from = [] } = item;
  return (
    <ul class="found-facts">
      {publishedAt === undefined ? null : (
        <li>
          <Time at={publishedAt} />
        </li>
      )}
      <li>
        <PublisherLine owner={owner} publisher={publisher} max={MAX_NAME} />
      </li>
      {runtimes.length === 0 ? null : <li>{runtimes.join(', ')}</li>}
      {pinned ? null : <li class="tone-warning">not pinned</li>}
      {network ? <li class="tone-warning">network</li> : null}
      {storage ? <li class="tone-warning">mounts folders</li> : null}
      {license === '' ? null : (
        <li>
          <Text value={license} max={MAX_NAME} />
        </li>
      )}
      {from.slice(0, 1).map(({ catalog, source }) => (
        <li>
          from {source} in <a href={at(catalogPath(catalog))}>{catalog}</a>
          {from.length > 1 ? ` and ${from.length - 1} more` : ''}
        </li>
      ))}
      {item.release === undefined ? null : (
        <li>
          <Signature item={item} />
        </li>
      )}
    </ul>
  );
}

/** Shows the verdict on the signatures of the release: why it is not trusted, else only the result. */
function Signature({ item: { signature } }: { item: SearchItem }) {
  const { state, text } = signature;
  if (state === 'not-trusted') {
    return (
      <span class="tone-danger">
        <ShortSigner value={text} max={MAX_DESCRIPTION} />
      </span>
    );
  }
  return (
    <span class={state === 'verified' ? 'tone-good' : undefined} title={text.slice(0, MAX_DESCRIPTION)}>
      {/* Beside an owner, which is verified too. */}
      {state === 'verified' ? `signature ${verdictLabel(signature)}` : verdictLabel(signature)}
    </span>
  );
}
