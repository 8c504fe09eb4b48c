import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createRoute, z } from '@hono/zod-openapi';
import { type Digest, KrmhubError, sha256 } from '@krmhub/schema';
import { bytesResponse, CACHE_FOREVER, CACHE_SHORT } from '../http/bytes-response.js';
import { codedBody } from '../http/coded-body.js';
import type { Coding } from '../http/content-coding.js';
import type { RegistryApp } from '../http/context.js';
import { servePage } from './serve-page.js';

/**
 * Files that pages load, from the folder `assets` of this app, and its folder `dist`, which the build writes: also
 * smaller files of the same names, which are served instead.
 */
export interface Assets {
  /** Returns the path of a file. It includes the digest, so the file can be cached forever. */
  path(name: string): string;
  find(name: string): Asset | undefined;
}

interface Asset {
  bytes: Uint8Array;
  digest: Digest;
  mediaType: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  /** Compressed bytes, by coding. */
  coded: Map<Coding, ReturnType<typeof codedBody>>;
}

const FOLDER = fileURLToPath(new URL('../../assets/', import.meta.url));
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  svg: 'image/svg+xml',
};

/** Reads all files once. */
export function readAssets(): Assets {
  const assets = new Map<string, Asset>();
  const files = ['', 'dist/'].flatMap((folder) =>
    readdirSync(FOLDER + folder).map((name) => ({ folder, name })),
  );
  for (const { folder, name } of files) {
    const mediaType = MEDIA_TYPES[name.slice(name.lastIndexOf('.') + 1)];
    if (mediaType === undefined) continue;
    const bytes = new Uint8Array(readFileSync(FOLDER + folder + name));
    const digest = sha256(bytes);
    const path = `/assets/${digest.slice('sha256:'.length, 'sha256:'.length + 16)}/${name}`;
    assets.set(name, { bytes, digest, mediaType, path, headers: headersOf(name, bytes), coded: new Map() });
  }
  return {
    find: (name) => assets.get(name),
    path: (name) => {
      const asset = assets.get(name);
      if (asset === undefined) throw new Error(`asset ${name} not found`);
      return asset.path;
    },
  };
}

/**
 * A frame runs the code of publishers, in a worker that gets its policy: an opaque origin, `new Function`, and no request.
 * All other files have the policy of responses without one of their own, which a worker of a page gets too.
 */
function headersOf(name: string, bytes: Uint8Array): Record<string, string> {
  if (!name.endsWith('.html')) return {};
  const [, script = ''] = /<script>([\s\S]*)<\/script>/.exec(new TextDecoder().decode(bytes)) ?? [];
  const digest = createHash('sha256').update(script).digest('base64');
  const policy = [
    'sandbox allow-scripts',
    "default-src 'none'",
    `script-src 'sha256-${digest}' 'unsafe-eval'`,
    'worker-src blob:',
    "frame-ancestors 'self'",
  ];
  return { 'Content-Security-Policy': policy.join('; ') };
}

export const ASSET_ROUTES = {
  asset: createRoute({
    method: 'get',
    path: '/assets/{digest}/{name}',
    request: { params: z.object({ digest: z.string(), name: z.string() }) },
    responses: { 200: { description: 'A static file of the pages' } },
  }),
  favicon: createRoute({
    method: 'get',
    path: '/favicon.ico',
    responses: { 200: { description: 'The favicon' } },
  }),
} as const;

export function assetRoutes(app: RegistryApp, assets: Assets): void {
  const response = (c: Parameters<typeof bytesResponse>[0], asset: Asset, cacheControl: string) =>
    bytesResponse(c, {
      digest: asset.digest,
      mediaType: asset.mediaType,
      cacheControl,
      headers: asset.headers,
      coded: true,
      find: (coding) => {
        const body = asset.coded.get(coding) ?? codedBody(asset.bytes, coding);
        asset.coded.set(coding, body);
        return body;
      },
    });
  servePage(app, ASSET_ROUTES.asset, { rateLimitClass: 'free' }, (c, { params: { digest, name } }) => {
    const asset = assets.find(name);
    if (asset === undefined || asset.path !== `/assets/${digest}/${name}`) {
      throw new KrmhubError('not-found', `path ${c.req.path} not found`, {
        hint: 'Reload the page.',
      });
    }
    return response(c, asset, CACHE_FOREVER);
  });
  servePage(app, ASSET_ROUTES.favicon, { rateLimitClass: 'free' }, (c) =>
    response(c, assets.find('icon.svg')!, CACHE_SHORT),
  );
}
