/**
 * SCIM 2.0 (RFC 7643, RFC 7644): the directory of a company creates, changes, and suspends the users of the registry, and
 * their groups.
 *
 * A token with the scope `scim` can do this and nothing else. What a request says becomes operations on one attribute
 * each, which are applied in the transaction that stores the result. Attributes that the registry does not use are
 * ignored.
 *
 * @module
 */

import { createRoute, z } from '@hono/zod-openapi';
import type { Act, TokenRecord } from '@krmhub/catalog';
import { type AuditAction, type JsonObject, KrmhubError } from '@krmhub/schema';
import { isObject } from '@krmhub/schema/json/access';
import type { Authority } from '../http/auth/authorize.js';
import { authorize } from '../http/auth/authorize.js';
import { callerOf } from '../http/auth/caller.js';
import type { RegistryApp, RegistryContext } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { type PublicAddress, publicAddress } from '../http/public-address.js';
import { bodyMediaType, readBody } from '../http/request-body.js';
import { SERVER_LIMITS } from '../limits.js';
import type { DirectoryGroup, DirectoryStore } from '../store/directory-store.js';
import { changeGroup, groupResource, isGroupAttribute, isId, replaceGroup } from './group-resource.js';
import { readPatch, readResource } from './read-patch.js';
import type { Filterable } from './read-path.js';
import { type Projection, readListQuery, readProjection } from './read-query.js';
import { SCIM_MEDIA_TYPE, ScimError } from './scim-error.js';
import { RESOURCE_TYPES, SCHEMAS, serviceProviderConfig } from './service-documents.js';
import { changeUser, isUserAttribute, replaceUser, userResource } from './user-resource.js';

const PREFIX = '/scim/v2';
const query = { query: z.looseObject({}) };
const ofOne = { request: { params: z.object({ id: z.string() }), ...query } };
const ofAll = { request: query };
const route = <Path extends string, Request extends object>(
  method: 'get' | 'post' | 'put' | 'patch' | 'delete',
  path: Path,
  given: { request: Request },
) =>
  createRoute({
    method,
    path: `${PREFIX}/${path}` as const,
    ...given,
    responses: { 200: { description: 'SCIM 2.0' } },
  });

/** The routes of SCIM. They are not in the contract of the HTTP API: RFC 7644 is theirs. */
export const SCIM_ROUTES = {
  scimConfig: route('get', 'ServiceProviderConfig', ofAll),
  scimTypes: route('get', 'ResourceTypes', ofAll),
  scimType: route('get', 'ResourceTypes/{id}', ofOne),
  scimSchemas: route('get', 'Schemas', ofAll),
  scimSchema: route('get', 'Schemas/{id}', ofOne),
  scimUsers: route('get', 'Users', ofAll),
  addScimUser: route('post', 'Users', ofAll),
  scimUser: route('get', 'Users/{id}', ofOne),
  replaceScimUser: route('put', 'Users/{id}', ofOne),
  patchScimUser: route('patch', 'Users/{id}', ofOne),
  removeScimUser: route('delete', 'Users/{id}', ofOne),
  scimGroups: route('get', 'Groups', ofAll),
  addScimGroup: route('post', 'Groups', ofAll),
  scimGroup: route('get', 'Groups/{id}', ofOne),
  replaceScimGroup: route('put', 'Groups/{id}', ofOne),
  patchScimGroup: route('patch', 'Groups/{id}', ofOne),
  removeScimGroup: route('delete', 'Groups/{id}', ofOne),
} as const;
type ScimRoute = (typeof SCIM_ROUTES)[keyof typeof SCIM_ROUTES];

/** Whether a path is one of SCIM, whose errors have a form of their own. */
export function isScimPath(path: string): boolean {
  return path === '/scim' || path.startsWith('/scim/');
}

export interface ScimDeps extends Authority {
  store: Authority['store'] & DirectoryStore;
  config: Authority['config'] & PublicAddress;
  /** The providers of users; the directory is behind the first one. */
  signIn: { all: readonly { settings: { issuer: string } }[] };
}

/** A request that may change the directory. */
interface Allowed {
  c: RegistryContext;
  id: string;
  issuer: string;
  act: Act;
  projection: Projection;
}

const USER_FILTERS: Filterable = { userName: 'name', externalId: 'externalId', id: 'id' };
const GROUP_FILTERS: Filterable = { displayName: 'name', externalId: 'externalId', id: 'id' };
const LIMITS = {
  maxUsers: SERVER_LIMITS.maxDirectoryUsers,
  maxGroups: SERVER_LIMITS.maxDirectoryGroups,
  maxMembers: SERVER_LIMITS.maxDirectoryMembers,
  maxGroupsOfUser: SERVER_LIMITS.maxDirectoryGroupsOfUser,
};
const NO_STORE = { 'Cache-Control': 'no-store', 'Content-Type': SCIM_MEDIA_TYPE };
const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

export function scimRoutes(app: RegistryApp, deps: ScimDeps): void {
  const { store, clock, config } = deps;
  const locate = (path: string) => publicAddress(config, path);

  const serve = (
    wanted: ScimRoute,
    action: AuditAction | undefined,
    handle: (request: Allowed) => Promise<Response>,
  ) => {
    const isRead = wanted.method === 'get';
    serveRoute(
      app,
      wanted,
      async (c, { params }) => {
        const { id = '' } = params as { id?: string };
        if (action !== undefined) c.set('attempt', { action, object: c.req.path.slice(1) });
        const token: TokenRecord = await authorize(c, deps, 'scim');
        const issuer = deps.signIn.all[0]?.settings.issuer;
        if (issuer === undefined) {
          throw new KrmhubError(
            'unsupported',
            'this registry has no identity provider, whose users SCIM could manage',
            {
              hint: 'Set KRMHUB_OIDC_ISSUER and the settings with it.',
            },
          );
        }
        const act = { ...callerOf(c, token), at: clock().toISOString() };
        const projection = readProjection(new URL(c.req.url).searchParams);
        return handle({ c, id: id.toLowerCase(), issuer, act, projection });
      },
      { rateLimitClass: isRead ? 'read' : 'write' },
    );
  };

  const respond = ({ c, projection }: Allowed, resource: JsonObject, status: 200 | 201 = 200): Response => {
    const location = (resource.meta as JsonObject | undefined)?.location;
    const headers = status === 201 ? { ...NO_STORE, Location: String(location) } : NO_STORE;
    return c.body(JSON.stringify(projection.of(resource)), status, headers);
  };
  const list = (
    { c, projection }: Allowed,
    resources: readonly JsonObject[],
    { total, startIndex }: { total: number; startIndex: number },
  ): Response => {
    const Resources = resources.map((resource) => projection.of(resource));
    const page = { totalResults: total, itemsPerPage: Resources.length, startIndex };
    return c.body(JSON.stringify({ schemas: [LIST_SCHEMA], ...page, Resources }), 200, NO_STORE);
  };

  const documents = (all: ScimRoute, one: ScimRoute, known: readonly (JsonObject & { id: string })[]) => {
    serve(all, undefined, async (request) => list(request, known, { total: known.length, startIndex: 1 }));
    serve(one, undefined, async (request) => {
      const found = known.find(({ id }) => id.toLowerCase() === request.id);
      return respond(request, found ?? missing(request.id));
    });
  };
  serve(SCIM_ROUTES.scimConfig, undefined, async (request) =>
    respond(request, serviceProviderConfig(locate)),
  );
  documents(SCIM_ROUTES.scimTypes, SCIM_ROUTES.scimType, RESOURCE_TYPES);
  documents(SCIM_ROUTES.scimSchemas, SCIM_ROUTES.scimSchema, SCHEMAS);

  serve(SCIM_ROUTES.scimUsers, undefined, async (request) => {
    const { filter, slice, startIndex } = readListQuery(
      new URL(request.c.req.url).searchParams,
      USER_FILTERS,
    );
    const { total, users } =
      filter === 'none' ? NOTHING : await store.directoryUsers(request.issuer, filter, slice);
    return list(
      request,
      users.map((user) => userResource(user, locate)),
      { total, startIndex },
    );
  });
  serve(SCIM_ROUTES.addScimUser, 'user.add', async (request) => {
    const fields = replaceUser(undefined, readResource(await readResourceBody(request.c), isUserAttribute));
    const user = await store.addDirectoryUser(request.issuer, fields, LIMITS, request.act);
    return respond(request, userResource(user, locate), 201);
  });
  serve(SCIM_ROUTES.scimUser, undefined, async (request) => {
    const user = isId(request.id) ? await store.directoryUser(request.issuer, request.id) : undefined;
    return respond(request, userResource(user ?? missing(request.id), locate));
  });
  const changeUserBy = async (
    request: Allowed,
    change: Parameters<DirectoryStore['changeDirectoryUser']>[2],
  ) => {
    const { issuer, id, act } = request;
    const user = isId(id) ? await store.changeDirectoryUser(issuer, id, change, act) : undefined;
    return respond(request, userResource(user ?? missing(id), locate));
  };
  serve(SCIM_ROUTES.replaceScimUser, 'user.change', async (request) => {
    const operations = readResource(await readResourceBody(request.c), isUserAttribute);
    return changeUserBy(request, (current) => replaceUser(current, operations));
  });
  serve(SCIM_ROUTES.patchScimUser, 'user.change', async (request) => {
    const operations = readPatch(await readResourceBody(request.c), isUserAttribute);
    return changeUserBy(request, (current) => changeUser(current, operations));
  });
  serve(SCIM_ROUTES.removeScimUser, 'user.remove', async ({ c, issuer, id, act }) => {
    if (!isId(id) || !(await store.removeDirectoryUser(issuer, id, act))) missing(id);
    return c.body(null, 204, NO_STORE);
  });

  /** Without the members if the client does not want them. */
  const groupsWithMembers = async ({ projection }: Allowed, groups: readonly DirectoryGroup[]) => {
    const has = projection.has('members');
    const members = has ? await store.directoryMembers(groups.map(({ id }) => id)) : [];
    return groups.map((group) =>
      groupResource(group, has ? members.filter((one) => one.group === group.id) : undefined, locate),
    );
  };
  const respondGroup = async (request: Allowed, group: DirectoryGroup | undefined, status?: 200 | 201) => {
    const [resource] = await groupsWithMembers(request, [group ?? missing(request.id)]);
    return respond(request, resource!, status);
  };
  serve(SCIM_ROUTES.scimGroups, undefined, async (request) => {
    const { filter, slice, startIndex } = readListQuery(
      new URL(request.c.req.url).searchParams,
      GROUP_FILTERS,
    );
    const { total, groups } =
      filter === 'none' ? NOTHING : await store.directoryGroups(request.issuer, filter, slice);
    const shown = request.projection.has('members') ? firstGroups(groups) : groups;
    return list(request, await groupsWithMembers(request, shown), { total, startIndex });
  });
  serve(SCIM_ROUTES.addScimGroup, 'directory-group.add', async (request) => {
    const fields = replaceGroup(undefined, readResource(await readResourceBody(request.c), isGroupAttribute));
    return respondGroup(
      request,
      await store.addDirectoryGroup(request.issuer, fields, LIMITS, request.act),
      201,
    );
  });
  serve(SCIM_ROUTES.scimGroup, undefined, async (request) => {
    const { issuer, id } = request;
    return respondGroup(request, isId(id) ? await store.directoryGroup(issuer, id) : undefined);
  });
  serve(SCIM_ROUTES.replaceScimGroup, 'directory-group.change', async (request) => {
    const { c, issuer, id, act } = request;
    const operations = readResource(await readResourceBody(c), isGroupAttribute);
    const change = (current: DirectoryGroup) => replaceGroup(current, operations);
    return respondGroup(
      request,
      isId(id) ? await store.changeDirectoryGroup(issuer, id, change, LIMITS, act) : undefined,
    );
  });
  serve(SCIM_ROUTES.patchScimGroup, 'directory-group.change', async ({ c, issuer, id, act }) => {
    const operations = readPatch(await readResourceBody(c), isGroupAttribute);
    const group = isId(id)
      ? await store.changeDirectoryGroup(
          issuer,
          id,
          (current) => changeGroup(current, operations),
          LIMITS,
          act,
        )
      : undefined;
    if (group === undefined) missing(id);
    // Its members could be thousands.
    return c.body(null, 204, NO_STORE);
  });
  serve(SCIM_ROUTES.removeScimGroup, 'directory-group.remove', async ({ c, issuer, id, act }) => {
    if (!isId(id) || !(await store.removeDirectoryGroup(issuer, id, act))) missing(id);
    return c.body(null, 204, NO_STORE);
  });
}

const NOTHING = { total: 0, users: [], groups: [] };

function missing(id: string): never {
  throw new KrmhubError('not-found', `resource ${id} not found`);
}

/** Returns as many groups as one response has members; at least one, and the client asks for the others again. */
function firstGroups<Group extends { size: number }>(groups: readonly Group[]): Group[] {
  let members = 0;
  return groups.filter(({ size }, index) => {
    members += size;
    return index === 0 || members <= LIMITS.maxMembers;
  });
}

const MEDIA_TYPES: readonly (string | undefined)[] = [SCIM_MEDIA_TYPE, 'application/json'];

async function readResourceBody(c: RegistryContext): Promise<JsonObject> {
  const bytes = await readBody(c, SERVER_LIMITS.maxScimBytes);
  if (!MEDIA_TYPES.includes(bodyMediaType(c))) {
    throw new KrmhubError('unsupported-media-type', `the body is not ${SCIM_MEDIA_TYPE}`);
  }
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new ScimError('invalidSyntax', 'the body is not valid JSON');
  }
  if (isObject(value as JsonObject)) return value as JsonObject;
  throw new ScimError('invalidSyntax', 'the body is not an object');
}
