import {
  type Diagnostic,
  hasErrors,
  type JsonObject,
  type JsonValue,
  type Path,
  type YamlDocument,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { canonicalCatalogUrl, locateCatalog } from '../policy/catalog-url.js';
import { DNS_LABEL, type Fields, isMapping } from '../policy/document-fields.js';
import {
  type PolicyFields,
  readKey,
  readName,
  readPolicyFile,
  readValidity,
  VALIDITY_FIELDS,
} from '../policy/fields.js';
import { readPolicy } from '../policy/read-signing-policies.js';
import { POLICY_API_VERSION, POLICY_KIND, POLICY_LIMITS } from '../policy/signing-policy.js';
import { readDuration } from '../recipe/read-duration.js';
import { readSourceAddress } from '../recipe/source-address.js';
import {
  CATALOG_TRUST_KIND,
  type CatalogTrust,
  isCatalogTrust,
  isTrustedCatalog,
  type PinnedKey,
  pinnedCatalogName,
  TRUSTED_CATALOG_KIND,
  type Trust,
  type TrustedCatalog,
  trustEntries,
} from './trust.js';

/**
 * Reads SigningPolicies, TrustedCatalogs, and CatalogTrusts, one per YAML document, and reports all problems. The trust
 * is undefined if there are errors. A file with only comments trusts no one. Unknown fields are errors.
 */
export function readTrust(bytes: Uint8Array, file: string): { trust?: Trust; diagnostics: Diagnostic[] } {
  const trust: Trust = { policies: [], catalogs: [], catalogTrust: [] };
  const naming = { file, whole: 'the file has', documents: 'documents' };
  const all = readPolicyFile(bytes, naming, (document, fields) => readDocument(document, fields, trust));
  return hasErrors(all) ? { diagnostics: all } : { trust, diagnostics: all };
}

function readDocument(document: YamlDocument, fields: PolicyFields, trust: Trust): void {
  const { policies, catalogs, catalogTrust } = trust;
  const kind = isMapping(document.value) ? document.value.kind : undefined;
  if (typeof kind === 'string' && ![POLICY_KIND, TRUSTED_CATALOG_KIND, CATALOG_TRUST_KIND].includes(kind)) {
    const kinds = `\`${POLICY_KIND}\`, \`${TRUSTED_CATALOG_KIND}\`, or \`${CATALOG_TRUST_KIND}\``;
    fields.report('policy/document', ['kind'], `\`kind\` is not ${kinds}`, { hint: `Write ${kinds}.` });
    return;
  }
  const names = new Set(trustEntries(trust).map(({ name }) => name));
  const entry =
    kind === TRUSTED_CATALOG_KIND
      ? readCatalog(document, fields)
      : kind === CATALOG_TRUST_KIND
        ? readCatalogTrust(document, fields)
        : readPolicy(document, fields);
  if (entry === undefined) return;
  if (names.has(entry.name)) {
    fields.report('policy/name', ['metadata', 'name'], `another document is already named "${entry.name}"`);
  }
  if (isCatalogTrust(entry)) {
    const other = catalogTrust.find(({ official }) => official !== undefined);
    if (other !== undefined && entry.official !== undefined) {
      const message = `"${other.name}" already names an official catalog`;
      fields.report('policy/catalog-reference', ['spec', 'official'], message, { hint: 'Name one of them.' });
    }
    catalogTrust.push(entry);
    return;
  }
  if (!isTrustedCatalog(entry)) {
    policies.push(entry);
    return;
  }
  const same = catalogs.find(
    ({ url }) => locateCatalog(url)?.identity === locateCatalog(entry.url)?.identity,
  );
  if (same !== undefined) {
    fields.report(
      'policy/catalog-url',
      ['spec', 'url'],
      `"${same.name}" already pins the keys of this catalog`,
      {
        hint: 'Put all keys of a catalog in one document.',
      },
    );
  }
  catalogs.push(entry);
}

/** Returns the name and the spec; undefined only with an error. */
function readHead(
  { value }: YamlDocument,
  fields: PolicyFields,
  known: Fields,
): { name: string | undefined; spec: JsonObject } | undefined {
  const root = fields.mapping(value, [], { required: ['apiVersion', 'kind', 'metadata', 'spec'] });
  if (root === undefined) return undefined;
  if (root.apiVersion !== undefined && root.apiVersion !== POLICY_API_VERSION) {
    fields.report('policy/document', ['apiVersion'], `\`apiVersion\` is not \`${POLICY_API_VERSION}\``);
  }
  const name = readName(root.metadata, fields);
  const spec = root.spec === undefined ? undefined : fields.mapping(root.spec, ['spec'], known);
  return spec === undefined ? undefined : { name, spec };
}

/** Returns undefined only with an error. */
function readCatalog(document: YamlDocument, fields: PolicyFields): TrustedCatalog | undefined {
  const at: Path = ['spec'];
  const head = readHead(document, fields, {
    required: ['url', 'keys'],
    optional: ['catalog', 'minSerial', 'maxAge'],
  });
  if (head === undefined) return undefined;
  const { name, spec } = head;
  const url = readUrl(spec.url, [...at, 'url'], fields);
  const catalog = readCatalogName(spec.catalog, [...at, 'catalog'], fields);
  if (url !== undefined && spec.catalog === undefined && pinnedCatalogName({ url }) === undefined) {
    const message = 'the URL has no catalog name, so krmhub accepts every catalog that the key signs';
    fields.report('policy/unnamed-catalog', [...at, 'url'], message);
  }
  const keys = readKeys(spec.keys, [...at, 'keys'], fields);
  const limits = readLimits(spec, at, fields);
  if (name === undefined || url === undefined || keys === undefined) return undefined;
  return { name, url, ...defined({ catalog }), keys, ...limits };
}

function readLimits(
  { minSerial, maxAge }: JsonObject,
  at: Path,
  fields: PolicyFields,
): Pick<TrustedCatalog, 'minSerial' | 'maxAge'> {
  const limits: Pick<TrustedCatalog, 'minSerial' | 'maxAge'> = {};
  if (typeof minSerial === 'number' && Number.isSafeInteger(minSerial) && minSerial > 0) {
    limits.minSerial = minSerial;
  } else if (minSerial !== undefined) {
    const hint = 'Use the serial of a snapshot, for example `minSerial: 7`.';
    fields.report('policy/wrong-type', [...at, 'minSerial'], '`minSerial` is not a serial', { hint });
  }
  if (maxAge === undefined) return limits;
  const text = typeof maxAge === 'number' ? String(maxAge) : fields.text(maxAge, [...at, 'maxAge']);
  if (text === undefined) return limits;
  const read = readDuration(text);
  if (read.ok && read.seconds > 0) return { ...limits, maxAge: read.seconds };
  const reason = read.ok ? '`maxAge` accepts no signature' : read.reason;
  const hint = (read.ok ? undefined : read.hint) ?? 'Use an integer and a unit, for example `maxAge: 30d`.';
  fields.report('policy/wrong-type', [...at, 'maxAge'], reason, { hint });
  return limits;
}

/** Returns undefined only with an error. */
function readCatalogTrust(document: YamlDocument, fields: PolicyFields): CatalogTrust | undefined {
  const head = readHead(document, fields, { optional: ['official', 'catalogs'] });
  if (head === undefined) return undefined;
  const { name, spec } = head;
  const official =
    spec.official === undefined ? undefined : readReference(spec.official, ['spec', 'official'], fields);
  const at: Path = ['spec', 'catalogs'];
  const list = spec.catalogs === undefined ? [] : fields.list(spec.catalogs, at, POLICY_LIMITS.maxCatalogs);
  const catalogs = list?.flatMap((item, index) => readReference(item, [...at, index], fields) ?? []);
  if (spec.official === undefined && spec.catalogs === undefined) {
    fields.report('policy/missing-field', ['spec'], '`official` or `catalogs` is missing');
  }
  if (name === undefined || catalogs === undefined) return undefined;
  return { name, ...defined({ official }), catalogs };
}

const DIGEST_SUFFIX = /@sha256:[a-f0-9]{64}$/;

/** A relative path would name another file in each folder, also in a package of another author. */
function readReference(value: JsonValue, at: Path, fields: PolicyFields): string | undefined {
  const text = fields.text(value, at);
  if (text === undefined) return undefined;
  const address = text.startsWith('oci://') ? text : text.replace(DIGEST_SUFFIX, '');
  const read = address.startsWith('/') ? undefined : readSourceAddress(address);
  if (read === undefined || (read.ok && read.address.type !== 'file')) return text;
  // The message does not repeat the reference, because it can contain a password.
  const reason = read.ok ? 'a relative path names another file in each folder' : read.reason;
  fields.report('policy/catalog-reference', at, `not the reference of a catalog: ${reason}`);
  return undefined;
}

function readCatalogName(value: JsonValue | undefined, at: Path, fields: PolicyFields): string | undefined {
  const text = value === undefined ? undefined : fields.text(value, at);
  if (text !== undefined && !DNS_LABEL.test(text)) {
    fields.report('policy/catalog-name', at, `"${text}" is not a catalog name`);
  }
  return text;
}

function readUrl(value: JsonValue | undefined, at: Path, fields: PolicyFields): string | undefined {
  const text = value === undefined ? undefined : fields.text(value, at);
  // The message does not repeat the URL, because it can contain a password.
  if (text !== undefined && canonicalCatalogUrl(text) === undefined) {
    fields.report('policy/catalog-url', at, 'not the URL of a catalog');
  }
  return text;
}

function readKeys(value: JsonValue | undefined, at: Path, fields: PolicyFields): PinnedKey[] | undefined {
  if (value === undefined) return undefined;
  const list = fields.list(value, at, POLICY_LIMITS.maxSigners);
  if (list?.length === 0)
    fields.report('policy/missing-field', at, 'a trusted catalog must have at least one key');
  return list?.flatMap((item, index) => readPinnedKey(item, [...at, index], fields) ?? []);
}

function readPinnedKey(value: JsonValue, at: Path, fields: PolicyFields): PinnedKey | undefined {
  const pinned = fields.mapping(value, at, { required: ['key'], optional: [...VALIDITY_FIELDS] });
  if (pinned === undefined) return undefined;
  const text = (name: string) =>
    pinned[name] === undefined ? undefined : fields.text(pinned[name], [...at, name]);
  const times = readValidity(text, at, fields);
  const key = readKey(text('key'), [...at, 'key'], fields);
  return key === undefined ? undefined : { key: key.pem, fingerprint: key.fingerprint, ...times };
}
