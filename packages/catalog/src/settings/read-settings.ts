import {
  compareDiagnostics,
  type Diagnostic,
  GROUP_PATTERN,
  hasErrors,
  KIND_PATTERN,
  MAX_GROUP_LENGTH,
  readYaml,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { type Field, FieldReader, fileDiagnostic, GROUP_GLOB } from '../fields/field.js';
import { readReleaseRange } from '../policy/release-range.js';
import { readDuration } from '../recipe/read-duration.js';
import { SETTINGS_CODES, type SettingsCode } from './codes.js';
import {
  type AcceptedReleases,
  type MinAge,
  type PackageSettings,
  SETTINGS_API_VERSION,
  SETTINGS_KIND,
  SETTINGS_LIMITS,
} from './settings.js';

type SettingsField = Field<SettingsCode>;

/** Reads the settings of a package, and reports all problems. The settings are undefined if there are errors. */
export function readSettings(
  bytes: Uint8Array,
  file: string,
): { settings?: PackageSettings; diagnostics: Diagnostic[] } {
  if (bytes.byteLength > SETTINGS_LIMITS.maxSettingsBytes) {
    const message = `the file has ${bytes.byteLength} bytes; the limit is ${SETTINGS_LIMITS.maxSettingsBytes}`;
    return { diagnostics: [fileDiagnostic(SETTINGS_CODES, 'settings/limit', file, message)] };
  }
  const { documents, diagnostics } = readYaml(bytes, { file });
  if (hasErrors(diagnostics)) return { diagnostics };
  const [document, ...others] = documents;
  if (document === undefined || others.length > 0) {
    const message = `expected one document, found ${documents.length}`;
    return { diagnostics: [fileDiagnostic(SETTINGS_CODES, 'settings/document', file, message)] };
  }
  const reader = new FieldReader(
    document,
    file,
    'settings',
    SETTINGS_CODES,
    SETTINGS_LIMITS.maxSettingLength,
  );
  const settings = readDocument(reader.root);
  const all = [...diagnostics, ...reader.diagnostics].sort(compareDiagnostics);
  return settings === undefined || hasErrors(all) ? { diagnostics: all } : { settings, diagnostics: all };
}

function readDocument(document: SettingsField): PackageSettings | undefined {
  const required = ['apiVersion', 'kind'];
  // In a kpt package, an annotation says that it is not for a cluster.
  const root = document.mapping({ required, optional: ['metadata', 'functions', 'minAge', 'exempt'] });
  if (root === undefined) return undefined;
  for (const [name, expected] of [
    ['apiVersion', SETTINGS_API_VERSION],
    ['kind', SETTINGS_KIND],
  ] as const) {
    const field = root.get(name);
    if (field !== undefined && field.value !== expected) {
      field.report('settings/document', `\`${name}\` is not \`${expected}\``);
    }
  }
  root.get('metadata')?.mapping({ optional: ['name', 'annotations', 'labels'] });
  const functions = (root.get('functions')?.list(SETTINGS_LIMITS.maxRanges) ?? []).map((field) => ({
    field,
    read: readAccepted(field),
  }));
  const known = new Set<string>();
  for (const { field, read } of functions) {
    if (read === undefined) continue;
    const name = read.group === undefined ? read.kind : `${read.group}/${read.kind}`;
    if (known.has(name)) field.report('settings/duplicate', `${name} appears twice`);
    known.add(name);
  }
  const minAge = readMinAge(root.get('minAge'));
  const exempt = (root.get('exempt')?.list(SETTINGS_LIMITS.maxExempt) ?? []).flatMap(
    (field) => readMatching(field, GROUP_GLOB, 'group') ?? [],
  );
  return { functions: functions.flatMap(({ read }) => read ?? []), ...defined({ minAge }), exempt };
}

function readAccepted(field: SettingsField): AcceptedReleases | undefined {
  const item = field.mapping({ required: ['kind', 'release'], optional: ['group'] });
  if (item === undefined) return undefined;
  const group = readMatching(item.get('group'), GROUP_PATTERN, 'group', MAX_GROUP_LENGTH);
  const kind = readMatching(item.get('kind'), KIND_PATTERN, 'kind');
  const range = readRange(item.get('release'));
  return kind === undefined || range === undefined ? undefined : { ...defined({ group }), kind, range };
}

function readRange(field: SettingsField | undefined): string | undefined {
  const text = field?.text();
  if (text === undefined) return undefined;
  const read = readReleaseRange(text);
  if (read.ok) return text;
  field?.report('settings/range', read.reason, { hint: read.hint });
  return undefined;
}

function readMinAge(field: SettingsField | undefined): MinAge | undefined {
  const text = typeof field?.value === 'number' ? String(field.value) : field?.text();
  if (text === undefined) return undefined;
  const read = readDuration(text);
  if (read.ok) return { seconds: read.seconds, text };
  field?.report('settings/age', read.reason, { hint: read.hint });
  return undefined;
}

function readMatching(
  field: SettingsField | undefined,
  pattern: RegExp,
  what: 'group' | 'kind',
  maxLength?: number,
): string | undefined {
  const text = field?.text(maxLength);
  if (text === undefined || pattern.test(text)) return text;
  field?.report('settings/name', `"${text}" is not a valid ${what}`);
  return undefined;
}
