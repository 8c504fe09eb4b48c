import { USER_LIMITS } from '@krmhub/catalog';
import type { JsonObject, JsonValue } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { isObject } from '@krmhub/schema/json/access';
import type { DirectoryUser, DirectoryUserFields, UserAttributes } from '../store/directory-store.js';
import type { Operation } from './read-patch.js';
import { field, refuseParts } from './read-patch.js';
import { ScimError } from './scim-error.js';
import { isUnset, readBoolean, readName, readText } from './values.js';

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';

const { maxSubjectLength: MAX_ID_LENGTH } = USER_LIMITS;
const MAX_TEXT_LENGTH = 256;
const MAX_EMAILS = 20;

type Email = NonNullable<UserAttributes['emails']>[number];
type Draft = { -readonly [Name in keyof DirectoryUserFields]?: DirectoryUserFields[Name] | undefined };

const ATTRIBUTES: Readonly<Record<string, (draft: Draft, operation: Operation) => void>> = {
  username: (draft, { op, value }) => {
    if (op === 'remove') throw new ScimError('mutability', 'userName is required');
    draft.userName = readName(value, 'userName', MAX_ID_LENGTH);
  },
  externalid: (draft, { op, value }) => {
    const isUnsetting = op === 'remove' || isUnset(value);
    draft.externalId = isUnsetting ? undefined : readName(value, 'externalId', MAX_ID_LENGTH);
  },
  active: (draft, { op, value }) => {
    // Nobody becomes active because a value is missing.
    if (op === 'remove') throw new ScimError('mutability', 'active is true or false, and cannot be removed');
    draft.isActive = readBoolean(value, 'active');
  },
  displayname: (draft, { op, value }) => {
    const displayName =
      op === 'remove' || isUnset(value) ? undefined : readText(value, 'displayName', MAX_TEXT_LENGTH);
    draft.attributes = attributes({ ...draft.attributes, displayName });
  },
  name: (draft, operation) => {
    draft.attributes = attributes({
      ...draft.attributes,
      name: changeName(draft.attributes?.name, operation),
    });
  },
  emails: (draft, operation) => {
    const emails = changeEmails(draft.attributes?.emails ?? [], operation);
    if (emails.length > MAX_EMAILS)
      throw new ScimError('invalidValue', `a user has at most ${MAX_EMAILS} emails`);
    draft.attributes = attributes({ ...draft.attributes, emails });
  },
};

export const isUserAttribute = (name: string): boolean => Object.hasOwn(ATTRIBUTES, name);

/** Returns what a user is after operations. */
export function changeUser(
  current: DirectoryUserFields,
  operations: readonly Operation[],
): DirectoryUserFields {
  return apply({ ...current }, operations);
}

/**
 * Returns what a user is whom a resource describes. A resource that replaces another one, but has no `active` or
 * `externalId`, leaves these: they decide who may sign in.
 */
export function replaceUser(
  current: DirectoryUserFields | undefined,
  operations: readonly Operation[],
): DirectoryUserFields {
  return apply({ isActive: current?.isActive ?? true, externalId: current?.externalId }, operations);
}

function apply(draft: Draft, operations: readonly Operation[]): DirectoryUserFields {
  for (const operation of operations) {
    refuseParts(operation, ['name', 'emails']);
    ATTRIBUTES[operation.path.attribute]!(draft, operation);
  }
  const { userName, externalId, isActive = true } = draft;
  if (userName === undefined) throw new ScimError('invalidValue', 'userName is missing');
  // Operations can set the type of an address before the address.
  const emails = draft.attributes?.emails?.filter(({ value }) => value !== '');
  return {
    userName,
    isActive,
    attributes: attributes({ ...draft.attributes, emails }),
    ...defined({ externalId }),
  };
}

/** In a fixed order, and without what is empty. */
function attributes(given: {
  displayName?: string | undefined;
  name?: UserAttributes['name'] | undefined;
  emails?: readonly Email[] | undefined;
}): UserAttributes {
  const { displayName, name = {}, emails = [] } = given;
  return defined({
    displayName,
    name: Object.keys(name).length === 0 ? undefined : name,
    emails: emails.length === 0 ? undefined : [...emails],
  });
}

const NAME_PARTS = { formatted: 'formatted', givenname: 'givenName', familyname: 'familyName' } as const;

function changeName(
  current: UserAttributes['name'] = {},
  { op, path, value }: Operation,
): UserAttributes['name'] {
  if (path.filter !== undefined) throw new ScimError('invalidPath', 'name is not a list');
  if (path.sub === undefined && (op === 'remove' || isUnset(value))) return {};
  const given = path.sub === undefined ? value : { [path.sub]: op === 'remove' ? null : (value ?? null) };
  if (!isObject(given)) throw new ScimError('invalidValue', 'name is not an object');
  const name: Record<string, string | undefined> = { ...current };
  for (const [key, part] of Object.entries(NAME_PARTS)) {
    const text = field(given, key);
    if (text === undefined) continue;
    name[part] = isUnset(text) ? undefined : readText(text, `name.${part}`, MAX_TEXT_LENGTH);
  }
  const { formatted, givenName, familyName } = name;
  return defined({ formatted, givenName, familyName });
}

function changeEmails(current: readonly Email[], { op, path, value }: Operation): Email[] {
  const { filter, sub } = path;
  if (filter === undefined && sub === undefined) {
    if (op === 'remove' || isUnset(value)) return op === 'add' ? [...current] : [];
    const given = (Array.isArray(value) ? value : [value]).map((one) => emailOf(one, EMPTY));
    if (op === 'replace') return given;
    const isSame = (one: Email) =>
      given.some((other) => other.value === one.value && other.type === one.type);
    return [...current.filter((one) => !isSame(one)), ...given];
  }
  const isMeant = (email: Email) =>
    filter === undefined || sameValue(field(email as unknown as JsonObject, filter.sub), filter.value);
  if (op === 'remove' && sub === undefined) return current.filter((email) => !isMeant(email));
  const given = sub === undefined ? value : { [sub]: op === 'remove' ? null : (value ?? null) };
  if (current.some(isMeant)) return current.map((email) => (isMeant(email) ? emailOf(given, email) : email));
  if (op === 'remove') return [...current];
  // Microsoft Entra ID expects that an address that does not exist yet is added.
  const wanted = filter === undefined ? EMPTY : emailOf({ [filter.sub]: filter.value as JsonValue }, EMPTY);
  return [...current, emailOf(given, wanted)];
}

const EMPTY: Email = { value: '' };

function sameValue(one: JsonValue | undefined, other: unknown): boolean {
  return typeof one === 'string' && typeof other === 'string'
    ? one.toLowerCase() === other.toLowerCase()
    : (one ?? false) === other;
}

/** Returns an address with what an object has of it. */
function emailOf(given: JsonValue | undefined, current: Email): Email {
  if (!isObject(given)) throw new ScimError('invalidValue', 'a value of emails is not an object');
  const part = (name: 'value' | 'type' | 'display') => {
    const text = field(given, name);
    if (text === undefined) return current[name];
    return isUnset(text) ? undefined : readText(text, `emails.${name}`, MAX_TEXT_LENGTH);
  };
  const primary = field(given, 'primary');
  const isPrimary =
    primary === undefined
      ? current.primary
      : isUnset(primary)
        ? undefined
        : readBoolean(primary, 'emails.primary');
  return {
    value: part('value') ?? '',
    ...defined({ type: part('type'), display: part('display'), primary: isPrimary }),
  };
}

/** Returns what SCIM shows of a user. */
export function userResource(user: DirectoryUser, locate: (path: string) => string): JsonObject {
  const { id, externalId, userName, isActive, attributes: rest, createdAt, changedAt } = user;
  return {
    schemas: [USER_SCHEMA],
    id,
    ...defined({ externalId }),
    userName,
    ...(rest as JsonObject),
    active: isActive,
    meta: {
      resourceType: 'User',
      created: createdAt,
      lastModified: changedAt,
      location: locate(`/scim/v2/Users/${id}`),
    },
  };
}
