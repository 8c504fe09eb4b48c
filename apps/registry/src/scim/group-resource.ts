import { USER_LIMITS } from '@krmhub/catalog';
import type { JsonObject, JsonValue } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { isObject } from '@krmhub/schema/json/access';
import type { DirectoryGroup, DirectoryGroupFields, DirectoryMember } from '../store/directory-store.js';
import { field, type Operation, refuseParts } from './read-patch.js';
import { ScimError } from './scim-error.js';
import { isUnset, readName, readText } from './values.js';

/** IDs of users and groups. */
export const isId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';

const { maxGroupLength, maxSubjectLength: MAX_ID_LENGTH } = USER_LIMITS;

export type GroupFields = DirectoryGroupFields & { members: ReadonlySet<string> };
interface Draft {
  name?: string;
  externalId?: string | undefined;
  members: Set<string>;
}

const ATTRIBUTES: Readonly<Record<string, (draft: Draft, operation: Operation) => void>> = {
  displayname: (draft, { op, value }) => {
    if (op === 'remove') throw new ScimError('mutability', 'displayName is required');
    draft.name = readName(value, 'displayName', maxGroupLength);
  },
  externalid: (draft, { op, value }) => {
    const isUnsetting = op === 'remove' || isUnset(value);
    draft.externalId = isUnsetting ? undefined : readName(value, 'externalId', MAX_ID_LENGTH);
  },
  members: changeMembers,
};

export const isGroupAttribute = (name: string): boolean => Object.hasOwn(ATTRIBUTES, name);

/** Returns what a group is after operations. */
export function changeGroup(current: GroupFields, operations: readonly Operation[]): GroupFields {
  return apply({ ...current, members: new Set(current.members) }, operations);
}

/** Returns what a group is that a resource describes. One without `externalId` leaves it. */
export function replaceGroup(
  current: DirectoryGroupFields | undefined,
  operations: readonly Operation[],
): GroupFields {
  return apply({ externalId: current?.externalId, members: new Set() }, operations);
}

function apply(draft: Draft, operations: readonly Operation[]): GroupFields {
  for (const operation of operations) {
    refuseParts(operation, ['members']);
    ATTRIBUTES[operation.path.attribute]!(draft, operation);
  }
  const { name, externalId, members } = draft;
  if (name === undefined) throw new ScimError('invalidValue', 'displayName is missing');
  return { name, members, ...defined({ externalId }) };
}

function changeMembers({ members }: Draft, { op, path, value }: Operation): void {
  const { filter, sub } = path;
  if (filter !== undefined) {
    const isOne = filter.sub === 'value' && typeof filter.value === 'string' && sub === undefined;
    if (op !== 'remove' || !isOne) {
      throw new ScimError('invalidPath', 'a filter of members removes one: members[value eq "ID"]');
    }
    members.delete(String(filter.value).toLowerCase());
    return;
  }
  if (sub !== undefined) throw new ScimError('invalidPath', 'the parts of a member cannot be changed');
  // Microsoft Entra ID names the members that it removes in the value.
  const given = isUnset(value) ? [] : (Array.isArray(value) ? value : [value]).map(memberId);
  if (op === 'replace' || (op === 'remove' && isUnset(value))) members.clear();
  for (const id of given) {
    if (op === 'remove') members.delete(id);
    else if (isId(id)) members.add(id);
    else throw new ScimError('invalidValue', `member ${JSON.stringify(id)} is not a user of this directory`);
  }
}

function memberId(member: JsonValue): string {
  const id = isObject(member) ? field(member, 'value') : undefined;
  if (typeof id !== 'string')
    throw new ScimError('invalidValue', 'a member has no value, which is the ID of a user');
  return readText(id, 'members.value', MAX_ID_LENGTH).toLowerCase();
}

/** Returns what SCIM shows of a group; without members if they were not read. */
export function groupResource(
  { id, externalId, name, createdAt, changedAt }: DirectoryGroup,
  members: readonly DirectoryMember[] | undefined,
  locate: (path: string) => string,
): JsonObject {
  return {
    schemas: [GROUP_SCHEMA],
    id,
    ...defined({ externalId }),
    displayName: name,
    ...defined({ members: members?.map((one) => ({ value: one.id, display: one.userName, type: 'User' })) }),
    meta: {
      resourceType: 'Group',
      created: createdAt,
      lastModified: changedAt,
      location: locate(`/scim/v2/Groups/${id}`),
    },
  };
}
