import type { Derivation } from '../../workers/derive/derivation.js';
import { docsPath } from '../addresses.js';
import { readAssets } from '../assets.js';
import { renderPage } from '../page-response.js';
import { createSite } from '../site.js';
import { DocsFrame, DocsText } from './docs-page.js';
import { type Docs, readDocs } from './read-docs.js';
import { type DocsHit, docsSearch } from './search-docs.js';

let docs: Docs | undefined;
let search: ((words: string) => DocsHit[]) | undefined;

/** The documentation of this program, read on first use. */
export function ownDocs(): Docs {
  docs ??= readDocs();
  return docs;
}

/** A page of the documentation. It depends only on the program and its URL, so it is rendered once. */
export const DOCS_PAGE: Derivation<{ page: string; isIndexed: boolean }> = {
  name: 'docs-page',
  async derive({ config }, { page: name }) {
    const page = ownDocs().pages.get(name)!;
    return renderPage(createSite(config, readAssets()), {
      head: { ...docsHead(page.title), path: docsPath(name) },
      body: (
        <DocsFrame docs={ownDocs()} page={page}>
          <DocsText docs={ownDocs()} page={page} />
        </DocsFrame>
      ),
    });
  },
};

/** An archive of the files that the documentation names, for readers without a checkout. */
export const DOCS_SAMPLES: Derivation<Record<string, never>> = {
  name: 'docs-samples',
  async derive() {
    const { packProgram, readSamples } = await import('../install/pack-program.js');
    return packProgram(readSamples(), '');
  },
};

/** The sections with the words of a search, as JSON. */
export const DOCS_SEARCH: Derivation<{ words: string }> = {
  name: 'docs-search',
  async derive(_, { words }) {
    search ??= docsSearch(ownDocs());
    return new TextEncoder().encode(JSON.stringify(search(words)));
  },
};

export function docsHead(title: string) {
  return { title, description: `${title}: documentation of krmhub.`, section: 'docs' as const, search: null };
}
