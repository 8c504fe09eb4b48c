import { defined } from '@krmhub/schema/defined';
import { parseUrl } from '@krmhub/schema/parse-url';

/**
 * One spelling of the address of a catalog, since it is also read as a file: `…/catalogs/NAME/catalog.yaml` is the
 * catalog `…/catalogs/NAME`. Undefined if the text is not an http or https URL, or contains a password.
 */
export function canonicalCatalogUrl(text: string): string | undefined {
  const url = parseUrl(text);
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return undefined;
  return url.href.replace(/\/+$/, '').replace(/\/catalog\.(?:ya?ml|json)$/, '');
}

/** What the address of a catalog names. */
export interface CatalogLocation {
  /** Host and path: equal for every spelling of the address. */
  identity: string;
  /** Name of the catalog, if the address has the layout of a registry. */
  name?: string;
  /** Serial or digest of the snapshot that the address names. */
  snapshot?: string;
}

/** Hosts that serve the repositories of docker.io. */
const DOCKER_HUB_ALIASES = ['index.docker.io', 'registry-1.docker.io'];

/** A catalog in a registry, and anything below it: its files, its snapshots, its entries. */
const REGISTRY_PATH =
  /^(.*?\/catalogs\/([^/]+))(?:\/(?:catalog\.(?:ya?ml|json)|snapshot\.sigstore\.json|functions\/.*|snapshots\/([^/]+)(?:\/.*)?))?$/;

/**
 * Returns what the URL of a catalog, or of anything below it, names. The scheme, a default port, the query and escapes
 * are no part of the identity: another spelling of an address must not escape the keys that are pinned for it.
 */
export function locateCatalog(text: string): CatalogLocation | undefined {
  const url = parseUrl(text);
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
  const port = ['', '80', '443'].includes(url.port) ? '' : `:${url.port}`;
  const name = url.hostname.replace(/\.$/, '');
  const host = (DOCKER_HUB_ALIASES.includes(name) ? 'docker.io' : name) + port;
  const path = decodePath(url.pathname)
    .replace(/\/{2,}/g, '/')
    .replace(/\/$/, '');
  const [, base, catalog, snapshot] = REGISTRY_PATH.exec(path) ?? [];
  if (base === undefined) return { identity: host + path.replace(/\/catalog\.(?:ya?ml|json)$/, '') };
  return {
    identity: host + base,
    ...defined({ name: catalog, snapshot }),
  };
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
