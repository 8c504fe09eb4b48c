import type { JsonObject } from '@krmhub/schema';
import { GROUP_SCHEMA } from './group-resource.js';
import { PAGE_SIZE } from './read-query.js';
import { USER_SCHEMA } from './user-resource.js';

/** What SCIM says about the registry itself (RFC 7643, sections 5 to 7). */

const CORE = 'urn:ietf:params:scim:schemas:core:2.0';
const UNSUPPORTED = { supported: false };

export function serviceProviderConfig(locate: (path: string) => string): JsonObject {
  return {
    schemas: [`${CORE}:ServiceProviderConfig`],
    documentationUri: locate('/docs/directory'),
    patch: { supported: true },
    bulk: { ...UNSUPPORTED, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: PAGE_SIZE.max },
    changePassword: UNSUPPORTED,
    sort: UNSUPPORTED,
    etag: UNSUPPORTED,
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'A token of the registry with the scope scim',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: locate('/scim/v2/ServiceProviderConfig') },
  };
}

const resourceType = (id: 'User' | 'Group', schema: string) => ({
  schemas: [`${CORE}:ResourceType`],
  id,
  name: id,
  endpoint: `/${id}s`,
  schema,
  meta: { resourceType: 'ResourceType', location: `/scim/v2/ResourceTypes/${id}` },
});

export const RESOURCE_TYPES = [resourceType('User', USER_SCHEMA), resourceType('Group', GROUP_SCHEMA)];

interface AttributeOptions {
  type?: 'string' | 'boolean' | 'complex';
  required?: boolean;
  multiValued?: boolean;
  uniqueness?: 'none' | 'server';
  caseExact?: boolean;
  mutability?: 'readWrite' | 'immutable' | 'readOnly';
  subAttributes?: JsonObject[];
}

function attribute(name: string, options: AttributeOptions = {}): JsonObject {
  const { type = 'string', required = false, multiValued = false, subAttributes, ...rest } = options;
  return {
    name,
    type,
    multiValued,
    required,
    ...{ mutability: 'readWrite', returned: 'default', uniqueness: 'none', ...rest },
    ...(subAttributes === undefined ? { caseExact: options.caseExact ?? false } : { subAttributes }),
  };
}

export const SCHEMAS = [
  {
    schemas: [`${CORE}:Schema`],
    id: USER_SCHEMA,
    name: 'User',
    description: 'A user of the registry',
    attributes: [
      attribute('userName', { required: true, uniqueness: 'server' }),
      attribute('externalId', { caseExact: true }),
      attribute('displayName'),
      attribute('name', {
        type: 'complex',
        subAttributes: ['formatted', 'familyName', 'givenName'].map((name) => attribute(name)),
      }),
      attribute('emails', {
        type: 'complex',
        multiValued: true,
        subAttributes: [
          ...['value', 'type', 'display'].map((name) => attribute(name)),
          attribute('primary', { type: 'boolean' }),
        ],
      }),
      attribute('active', { type: 'boolean' }),
    ],
    meta: { resourceType: 'Schema', location: `/scim/v2/Schemas/${USER_SCHEMA}` },
  },
  {
    schemas: [`${CORE}:Schema`],
    id: GROUP_SCHEMA,
    name: 'Group',
    description: 'A group of users, which an Access document names as ssoGroup',
    attributes: [
      attribute('displayName', { required: true, uniqueness: 'server' }),
      attribute('externalId', { caseExact: true }),
      attribute('members', {
        type: 'complex',
        multiValued: true,
        subAttributes: [
          attribute('value', { mutability: 'immutable' }),
          attribute('display', { mutability: 'readOnly' }),
          attribute('type', { mutability: 'immutable' }),
        ],
      }),
    ],
    meta: { resourceType: 'Schema', location: `/scim/v2/Schemas/${GROUP_SCHEMA}` },
  },
];
