import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog, type RunningRegistry, readConfig, startRegistry } from '@krmhub/registry';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawn, spawnSync } from '../processes.js';
import { fixtures, krmhub, root, temporaryFolder } from '../running.js';
import { startForwardProxy } from './forward-proxy.js';
import { freePort } from './free-port.js';

/**
 * A registry behind nginx, which ends TLS and serves it below a path: one port removes the path, another
 * passes it on. Clients come from addresses of the loopback network, which Linux supports; nginx itself
 * comes from 127.0.0.1.
 */

const missing = [
  ...(spawnSync('nginx', ['-v']).status === 0 ? [] : ['nginx']),
  ...(spawnSync('openssl', ['version']).status === 0 ? [] : ['openssl']),
  ...(process.platform === 'linux' ? [] : ['Linux']),
];
const READS = 12;

const { folder, remove } = temporaryFolder();
const certificate = path.join(folder, 'certificate.pem');
const logged: string[] = [];
let registry: RunningRegistry;
let stopNginx = async () => {};
let stripping: string;
let passing: string;
let token: string;

/** What the documented configuration passes on. */
const documentedHeaders = [
  ...new Set(
    readFileSync(path.join(root, 'docs/operate-security.md'), 'utf8').match(/proxy_set_header .*;/g),
  ),
];

function nginxConfig(registryPort: number, ports: { stripping: number; passing: number }): string {
  const server = (port: number, upstream: string) => `
  server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate ${certificate};
    ssl_certificate_key ${path.join(folder, 'key.pem')};
    location /krm/ {
      proxy_pass ${upstream};
      proxy_http_version 1.1;
      ${documentedHeaders.join('\n      ')}
      client_max_body_size 3m;
    }
  }`;
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1;
daemon off;
pid ${folder}/nginx.pid;
error_log stderr warn;
events {}
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/nginx-${name};`).join('\n  ')}
  ${server(ports.stripping, `http://127.0.0.1:${registryPort}/`)}
  ${server(ports.passing, `http://127.0.0.1:${registryPort}`)}
}
`;
}

beforeAll(async () => {
  if (missing.length > 0) return;
  const made = spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
    ...['-addext', 'subjectAltName=DNS:localhost,DNS:krm.example.com,IP:127.0.0.1'],
    ...['-keyout', path.join(folder, 'key.pem'), '-out', certificate],
  ]);
  expect(made.status, made.stderr.toString()).toBe(0);
  const ports = { stripping: await freePort(), passing: await freePort() };
  stripping = `https://localhost:${ports.stripping}/krm`;
  passing = `https://localhost:${ports.passing}/krm`;
  const env = {
    KRMHUB_PUBLIC_URL: stripping,
    KRMHUB_TRUSTED_PROXIES: '127.0.0.1',
    KRMHUB_INTERNAL_ADDRESSES: '127.0.0.5',
    KRMHUB_REQUESTS_PER_MINUTE: String(READS),
  };
  mkdirSync(path.join(folder, 'data'));
  registry = await startRegistry({
    config: readConfig(env, { port: '0', data: path.join(folder, 'data') }),
    log: createLog('debug', { write: (line) => logged.push(line) }),
  });
  token = readFileSync(registry.adminTokenFile, 'utf8').trim();
  const file = path.join(folder, 'nginx.conf');
  writeFileSync(file, nginxConfig(Number(new URL(registry.url).port), ports));
  const child = spawn('nginx', ['-p', folder, '-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  const ended = once(child, 'close');
  stopNginx = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  for (let attempt = 0; ; attempt++) {
    const up = await get(`${passing}/healthz`).catch(() => undefined);
    if (up?.status === 200) break;
    if (attempt === 100 || child.exitCode !== null) throw new Error(`nginx did not start:\n${stderr}`);
    await sleep(100);
  }
});
afterAll(async () => {
  await stopNginx();
  await registry?.close();
  remove();
});

interface Got {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

function get(
  url: string,
  options: { from?: string; headers?: Record<string, string>; method?: string } = {},
): Promise<Got> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        ca: readFileSync(certificate),
        family: 4,
        agent: false,
        method: options.method ?? 'GET',
        headers: options.headers ?? {},
        ...(options.from === undefined ? {} : { localAddress: options.from }),
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
      },
    );
    sent.on('error', reject).end();
  });
}

const lastLogged = (requestId: string) =>
  logged
    .map((line) => JSON.parse(line))
    .find((line) => line.requestId === requestId && line.msg === 'request');

describe.skipIf(missing.length > 0)(
  `behind nginx${missing.length > 0 ? ` (skipped: ${missing.join(', ')} missing)` : ''}`,
  () => {
    it('accepts publishes of the command line, which trusts the given certificate', async () => {
      const env = { KRMHUB_REGISTRY: stripping, KRMHUB_TOKEN: token, NODE_EXTRA_CA_CERTS: certificate };
      const file = path.join(fixtures, 'functions/set-labels/2.0.0.yaml');
      const published = await krmhub(['publish', file], { env });
      expect([published.code, published.stderr]).toEqual([0, expect.stringContaining('in default')]);
      const shown = await krmhub(['show', 'functions.example.com/SetLabels'], { env });
      expect(shown.stdout).toContain('2.0.0');
      const again = await krmhub(['publish', file], { env: { ...env, KRMHUB_REGISTRY: passing } });
      expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('unchanged')]);
      const { NODE_EXTRA_CA_CERTS: _, ...untrusting } = env;
      const refused = await krmhub(['show', 'functions.example.com/SetLabels'], { env: untrusting });
      expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining('self-signed')]);
    });

    it('is reachable through the tunnel of a forward proxy', async () => {
      const proxy = await startForwardProxy(Number(new URL(stripping).port));
      try {
        const env = {
          KRMHUB_REGISTRY: 'https://krm.example.com/krm',
          NODE_EXTRA_CA_CERTS: certificate,
          HTTPS_PROXY: proxy.url,
          NO_PROXY: '',
        };
        const { code, stderr } = await krmhub(['search', 'labels'], { env });
        expect([code, stderr]).toEqual([0, expect.any(String)]);
        expect(proxy.seen.map(({ what }) => what)).toEqual(['CONNECT krm.example.com:443']);
      } finally {
        proxy.stop();
      }
    });

    it.each(['stripping', 'passing'] as const)(
      'returns links that lead back through it, path %s',
      async (which) => {
        const base = which === 'stripping' ? stripping : passing;
        // Twice: from the routes, and from memory.
        for (const _ of [1, 2]) {
          const catalog = await get(`${base}/catalogs/default/catalog.yaml`);
          expect([catalog.status, catalog.text]).toEqual([200, expect.stringContaining('kind: SetLabels')]);
          expect(catalog.headers['strict-transport-security']).toBe('max-age=31536000');
          const links = [...String(catalog.headers.link).matchAll(/<([^>]+)>; rel="([^"]+)"/g)];
          expect(links.map(([, , rel]) => rel)).toEqual(['memento', 'version-history']);
          for (const [, url] of links) {
            expect(url!.startsWith(`${stripping}/catalogs/default/`)).toBe(true);
            expect((await get(url!, { from: '127.0.0.9' })).status).toBe(200);
          }
          const snapshot = await get(links[0]![1]!, { from: '127.0.0.9' });
          expect(snapshot.text).toBe(catalog.text);
        }
        const { text } = await get(`${base}/openapi.json`);
        expect(JSON.parse(text).servers).toEqual([{ url: stripping }]);
        const anonymous = await get(`${base}/api/v1/tokens`, { method: 'POST' });
        expect([anonymous.status, anonymous.headers['www-authenticate']]).toEqual([
          401,
          `Bearer realm="${stripping}"`,
        ]);
        expect((await get(`${base}/`)).text).toContain('krmhub');
      },
    );

    it('returns the location of created objects', async () => {
      const response = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
        const headers = {
          Authorization: `Bearer ${token}`,
          'Content-Type': 'application/json',
          Host: 'evil.example',
        };
        const options = {
          method: 'POST',
          headers,
          ca: readFileSync(certificate),
          family: 4,
          servername: 'localhost',
        };
        request(`${passing}/api/v1/tokens`, options, (answer) => {
          answer.resume();
          resolve(answer.headers);
        })
          .on('error', reject)
          .end(JSON.stringify({ name: 'made', scopes: ['publish'] }));
      });
      expect(response.location).toMatch(new RegExp(`^${stripping}/api/v1/tokens/[0-9a-f-]{36}$`));
    });

    it('counts and logs the client address from nginx, whatever headers the client sends', async () => {
      const search = (from: string, count: number) =>
        get(`${stripping}/api/v1/functions`, {
          from,
          headers: {
            'X-Forwarded-For': `198.51.100.${count}, 127.0.0.1`,
            Forwarded: `for=198.51.100.${count}`,
            'X-Real-IP': `198.51.100.${count}`,
            'X-Request-Id': `${from}-${count}`,
          },
        });
      for (let count = 1; count <= READS; count++) {
        const { status, headers } = await search('127.0.0.7', count);
        expect([status, headers['ratelimit-policy']]).toEqual([200, `"requests";q=${READS};w=60`]);
      }
      const over = await search('127.0.0.7', READS + 1);
      expect([over.status, Number(over.headers['retry-after'])]).toEqual([429, expect.any(Number)]);
      expect((await search('127.0.0.8', 1)).status).toBe(200);
      expect(lastLogged('127.0.0.7-1')).toMatchObject({ client: '127.0.0.7', status: 200 });
      expect(lastLogged(`127.0.0.7-${READS + 1}`)).toMatchObject({ client: '127.0.0.7', status: 429 });
      expect(lastLogged('127.0.0.8-1')).toMatchObject({ client: '127.0.0.8' });
    });

    it('shows what is internal to clients of the network, at its public address only', async () => {
      const env = { KRMHUB_REGISTRY: stripping, KRMHUB_TOKEN: token, NODE_EXTRA_CA_CERTS: certificate };
      const access = path.join(folder, 'access.yaml');
      writeFileSync(
        access,
        'apiVersion: krmhub.dev/v1alpha1\nkind: Access\nmetadata: {name: registry}\n' +
          'spec: {catalogs: [{pattern: default, visibility: internal}]}\n',
      );
      const applied = await krmhub(['access', 'apply', access, '--yes'], { env });
      expect([applied.code, applied.stderr]).toEqual([0, expect.any(String)]);
      const statusFor = async (from: string, headers = {}) =>
        (await get(`${stripping}/catalogs/default/catalog.yaml`, { from, headers })).status;
      expect(await statusFor('127.0.0.5')).toBe(200);
      expect(await statusFor('127.0.0.6')).toBe(404);
      expect(await statusFor('127.0.0.5', { Host: 'krm.example.com' })).toBe(404);
    });

    it('distinguishes its clients from those that bypass it', async () => {
      const response = await fetch(`${registry.url}/healthz`, {
        headers: {
          'X-Request-Id': 'direct',
          'X-Forwarded-Proto': 'http',
          'X-Forwarded-Host': 'evil.example',
        },
      });
      expect(response.status).toBe(200);
      expect(lastLogged('direct')).toMatchObject({ client: '127.0.0.1' });
    });
  },
);
