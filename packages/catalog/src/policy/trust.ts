import type { Digest, JsonObject } from '@krmhub/schema';
import { parseUrl } from '@krmhub/schema/parse-url';
import type { Time } from '../ports/records.js';
import { POLICY_API_VERSION, POLICY_KIND, type SigningPolicy } from './signing-policy.js';

export const TRUSTED_CATALOG_KIND = 'TrustedCatalog';

/** A key that the registry of a catalog signs with, as its user was told. */
export interface PinnedKey {
  key: string;
  fingerprint: Digest;
  validFrom?: Time;
  validUntil?: Time;
}

/** Whose signatures make the snapshots of a catalog trusted. */
export interface TrustedCatalog {
  /** A DNS label. */
  name: string;
  url: string;
  /** Name of the catalog in its signature, if the URL does not contain it: a key can sign several catalogs. */
  catalog?: string;
  /** One of them is enough: two are there while a registry changes its key. */
  keys: PinnedKey[];
}

/** The trust policies of a user. Names are unique among policies and catalogs. */
export interface Trust {
  policies: SigningPolicy[];
  catalogs: TrustedCatalog[];
}

export type TrustEntry = SigningPolicy | TrustedCatalog;

export function isTrustedCatalog(entry: TrustEntry): entry is TrustedCatalog {
  return 'url' in entry;
}

/** The document that is read as this entry. */
export function trustDocument(entry: TrustEntry): JsonObject {
  const { name } = entry;
  const head = (kind: string) => ({ apiVersion: POLICY_API_VERSION, kind, metadata: { name } });
  if (isTrustedCatalog(entry)) {
    const keys = entry.keys.map(({ fingerprint: _, ...key }) => ({ ...key }));
    const { url, catalog } = entry;
    return {
      ...head(TRUSTED_CATALOG_KIND),
      spec: { url, ...(catalog === undefined ? {} : { catalog }), keys },
    };
  }
  const { groups, releases, signers } = entry;
  const written = signers.map((signer): JsonObject => {
    if (!('fingerprint' in signer)) return { ...signer };
    const { fingerprint: _, ...key } = signer;
    return key;
  });
  return {
    ...head(POLICY_KIND),
    spec: { groups: [...groups], ...(releases === undefined ? {} : { releases }), signers: written },
  };
}

/**
 * One spelling of the address of a catalog, since it is also read as a file: `…/catalogs/NAME/catalog.yaml` is the
 * catalog `…/catalogs/NAME`. Undefined for what is no address of the web, or holds a password.
 */
export function canonicalCatalogUrl(text: string): string | undefined {
  const url = parseUrl(text);
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return undefined;
  return url.href.replace(/\/+$/, '').replace(/\/catalog\.(?:ya?ml|json)$/, '');
}

/** Returns the name that the signature of a pinned catalog must have; undefined if any name is accepted. */
export function pinnedCatalogName({
  url,
  catalog,
}: Pick<TrustedCatalog, 'url' | 'catalog'>): string | undefined {
  return catalog ?? locateCatalog(url)?.name;
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
 * Returns what the URL of a catalog, or of anything below it, names. The scheme, a default port, the query and escapes are
 * no part of the identity: another spelling of an address must not escape the keys that are pinned for it.
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
    ...(catalog === undefined ? {} : { name: catalog }),
    ...(snapshot === undefined ? {} : { snapshot }),
  };
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
