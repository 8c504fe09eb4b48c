/**
 * Parses the references by which users and packages name catalogs.
 *
 * @module
 */

import path from 'node:path';
import { canonicalCatalogUrl } from '@krmhub/catalog/policy/catalog-url';
import {
  formatSourceAddress,
  readSourceAddress,
  type SourceAddress,
} from '@krmhub/catalog/recipe/source-address';
import { defined } from '@krmhub/schema/defined';
import { type Digest, isDigest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { hideInValue } from '@krmhub/schema/hide-passwords';
import { escapeControls } from '@krmhub/schema/text';
import type { Environment } from '../ports.js';
import { isCatalogName } from './catalog-name.js';
import { registryUrl } from './registry-url.js';

/** A catalog as a kustomization or a command names it. */
export interface CatalogReference {
  /** As written: a path, `https://…`, `git::…` or `oci://…`. */
  text: string;
  /** Folder that relative paths are relative to. */
  folder: string;
  /** Where it is written. */
  at?: { file: string; line: number; column: number };
  /** URL of the remote base that names it: a public one does not lead to a private address. */
  namedBy?: string;
}

/** A catalog that a reference names. */
export interface NamedCatalog {
  reference: CatalogReference;
  /** Without the digest at its end, except of an OCI reference without a tag. Paths of files are absolute. */
  address: SourceAddress;
  /** The same for every spelling of a reference. It does not contain the digest. */
  identity: string;
  /** Digest at the end of the reference: of the bytes, or of the manifest of an OCI artifact. */
  digest?: Digest;
  /** Set if the URL has the layout of a krmhub registry. */
  registry?: RegistryCatalog;
}

export interface RegistryCatalog {
  /** URL of the registry, without a slash at its end. */
  url: string;
  name: string;
  /** Serial or digest of the snapshot in the URL. */
  snapshot?: string;
  /** The document that the URL names. */
  file: 'catalog.yaml' | 'catalog.json';
}

const DIGEST_SUFFIX = /^(.+)@(sha256:[a-f0-9]{64})$/;
/** A catalog in a registry, and its snapshots. */
const REGISTRY_PATH =
  /^(.*)\/catalogs\/([^/]+?)(?:\/snapshots\/([1-9]\d{0,14}|sha256:[a-f0-9]{64}))?(?:\/(catalog\.yaml|catalog\.json)?)?$/;

/** Parses a reference. A name without a path is a catalog of the registry of this user. Throws `usage`. */
export function parseCatalog(io: Environment, reference: CatalogReference): NamedCatalog {
  const { text } = reference;
  const [, before = text, suffix] = DIGEST_SUFFIX.exec(text) ?? [];
  const written = suffix !== undefined && isOciWithoutTag(before) ? text : before;
  const read = readAddress(io, written);
  if (!read.ok) throw invalidReference(reference, read.reason, read.hint);
  const address = absolute(read.address, reference.folder);
  const registry = address.type === 'http' ? registryCatalog(address.url) : undefined;
  return {
    reference,
    address,
    identity: catalogIdentity(address),
    ...defined({ digest: suffix !== undefined && isDigest(suffix) ? suffix : undefined, registry }),
  };
}

function isOciWithoutTag(text: string): boolean {
  return text.startsWith('oci://') && !/:[^/]+$/.test(text.slice('oci://'.length));
}

function readAddress(io: Environment, text: string): ReturnType<typeof readSourceAddress> {
  // Recipes may not name a file of the machine; a user may.
  if (path.isAbsolute(text) && !/[\p{C}\p{Zl}\p{Zp}]/u.test(text)) {
    return { ok: true, address: { type: 'file', path: text } };
  }
  if (!isCatalogName(text)) return readSourceAddress(text);
  return readSourceAddress(`${registryUrl(io, undefined).replace(/\/+$/, '')}/catalogs/${text}`);
}

function absolute(address: SourceAddress, folder: string): SourceAddress {
  return address.type === 'file' ? { type: 'file', path: path.resolve(folder, address.path) } : address;
}

function catalogIdentity(address: SourceAddress): string {
  const url = address.type === 'http' ? canonicalCatalogUrl(address.url) : undefined;
  return url ?? formatSourceAddress(address);
}

function registryCatalog(text: string): RegistryCatalog | undefined {
  const url = new URL(text);
  const [, base, name, snapshot, file] = REGISTRY_PATH.exec(url.pathname) ?? [];
  if (base === undefined || name === undefined || url.search !== '' || !isCatalogName(name)) return undefined;
  return {
    url: url.origin + base,
    name,
    ...defined({ snapshot }),
    file: file === 'catalog.json' ? file : 'catalog.yaml',
  };
}

/** Names a reference in messages, with the place where it is written. */
export function describeReference({ text, at }: CatalogReference): string {
  return escapeControls(at === undefined ? text : `${text} (${at.file}:${at.line}:${at.column})`);
}

/** A URL of the host that a catalog comes from; undefined for a file. */
export function catalogHost(address: SourceAddress): string | undefined {
  switch (address.type) {
    case 'http':
      return address.url;
    case 'git':
      return address.repository;
    case 'oci':
      return `https://${address.reference.split('/')[0]}`;
    case 'file':
      return undefined;
  }
}

function invalidReference(
  reference: CatalogReference,
  reason: string,
  hint: string | undefined,
): KrmhubError {
  const text = hideInValue(reference.text);
  return new KrmhubError(
    'usage',
    `${describeReference({ ...reference, text })} is not a catalog reference: ${escapeControls(reason)}`,
    {
      hint:
        hint ??
        'Use a path, https://HOST/catalog.yaml, git::https://HOST/REPOSITORY.git//PATH, or oci://HOST/REPOSITORY:TAG.',
    },
  );
}
