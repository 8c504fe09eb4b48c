import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import { DOCS, DOCS_SAMPLES_FILE, docsPath } from '../addresses.js';
import { renderMarkdown } from '../markdown.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { OnThisPage } from '../parts/on-this-page.js';
import { RegistryAddress } from '../parts/registry-address.js';
import { SearchBox } from '../parts/search-box.js';
import { useSite } from '../site.js';
import { DOCUMENTED_URL, type Docs, type DocsPage } from './read-docs.js';
import type { DocsHit } from './search-docs.js';

/** A page of the documentation with its search and the list of pages. */
export function DocsFrame({
  docs,
  page,
  words = '',
  children,
}: {
  docs: Docs;
  page?: DocsPage;
  words?: string;
  children?: Child;
}) {
  const { at } = useSite();
  const current = page?.name.split('/')[0];
  return (
    <div class="docs">
      <SearchBox id="docs-search" of="docs" value={words} />
      <div class="reference-columns">
        <nav class="reference-nav" aria-label="Documentation">
          <p>
            <a href={at(DOCS)} aria-current={current === '' ? 'page' : undefined}>
              Overview
            </a>
          </p>
          {docs.groups.map((group) => (
            <>
              <p>{group.title}</p>
              <ul>
                {group.pages.map(({ name, title }) => (
                  <li>
                    <a href={at(docsPath(name))} aria-current={current === name ? 'page' : undefined}>
                      {title}
                    </a>
                  </li>
                ))}
              </ul>
            </>
          ))}
        </nav>
        <div class="reference-main">{children}</div>
      </div>
    </div>
  );
}

/** The text of a page, with the list of its headings. */
export function DocsText({ docs, page }: { docs: Docs; page: DocsPage }) {
  const { at } = useSite();
  const link = (address: string): string | undefined => {
    const found = docs.find(address, page);
    return found && at(docsPath(found.page, found.id));
  };
  const { html, headings } = renderMarkdown(page.text, new Map(), {
    headingShift: 0,
    idPrefix: '',
    hasLists: true,
    link,
  });
  const [title, rest] = splitTitle(html);
  return (
    <article class="docs-text">
      {raw(title)}
      <OnThisPage label="On this page" headings={headings.filter(({ level }) => level === 2)} />
      {SAMPLE_PATH.test(page.text) ? <Samples /> : null}
      {ABOUT_ANY_REGISTRY.test(page.name) ? raw(rest) : <WithOwnAddress html={rest} />}
    </article>
  );
}

/** A path of a file that a checkout has. */
const SAMPLE_PATH = /(?<![\w./-])(?:action|deploy|test\/fixtures)\/\w/;

function Samples() {
  return (
    <CopySnippet
      label="Download the sample files"
      caption="The files that this page uses are in a checkout of krmhub. Without one, download them to the current folder:"
      code={
        <>
          curl -fsS <RegistryAddress />
          {DOCS_SAMPLES_FILE} | tar -xz
        </>
      }
    />
  );
}

/** Pages whose addresses are defaults, or of a registry that the reader starts. */
const ABOUT_ANY_REGISTRY = /^(?:commands|configuration|operate)\b/;
const CODE = /(<code[\s\S]*?<\/code>)/;
const ADDRESS = new RegExp(`(${DOCUMENTED_URL}|${new URL(DOCUMENTED_URL).host})`);

/** Shows the address of this registry in commands. */
function WithOwnAddress({ html }: { html: string }) {
  return (
    <>
      {html
        .split(CODE)
        .map((part, index) =>
          index % 2 === 0
            ? raw(part)
            : part
                .split(ADDRESS)
                .map((inner, at) =>
                  at % 2 === 0 ? raw(inner) : <RegistryAddress isHost={inner !== DOCUMENTED_URL} />,
                ),
        )}
    </>
  );
}

function splitTitle(html: string): [title: string, rest: string] {
  const end = html.indexOf('</h1>');
  return end === -1 ? ['', html] : [html.slice(0, end + 5), html.slice(end + 5)];
}

/** What a search found. */
export function DocsHits({ words, hits }: { words: string; hits: readonly DocsHit[] }) {
  const { at } = useSite();
  return (
    <section aria-labelledby="hits" class="docs-text">
      <h1 id="hits">Sections about “{words}”</h1>
      {hits.length === 0 ? (
        <p>
          No section has these words. Search for fewer words, or see the <a href={at(DOCS)}>overview</a>.
        </p>
      ) : (
        <ol class="docs-hits">
          {hits.map(({ page, id, title, heading, excerpt }) => (
            <li>
              <a href={at(docsPath(page, id))}>{heading === title ? title : `${title}: ${heading}`}</a>
              <p>{excerpt}</p>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
