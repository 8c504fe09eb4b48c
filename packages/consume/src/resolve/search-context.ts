import type { RuntimeKind } from '@krmhub/schema/definition';
import type { NamedCatalog } from '../references/parse-catalog.js';
import type { CatalogGrants } from '../trust/catalog-trust.js';
import type { ImageRegistries } from './images/served-image.js';
import type { OpenContext, OpenedCatalog } from './open/open-context.js';

/** What searching catalogs needs. */
export interface SearchContext extends OpenContext {
  images: ImageRegistries;
  open(catalog: NamedCatalog): Promise<OpenedCatalog>;
  trust: CatalogGrants;
  runtime?: RuntimeKind;
  /** Whether the platforms of every image are needed. */
  platforms: boolean;
}

/** An API version of a function. */
export interface SearchedFunction {
  apiVersion: string;
  kind: string;
  isBelowCatalogs?: true;
}
