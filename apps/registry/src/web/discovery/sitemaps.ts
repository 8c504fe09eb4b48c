import { ANONYMOUS, type CatalogLister, type FunctionLister } from '@krmhub/catalog';
import { asActor, type KnownAccess } from '../../http/auth/request-actor.js';
import { type OwnerReaderDeps, readOwners } from '../../owners/read-owners.js';
import { API_PAGE, CATALOGS, catalogPath, functionPath, HOME, OWNERS, ownerPath } from '../addresses.js';
import type { Site } from '../site.js';
import { SITEMAP_URLS, type SitemapPage, sitemap, sitemapIndex } from './sitemap.js';

export type SitemapStore = FunctionLister & CatalogLister & OwnerReaderDeps['store'];

interface Texts {
  index: string;
  parts: string[];
}

/** Time for which sitemaps are cached: crawlers need no newer ones, and they contain all functions. */
const MAX_AGE_MILLISECONDS = 3_600_000;

/** The sitemaps of all functions, catalogs, and owners, made on request. Concurrent requests share the work. */
export class Sitemaps {
  readonly #store: SitemapStore;
  readonly #site: Site;
  readonly #clock: () => Date;
  readonly #access: KnownAccess;
  #cached: { rules: string; until: number; texts: Promise<Texts> } | undefined;

  constructor(store: SitemapStore, site: Site, clock: () => Date, access: KnownAccess) {
    this.#store = store;
    this.#site = site;
    this.#clock = clock;
    this.#access = access;
  }

  current(): Promise<Texts> {
    const now = this.#clock().getTime();
    const rules = this.#access.rules.revision;
    if (this.#cached === undefined || this.#cached.until <= now || this.#cached.rules !== rules) {
      // Crawlers do not sign in.
      const texts = asActor(ANONYMOUS, () => this.#make());
      const cached = { rules, until: now + MAX_AGE_MILLISECONDS, texts };
      this.#cached = cached;
      texts.catch(() => {
        if (this.#cached === cached) this.#cached = undefined;
      });
    }
    return this.#cached.texts;
  }

  async #make(): Promise<Texts> {
    const parts: string[] = [];
    let pages: SitemapPage[] = [{ path: HOME }, { path: CATALOGS }, { path: API_PAGE }, { path: OWNERS }];
    const add = (page: SitemapPage) => {
      pages.push(page);
      if (pages.length < SITEMAP_URLS) return;
      parts.push(sitemap(this.#site, pages));
      pages = [];
    };
    for (const { name, newest } of await this.#store.catalogs()) {
      add({ path: catalogPath(name), changed: newest?.createdAt });
    }
    const owners = await readOwners({ store: this.#store, access: this.#access });
    for (const team of new Set(owners.map((owner) => owner.team))) add({ path: ownerPath(team) });
    for await (const { group, kind, releases } of this.#store.allFunctions()) {
      const times = releases.map(({ publishedAt }) => publishedAt).sort();
      add({ path: functionPath({ group, kind }), changed: times.at(-1) });
    }
    if (pages.length > 0) parts.push(sitemap(this.#site, pages));
    const paths = parts.map((_, index) => `/sitemaps/${index + 1}.xml`);
    return { index: sitemapIndex(this.#site, paths), parts };
  }
}
