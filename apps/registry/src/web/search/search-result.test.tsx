import type { SearchItem } from '@krmhub/api/model';
import { describe, expect, it } from 'vitest';
import { readAssets } from '../assets.js';
import { renderPage } from '../page-response.js';
import { createSite } from '../site.js';
import { SearchResultItem } from './search-result.js';

const site = createSite({}, readAssets());
const ITEM: SearchItem = {
  group: 'example.com',
  kind: 'SetLabels',
  description: 'Sets labels.',
  publisher: 'Example Co',
  release: '1.0.0',
  publishedAt: '2030-01-02T03:04:05.678Z',
  versions: ['v1'],
  tags: ['mutator'],
  runtimes: ['container'],
  license: 'Apache-2.0',
  network: false,
  storage: false,
  pinned: true,
  signedBy: [],
  signature: { trusted: false, state: 'unsigned', text: 'not signed; no policy requires a signature' },
  yanked: false,
  deprecated: false,
};
const KEY = `the key sha256:${'a1'.repeat(32)}`;

/** Returns the HTML of a function in a list. */
function html(changes: Partial<SearchItem>): string {
  const body = <SearchResultItem item={{ ...ITEM, ...changes }} />;
  const page = new TextDecoder().decode(renderPage(site, { head: { title: 'x', path: '/x' }, body }));
  return page.slice(page.indexOf('<li class="found-function"'), page.indexOf('</main>'));
}

function visibleText(changes: Partial<SearchItem>): string {
  return html(changes)
    .replace(/<[^>]*>/g, '')
    .replaceAll('&quot;', '"');
}

describe('a function in a list', () => {
  it.each<[SearchItem['signature'], string]>([
    [ITEM.signature, 'not signed'],
    [
      { trusted: true, state: 'verified', text: `verified as ${KEY} by the registry policy ours` },
      'signature verified',
    ],
    [
      { trusted: false, state: 'not-trusted', text: 'not trusted: it is not signed' },
      'not trusted: it is not signed',
    ],
  ])('shows the verdict on its signatures in a few words (%#)', (signature, words) => {
    expect(visibleText({ signature })).toContain(words);
    expect(visibleText({ signature })).not.toContain('by the registry policy');
  });

  it('has places in a long name where a line may break', () => {
    const long = html({ group: 'functions.platform.example.com', kind: 'EnforceLabelsOnNamespaces' });
    expect(long).toContain(
      '<span class="word">functions.<wbr/>platform.<wbr/>example.<wbr/>com/</span></a><wbr/>',
    );
    expect(long).toContain('<span class="word">Enforce<wbr/>Labels<wbr/>OnNamespaces</span></a>');
    expect(html({})).not.toContain('class="word"');
  });

  it('shows what needs attention before it runs', () => {
    expect(visibleText({})).not.toMatch(/not pinned|network|mounts/);
    expect(visibleText({ pinned: false })).toContain('not pinned');
    expect(visibleText({ network: true, storage: true })).toMatch(/network.*mounts folders/);
  });

  it('shows its problems', () => {
    expect(visibleText({ yanked: true })).toContain('1.0.0 yanked');
    expect(visibleText({ deprecated: true })).toContain('1.0.0 deprecated');
    expect(visibleText({ release: '1.0.0-rc.1' })).toContain('1.0.0-rc.1 pre-release');
    expect(visibleText({})).not.toMatch(/yanked|deprecated|pre-release/);
  });

  it('shows the tag of its image if its release is unknown', () => {
    const text = (imageTag?: string) => visibleText({ release: undefined, imageTag });
    expect(text('v0.4')).toContain('image v0.4');
    expect(text()).toContain('release unknown');
  });

  it('shows its source if this registry has no release of it', () => {
    const { release: _, publishedAt: __, ...upstreamItem } = ITEM;
    const from = [
      { catalog: 'platform', source: 'banana' },
      { catalog: 'zoo', source: 'apes' },
    ];
    const body = <SearchResultItem item={{ ...upstreamItem, from }} />;
    const page = new TextDecoder().decode(renderPage(site, { head: { title: 'x', path: '/x' }, body }));
    expect(page).toContain('release unknown');
    expect(page).toContain('from banana in <a href="/catalogs/platform">platform</a> and 1 more');
    expect(page).not.toContain('signed');
  });
});
