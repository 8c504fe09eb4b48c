import path from 'node:path';
import {
  canonicalCatalogUrl,
  formatDuration,
  POLICY_API_VERSION,
  POLICY_KIND,
  readTrust,
  SOURCE_FIELDS,
  TRUSTED_CATALOG_KIND,
  type TrustEntry,
  toYaml,
  trustEntries,
} from '@krmhub/catalog';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { parseTrust } from '@krmhub/consume/trust/trust-file';
import {
  type JsonObject,
  KrmhubError,
  MAX_KEY_LENGTH,
  readPublicKey,
  type SourceRequirements,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { suggest } from '@krmhub/schema/suggest';
import { escapeControls, shellWord } from '@krmhub/schema/text';
import { printDiagnostics } from '../../io/diagnostics.js';
import type { Io } from '../../io/io.js';
import { printLine, printWarning } from '../../io/print.js';
import { readStdin, STDIN_NAME } from '../../io/read-stdin.js';
import { fetchRegistryKeys, type KeyConfirmation } from './fetch-registry-keys.js';

/** The options of `trust add` that describe a signer. */
export interface EntryOptions extends KeyConfirmation {
  group?: string[];
  key?: string[];
  issuer?: string;
  identity?: string;
  identityPattern?: string;
  /** What the certificate must state, as FIELD=VALUE. */
  require?: string[];
  releases?: string;
  validFrom?: string;
  validUntil?: string;
  name?: string;
  catalog?: string;
  minSerial?: number;
  /** Seconds. */
  maxAge?: number;
}

const MAX_NAME_LENGTH = 63;

/** Creates entries: a policy from options, the pinned keys of a catalog, or the entries of files. Throws `usage`. */
export async function createEntries(
  io: Io,
  names: readonly string[],
  options: EntryOptions,
): Promise<TrustEntry[]> {
  const { group, name, catalog, minSerial, maxAge, fingerprint, yes } = options;
  const catalogs = names.filter((one) => /^https?:\/\//i.test(one));
  if (catalogs.length > 0) {
    if (names.length > 1)
      throw usageError(
        'cannot pin several catalogs in one command',
        'Run the command once for each catalog URL.',
      );
    return [await createTrustedCatalog(io, catalogs[0]!, options)];
  }
  const ofCatalog = {
    '--catalog': catalog,
    '--min-serial': minSerial,
    '--max-age': maxAge,
    '--fingerprint': fingerprint,
    '--yes': yes,
  };
  const [stray] = Object.entries(ofCatalog).find(([, value]) => value !== undefined) ?? [];
  if (stray !== undefined)
    throw usageError(
      `${stray} is only for catalog URLs`,
      'Give the URL of the catalog: krmhub trust add URL --key FILE.pub',
    );
  if (name !== undefined)
    throw usageError(
      '--name applies only to catalog URLs',
      `Use the name of the policy as an argument: krmhub trust add ${shellWord(name)} --group GLOB --key FILE.pub`,
    );
  if (group !== undefined) {
    if (names.length > 1)
      throw usageError(
        'cannot create several policies in one command',
        `Run the command once for each policy: krmhub trust add ${shellWord(names[0]!)} ${group.map((one) => `--group ${shellWord(one)}`).join(' ')} --key FILE.pub`,
      );
    return [await createPolicy(io, names[0]!, { ...options, group })];
  }
  if (Object.values(options).some((option) => option !== undefined)) {
    throw usageError(
      '`--group` is required',
      `Add the groups, or use the URL of a catalog: krmhub trust add ${shellWord(names[0]!)} --group GLOB --key FILE.pub`,
    );
  }
  const entries: TrustEntry[] = [];
  for (const file of names) entries.push(...(await readEntries(io, file)));
  return entries;
}

/** Creates a policy from options. Throws `usage`. */
export async function createPolicy(
  io: Io,
  name: string,
  options: EntryOptions & { group: string[] },
): Promise<TrustEntry> {
  const { group, key = [], issuer, identity, identityPattern, releases } = options;
  const source = sourceFields(options.require ?? []);
  const byIdentity = [issuer, identity, identityPattern].some((option) => option !== undefined);
  const problem = signerProblem(options);
  if (problem !== undefined) {
    throw usageError(`cannot create policy ${name}: ${problem.message}`, problem.hint);
  }
  const times = validityFields(options);
  const signers: JsonObject[] = byIdentity
    ? [
        {
          issuer: issuer!,
          ...defined({ subject: identity, subjectPattern: identityPattern }),
          ...source,
          ...times,
        },
      ]
    : (await readKeys(io, key)).map((pem) => ({ key: pem, ...times }));
  return validateEntry(io, POLICY_KIND, name, {
    groups: group,
    ...defined({ releases }),
    signers,
  });
}

/** Why options name no one signer: something is missing, or two are named. */
function signerProblem({
  key = [],
  issuer,
  identity,
  identityPattern,
  require: required,
}: EntryOptions): { message: string; hint: string } | undefined {
  const example = 'for example: --issuer https://accounts.example.com --identity ci@example.com';
  const hasSubject = identity !== undefined || identityPattern !== undefined;
  if (key.length > 0) {
    if (issuer === undefined && !hasSubject && required === undefined) return undefined;
    return {
      message: '--key cannot be combined with --issuer, --identity, --identity-pattern, or --require',
      hint: 'Use only one of them. To trust both, create a policy file.',
    };
  }
  if (issuer === undefined && !hasSubject && required === undefined) {
    return {
      message: 'a signer is required',
      hint: `Use --key FILE.pub, or an identity, ${example}`,
    };
  }
  if (identity !== undefined && identityPattern !== undefined) {
    return {
      message: '--identity cannot be combined with --identity-pattern',
      hint: 'Use --identity for one identity, or --identity-pattern for several.',
    };
  }
  if (issuer === undefined) {
    return {
      message: '--issuer is required with --identity, --identity-pattern, and --require',
      hint: `Add the identity provider, ${example}`,
    };
  }
  if (!hasSubject && required === undefined) {
    return {
      message: '--identity or --identity-pattern is required with --issuer',
      hint: `An issuer alone would trust all its users. Add the identity, ${example}`,
    };
  }
  return undefined;
}

/** Parses what the certificate must state. The reader of policies checks the values. Throws `usage`. */
function sourceFields(required: readonly string[]): SourceRequirements {
  const fields: SourceRequirements = {};
  for (const text of required) {
    const [, name = '', value = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
    const field = SOURCE_FIELDS.find((one) => one === name);
    if (field === undefined || value === '') {
      const meant = suggest(name, SOURCE_FIELDS);
      throw usageError(
        escapeControls(`--require ${text} is not FIELD=VALUE of a certificate`),
        meant === undefined || field !== undefined
          ? `Use one of: ${SOURCE_FIELDS.join(', ')}. For example: --require repositoryId=123`
          : `Did you mean --require ${meant}=${shellWord(value)}?`,
      );
    }
    if (fields[field] !== undefined)
      throw usageError(`--require ${field} is given twice`, 'Remove one of them.');
    fields[field] = value;
  }
  return fields;
}

async function createTrustedCatalog(io: Io, text: string, options: EntryOptions): Promise<TrustEntry> {
  const {
    key = [],
    name,
    catalog,
    minSerial,
    maxAge,
    group,
    issuer,
    identity,
    identityPattern,
    releases,
  } = options;
  if (
    [group, issuer, identity, identityPattern, releases, options.require].some(
      (option) => option !== undefined,
    )
  ) {
    throw usageError(
      'cannot pin the catalog: only --key, --fingerprint, --yes, --name, --catalog, --min-serial, --max-age, --valid-from, and --valid-until apply to a catalog',
      'Pin the key of its registry: krmhub trust add URL --key registry.pub',
    );
  }
  const url = canonicalCatalogUrl(text);
  if (url === undefined) {
    // Not quoted: the URL can contain a password.
    throw usageError(
      'cannot pin the catalog: its URL is not valid',
      'Use a URL without a password: https://HOST/catalogs/NAME',
    );
  }
  if (key.length > 0 && (options.fingerprint !== undefined || options.yes !== undefined)) {
    throw usageError(
      '--key cannot be combined with --fingerprint or --yes',
      'With --key, no key is fetched. Remove --key to fetch it from the registry.',
    );
  }
  const times = validityFields(options);
  const pems = key.length > 0 ? await readKeys(io, key) : await fetchRegistryKeys(io, url, options);
  const keys = pems.map((pem) => ({ key: pem, ...times }));
  return validateEntry(io, TRUSTED_CATALOG_KIND, name ?? nameFromUrl(url), {
    url,
    ...defined({ catalog, minSerial, maxAge: maxAge === undefined ? undefined : formatDuration(maxAge) }),
    keys,
  });
}

async function readEntries(io: Io, file: string): Promise<TrustEntry[]> {
  const { POLICY_LIMITS } = await import('@krmhub/catalog');
  const isStdin = file === '-';
  const bytes = isStdin
    ? await readStdin(io, POLICY_LIMITS.maxBytes)
    : await readFileUpTo(io, file, POLICY_LIMITS.maxBytes).catch((cause: unknown) => {
        if (!(cause instanceof KrmhubError) || cause.code !== 'not-found') throw cause;
        throw new KrmhubError('not-found', escapeControls(cause.message), {
          hint: escapeControls(
            `Use an existing policy file, or create a policy: krmhub trust add ${shellWord(path.parse(file).name)} --group GLOB --key FILE.pub`,
          ),
          cause,
        });
      });
  const name = isStdin ? STDIN_NAME : file;
  const entries = trustEntries(parseTrust(bytes, name));
  const { diagnostics } = readTrust(bytes, name);
  await printDiagnostics(io, io.stderr, diagnostics, new Map([[name, bytes]]));
  if (entries.length > 0) return entries;
  throw new KrmhubError('invalid-document', escapeControls(`${file} contains no policy`), {
    hint: 'Add SigningPolicy, TrustedCatalog, or CatalogTrust documents to the file.',
  });
}

async function readKeys(io: Io, files: readonly string[]): Promise<string[]> {
  const keys: string[] = [];
  for (const file of files) {
    const text = new TextDecoder().decode(await readFileUpTo(io, file, MAX_KEY_LENGTH));
    keys.push(readPublicKey(text, escapeControls(file)).pem);
  }
  return [...new Set(keys)];
}

/** Validates an entry by the rules of the trust file, so that the file stays readable, and prints what is dangerous. */
async function validateEntry(io: Io, kind: string, name: string, spec: JsonObject): Promise<TrustEntry> {
  const document = { apiVersion: POLICY_API_VERSION, kind, metadata: { name }, spec };
  const { trust, diagnostics } = readTrust(new TextEncoder().encode(toYaml(document)), 'policy');
  const [entry] = trust === undefined ? [] : trustEntries(trust);
  if (entry !== undefined) {
    for (const { message, hint } of diagnostics) {
      await printWarning(io, escapeControls(`${name}: ${message}`));
      if (hint !== undefined) await printLine(io, escapeControls(`  hint: ${hint}`));
    }
    return entry;
  }
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const reasons = errors.map(({ message }) => message).join('; ');
  throw usageError(escapeControls(`${kind} ${name}: ${reasons}`), errors[0]?.hint ?? '');
}

function validityFields({ validFrom, validUntil }: EntryOptions): Record<string, string> {
  return defined({
    validFrom: validFrom === undefined ? undefined : normalizeTime(validFrom),
    validUntil: validUntil === undefined ? undefined : normalizeTime(validUntil),
  });
}

/** Turns a date into the start of that day. */
function normalizeTime(text: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
}

/** Turns `https://krm.example.com/catalogs/default` into `krm-example-com-default`. */
function nameFromUrl(address: string): string {
  const { host, pathname } = new URL(address);
  const words = `${host}-${pathname.replace(/^\/catalogs\//, '/')}`.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const name = words.join('-');
  if (name !== '' && name.length <= MAX_NAME_LENGTH) return name;
  throw usageError(`cannot derive a name from ${address}`, 'Set a name with --name NAME.');
}

function usageError(message: string, hint: string): KrmhubError {
  return new KrmhubError('usage', message, { hint });
}
