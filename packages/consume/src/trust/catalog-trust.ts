import path from 'node:path';
import { defined } from '@krmhub/schema/defined';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, shellWord } from '@krmhub/schema/text';
import type { Environment, WorkingFolder } from '../ports.js';
import { describeReference, type NamedCatalog, parseCatalog } from '../references/parse-catalog.js';
import { TRUST_FILE } from './default-catalogs.js';

/** The catalogs that a user names, and why each is trusted. */
export interface CatalogOptions {
  /** `--catalog`: searched before those of the request, in order, and trusted for this run. */
  catalogs: readonly string[];
  /** `--trusted-catalog REF[@sha256:…]`: trusted where a request names it. */
  trustedCatalogs: readonly string[];
  /** `--official`: searched before all others, and trusted. */
  official?: string;
  /** Who named `official`, in words. Default: `--official`. */
  officialBy?: string;
  /** Catalogs of the trust file: trusted where a request names them. */
  defaultCatalogs?: readonly string[];
}

/** Why a catalog may be used. */
export interface TrustGrant {
  /** The option or the pinned key, in words. */
  by: string;
  /** Only bytes with this digest. */
  digest?: Digest;
}

/** Digests of a catalog that was read: a grant may name any of them. */
export interface CatalogDigests {
  /** Of its bytes, or as the registry says. */
  bytes?: Digest;
  /** Of its OCI manifest. */
  manifest?: Digest;
}

/** Says which catalogs the user trusts. */
export interface CatalogGrants {
  grants(catalog: { identity: string }): TrustGrant[];
}

/** The catalogs that the options of a command, the environment, and the trust file trust by their references. Throws `usage` for an invalid reference. */
export class OptionTrust implements CatalogGrants {
  readonly #trusted: { catalog: NamedCatalog; by: string }[];
  /** As the user wrote them. */
  readonly #named: readonly string[];

  constructor(io: Environment & WorkingFolder, options: CatalogOptions) {
    this.#named = options.trustedCatalogs;
    const parse = (texts: readonly string[], by: string) =>
      texts.map((text) => ({ catalog: parseCatalog(io, { text, folder: io.cwd }), by }));
    this.#trusted = [
      ...parse(options.official === undefined ? [] : [options.official], options.officialBy ?? '--official'),
      ...parse(options.catalogs, '--catalog'),
      ...parse(options.trustedCatalogs, '--trusted-catalog'),
      ...parse(options.defaultCatalogs ?? [], TRUST_FILE),
    ];
  }

  grants({ identity }: { identity: string }): TrustGrant[] {
    return this.#trusted
      .filter(({ catalog }) => catalog.identity === identity)
      .map(({ catalog: { digest }, by }) => ({ by, ...defined({ digest }) }));
  }

  /** Adds to the refusal of a catalog what `--trusted-catalog` names instead: it may be misspelled. */
  explain(refusal: unknown): unknown {
    // A catalog that is refused for another reason is not misspelled.
    if (!(refusal instanceof NobodyTrusts) || this.#named.length === 0) return refusal;
    const { message, hint = '', cause } = refusal;
    const named = escapeControls(`--trusted-catalog names ${this.#named.join(', ')}, not this catalog.`);
    return new NobodyTrusts('untrusted', message, { hint: `${named} ${hint}`, cause });
  }
}

/**
 * Returns who trusts a catalog with these digests. Throws `untrusted` if no one does, with the option that would; and
 * if the reference itself names another digest.
 */
export function requireTrust(
  io: WorkingFolder,
  catalog: NamedCatalog,
  grants: readonly TrustGrant[],
  digests: CatalogDigests,
): string {
  const has = (digest: Digest) => digest === digests.bytes || digest === digests.manifest;
  const actual = digests.manifest ?? digests.bytes;
  if (catalog.digest !== undefined && !has(catalog.digest)) {
    throw untrusted(
      io,
      catalog,
      `it has the digest ${actual ?? '(unknown)'}, but the reference has another`,
      actual,
    );
  }
  const granted = grants.find(({ digest }) => digest === undefined || has(digest));
  if (granted !== undefined) return granted.by;
  const [other] = grants;
  if (other === undefined) throw untrusted(io, catalog, NOT_TRUSTED, actual, { error: NobodyTrusts });
  const reason = `it has the digest ${actual ?? '(unknown)'}, but ${other.by} trusts only ${other.digest}`;
  throw untrusted(io, catalog, reason, actual);
}

/**
 * Adds the pinned key that signed a catalog, if one did. Options that name digests ask for exactly these bytes, also of
 * a signed catalog.
 */
export function withKey(grants: readonly TrustGrant[], key: string | undefined): readonly TrustGrant[] {
  const isExact = grants.length > 0 && grants.every(({ digest }) => digest !== undefined);
  return key === undefined || isExact ? grants : [{ by: `the pinned key ${key}` }, ...grants];
}

/** The option that trusts a catalog with this digest, as a word of a shell. */
export function trustOption(io: WorkingFolder, catalog: NamedCatalog, digest: Digest | undefined): string {
  const named = digest === undefined ? '' : `@${digest}`;
  return `--trusted-catalog ${shellWord(`${optionText(io, catalog)}${named}`)}`;
}

/** The error for a catalog that no option trusts, and whose digest cannot be told. */
export function unknownDigest(io: WorkingFolder, catalog: NamedCatalog, cause: KrmhubError): KrmhubError {
  const reason = `${NOT_TRUSTED}; its digest is unknown: ${cause.message}`;
  return untrusted(io, catalog, reason, undefined, { error: NobodyTrusts, cause });
}

/** No option and no pinned key trusts a catalog. */
class NobodyTrusts extends KrmhubError {}

const NOT_TRUSTED = 'no option trusts it, and no key is pinned';

function untrusted(
  io: WorkingFolder,
  catalog: NamedCatalog,
  reason: string,
  digest: Digest | undefined,
  { error = KrmhubError, cause }: { error?: typeof KrmhubError; cause?: unknown } = {},
): KrmhubError {
  const exactly = digest === undefined ? 'To trust any content of it' : 'To trust exactly this content';
  return new error('untrusted', `catalog ${describeReference(catalog.reference)} is not trusted: ${reason}`, {
    hint: escapeControls(
      `Review it with \`krmhub catalog show ${shellWord(optionText(io, catalog))}\`. ${exactly}, add ${trustOption(io, catalog, digest)}${pinning(io, catalog)}`,
    ),
    cause,
  });
}

/** How to trust what a registry signs, also later. */
function pinning(io: WorkingFolder, catalog: NamedCatalog): string {
  const text = optionText(io, catalog);
  if (!/^https?:\/\/.+\/catalogs\/[^/]+$/.test(text)) return '';
  return `. To trust what this registry signs, now and later: krmhub trust add ${shellWord(text)}`;
}

/** As an option names it: paths are relative to the working directory there. */
function optionText({ cwd }: WorkingFolder, { address, reference, identity }: NamedCatalog): string {
  if (address.type === 'file') {
    const relative = path.relative(cwd, address.path).split(path.sep).join('/');
    return relative.startsWith('../') || path.isAbsolute(relative) ? relative : `./${relative}`;
  }
  // An OCI reference by digest trusts nothing else anyway.
  if (address.type === 'oci') return identity.replace(/@sha256:[a-f0-9]{64}$/, '');
  return reference.text.replace(/@sha256:[a-f0-9]{64}$/, '');
}
