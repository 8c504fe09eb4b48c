import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An object, as the API serves it. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    [field: string]: unknown;
  };
  [field: string]: unknown;
}

/** The one custom resource that the API has. */
export interface ServedResource {
  group: string;
  version: string;
  kind: string;
  plural: string;
  /** Reports why an object is invalid; undefined for a valid one. */
  validate?(object: KubeObject): string | undefined;
}

export interface KubeApi {
  url: string;
  /** Objects by `NAMESPACE/NAME`. */
  objects: Map<string, KubeObject>;
  /** Changes, for example `POST NAMESPACE/NAME`. */
  changes: string[];
  close(): Promise<void>;
}

/**
 * As much of the API of Kubernetes as `kubectl apply --prune` uses for one namespaced custom resource: discovery, and
 * get, list, create, merge patch and delete of objects in memory.
 */
export async function startKubeApi(resource: ServedResource): Promise<KubeApi> {
  const objects = new Map<string, KubeObject>();
  const changes: string[] = [];
  let version = 0;
  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, 'http://kube');
    const discovered = discovery(resource)[url.pathname];
    if (discovered !== undefined) return send(response, 200, discovered);
    const path = new RegExp(
      `^/apis/${resource.group}/${resource.version}(?:/namespaces/([^/]+))?/${resource.plural}(?:/([^/]+))?$`,
    );
    const [matched, namespace, name] = path.exec(url.pathname) ?? [];
    if (matched === undefined) return fail(response, 404, 'NotFound', `no ${url.pathname}`);
    const key = `${namespace}/${name}`;
    const store = (object: KubeObject, status: number) => {
      const problem = resource.validate?.(object);
      if (problem !== undefined) return fail(response, 422, 'Invalid', problem);
      const at = `${object.metadata.namespace}/${object.metadata.name}`;
      changes.push(`${request.method} ${at}`);
      object.metadata.resourceVersion = String(++version);
      object.metadata.uid ??= `uid-${version}`;
      objects.set(at, object);
      send(response, status, object);
    };
    const existing = objects.get(key);
    if (request.method === 'GET' && name === undefined) {
      const selector = url.searchParams.get('labelSelector') ?? '';
      const items = [...objects.values()].filter(
        ({ metadata }) =>
          (namespace === undefined || metadata.namespace === namespace) && selects(selector, metadata.labels),
      );
      const { group, version: its, kind } = resource;
      return send(response, 200, { apiVersion: `${group}/${its}`, kind: `${kind}List`, metadata: {}, items });
    }
    if (request.method === 'POST') return store(await body(request), 201);
    if (existing === undefined)
      return fail(response, 404, 'NotFound', `${resource.plural} "${name}" not found`);
    if (request.method === 'GET') return send(response, 200, existing);
    if (request.method === 'PATCH') {
      if (request.headers['content-type'] !== 'application/merge-patch+json')
        return fail(response, 415, 'UnsupportedMediaType', `${request.headers['content-type']}`);
      return store(mergePatch(existing, await body(request)) as KubeObject, 200);
    }
    if (request.method === 'DELETE') {
      changes.push(`DELETE ${key}`);
      objects.delete(key);
      return send(response, 200, { apiVersion: 'v1', kind: 'Status', status: 'Success' });
    }
    fail(response, 405, 'MethodNotAllowed', request.method!);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    changes,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function discovery({ group, version, kind, plural }: ServedResource): Record<string, object> {
  const groupVersion = `${group}/${version}`;
  const preferred = { groupVersion, version };
  const verbs = ['create', 'delete', 'get', 'list', 'patch', 'update'];
  const named = { group, version, kind };
  // The server validates fields itself: kubectl looks for this parameter before it applies.
  const patch = {
    parameters: [{ name: 'fieldValidation', in: 'query' }],
    'x-kubernetes-group-version-kind': named,
    'x-kubernetes-action': 'patch',
  };
  const address = `/openapi/v3/apis/${groupVersion}`;
  return {
    '/version': { major: '1', minor: '32', gitVersion: 'v1.32.0' },
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/api/v1': { kind: 'APIResourceList', groupVersion: 'v1', resources: [] },
    '/apis': {
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: [{ name: group, versions: [preferred], preferredVersion: preferred }],
    },
    [`/apis/${groupVersion}`]: {
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion,
      resources: [{ name: plural, singularName: kind.toLowerCase(), namespaced: true, kind, verbs }],
    },
    '/openapi/v3': { paths: { [`apis/${groupVersion}`]: { serverRelativeURL: address } } },
    [address]: {
      openapi: '3.0.0',
      info: { title: 'Kubernetes', version: 'v1.32.0' },
      paths: { [`/apis/${groupVersion}/namespaces/{namespace}/${plural}/{name}`]: { patch } },
    },
  };
}

/** Equality only, such as `a=b,c=d`. */
function selects(selector: string, labels: Record<string, string> = {}): boolean {
  return selector
    .split(',')
    .filter((one) => one !== '')
    .every((one) => {
      const [name, value] = one.split('=') as [string, string];
      return labels[name] === value;
    });
}

/** RFC 7396. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = mergePatch(result[name], value);
  }
  return result;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function body(request: IncomingMessage): Promise<KubeObject> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as KubeObject;
}

function send(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
}

function fail(response: ServerResponse, code: number, reason: string, message: string): void {
  send(response, code, { apiVersion: 'v1', kind: 'Status', status: 'Failure', code, reason, message });
}
