/**
 * Resolves a functionConfig to what runs for it, by catalogs and by the lock file.
 *
 * Each catalog is opened once, when it is needed: a search ends at the first catalog that has the function.
 *
 * @module
 */

import { parseFunction } from '@krmhub/catalog/resolve/plan-resolve';
import { releaseRule } from '@krmhub/catalog/settings/settings';
import { defined } from '@krmhub/schema/defined';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import type { CatalogReference } from '../references/parse-catalog.js';
import { type NamedCatalog, parseCatalog } from '../references/parse-catalog.js';
import { OptionTrust } from '../trust/catalog-trust.js';
import { ImageRegistries } from './images/served-image.js';
import { openCatalog } from './open/open-catalog.js';
import type { OpenContext, OpenedCatalog } from './open/open-context.js';
import type {
  FunctionRequest,
  ImageMatch,
  ListedKind,
  Resolution,
  Resolver,
  ResolverOptions,
} from './resolution.js';
import { searchCatalogs } from './search-catalogs.js';
import type { SearchContext } from './search-context.js';

/** Resolves functions in catalogs, each of which is opened once, when it is needed. */
export class CatalogResolver implements Resolver {
  readonly #context: OpenContext;
  readonly #options: ResolverOptions;
  readonly #trust: OptionTrust;
  /** Catalogs of the options, in search order. */
  readonly #own: CatalogReference[];
  readonly #search: SearchContext;
  readonly #opened = new Map<string, Promise<OpenedCatalog>>();

  constructor(context: OpenContext, options: ResolverOptions) {
    const { io, cache, writer, fetcher } = context;
    this.#context = context;
    this.#options = options;
    this.#trust = new OptionTrust(io, options);
    const { official, catalogs } = options;
    this.#own = [...(official === undefined ? [] : [official]), ...catalogs].map((text) => ({
      text,
      folder: io.cwd,
    }));
    this.#search = {
      ...context,
      images: new ImageRegistries(io, cache, writer, fetcher.isOffline),
      open: (catalog) => this.#open(catalog),
      trust: this.#trust,
      ...defined({ runtime: options.runtime }),
      platforms: options.platforms === true,
    };
  }

  async resolve(request: FunctionRequest): Promise<Resolution> {
    const { apiVersion, kind, inline } = request;
    if (inline !== undefined) {
      const { resolveInline } = await import('./images/named-image.js');
      const runtime = await resolveInline(this.#context.io, inline, {
        images: this.#search.images,
        lock: this.#options.lock,
        offline: this.#context.fetcher.isOffline,
      });
      return { apiVersion, kind, searched: [], runtime, inline: true, warnings: [] };
    }
    const catalogs = [...this.#own, ...request.catalogs].map((reference) =>
      parseCatalog(this.#context.io, reference),
    );
    const { lock, settings, ignoreMinAge } = this.#options;
    const rule = releaseRule(settings, parseFunction(request), request.range);
    if (lock !== undefined) {
      const { resolveLocked } = await import('./resolve-locked.js');
      const named = { apiVersion, kind };
      const locked = await resolveLocked(this.#search, this.#trust, lock, named, catalogs, rule?.range);
      if (locked !== undefined) return locked;
    }
    const ignoresAge =
      ignoreMinAge !== undefined && (ignoreMinAge.length === 0 || ignoreMinAge.includes(kind));
    const choice = rule && { rule, ignoresAge, ...defined({ locked: request.lockedRelease }) };
    const found = await searchCatalogs(this.#search, request, catalogs, { lock, choice });
    if (lock !== undefined)
      found.warnings.push(`${apiVersion} ${kind} is not locked; lock it with \`${lock.command}\``);
    return found;
  }

  async matchImage(
    image: string,
    digest: Digest | undefined,
    catalogs: readonly CatalogReference[],
  ): Promise<ImageMatch | undefined> {
    const { matchImage } = await import('./images/match-image.js');
    const readers = [...this.#own, ...catalogs].map((reference) => async () => {
      const { reader } = await this.#open(parseCatalog(this.#context.io, reference));
      return { catalog: reference.text, reader };
    });
    return matchImage(image, digest, readers);
  }

  async list(onInvalid?: (error: KrmhubError) => void): Promise<ListedKind[]> {
    const found = new Map<string, ListedKind>();
    for (const reference of this.#own) {
      const { reader } = await this.#open(parseCatalog(this.#context.io, reference));
      for await (const { group, names, versions } of reader.list((error) =>
        onInvalid?.(ofCatalog(reference.text, error)),
      )) {
        for (const { name } of versions) {
          const apiVersion = `${group}/${name}`;
          const key = `${apiVersion} ${names.kind}`;
          if (!found.has(key)) found.set(key, { apiVersion, kind: names.kind, catalog: reference.text });
        }
      }
    }
    return [...found.values()];
  }

  async close(): Promise<void> {
    for (const opening of this.#opened.values()) {
      const opened = await opening.catch(() => undefined);
      await opened?.reader.close().catch(() => undefined);
    }
    const { io, cache, writer } = this.#context;
    if (writer.problem !== undefined) {
      await io.warn(escapeControls(`nothing was cached: ${writer.problem}`));
    }
    await cache.close();
  }

  #open(catalog: NamedCatalog): Promise<OpenedCatalog> {
    const key = JSON.stringify([catalog.identity, catalog.digest, catalog.reference.namedBy]);
    let opening = this.#opened.get(key);
    if (opening === undefined) {
      opening = openCatalog(this.#context, this.#trust, catalog).catch((error: unknown) => {
        throw this.#trust.explain(error);
      });
      this.#opened.set(key, opening);
    }
    return opening;
  }
}

function ofCatalog(reference: string, { code, message, hint }: KrmhubError): KrmhubError {
  return new KrmhubError(code, `catalog ${reference}: ${message}`, defined({ hint }));
}
