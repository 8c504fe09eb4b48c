import { type Diagnostic, hasErrors, type JsonValue, type Path, type YamlDocument } from '@krmhub/schema';
import { canonicalCatalogUrl, locateCatalog } from './catalog-url.js';
import { DNS_LABEL, isMapping } from './document-fields.js';
import {
  type PolicyFields,
  readKey,
  readName,
  readPolicyFile,
  readValidity,
  VALIDITY_FIELDS,
} from './fields.js';
import { readPolicy } from './read-signing-policies.js';
import { POLICY_API_VERSION, POLICY_KIND, POLICY_LIMITS } from './signing-policy.js';
import {
  type PinnedKey,
  pinnedCatalogName,
  TRUSTED_CATALOG_KIND,
  type Trust,
  type TrustedCatalog,
} from './trust.js';

/**
 * Reads SigningPolicies and TrustedCatalogs, one per YAML document, and reports all problems. The trust is undefined if
 * there are errors. A file with only comments trusts no one. Unknown fields are errors.
 */
export function readTrust(bytes: Uint8Array, file: string): { trust?: Trust; diagnostics: Diagnostic[] } {
  const trust: Trust = { policies: [], catalogs: [] };
  const naming = { file, whole: 'the file has', documents: 'documents' };
  const all = readPolicyFile(bytes, naming, (document, fields) => readDocument(document, fields, trust));
  return hasErrors(all) ? { diagnostics: all } : { trust, diagnostics: all };
}

function readDocument(document: YamlDocument, fields: PolicyFields, { policies, catalogs }: Trust): void {
  const kind = isMapping(document.value) ? document.value.kind : undefined;
  if (typeof kind === 'string' && kind !== POLICY_KIND && kind !== TRUSTED_CATALOG_KIND) {
    const kinds = `\`${POLICY_KIND}\` or \`${TRUSTED_CATALOG_KIND}\``;
    fields.report('policy/document', ['kind'], `\`kind\` is not ${kinds}`, { hint: `Write ${kinds}.` });
    return;
  }
  const names = new Set([...policies, ...catalogs].map(({ name }) => name));
  const entry = kind === TRUSTED_CATALOG_KIND ? readCatalog(document, fields) : readPolicy(document, fields);
  if (entry === undefined) return;
  if (names.has(entry.name)) {
    fields.report('policy/name', ['metadata', 'name'], `another document is already named "${entry.name}"`);
  }
  if (!('url' in entry)) {
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

/** Returns undefined only with an error. */
function readCatalog({ value }: YamlDocument, fields: PolicyFields): TrustedCatalog | undefined {
  const root = fields.mapping(value, [], { required: ['apiVersion', 'kind', 'metadata', 'spec'] });
  if (root === undefined) return undefined;
  if (root.apiVersion !== undefined && root.apiVersion !== POLICY_API_VERSION) {
    fields.report('policy/document', ['apiVersion'], `\`apiVersion\` is not \`${POLICY_API_VERSION}\``);
  }
  const name = readName(root.metadata, fields);
  if (root.spec === undefined) return undefined;
  const at: Path = ['spec'];
  const spec = fields.mapping(root.spec, at, { required: ['url', 'keys'], optional: ['catalog'] });
  if (spec === undefined) return undefined;
  const url = readUrl(spec.url, [...at, 'url'], fields);
  const catalog = readCatalogName(spec.catalog, [...at, 'catalog'], fields);
  if (url !== undefined && spec.catalog === undefined && pinnedCatalogName({ url }) === undefined) {
    const message = 'the URL has no catalog name, so krmhub accepts every catalog that the key signs';
    fields.report('policy/unnamed-catalog', [...at, 'url'], message);
  }
  const keys = readKeys(spec.keys, [...at, 'keys'], fields);
  if (name === undefined || url === undefined || keys === undefined) return undefined;
  return { name, url, ...(catalog === undefined ? {} : { catalog }), keys };
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
