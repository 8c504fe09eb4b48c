import { type RawRequest, withHeaders } from './raw-request.js';

/** Path spellings that parts of a server might read differently. */

/** Replaces the group example.com; the client's own group is other.com. */
const GROUPS = [
  'other.com%2F..%2Fexample.com',
  'other.com%2f%2e%2e%2fexample.com',
  'other.com/../example.com',
  'other.com/%2e%2e/example.com',
  'other.com/%2E%2E/example.com',
  'other.com/.%2e/example.com',
  'other.com/..;/example.com',
  'other.com\\..\\example.com',
  'other.com%5C..%5Cexample.com',
  './example.com',
  '%2e/example.com',
  '/example.com',
  'EXAMPLE.com',
  'eXample.cOm',
  'example.com%00',
  'example.com%00other.com',
  'other.com%00example.com',
  'example.com;other.com',
  'example.com%3Bgroup=other.com',
  'example.com%0a',
  'example.com%0d%0aX-Injected:%201',
  'example.com%20',
  '%20example.com',
  '%65xample.com',
  'example%2Ecom',
  'example%252Ecom',
  'other.com%252F..%252Fexample.com',
  'other.com%c0%af..%c0%afexample.com',
  'example.com%ff',
  'example.com%',
  'example.com%zz',
  'exam\u00adple.com',
  '\uff45xample.com',
  'example\u3002com',
  'other.com,example.com',
  'example.com.',
  '.example.com',
  '*',
  'example.*',
  '__proto__',
  'constructor',
];

const TARGETS: ((target: string) => string)[] = [
  (target) => `${target}/`,
  (target) => `${target}//`,
  (target) => `/${target}`,
  (target) => `//other.example${target}`,
  (target) => target.replace('/v1/', '//v1/'),
  (target) => target.replace('/v1/', '/./v1/'),
  (target) => target.replace('/v1/', '/v1/../v1/'),
  (target) => target.replace('/v1/', '/v1/%2e%2e/v1/'),
  (target) => target.replace('/v1/', '/v1%2F'),
  (target) => target.replace('/api/', '/API/'),
  (target) => target.replace('/api/', '/healthz/../api/'),
  (target) => target.replace('/api/', '/catalogs/default/catalog.yaml/../../../api/'),
  (target) => `/healthz%2F..${target}`,
  (target) => `/healthz;${target}`,
  (target) => `${target}%00`,
  (target) => `${target}%2f`,
  (target) => `${target}%20`,
  (target) => `${target};a=b`,
  (target) => `${target}.json`,
  (target) => `${target}?`,
  (target) => `${target}?group=other.com`,
  (target) => `${target}?access_token=x&token=y&admin=true`,
  (target) => `${target}#fragment`,
  (target) => `http://other.example${target}`,
  (target) => `https://127.0.0.1${target}`,
  (target) => `http://admin:secret@localhost${target}`,
  (target) => `http://other.example/..${target}`,
  (target) => `file://${target}`,
  (target) => target.slice(1),
];

export interface Trick {
  name: string;
  apply(request: RawRequest): RawRequest;
}

export const PATH_TRICKS: readonly Trick[] = [
  ...GROUPS.map((spelling) => ({
    name: `group ${JSON.stringify(spelling)}`,
    apply: (request: RawRequest) => ({
      ...request,
      target: request.target.replace('example.com', () => spelling),
    }),
  })),
  ...TARGETS.map((change) => ({
    name: change('/api/v1/X'),
    apply: (request: RawRequest) => ({ ...request, target: change(request.target) }),
  })),
];

/** Headers that proxies and frameworks set, and that the registry must not trust. */
export const HEADER_TRICKS: readonly Trick[] = (
  [
    [['X-Original-URL', '/healthz']],
    [['X-Rewrite-URL', '/healthz']],
    [['X-Forwarded-Prefix', '/api']],
    [['X-Forwarded-For', '127.0.0.1']],
    [['X-Real-IP', '127.0.0.1']],
    [['Forwarded', 'for=127.0.0.1;host=localhost;proto=https']],
    [['X-Forwarded-Host', 'localhost']],
    [['X-Forwarded-User', 'admin']],
    [['X-Remote-User', 'admin']],
    [['X-Krmhub-Token', 'admin']],
    [['Host', 'localhost']],
    [['Transfer-Encoding', 'identity']],
    [['Content-Type', 'application/yaml; charset=utf-7']],
    [['X-HTTP-Method-Override', 'GET']],
    [['Origin', 'null']],
  ] as [string, string][][]
).map((headers) => ({
  name: headers.map(([name, value]) => `${name}: ${value}`).join(', '),
  apply: (request) => withHeaders(request, ...headers),
}));

/** Replaces the Host header: frameworks that make a URL of it may read a path there. */
export const HOST_TRICKS: readonly Trick[] = [
  '',
  'x/healthz',
  'x/healthz?',
  'x/api/v1/functions/other.com/SetLabels/releases/1.0.0?',
  'x/api/v1/tokens/report-leak#',
  'x?',
  'x#',
  'x\\',
  'x@y',
  'admin:secret@x',
  'x:99999',
  'x:80:80',
  '[',
  '[::1',
  'x y',
  '..',
  '%2f',
  'x%2fhealthz',
  'h\u00f6st',
  'a'.repeat(4_000),
].map((host) => ({
  name: `Host: ${host.slice(0, 100)}`,
  apply: (request) => ({
    ...request,
    headers: request.headers.map(([name, value]) => [name, name === 'Host' ? host : value] as const),
  }),
}));

/** The same request with another method, and a header that claims the right one. */
export function methodTricks({ method, target }: RawRequest): readonly Trick[] {
  const query = `${target.includes('?') ? '&' : '?'}_method=${method}`;
  const others = ['GET', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE', 'POST', 'PUT', 'DELETE', method.toLowerCase()];
  return others
    .filter((other) => other !== method)
    .flatMap((other) => [
      ...['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'].map((header) => ({
        name: `${other} with ${header}: ${method}`,
        apply: (request: RawRequest) => withHeaders({ ...request, method: other }, [header, method]),
      })),
      {
        name: `${other} with _method=${method}`,
        apply: (request: RawRequest) => ({ ...request, method: other, target: target + query }),
      },
    ]);
}
