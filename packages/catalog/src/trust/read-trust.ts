import { type Diagnostic, hasErrors } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { DNS_LABEL } from '../fields/field.js';
import { canonicalCatalogUrl, locateCatalog } from '../policy/catalog-url.js';
import type { PolicyCode } from '../policy/codes.js';
import {
  type PolicyField,
  readKey,
  readPolicyFile,
  readValidity,
  VALIDITY_FIELDS,
} from '../policy/fields.js';
import { readHead, readPolicy } from '../policy/read-signing-policies.js';
import { POLICY_KIND, POLICY_LIMITS } from '../policy/signing-policy.js';
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
  const all = readPolicyFile(bytes, naming, (root) => readDocument(root, trust));
  return hasErrors(all) ? { diagnostics: all } : { trust, diagnostics: all };
}

function readDocument(root: PolicyField, trust: Trust): void {
  const { policies, catalogs, catalogTrust } = trust;
  const kind = root.get('kind')?.value;
  if (typeof kind === 'string' && ![POLICY_KIND, TRUSTED_CATALOG_KIND, CATALOG_TRUST_KIND].includes(kind)) {
    const kinds = `\`${POLICY_KIND}\`, \`${TRUSTED_CATALOG_KIND}\`, or \`${CATALOG_TRUST_KIND}\``;
    root.get('kind')?.report('policy/document', `\`kind\` is not ${kinds}`, { hint: `Write ${kinds}.` });
    return;
  }
  const names = new Set(trustEntries(trust).map(({ name }) => name));
  const entry =
    kind === TRUSTED_CATALOG_KIND
      ? readCatalog(root)
      : kind === CATALOG_TRUST_KIND
        ? readCatalogTrust(root)
        : readPolicy(root);
  if (entry === undefined) return;
  const reportAt = (parent: string, name: string, code: PolicyCode, message: string, hint?: string) =>
    root.get(parent)?.get(name)?.report(code, message, { hint });
  if (names.has(entry.name)) {
    reportAt('metadata', 'name', 'policy/name', `another document is already named "${entry.name}"`);
  }
  if (isCatalogTrust(entry)) {
    const other = catalogTrust.find(({ official }) => official !== undefined);
    if (other !== undefined && entry.official !== undefined) {
      const message = `"${other.name}" already names an official catalog`;
      reportAt('spec', 'official', 'policy/catalog-reference', message, 'Name one of them.');
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
    const message = `"${same.name}" already pins the keys of this catalog`;
    reportAt('spec', 'url', 'policy/catalog-url', message, 'Put all keys of a catalog in one document.');
  }
  catalogs.push(entry);
}

/** Returns undefined only with an error. */
function readCatalog(document: PolicyField): TrustedCatalog | undefined {
  const optional = ['catalog', 'minSerial', 'maxAge'];
  const head = readHead(document, { required: ['url', 'keys'], optional });
  if (head === undefined) return undefined;
  const { name, spec } = head;
  const url = readUrl(spec.get('url'));
  const catalog = readCatalogName(spec.get('catalog'));
  if (url !== undefined && spec.get('catalog') === undefined && pinnedCatalogName({ url }) === undefined) {
    const message = 'the URL has no catalog name, so krmhub accepts every catalog that the key signs';
    spec.get('url')?.report('policy/unnamed-catalog', message);
  }
  const keys = readKeys(spec.get('keys'));
  const minSerial = readMinSerial(spec.get('minSerial'));
  const maxAge = readMaxAge(spec.get('maxAge'));
  if (name === undefined || url === undefined || keys === undefined) return undefined;
  return { name, url, ...defined({ catalog }), keys, ...defined({ minSerial, maxAge }) };
}

function readMinSerial(field: PolicyField | undefined): number | undefined {
  if (field === undefined) return undefined;
  const { value } = field;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  const hint = 'Use the serial of a snapshot, for example `minSerial: 7`.';
  field.report('policy/wrong-type', '`minSerial` is not a serial', { hint });
  return undefined;
}

function readMaxAge(field: PolicyField | undefined): number | undefined {
  const text = typeof field?.value === 'number' ? String(field.value) : field?.text();
  if (text === undefined) return undefined;
  const read = readDuration(text);
  if (read.ok && read.seconds > 0) return read.seconds;
  const reason = read.ok ? '`maxAge` accepts no signature' : read.reason;
  const hint = (read.ok ? undefined : read.hint) ?? 'Use an integer and a unit, for example `maxAge: 30d`.';
  field?.report('policy/wrong-type', reason, { hint });
  return undefined;
}

/** Returns undefined only with an error. */
function readCatalogTrust(document: PolicyField): CatalogTrust | undefined {
  const head = readHead(document, { optional: ['official', 'catalogs'] });
  if (head === undefined) return undefined;
  const { name, spec } = head;
  const [first, others] = [spec.get('official'), spec.get('catalogs')];
  const official = first && readReference(first);
  const list = others === undefined ? [] : others.list(POLICY_LIMITS.maxCatalogs);
  const catalogs = list?.flatMap((item) => readReference(item) ?? []);
  if (first === undefined && others === undefined) {
    spec.report('policy/missing-field', '`official` or `catalogs` is missing');
  }
  if (name === undefined || catalogs === undefined) return undefined;
  return { name, ...defined({ official }), catalogs };
}

const DIGEST_SUFFIX = /@sha256:[a-f0-9]{64}$/;

/** A relative path would name another file in each folder, also in a package of another author. */
function readReference(field: PolicyField): string | undefined {
  const text = field.text();
  if (text === undefined) return undefined;
  const address = text.startsWith('oci://') ? text : text.replace(DIGEST_SUFFIX, '');
  const read = address.startsWith('/') ? undefined : readSourceAddress(address);
  if (read === undefined || (read.ok && read.address.type !== 'file')) return text;
  // The message does not repeat the reference, because it can contain a password.
  const reason = read.ok ? 'a relative path names another file in each folder' : read.reason;
  field.report('policy/catalog-reference', `not the reference of a catalog: ${reason}`);
  return undefined;
}

function readCatalogName(field: PolicyField | undefined): string | undefined {
  const text = field?.text();
  if (text !== undefined && !DNS_LABEL.test(text)) {
    field?.report('policy/catalog-name', `"${text}" is not a catalog name`);
  }
  return text;
}

function readUrl(field: PolicyField | undefined): string | undefined {
  const text = field?.text();
  // The message does not repeat the URL, because it can contain a password.
  if (text !== undefined && canonicalCatalogUrl(text) === undefined) {
    field?.report('policy/catalog-url', 'not the URL of a catalog');
  }
  return text;
}

function readKeys(field: PolicyField | undefined): PinnedKey[] | undefined {
  const list = field?.list(POLICY_LIMITS.maxSigners);
  if (list?.length === 0) {
    field?.report('policy/missing-field', 'a trusted catalog must have at least one key');
  }
  return list?.flatMap((item) => readPinnedKey(item) ?? []);
}

function readPinnedKey(field: PolicyField): PinnedKey | undefined {
  const pinned = field.mapping({ required: ['key'], optional: VALIDITY_FIELDS });
  if (pinned === undefined) return undefined;
  const times = readValidity(pinned);
  const key = readKey(pinned.get('key'));
  return key === undefined ? undefined : { key: key.pem, fingerprint: key.fingerprint, ...times };
}
