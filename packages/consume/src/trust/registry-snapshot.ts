import { type RegistryClient, RegistryError, UnexpectedResponse } from '@krmhub/api/client';
import { fillPath } from '@krmhub/api/paths';
import { defined } from '@krmhub/schema/defined';
import { sha256 } from '@krmhub/schema/digest';
import type { TrustPorts, Warnings } from '../ports.js';
import { CHANGED, type SignedSnapshot } from './judge-snapshot.js';
import { type CatalogPin, findPin } from './pinned-catalogs.js';
import {
  acceptSnapshot,
  reportNotPinned,
  requireNoLimits,
  requireSnapshot,
  untrustedCatalog,
} from './require-snapshot.js';

/** Attempts to read files and a signature of one snapshot, while the registry makes others. */
const ATTEMPTS = 3;

export interface ReadOptions {
  /** Serial, or digest of catalog.yaml. Default: the newest. */
  snapshot?: string;
}

export function catalogUrl(registry: string, name: string): string {
  return `${registry}${fillPath('catalogYaml', { name }).replace(/\/[^/]+$/, '')}`;
}

/** Returns the bundle of a snapshot, or the message of a registry that has none. */
export async function fetchBundle(
  client: RegistryClient,
  name: string,
  snapshot: string | undefined,
): Promise<Uint8Array | { missing: string }> {
  try {
    return (await client.snapshotBundle(name, snapshot)).bytes;
  } catch (error) {
    // An attacker can return 404, so a missing bundle fails the verification.
    const refused =
      (error instanceof RegistryError && (error.code === 'not-found' || error.code === 'gone')) ||
      (error instanceof UnexpectedResponse && (error.status === 404 || error.status === 410));
    if (refused) return { missing: `no signature: ${error.message}` };
    throw error;
  }
}

export function missingHint(name: string): string {
  return `Nothing was written. Check the name with \`krmhub catalog list\` and the serial with \`krmhub catalog history ${name}\`. If they are correct, ask the operator of the registry.`;
}

/** Reads files of a catalog that is pinned. Nothing that it returns is unverified. */
export class PinnedCatalogReader {
  readonly #io: TrustPorts;
  readonly #client: RegistryClient;
  readonly #name: string;
  readonly #url: string;
  readonly #pin: CatalogPin;
  readonly #options: ReadOptions;

  constructor(io: TrustPorts, client: RegistryClient, name: string, pin: CatalogPin, options: ReadOptions) {
    this.#io = io;
    this.#client = client;
    this.#name = name;
    this.#url = catalogUrl(client.url, name);
    this.#pin = pin;
    this.#options = options;
  }

  /**
   * Returns files of the snapshot, which `readFiles` reads by its serial, by their names in the signed statement, and that
   * serial. Throws `untrusted` for a file that the signature does not cover.
   */
  async read<Files extends Record<string, Uint8Array>>(
    readFiles: (serial: string) => Promise<Files>,
  ): Promise<{ files: Files; serial: number }> {
    let signed = await this.#signed();
    for (let attempt = 1; ; attempt++) {
      const { serial } = signed.claim;
      const files = await readFiles(String(serial));
      if (attempt < ATTEMPTS && Object.keys(files).some((subject) => !signed.digests.has(subject))) {
        // The registry signs a profile when a client asks for it first.
        signed = await this.#signed();
        if (signed.claim.serial !== serial) continue;
      }
      for (const [subject, bytes] of Object.entries(files)) this.#check(signed, subject, bytes);
      await acceptSnapshot(this.#io, this.#url, this.#pin, signed);
      return { files, serial };
    }
  }

  #check({ digests }: SignedSnapshot, subject: string, bytes: Uint8Array): void {
    const [expected, actual] = [digests.get(subject), sha256(bytes)];
    if (actual === expected) return;
    const reason = `${subject}: digest mismatch: signed ${expected ?? '(nothing)'}, got ${actual}`;
    throw untrustedCatalog(this.#url, reason, CHANGED);
  }

  async #signed(): Promise<SignedSnapshot> {
    const { snapshot } = this.#options;
    const bundle = await fetchBundle(this.#client, this.#name, snapshot);
    if (!(bundle instanceof Uint8Array)) {
      throw untrustedCatalog(this.#url, `bundle: ${bundle.missing}`, missingHint(this.#name));
    }
    const digest = snapshot?.startsWith('sha256:') ? snapshot : undefined;
    const expected = {
      url: this.#url,
      registry: this.#client.url,
      name: this.#pin.name ?? this.#name,
      ...defined({
        anyAge: snapshot === undefined ? undefined : true,
        serial: snapshot === undefined || digest !== undefined ? undefined : Number(snapshot),
      }),
    };
    return requireSnapshot(this.#io, this.#pin, expected, [bundle], ({ digests }) =>
      digest === undefined || digests.get('catalog.yaml') === digest
        ? undefined
        : `signature of a snapshot with the digest ${digests.get('catalog.yaml')}, expected ${digest}`,
    );
  }
}

/**
 * Returns a reader of a catalog that is pinned; undefined for another one. Throws `untrusted` if the user asked for
 * what only a signature can show.
 */
export async function openPinnedCatalog(
  io: TrustPorts,
  client: RegistryClient,
  name: string,
  options: ReadOptions = {},
): Promise<PinnedCatalogReader | undefined> {
  const address = catalogUrl(client.url, name);
  const pin = await findPin(io, address);
  if (pin !== undefined) return new PinnedCatalogReader(io, client, name, pin, options);
  requireNoLimits(io, `catalog ${name}`, address);
  return undefined;
}

/** Says that a catalog, which was read, is not verified. */
export function reportUnverified(io: Warnings, client: RegistryClient, name: string): Promise<void> {
  return reportNotPinned(io, `catalog ${name}`, catalogUrl(client.url, name));
}
