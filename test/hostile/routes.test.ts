import { ROUTES } from '@krmhub/api/routes';
import { beforeAll, describe, expect, it } from 'vitest';
import { OPERATE_ROUTES } from '../../apps/registry/src/web/operate/operate-routes.js';
import { attackRegistry } from './attacked.js';
import { CORPUS } from './corpus.js';
import { findFault } from './neighbor.js';

const attacked = attackRegistry();

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
}

function ask(target: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<Response> {
  return fetch(attacked.registry.url + target, {
    method,
    headers: { authorization: `Bearer ${attacked.registry.token}`, ...headers },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(20_000),
  });
}

const json = (method: string, body: string): Sent => ({
  method,
  body,
  headers: { 'content-type': 'application/json' },
});

const RELEASE = '/api/v1/functions/functions.example.com/SetLabels/releases/2.0.0';

const NUMBERS = [
  '0',
  '-1',
  '1e9',
  '1000000000',
  '9223372036854775808',
  `1${'0'.repeat(400)}`,
  'NaN',
  'Infinity',
  '0x10',
  '1.5',
  '',
  ' 1',
  '１',
  'null',
  '[1]',
  '%00',
];
const TEXTS = [
  '"',
  "'",
  "' OR 1=1 --",
  '"; DROP TABLE functions; --',
  '%',
  '*',
  '**',
  '^',
  'NEAR(',
  'a NOT b',
  'AND',
  'OR OR',
  '()',
  '((((((((',
  '-',
  '{tag}:a',
  'tag:mutator',
  '\\',
  '\u0000',
  '\u001b[2J',
  '\u202e',
  '\u{1f4a9}',
  '\ufeff',
  'a'.repeat(500),
  '" '.repeat(250),
  'ab '.repeat(166),
  'Z\u0301'.repeat(200),
  '__proto__',
  'constructor',
  'İ'.repeat(200),
  'ﷺ'.repeat(200),
];
const VALUES = [
  ...NUMBERS,
  ...TEXTS,
  'x'.repeat(2_001),
  '../../etc/passwd',
  'eyJhIjoxfQ',
  'W10',
  'bnVsbA',
  '-',
  '='.repeat(100),
];

describe('query parameters', () => {
  const parameters: [string, string][] = [
    ...[
      'q',
      'tag',
      'kind',
      'group',
      'publisher',
      'runtime',
      'license',
      'signedBy',
      'catalog',
      'sort',
      'limit',
      'cursor',
      '__proto__',
      'constructor',
      'toString',
    ].map((name): [string, string] => ['/api/v1/functions', name]),
    ...['q', 'tag', 'kind', 'signedBy', 'sort', 'cursor', '__proto__'].map((name): [string, string] => [
      '/functions',
      name,
    ]),
    ['/suggestions', 'q'],
    ...['after', 'limit', 'hasOwnProperty'].map((name): [string, string] => ['/api/v1/events', name]),
    ['/api/v1/functions.jsonl', 'limit'],
    ['/catalogs/default/snapshots', 'limit'],
    ['/catalogs/default/catalog.yaml', 'kind'],
    ['/catalogs/default/catalog.json', 'kind'],
    ['/catalogs/default/functions/functions.example.com/SetLabels.yaml', 'kind'],
  ];

  it.each(parameters)('%s?%s= accepts or refuses any value, once and repeated', async (target, name) => {
    const faults: string[] = [];
    for (const value of VALUES) {
      const one = `${encodeURIComponent(name)}=${value === '%00' ? value : encodeURIComponent(value)}`;
      for (const query of [
        one,
        `${one}&${one}`,
        Array.from({ length: 30 }, () => one)
          .join('&')
          .slice(0, 12_000),
      ]) {
        const fault = await findFault(await ask(`${target}?${query}`), [200]);
        if (fault !== undefined) faults.push(`${query.slice(0, 100)}: ${fault}`);
      }
    }
    expect(faults).toEqual([]);
  });

  it.each(['dryRun', 'allowBreaking', 'wait'])('a publish with any value of %s', async (name) => {
    for (const value of VALUES) {
      const query = `${name}=${encodeURIComponent(value)}`;
      const sent = { method: 'PUT', body: 'x', headers: { 'content-type': 'application/yaml' } };
      expect(await findFault(await ask(`${RELEASE}?${query}`, sent)), query).toBeUndefined();
    }
  });

  it('clamps limits to their range', async () => {
    for (const [value, count] of [
      ['0', 1],
      ['-1', 1],
      ['1000000000', 100],
      ['9223372036854775808', 100],
    ] as const) {
      const page = (await (await ask(`/api/v1/functions?limit=${value}`)).json()) as {
        items: unknown[];
        total: number;
      };
      expect(page.items).toHaveLength(Math.min(page.total, count));
    }
    for (const value of ['NaN', '1e9', '', '1.5'])
      expect((await ask(`/api/v1/events?limit=${value}`)).status).toBe(400);
  });

  it('refuses a thousand parameters with a bounded response', async () => {
    const query = Array.from({ length: 1_000 }, (_, index) => `p${index}=x`).join('&');
    const response = await ask(`/api/v1/functions?${query}`);
    expect(response.status).toBe(400);
    expect((await response.text()).length).toBeLessThan(100_000);
  });
});

describe('path parameters', () => {
  const templates = Object.values(ROUTES).filter(({ path: template }) => template.includes('{'));

  it.each(templates.map(({ method, path: template }) => [method.toUpperCase(), template] as const))(
    '%s %s',
    async (method, template) => {
      const faults: string[] = [];
      for (const value of VALUES) {
        const filled = template.replace(/\{\w+\}/g, () => encodeURIComponent(value) || '%20');
        const body = method === 'GET' || method === 'DELETE' ? {} : json(method, '{"reason":"x"}');
        const fault = await findFault(await ask(filled, { method, ...body }));
        if (fault !== undefined) faults.push(`${filled.slice(0, 100)}: ${fault}`);
      }
      expect(faults).toEqual([]);
    },
  );
});

describe('pages of operators', () => {
  let cookie: string;
  let formKey: string;
  const own = () => ({ origin: attacked.registry.url.replace(/\/$/, ''), cookie });
  const look = (target: string) => ask(target, { headers: { cookie } });
  const send = (target: string, fields: [string, string][]) =>
    fetch(attacked.registry.url + target, {
      method: 'POST',
      redirect: 'manual',
      headers: own(),
      body: new URLSearchParams([['formKey', formKey], ...fields]),
      signal: AbortSignal.timeout(20_000),
    });
  /** Pages report problems in HTML. */
  const isFault = async (response: Response) => {
    const text = await response.text();
    return response.status >= 500 || text.length > 2_000_000
      ? `${response.status}: ${text.slice(0, 200)}`
      : '';
  };

  beforeAll(async () => {
    const response = await fetch(`${attacked.registry.url}/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: attacked.registry.url.replace(/\/$/, '') },
      body: new URLSearchParams({ token: attacked.registry.token }),
    });
    cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
    formKey = /name="formKey" value="([^"]+)"/.exec(await (await look('/operate')).text())?.[1] ?? '';
    expect(formKey).not.toBe('');
  });

  it.each(Object.values(OPERATE_ROUTES).map(({ method, path: template }) => [method, template] as const))(
    '%s %s accepts or refuses any value in its path and query',
    async (method, template) => {
      const faults: string[] = [];
      for (const value of VALUES) {
        const filled = template.replace(/\{\w+\}/g, () => encodeURIComponent(value) || '%20');
        const names = [
          'from',
          'page',
          'problems',
          'catalog',
          'asked',
          'name',
          'revoked',
          'applied',
          '__proto__',
        ];
        const targets = [filled, ...names.map((name) => `${filled}?${name}=${encodeURIComponent(value)}`)];
        for (const target of template.includes('{') ? targets.slice(0, 2) : targets) {
          // Signing out would end the session of the other requests.
          if (method === 'post' && template.endsWith('sign-out')) continue;
          const fault = await isFault(await (method === 'get' ? look(target) : send(target, [])));
          if (fault !== '') faults.push(`${target.slice(0, 100)}: ${fault}`);
        }
      }
      expect(faults).toEqual([]);
    },
  );

  it('a form accepts or refuses any value', async () => {
    const faults: string[] = [];
    const fields = ['name', 'scopes', 'groups', 'repositories', 'expiresInDays'];
    for (const value of VALUES) {
      for (const wrong of fields) {
        const form = fields.map((name): [string, string] => [name, name === wrong ? value : 'x']);
        const fault = await isFault(await send('/operate/tokens/new', form));
        if (fault !== '') faults.push(`${wrong} ${value.slice(0, 100)}: ${fault}`);
      }
      const signIn = await isFault(
        await send('/sign-in', [
          ['token', value],
          ['from', value],
        ]),
      );
      if (signIn !== '') faults.push(`token ${value.slice(0, 100)}: ${signIn}`);
    }
    expect(faults).toEqual([]);
  });

  it('every hostile document is refused as a recipe, and shown as text', async () => {
    const faults: string[] = [];
    for (const { name, make } of CORPUS.filter((_, index) => index % 2 === 1)) {
      const text = new TextDecoder().decode(new Uint8Array(make()));
      const response = await send('/operate/recipes/hostile', [
        ['text', text],
        ['expected', 'none'],
        ['do', 'apply'],
      ]);
      if (![400, 413].includes(response.status)) faults.push(`${name}: ${response.status}`);
      const page = await response.text();
      expect(page.length, name).toBeLessThan(4_000_000);
    }
    expect(faults).toEqual([]);
  });
});

describe('JSON bodies', () => {
  const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
  const bodies: [string, string][] = [
    ['nothing', ''],
    ['a lone brace', '{'],
    ['null', 'null'],
    ['a number', '1e999'],
    ['a text', '"x"'],
    ['a list', '[]'],
    ['30,000 nested lists', deep],
    ['30,000 nested lists as a reason', `{"reason":${deep}}`],
    ['10,000 nested objects', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`],
    ['a prototype', '{"__proto__":{"reason":"x","name":"x","scopes":["admin"]}}'],
    ['a constructor', '{"constructor":{"prototype":{"reason":"x"}}}'],
    ['one key often', `{${'"reason":"",'.repeat(4_000)}"reason":""}`],
    ['a reason of 1,001 characters', JSON.stringify({ reason: 'x'.repeat(1_001) })],
    ['65,537 bytes', JSON.stringify({ reason: 'x'.repeat(65_537) })],
    ['wrong types', '{"reason":["x"],"name":{},"scopes":"admin","groups":1,"expiresInDays":"1"}'],
    ['numbers at the ends', '{"name":"x","scopes":["yank"],"expiresInDays":1e308}'],
    ['no number', '{"name":"x","scopes":["yank"],"expiresInDays":NaN}'],
    ['10,000 scopes', JSON.stringify({ name: 'x', scopes: Array(5_000).fill('root') })],
    ['10,000 groups', JSON.stringify({ name: 'x', scopes: ['yank'], groups: Array(5_000).fill('A*') })],
    ['a name of 101 characters', JSON.stringify({ name: 'x'.repeat(101), scopes: ['yank'] })],
    ['a byte order mark', '\ufeff{"reason":"x"'],
    ['a lone surrogate', '{"reason":"\\ud800","name":"\\ud800","scopes":[]}x'],
    ['comments', '{/* x */"reason":"x"}'],
  ];
  const targets: [string, string][] = [
    ['POST', '/api/v1/tokens'],
    ...['yank', 'deprecate'].map((verb): [string, string] => ['POST', `${RELEASE}/${verb}`]),
    ['PUT', RELEASE],
    ['PUT', '/api/v1/catalogs/hostile'],
  ];

  it.each(targets)('%s %s refuses invalid bodies', async (method, target) => {
    for (const [name, body] of bodies) {
      const response = await ask(target, json(method, body));
      expect((await response.clone().text()).length, name).toBeLessThan(20_000);
      expect(await findFault(response), name).toBeUndefined();
      const bytes = new Uint8Array([...Buffer.from(body.slice(0, 100)), 0xff, 0xfe]);
      expect(
        await findFault(await ask(target, { ...json(method, ''), body: bytes })),
        `${name}, no UTF-8`,
      ).toBeUndefined();
    }
  });

  it.each(targets)('%s %s with another content type', async (method, target) => {
    for (const type of [
      '',
      'text/html',
      'application/json; charset=utf-16',
      'multipart/form-data',
      'multipart/form-data; boundary=',
      'application/x-www-form-urlencoded',
      'x'.repeat(5_000),
      '*/*',
      'application/yaml, text/html',
    ]) {
      const headers = { 'content-type': type };
      expect(await findFault(await ask(target, { method, body: '[', headers })), type).toBeUndefined();
    }
  });
});

describe('recipes', () => {
  it('every hostile document is refused as a recipe', async () => {
    const faults: string[] = [];
    for (const { name, make } of CORPUS.filter((_, index) => index % 2 === 0)) {
      const sent = {
        method: 'PUT',
        body: new Uint8Array(make()),
        headers: { 'content-type': 'application/yaml' },
      };
      const fault = await findFault(await ask('/api/v1/catalogs/hostile', sent));
      if (fault !== undefined) faults.push(`${name}: ${fault}`);
    }
    expect(faults).toEqual([]);
  });

  it('ranges that overload other programs are checked quickly', async () => {
    const ranges = [
      '>=1.0.0 '.repeat(30),
      '1 || '.repeat(50),
      `${'9'.repeat(200)}.0.0`,
      '^'.repeat(250),
      '1.x.x - '.repeat(30),
      `>=1.0.0${' '.repeat(240)}<`,
      '*'.repeat(253),
      '~>1',
      '!=1',
      '1.2.3-'.padEnd(250, 'a.'),
    ];
    for (const range of ranges) {
      const recipe = JSON.stringify({
        apiVersion: 'krmhub.dev/v1alpha1',
        kind: 'CatalogRecipe',
        metadata: { name: 'hostile' },
        spec: { sources: [{ name: 'registry', functions: { release: range } }] },
      });
      const sent = { method: 'PUT', body: recipe, headers: { 'content-type': 'application/yaml' } };
      expect(await findFault(await ask('/api/v1/catalogs/hostile', sent), [200, 201]), range).toBeUndefined();
    }
  });
});

describe('forms', () => {
  // The parser refuses shorter ones.
  const BOUNDARY = 'boundary'.repeat(4);
  const part = (name: string, body: string) =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"; filename="f.yaml"\r\nContent-Type: application/yaml\r\n\r\n${body}\r\n`;
  const forms: [string, string, string?][] = [
    [
      'a thousand parts',
      `${Array.from({ length: 1_000 }, (_, index) => part(`p${index}`, 'x')).join('')}--${BOUNDARY}--\r\n`,
    ],
    ['a thousand definitions', `${part('definition', 'x').repeat(1_000)}--${BOUNDARY}--\r\n`],
    ['no boundary', part('definition', 'x'), 'multipart/form-data'],
    ['another boundary', `${part('definition', 'x')}--${BOUNDARY}--\r\n`, 'multipart/form-data; boundary=c'],
    ['a boundary of 1,000 characters', 'x', `multipart/form-data; boundary=${'b'.repeat(1_000)}`],
    ['no end', part('definition', 'x')],
    ['only an end', `--${BOUNDARY}--\r\n`],
    ['nothing', ''],
    [
      'a form in a form',
      `${part(
        'definition',
        `--c\r\nContent-Disposition: form-data; name="definition"\r\n\r\nx\r\n--c--`,
      ).replace('application/yaml', 'multipart/mixed; boundary=c')}--${BOUNDARY}--\r\n`,
    ],
    [
      'part headers of 10,000 bytes',
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="definition"\r\nX: ${'x'.repeat(10_000)}\r\n\r\nx\r\n--${BOUNDARY}--\r\n`,
    ],
    ['a thousand part headers', `--${BOUNDARY}\r\n${'X: y\r\n'.repeat(1_000)}\r\nx\r\n--${BOUNDARY}--\r\n`],
    ['a name that is a prototype', `${part('__proto__', 'x')}--${BOUNDARY}--\r\n`],
    ['a name of control characters', `${part('\u001b[2J\u0000', 'x')}--${BOUNDARY}--\r\n`],
    [
      'a file that leaves its folder',
      `${part('definition', 'x').replace('f.yaml', '../../../etc/passwd')}--${BOUNDARY}--\r\n`,
    ],
    [
      'a part without a file name',
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="definition"\r\n\r\nx\r\n--${BOUNDARY}--\r\n`,
    ],
    [
      'a part in base64',
      `${part('definition', 'eA==').replace('Content-Type', 'Content-Transfer-Encoding: base64\r\nContent-Type')}--${BOUNDARY}--\r\n`,
    ],
    [
      'a preamble of 100,000 bytes',
      `${'x'.repeat(100_000)}\r\n${part('definition', 'x')}--${BOUNDARY}--\r\n`,
    ],
    ['100,000 line ends', '\r\n'.repeat(100_000)],
    ['100,000 boundaries', `--${BOUNDARY}\r\n`.repeat(100_000)],
    ['100,000 near-boundaries', `${part('definition', '\r\n--'.repeat(100_000))}--${BOUNDARY}--\r\n`],
  ];

  it.each(forms)(
    'with %s is refused',
    async (_, body, type = `multipart/form-data; boundary=${BOUNDARY}`) => {
      const response = await ask(RELEASE, { method: 'PUT', body, headers: { 'content-type': type } });
      const text = await response.clone().text();
      expect(await findFault(response)).toBeUndefined();
      expect(text.length).toBeLessThan(20_000);
    },
  );
});
