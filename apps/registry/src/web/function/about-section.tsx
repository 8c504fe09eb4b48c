import { fillPath } from '@krmhub/api/paths';
import { imageTag } from '@krmhub/catalog';
import type { Child } from 'hono/jsx';
import { catalogPath, searchPath } from '../addresses.js';
import { DefinitionList } from '../parts/definition-list.js';
import { Digest } from '../parts/digest.js';
import { importedRelease } from '../parts/imported-release.js';
import { PublisherLine } from '../parts/publisher-line.js';
import { ExternalLink, Text } from '../parts/text.js';
import { useSite } from '../site.js';
import { BadgeSnippet } from './badge-snippet.js';
import type { FunctionView } from './read-function.js';

/** Maximum number of items of a list; the definition has all. */
const MAX_ITEMS = 20;

/** Shows the owner, the documentation, and the catalogs of a function. */
export function AboutSection({ view }: { view: FunctionView }) {
  const { at } = useSite();
  const { name, owner, definition, known, version, catalogs } = view;
  const { usage, examples, license, maintainers = definition.maintainers ?? [] } = version.version;
  const release = known?.release;
  const hasReadme = known?.readme !== undefined;
  return (
    <aside class="about" aria-labelledby="about">
      <h2 id="about">About</h2>
      <DefinitionList
        items={[
          [
            'License',
            <a href={at(searchPath({ license: [license] }))}>
              <Text value={license} max={100} />
            </a>,
          ],
          ['Owner', <PublisherLine owner={owner} publisher={definition.publisher} max={200} />],
          ['Maintainers', list(maintainers.map((one) => <Text value={one} max={200} />))],
          ['Home', definition.home === undefined ? undefined : <ExternalLink url={definition.home} />],
          // Without a README, the overview has these links.
          ['Usage', usage === '' || !hasReadme ? undefined : <ExternalLink url={usage} />],
          ['Examples', hasReadme ? list(examples.map((one) => <ExternalLink url={one} />)) : undefined],
          [
            'Tags',
            (definition.tags ?? []).length === 0 ? undefined : (
              <span class="tags">
                {definition.tags!.slice(0, MAX_ITEMS).map((tag) => (
                  <a href={at(searchPath({ tag: [tag] }))}>
                    <Text value={tag} max={60} />
                  </a>
                ))}
              </span>
            ),
          ],
          [
            'Catalogs',
            catalogs.length === 0
              ? 'Not in a catalog of this registry'
              : list(
                  catalogs.map(({ catalog, versions }) => (
                    <>
                      <a href={at(catalogPath(catalog))}>{catalog}</a>{' '}
                      <span class="quiet">
                        <Text value={catalogText(versions, imageTag(definition))} max={200} />
                      </span>
                    </>
                  )),
                ),
          ],
          [
            'Definition',
            release === undefined ? undefined : (
              <>
                <a href={at(fillPath('definition', { ...name, release: release.release }))}>
                  definition.yaml
                </a>
                , {release.size} bytes
              </>
            ),
          ],
          [
            'Digest',
            release === undefined ? (
              <Digest value={view.entries[0]!.versions[0]!.definition} />
            ) : (
              <Digest value={release.digest} />
            ),
          ],
          ['Artifact', known?.manifest === undefined ? undefined : <Digest value={known.manifest} />],
        ]}
      />
      <BadgeSnippet name={name} />
    </aside>
  );
}

/** Returns which release a catalog has and its source; if releases differ, for each API version. */
function catalogText(
  versions: FunctionView['catalogs'][number]['versions'],
  tag: string | undefined,
): string {
  const words = versions.map(({ name, release, source, rewritten }) => ({
    name,
    text: `${release ?? `${importedRelease(tag)}, from ${source}`}${rewritten === true ? ', references rewritten to a mirror' : ''}`,
  }));
  const texts = new Set(words.map(({ text }) => text));
  if (texts.size === 1) return [...texts][0]!;
  return words.map(({ name, text }) => `${name}: ${text}`).join('; ');
}

function list(items: readonly Child[]): Child | undefined {
  if (items.length === 0) return undefined;
  return (
    <ul class="plain-list">
      {items.slice(0, MAX_ITEMS).map((item) => (
        <li>{item}</li>
      ))}
      {items.length > MAX_ITEMS ? <li class="quiet">and {items.length - MAX_ITEMS} more</li> : null}
    </ul>
  );
}
