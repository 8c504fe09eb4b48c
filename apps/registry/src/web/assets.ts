import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createRoute, z } from '@hono/zod-openapi';
import { type Digest, KrmhubError, sha256 } from '@krmhub/schema';
import { bytesResponse, CACHE_FOREVER, CACHE_SHORT } from '../http/bytes-response.js';
import { codedBody } from '../http/coded-body.js';
import type { Coding } from '../http/content-coding.js';
import type { RegistryApp } from '../http/context.js';
import { servePage } from './serve-page.js';

/** Files that pages load, from the folder `assets` of this app. */
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
  /** Compressed bytes, by coding. */
  coded: Map<Coding, ReturnType<typeof codedBody>>;
}

const FOLDER = fileURLToPath(new URL('../../assets/', import.meta.url));
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Reads all files once. */
export function readAssets(): Assets {
  const assets = new Map<string, Asset>();
  for (const name of readdirSync(FOLDER)) {
    const mediaType = MEDIA_TYPES[name.slice(name.lastIndexOf('.') + 1)];
    if (mediaType === undefined) continue;
    const bytes = new Uint8Array(readFileSync(FOLDER + name));
    const digest = sha256(bytes);
    const path = `/assets/${digest.slice('sha256:'.length, 'sha256:'.length + 16)}/${name}`;
    assets.set(name, { bytes, digest, mediaType, path, coded: new Map() });
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
