import type { Child } from 'hono/jsx';
import {
  API_PAGE,
  CATALOGS,
  DOCS,
  HOME,
  INSTALL,
  KEYS,
  OPERATE,
  OWNERS,
  POLICIES,
  PUBLIC_EVENTS,
  RELEASES_FEED,
  searchPath,
} from './addresses.js';
import { SearchBox } from './parts/search-box.js';
import { type Site, useSite } from './site.js';
import { visibleText } from './visible-text.js';

export type Section = 'functions' | 'catalogs' | 'policies' | 'docs' | 'api' | 'operate';

/** Metadata of a page. */
export interface PageHead {
  /** Title of the page; the name of the program is appended. */
  title: string;
  /** One sentence for search engines and previews. */
  description?: string;
  /** Canonical path of the page, without parameters that only change the view. */
  path: string;
  /** Section in the navigation. */
  section?: Section;
  /** False for pages that search engines should not index. */
  isIndexed?: boolean;
  /** Path of a preview image for other sites, 1200 x 630 pixels. */
  image?: string;
  /** Atom feeds besides the feed of all releases. */
  feeds?: readonly { title: string; path: string }[];
  /** Text in the search box of the header; null if the page has its own box. */
  search?: string | null;
  /** Path of the page to which the browser goes on by itself. */
  next?: string;
}

const MAX_DESCRIPTION = 200;

/** The document around the body of every page. */
export function Layout({ head, children }: { head: PageHead; children?: Child }) {
  const site = useSite();
  return (
    <html lang="en">
      <Head head={head} site={site} />
      <body>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <Header head={head} site={site} />
        <main id="main" tabindex={-1}>
          {children}
        </main>
        <Footer site={site} />
        <p class="unseen" role="status" id="announcer" />
      </body>
    </html>
  );
}

function Head({ head, site }: { head: PageHead; site: Site }) {
  const { publicUrl, at, whole, assets } = site;
  const title = head.path === HOME ? head.title : `${visibleText(head.title)} · krmhub`;
  const description = shortened(visibleText(head.description ?? 'A registry of KRM functions.'));
  return (
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>{title}</title>
      {head.next === undefined ? null : <meta http-equiv="refresh" content={`0; url=${at(head.next)}`} />}
      <meta name="description" content={description} />
      {head.isIndexed === false ? <meta name="robots" content="noindex" /> : null}
      <meta name="color-scheme" content="light dark" />
      <meta property="og:title" content={title} />
      <meta property="og:description" content={description} />
      <meta property="og:type" content="website" />
      <meta property="og:site_name" content="krmhub" />
      {publicUrl === undefined ? null : (
        <>
          <meta property="og:url" content={whole(head.path)} />
          {head.image === undefined ? null : (
            <>
              <meta property="og:image" content={whole(head.image)} />
              <meta property="og:image:type" content="image/png" />
              <meta property="og:image:width" content="1200" />
              <meta property="og:image:height" content="630" />
              <meta property="og:image:alt" content={title} />
              <meta name="twitter:card" content="summary_large_image" />
            </>
          )}
          <link rel="canonical" href={whole(head.path)} />
          <link
            rel="search"
            type="application/opensearchdescription+xml"
            title="krmhub"
            href={at('/opensearch.xml')}
          />
        </>
      )}
      <link rel="icon" type="image/svg+xml" href={at(assets.path('icon.svg'))} />
      <link rel="stylesheet" href={at(assets.path('style.css'))} />
      <script src={at(assets.path('theme.js'))} />
      <script type="module" src={at(assets.path('script.js'))} />
      {head.section === 'api' ? <script type="module" src={at(assets.path('reference.js'))} /> : null}
      {[{ title: 'Releases of all functions', path: RELEASES_FEED }, ...(head.feeds ?? [])].map((feed) => (
        <link rel="alternate" type="application/atom+xml" title={feed.title} href={at(feed.path)} />
      ))}
    </head>
  );
}

function Header({ head, site: { at, assets } }: { head: PageHead; site: Site }) {
  const entry = (section: Section, name: string, path: string) => (
    <li>
      <a href={at(path)} aria-current={head.section === section ? 'true' : undefined}>
        {name}
      </a>
    </li>
  );
  return (
    <header class="site-header">
      <div class="site-header-row">
        <a class="site-name" href={at(HOME)}>
          <img src={at(assets.path('icon.svg'))} alt="" width="24" height="24" />
          krmhub
        </a>
        {head.search === null ? null : <SearchBox id="header-search" value={head.search ?? ''} />}
        <nav class="site-nav" aria-label="Site">
          <ul>
            {entry('functions', 'Functions', searchPath())}
            {entry('catalogs', 'Catalogs', CATALOGS)}
            {entry('policies', 'Policies', POLICIES)}
            {entry('docs', 'Docs', DOCS)}
            {entry('api', 'API', API_PAGE)}
            {entry('operate', 'Operate', OPERATE)}
          </ul>
        </nav>
      </div>
    </header>
  );
}

function Footer({ site: { at } }: { site: Site }) {
  return (
    <footer class="site-footer">
      <div class="site-footer-row">
        <p>
          For programs: the <a href={at('/catalogs/default/catalog.yaml')}>catalog of all functions</a>, and
          OCI artifacts at <code>/v2/</code>.
        </p>
        <p hidden>
          <label for="theme">Theme</label>{' '}
          <select id="theme" autocomplete="off">
            <option value="">as the system</option>
            <option value="light">light</option>
            <option value="dark">dark</option>
          </select>
        </p>
        <ul>
          <li>
            <a href={at(INSTALL)}>Install krmhub</a>
          </li>
          <li>
            <a href={at(RELEASES_FEED)}>Feed of releases</a>
          </li>
          <li>
            <a href={at(OWNERS)}>Owners</a>
          </li>
          <li>
            <a href={at(PUBLIC_EVENTS)}>Events</a>
          </li>
          <li>
            <a href={at(KEYS)}>Keys of this registry</a>
          </li>
        </ul>
      </div>
    </footer>
  );
}

function shortened(text: string): string {
  return text.length <= MAX_DESCRIPTION ? text : `${text.slice(0, MAX_DESCRIPTION - 1)}…`;
}
