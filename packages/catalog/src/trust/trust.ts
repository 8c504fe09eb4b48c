/**
 * Trust files: the signers, the keys of catalogs, and the catalogs that a user trusts.
 *
 * @module
 */

import type { Digest, JsonObject } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { locateCatalog } from '../policy/catalog-url.js';
import {
  POLICY_API_VERSION,
  POLICY_KIND,
  type RequiredAttestation,
  type SigningPolicy,
  type TrustedSigner,
} from '../policy/signing-policy.js';
import type { Time } from '../ports/records.js';
import { formatDuration } from '../recipe/read-duration.js';

export const TRUSTED_CATALOG_KIND = 'TrustedCatalog';
export const CATALOG_TRUST_KIND = 'CatalogTrust';

/** A pinned key of a registry that signs a catalog. */
export interface PinnedKey {
  key: string;
  fingerprint: Digest;
  validFrom?: Time;
  validUntil?: Time;
}

/** The trusted keys for the snapshots of a catalog. */
export interface TrustedCatalog {
  /** A DNS label. */
  name: string;
  url: string;
  /** Name of the catalog in its signature, if the URL does not contain it: a key can sign several catalogs. */
  catalog?: string;
  /** The keys. One of them is sufficient; during a key rotation there are two. */
  keys: PinnedKey[];
  /** The oldest snapshot to accept. */
  minSerial?: number;
  /** Seconds since the newest snapshot was signed, at most. */
  maxAge?: number;
}

/** The catalogs that commands search and trust without options. */
export interface CatalogTrust {
  /** A DNS label. */
  name: string;
  /** Searched before all other catalogs, and trusted, as with `--official`. */
  official?: string;
  /** Trusted where a package names them, as with `--trusted-catalog`. */
  catalogs: string[];
}

/** The trust policies of a user. Names are unique among policies and catalogs. */
export interface Trust {
  policies: SigningPolicy[];
  catalogs: TrustedCatalog[];
  catalogTrust: CatalogTrust[];
}

export type TrustEntry = SigningPolicy | TrustedCatalog | CatalogTrust;

/** Returns every entry of a trust file: its policies first. */
export function trustEntries({ policies, catalogs, catalogTrust }: Trust): TrustEntry[] {
  return [...policies, ...catalogs, ...catalogTrust];
}

export function isTrustedCatalog(entry: TrustEntry): entry is TrustedCatalog {
  return 'url' in entry;
}

export function isCatalogTrust(entry: TrustEntry): entry is CatalogTrust {
  return 'catalogs' in entry;
}

/** Returns the name that the signature of a pinned catalog must have; undefined if any name is accepted. */
export function pinnedCatalogName({
  url,
  catalog,
}: Pick<TrustedCatalog, 'url' | 'catalog'>): string | undefined {
  return catalog ?? locateCatalog(url)?.name;
}

/** Serializes this entry as a document. */
export function trustDocument(entry: TrustEntry): JsonObject {
  const { name } = entry;
  const head = (kind: string) => ({ apiVersion: POLICY_API_VERSION, kind, metadata: { name } });
  if (isTrustedCatalog(entry)) {
    const keys = entry.keys.map(({ fingerprint: _, ...key }) => ({ ...key }));
    const { url, catalog, minSerial, maxAge } = entry;
    return {
      ...head(TRUSTED_CATALOG_KIND),
      spec: {
        url,
        ...defined({ catalog, minSerial, maxAge: maxAge === undefined ? undefined : formatDuration(maxAge) }),
        keys,
      },
    };
  }
  if (isCatalogTrust(entry)) {
    const { official, catalogs } = entry;
    return {
      ...head(CATALOG_TRUST_KIND),
      spec: { ...defined({ official }), catalogs: [...catalogs] },
    };
  }
  const { groups, releases, signers, testers, atLeast, requireAll, attestations } = entry;
  return {
    ...head(POLICY_KIND),
    spec: {
      groups: [...groups],
      ...defined({ releases }),
      signers: signers.map(signerDocument),
      ...defined({ atLeast, requireAll, attestations: attestations?.map(attestationDocument) }),
      ...defined({ testers: testers?.map(signerDocument) }),
    },
  };
}

function attestationDocument({ signers, ...rest }: RequiredAttestation): JsonObject {
  return { ...rest, ...defined({ signers: signers?.map(signerDocument) }) };
}

function signerDocument(signer: TrustedSigner): JsonObject {
  if (!('fingerprint' in signer)) return { ...signer };
  const { fingerprint: _, ...key } = signer;
  return key;
}
