import { compareDiagnostics, type Diagnostic, hasErrors, isKind, readYaml } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { suggest } from '@krmhub/schema/suggest';
import {
  DNS_LABEL,
  type Field,
  FieldReader,
  fileDiagnostic,
  GROUP_GLOB,
  type KnownFields,
} from '../fields/field.js';
import {
  ACCESS_API_VERSION,
  ACCESS_KIND,
  ACCESS_LIMITS,
  type AccessDocument,
  GRANTED_ACTIONS,
  type Grant,
  type GrantObject,
  type GroupRule,
  isAtMostAsWide,
  ROLES,
  type Team,
  type TeamMember,
  VISIBILITIES,
  type Visibility,
  type VisibilityRule,
} from './access-document.js';
import { ACCESS_CODES, type AccessCode } from './codes.js';

type AccessField = Field<AccessCode>;

const CATALOG_PATTERN = /^[a-z0-9*]([-a-z0-9*]{0,61}[a-z0-9*])?$/;
const REPOSITORY_PATTERN = /^[a-z0-9*]([-a-z0-9._/*]{0,253}[a-z0-9*])?$/;
const PATTERNS = { group: GROUP_GLOB, catalog: CATALOG_PATTERN, repository: REPOSITORY_PATTERN } as const;
/** Repositories that follow their function or catalog: `scripts/GROUP`, where a group has a dot. */
const FOLLOWING = /^(?:(?:functions|catalogs)(?:\/|$)|scripts\/[^/]*[.*])/;

/** Reads an Access document, and reports all problems. Returns it only without errors. */
export function readAccess(
  bytes: Uint8Array,
  file: string,
): { access?: AccessDocument; diagnostics: Diagnostic[] } {
  const { maxBytes, maxTextLength } = ACCESS_LIMITS;
  if (bytes.byteLength > maxBytes) {
    const message = `the document has ${bytes.byteLength} bytes; the limit is ${maxBytes}`;
    return { diagnostics: [fileDiagnostic(ACCESS_CODES, 'access/limit', file, message)] };
  }
  const { documents, diagnostics } = readYaml(bytes, { file });
  if (hasErrors(diagnostics)) return { diagnostics };
  const [document, second] = documents;
  if (document === undefined || second !== undefined) {
    const message = `the file has ${documents.length} documents`;
    return { diagnostics: [...diagnostics, fileDiagnostic(ACCESS_CODES, 'access/document', file, message)] };
  }
  const reader = new FieldReader(document, file, 'access', ACCESS_CODES, maxTextLength);
  const access = readDocument(reader.root);
  const all = [...diagnostics, ...reader.diagnostics].sort(compareDiagnostics);
  return access === undefined || hasErrors(all) ? { diagnostics: all } : { access, diagnostics: all };
}

function readDocument(root: AccessField): AccessDocument | undefined {
  const document = root.mapping({ required: ['apiVersion', 'kind', 'metadata', 'spec'] });
  for (const [name, wanted] of [
    ['apiVersion', ACCESS_API_VERSION],
    ['kind', ACCESS_KIND],
  ] as const) {
    const field = document?.get(name);
    if (field !== undefined && field.value !== wanted) {
      field.report('access/document', `\`${name}\` is not \`${wanted}\``);
    }
  }
  readLabel(
    document
      ?.get('metadata')
      ?.mapping({ required: ['name'] })
      ?.get('name'),
    new Set(),
  );
  const spec = document
    ?.get('spec')
    ?.mapping({ optional: ['openGroups', 'teams', 'groups', 'catalogs', 'repositories', 'grants'] });
  if (spec === undefined) return undefined;
  const teamNames = new Set<string>();
  const open = new Set<string>();
  const groups = new Set<string>();
  return {
    openGroups: items(spec.get('openGroups'), (item) => readPattern(item, 'group', open)),
    teams: items(spec.get('teams'), (item) => readTeam(item, teamNames)),
    groups: items(spec.get('groups'), (item) => readGroup(item, groups, teamNames)),
    catalogs: visibilities(spec.get('catalogs'), 'catalog'),
    repositories: visibilities(spec.get('repositories'), 'repository'),
    grants: items(spec.get('grants'), (item) => readGrant(item, teamNames)),
  };
}

function items<Item>(field: AccessField | undefined, read: (item: AccessField) => Item | undefined): Item[] {
  return (field?.list(ACCESS_LIMITS.maxItems) ?? []).flatMap((item) => read(item) ?? []);
}

function readLabel(field: AccessField | undefined, names: Set<string>): string | undefined {
  const name = field?.text();
  if (field === undefined || name === undefined) return undefined;
  if (!DNS_LABEL.test(name)) field.report('access/name', `"${name}" is not a DNS label`);
  if (names.has(name)) field.report('access/name', `"${name}" is used twice`);
  names.add(name);
  return name;
}

/** Reads a pattern; `known` are those that it must differ from. */
function readPattern(
  field: AccessField | undefined,
  of: keyof typeof PATTERNS,
  known = new Set<string>(),
): string | undefined {
  const pattern = field?.text();
  if (field === undefined || pattern === undefined) return undefined;
  if (!PATTERNS[of].test(pattern)) field.report('access/pattern', `"${pattern}" cannot match any ${of}`);
  if (of === 'repository' && FOLLOWING.test(pattern)) {
    field.report('access/pattern', `"${pattern}" follows the visibility of its functions or catalogs`);
  }
  if (known.has(pattern)) field.report('access/pattern', `"${pattern}" is used twice`);
  known.add(pattern);
  return pattern;
}

function readOne<Value extends string>(
  field: AccessField | undefined,
  values: readonly Value[],
): Value | undefined {
  const text = field?.text();
  if (text === undefined) return undefined;
  const value = values.find((one) => one === text);
  if (value === undefined)
    field?.report('access/value', `"${text}" is not one of ${values.join(', ')}`, meant(text, values));
  return value;
}

/** Returns the hint at a similar name, if there is one. */
function meant(name: string, known: readonly string[]): { hint?: string } {
  const similar = suggest(name, known);
  return similar === undefined ? {} : { hint: `Did you mean \`${similar}\`?` };
}

function readTeamName(field: AccessField | undefined, teams: ReadonlySet<string>): string | undefined {
  const name = field?.text();
  if (name !== undefined && !teams.has(name))
    field?.report('access/unknown-team', `"${name}" is not a team`, meant(name, [...teams]));
  return name;
}

function readTeam(item: AccessField, names: Set<string>): Team | undefined {
  const team = item.mapping({ required: ['name'], optional: ['displayName', 'contact', 'members'] });
  const name = readLabel(team?.get('name'), names);
  const members = items(team?.get('members'), readMember);
  if (name === undefined) return undefined;
  const displayName = team?.get('displayName')?.text();
  const contact = team?.get('contact')?.text();
  return { name, ...defined({ displayName, contact }), members };
}

function readMember(item: AccessField): TeamMember | undefined {
  const member = only(item, ['user', 'ssoGroup']);
  const value = member?.field.text();
  if (member === undefined || value === undefined) return undefined;
  if (member.name === 'user' && !/^https?:\/\/\S+ ./.test(value)) {
    member.field.report('access/member', `"${value}" is not the issuer and the subject of a user`);
  }
  return member.name === 'user' ? { user: value } : { ssoGroup: value };
}

/** Reads a mapping with exactly one of the fields. */
function only<Name extends string>(
  item: AccessField | undefined,
  names: readonly Name[],
): { name: Name; field: AccessField } | undefined {
  const mapping = item?.mapping({ optional: names } satisfies KnownFields);
  if (mapping === undefined) return undefined;
  const [first, second] = names.flatMap((name) => {
    const field = mapping.get(name);
    return field === undefined ? [] : [{ name, field }];
  });
  if (first !== undefined && second === undefined) return first;
  mapping.report('access/one-of', `exactly one of ${names.join(', ')} is required`);
  return undefined;
}

function readGroup(
  item: AccessField,
  patterns: Set<string>,
  teams: ReadonlySet<string>,
): GroupRule | undefined {
  const rule = item.mapping({
    required: ['pattern'],
    optional: ['owner', 'visibility', 'trustedPublishingOnly', 'functions'],
  });
  const pattern = readPattern(rule?.get('pattern'), 'group', patterns);
  if (rule === undefined || pattern === undefined) return undefined;
  const owner = readTeamName(rule.get('owner'), teams);
  const visibility = readOne(rule.get('visibility'), VISIBILITIES);
  const functions = items(rule.get('functions'), (one) => readFunction(one, visibility ?? 'public'));
  const trustedPublishingOnly = rule.get('trustedPublishingOnly')?.boolean();
  return { pattern, ...defined({ owner, visibility, trustedPublishingOnly }), functions };
}

function readFunction(
  item: AccessField,
  outer: Visibility,
): { kind: string; visibility: Visibility } | undefined {
  const fields = item.mapping({ required: ['kind', 'visibility'] });
  const kind = fields?.get('kind')?.text();
  const visibility = readOne(fields?.get('visibility'), VISIBILITIES);
  if (kind === undefined || visibility === undefined) return undefined;
  if (!isKind(kind)) fields?.get('kind')?.report('access/name', `"${kind}" is not the kind of a function`);
  if (!isAtMostAsWide(visibility, outer)) {
    fields
      ?.get('visibility')
      ?.report('access/wider', `${visibility} is wider than ${outer}, as its group is`);
  }
  return { kind, visibility };
}

function visibilities(field: AccessField | undefined, of: 'catalog' | 'repository'): VisibilityRule[] {
  const patterns = new Set<string>();
  return items(field, (item) => {
    const rule = item.mapping({ required: ['pattern', 'visibility'] });
    const pattern = readPattern(rule?.get('pattern'), of, patterns);
    const visibility = readOne(rule?.get('visibility'), VISIBILITIES);
    return pattern === undefined || visibility === undefined ? undefined : { pattern, visibility };
  });
}

function readGrant(item: AccessField, teams: ReadonlySet<string>): Grant | undefined {
  const grant = item.mapping({ required: ['to', 'may', 'in'] });
  const team = readTeamName(
    grant
      ?.get('to')
      ?.mapping({ required: ['team'] })
      ?.get('team'),
    teams,
  );
  const may = items(grant?.get('may'), (one) => readOne(one, [...GRANTED_ACTIONS, ...ROLES]));
  const object = only(grant?.get('in'), ['group', 'catalog', 'repository']);
  const pattern = object && readPattern(object.field, object.name);
  if (team === undefined || object === undefined || pattern === undefined) return undefined;
  const role = ROLES.find((one) => may.includes(one));
  if (role !== undefined && (object.name !== 'group' || pattern !== '*')) {
    object.field.report('access/role', `"${role}" is for the whole registry`);
  }
  return { team, may: [...new Set(may)], in: { [object.name]: pattern } as GrantObject };
}
