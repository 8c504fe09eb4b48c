import {
  canonicalCatalogUrl,
  POLICY_API_VERSION,
  POLICY_KIND,
  readTrust,
  TRUSTED_CATALOG_KIND,
  type TrustEntry,
  toYaml,
} from '@krmhub/catalog';
import { type JsonObject, KrmhubError, MAX_KEY_LENGTH, readPublicKey } from '@krmhub/schema';
import { readFileUpTo, readStdin, STDIN_NAME } from '../../files/read-file.js';
import type { Io } from '../../io/io.js';
import { visible } from '../../io/text.js';
import { trustIn } from './trust-file.js';

/** What of `trust add` says whom to trust. */
export interface EntryOptions {
  group?: string[];
  key?: string[];
  issuer?: string;
  identity?: string;
  identityPattern?: string;
  releases?: string;
  validFrom?: string;
  validUntil?: string;
  name?: string;
}

const MAX_NAME_LENGTH = 63;

/** What is to be trusted: a policy of options, the keys of a catalog, or what files say. Throws `usage`. */
export async function newEntries(
  io: Io,
  names: readonly string[],
  options: EntryOptions,
): Promise<TrustEntry[]> {
  const { group, name } = options;
  const catalogs = names.filter((one) => /^https?:\/\//i.test(one));
  if (catalogs.length > 0) {
    if (names.length > 1) throw usage('one catalog is pinned at a time', 'Name its address alone.');
    return [await newCatalog(io, catalogs[0]!, options)];
  }
  if (name !== undefined) throw usage('--name is for the address of a catalog', 'Write the name first.');
  if (group !== undefined) {
    if (names.length > 1)
      throw usage('one policy is made at a time', 'Name it, and its groups with --group.');
    return [await newPolicy(io, names[0]!, { ...options, group })];
  }
  if (Object.values(options).some((option) => option !== undefined)) {
    throw usage(
      'it is said whom to trust, and not for what',
      'Name the groups with --group, or give the address of a catalog.',
    );
  }
  const entries: TrustEntry[] = [];
  for (const file of names) entries.push(...(await entriesOfFile(io, file)));
  return entries;
}

async function newPolicy(
  io: Io,
  name: string,
  options: EntryOptions & { group: string[] },
): Promise<TrustEntry> {
  const { group, key = [], issuer, identity, identityPattern, releases } = options;
  const byIdentity = [issuer, identity, identityPattern].some((option) => option !== undefined);
  if (byIdentity === key.length > 0) {
    throw usage(
      byIdentity ? 'a key and an identity are named at once' : 'it is not said whom to trust',
      'Say --key FILE.pub, or --issuer URL with --identity WHO or --identity-pattern REGEXP; a file can hold both.',
    );
  }
  if (byIdentity && (issuer === undefined || (identity === undefined) === (identityPattern === undefined))) {
    throw usage(
      'an identity is an issuer, and one name or pattern of what it sees',
      'Say --issuer URL with --identity WHO or --identity-pattern REGEXP.',
    );
  }
  const times = timesOf(options);
  const signers: JsonObject[] = byIdentity
    ? [
        {
          issuer: issuer!,
          ...(identity === undefined ? { subjectPattern: identityPattern! } : { subject: identity }),
          ...times,
        },
      ]
    : (await readKeys(io, key)).map((pem) => ({ key: pem, ...times }));
  return checked(POLICY_KIND, name, {
    groups: group,
    ...(releases === undefined ? {} : { releases }),
    signers,
  });
}

async function newCatalog(io: Io, text: string, options: EntryOptions): Promise<TrustEntry> {
  const { key = [], name, group, issuer, identity, identityPattern, releases } = options;
  if ([group, issuer, identity, identityPattern, releases].some((option) => option !== undefined)) {
    throw usage(
      'a catalog is pinned to keys of its registry',
      'Say --key alone, and --name for another name.',
    );
  }
  const url = canonicalCatalogUrl(text);
  if (url === undefined) {
    throw usage('this is no address that a catalog is read from', 'Write https://HOST/catalogs/NAME.');
  }
  if (key.length === 0) {
    throw usage(
      'it is not said which key the registry of the catalog signs with',
      'Say --key FILE.pub; have who runs the registry tell you its fingerprint.',
    );
  }
  const times = timesOf(options);
  const keys = (await readKeys(io, key)).map((pem) => ({ key: pem, ...times }));
  return checked(TRUSTED_CATALOG_KIND, name ?? nameFor(url), { url, keys });
}

async function entriesOfFile(io: Io, file: string): Promise<TrustEntry[]> {
  const { POLICY_LIMITS } = await import('@krmhub/catalog');
  const isStdin = file === '-';
  const bytes = isStdin
    ? await readStdin(io, POLICY_LIMITS.maxBytes)
    : await readFileUpTo(io, file, POLICY_LIMITS.maxBytes).catch((cause: unknown) => {
        if (!(cause instanceof KrmhubError) || cause.code !== 'not-found') throw cause;
        throw new KrmhubError('not-found', visible(cause.message), {
          hint: 'Name a file of policies, or make a policy: krmhub trust add NAME --group GLOB --key FILE.pub',
          cause,
        });
      });
  const { policies, catalogs } = trustIn(bytes, isStdin ? STDIN_NAME : file);
  if (policies.length + catalogs.length > 0) return [...policies, ...catalogs];
  throw new KrmhubError('invalid-document', visible(`${file} holds no policy`), {
    hint: 'Write SigningPolicy or TrustedCatalog documents into it.',
  });
}

async function readKeys(io: Io, files: readonly string[]): Promise<string[]> {
  const keys: string[] = [];
  for (const file of files) {
    const text = new TextDecoder().decode(await readFileUpTo(io, file, MAX_KEY_LENGTH));
    keys.push(readPublicKey(text, visible(file)).pem);
  }
  return [...new Set(keys)];
}

/** By the rules of the file, so that nothing is written that is not read again. */
function checked(kind: string, name: string, spec: JsonObject): TrustEntry {
  const document = { apiVersion: POLICY_API_VERSION, kind, metadata: { name }, spec };
  const { trust, diagnostics } = readTrust(new TextEncoder().encode(toYaml(document)), 'policy');
  const [entry] = [...(trust?.policies ?? []), ...(trust?.catalogs ?? [])];
  if (entry !== undefined) return entry;
  const [first] = diagnostics.filter(({ severity }) => severity === 'error');
  const reasons = diagnostics.map(({ message }) => message).join('; ');
  throw usage(visible(`${kind} ${name}: ${reasons}`), first?.hint ?? '');
}

function timesOf({ validFrom, validUntil }: EntryOptions): Record<string, string> {
  return {
    ...(validFrom === undefined ? {} : { validFrom: wholeTime(validFrom) }),
    ...(validUntil === undefined ? {} : { validUntil: wholeTime(validUntil) }),
  };
}

/** A day is its beginning. */
function wholeTime(text: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
}

/** `https://krm.example.com/catalogs/default` as `krm-example-com-default`. */
function nameFor(address: string): string {
  const { host, pathname } = new URL(address);
  const words = `${host}-${pathname.replace(/^\/catalogs\//, '/')}`.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const name = words.join('-');
  if (name !== '' && name.length <= MAX_NAME_LENGTH) return name;
  throw usage('no name can be made of this address', 'Say --name.');
}

function usage(message: string, hint: string): KrmhubError {
  return new KrmhubError('usage', message, { hint });
}
